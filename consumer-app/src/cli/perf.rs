//! `perf`: reads a topic and says what it cost.

mod cost;

use std::fmt;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use clap::builder::NonEmptyStringValueParser;
use consumer_app::Consumer;
use serde::Serialize;

use self::cost::Cost;
use super::connect::{Connection, Own};
use super::interrupt::Interrupt;
use super::output::Reader;
use super::stdout;
use super::tally::{Rate, Tally};

/// Polls in a row without a record after which a pass is given up.
const PATIENCE: u32 = 60;
const POLL: Duration = Duration::from_millis(500);
/// How long the brokers may take to be told of the end.
const CLOSE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// The topic to read, all of its partitions, from its beginning.
    #[arg(short, long, value_parser = NonEmptyStringValueParser::new())]
    topic: String,
    /// Read as the member of this group, which must have committed nothing; nothing is committed.
    #[arg(short, long, value_parser = NonEmptyStringValueParser::new())]
    group: Option<String>,
    /// A pass ends when so many records came.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,
    /// How many times to read it, each time with a new consumer.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    passes: u32,
    /// Print a JSON object a pass.
    #[arg(long)]
    json: bool,
}

/// What one pass read and took. Its names are those of the JSON.
#[derive(Debug, Serialize)]
struct Pass {
    records: u64,
    /// Of keys and values.
    bytes: u64,
    /// From the assignment or subscription to the last record.
    wall_s: f64,
    /// Of all threads, in user and system, in the same time.
    cpu_s: f64,
    /// The most bytes that were resident at any time since the program began.
    max_rss: u64,
    fetch_requests: u64,
    /// Bytes of fetch responses.
    bytes_received: u64,
    /// A decimal string: JSON readers make a float of so large a number.
    checksum: String,
}

/// For people.
impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records in {:.3} s ({}), {:.3} s of CPU ({:.0} ns a record), {:.0} MB of memory, {} fetch requests, checksum {}",
            self.records,
            self.wall_s,
            Rate::of(self.records, self.bytes, self.wall_s),
            self.cpu_s,
            self.cpu_s * 1e9 / self.records as f64,
            self.max_rss as f64 / 1e6,
            self.fetch_requests,
            self.checksum
        )
    }
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut interrupt = Interrupt::listen()?;
    for _ in 0..arguments.passes {
        let mut strong = vec![
            ("auto.offset.reset", "earliest"),
            // the next pass reads the same
            ("enable.auto.commit", "false"),
        ];
        if let Some(group) = &arguments.group {
            strong.push(("group.id", group));
        }
        let own = Own {
            strong,
            ..Own::default()
        };
        let mut consumer = arguments.connection.open(&own).await?;
        let pass = tokio::select! {
            biased;
            () = interrupt.wait() => Err(anyhow!("interrupted")),
            pass = pass(&mut consumer, &arguments) => pass,
        };
        consumer.close(CLOSE).await?;
        let pass = pass?;
        let reader = if arguments.json {
            stdout::print(serde_json::to_string(&pass)?)?
        } else {
            stdout::print(&pass)?
        };
        if reader == Reader::Gone {
            break;
        }
    }
    Ok(())
}

async fn pass(consumer: &mut Consumer, arguments: &Arguments) -> anyhow::Result<Pass> {
    // also where there is a group: a topic that does not exist is told
    let partitions = consumer.partitions_for(&arguments.topic).await?;
    let begin = tokio::time::Instant::now();
    let before = Cost::so_far()?;
    if arguments.group.is_some() {
        consumer.subscribe([&arguments.topic]).await?;
    } else {
        consumer.assign(partitions).await?;
    }
    let tally = read(consumer, arguments.records).await?;
    let wall = begin.elapsed();
    let after = Cost::so_far()?;
    let metrics = consumer.metrics().await?;
    Ok(Pass {
        records: tally.records,
        bytes: tally.bytes,
        wall_s: wall.as_secs_f64(),
        cpu_s: after.cpu.saturating_sub(before.cpu).as_secs_f64(),
        max_rss: after.max_rss_bytes,
        fetch_requests: metrics.fetch_requests,
        bytes_received: metrics.bytes_received,
        checksum: tally.checksum.to_string(),
    })
}

async fn read(consumer: &mut Consumer, records: u64) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut in_vain = 0;
    while tally.records < records {
        let polled = consumer.poll(POLL).await?;
        in_vain = if polled.is_empty() { in_vain + 1 } else { 0 };
        ensure!(
            in_vain < PATIENCE,
            "{} of {records} records came, and nothing more for {} s; does the topic have so many?",
            tally.records,
            (POLL * PATIENCE).as_secs()
        );
        let left = usize::try_from(records - tally.records).unwrap_or(usize::MAX);
        for record in polled.iter().take(left) {
            tally.add(&record);
        }
    }
    Ok(tally)
}
