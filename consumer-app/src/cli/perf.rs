//! `perf`: reads a topic and says what it cost, one JSON line a pass.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;
use consumer_app::Consumer;
use serde_json::json;

use super::connect::Connection;
use super::tally::Tally;

/// Polls in a row without a record after which a pass is given up.
const PATIENCE: u32 = 60;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// The topic to read, all of its partitions, from its beginning.
    #[arg(long)]
    topic: String,
    /// A pass ends when so many records came.
    #[arg(long)]
    records: u64,
    /// How many times to read it, each time with a new consumer.
    #[arg(long, default_value_t = 1)]
    passes: u32,
    /// The output is JSON, whether this is given or not.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    for _ in 0..arguments.passes {
        let mut consumer = arguments
            .connection
            .open(&[("auto.offset.reset", "earliest")])
            .await?;
        let partitions = consumer.partitions_for(&arguments.topic).await?;
        let begin = tokio::time::Instant::now();
        let cpu_before = usage::cpu_seconds()?;
        consumer.assign(partitions).await?;
        let tally = read(&mut consumer, arguments.records).await?;
        let wall = begin.elapsed().as_secs_f64();
        let cpu = usage::cpu_seconds()? - cpu_before;
        let metrics = consumer.metrics().await?;
        consumer.close(Duration::from_secs(5)).await?;
        println!(
            "{}",
            json!({
                "records": tally.records,
                "bytes": tally.bytes,
                "wall_s": wall,
                "cpu_s": cpu,
                "max_rss": usage::max_rss_bytes()?,
                "fetch_requests": metrics.fetch_requests,
                "bytes_received": metrics.bytes_received,
                "checksum": tally.checksum.to_string(),
            })
        );
    }
    Ok(ExitCode::SUCCESS)
}

async fn read(consumer: &mut Consumer, records: u64) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut in_vain = 0;
    while tally.records < records {
        let polled = consumer.poll(Duration::from_millis(500)).await?;
        in_vain = if polled.is_empty() { in_vain + 1 } else { 0 };
        ensure!(
            in_vain < PATIENCE,
            "nothing comes any more after {} records",
            tally.records
        );
        tally.add_all(&polled);
    }
    Ok(tally)
}

/// What this process used, as Linux tells it.
mod usage {
    use anyhow::Context;

    /// Clock ticks a second in `/proc`: fixed by the kernel's interface.
    const TICKS: f64 = 100.0;

    /// User and system time of all threads, those that ended included.
    pub(super) fn cpu_seconds() -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string("/proc/self/stat").context("needs Linux")?;
        // the name of the program, which may have blanks in it, is in parentheses
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks: u64 = fields
            .split_ascii_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Ok(ticks as f64 / TICKS)
    }

    /// The most memory that was resident at any time.
    pub(super) fn max_rss_bytes() -> anyhow::Result<u64> {
        let status = std::fs::read_to_string("/proc/self/status").context("needs Linux")?;
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| {
                rest.trim()
                    .trim_end_matches("kB")
                    .trim()
                    .parse::<u64>()
                    .ok()
            })
            .context("no VmHWM in /proc/self/status")?;
        Ok(kilobytes * 1024)
    }
}
