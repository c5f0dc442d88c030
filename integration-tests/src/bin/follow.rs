//! Reads a topic with our consumer until stdin ends, for suites that watch the process from outside: its CPU time, its log, what it prints.
//!
//! `follow BOOTSTRAP_SERVERS TOPIC PARTITIONS PAUSE_MS [KEY=VALUE]...`
//!
//! Prints a line `records PARTITION FIRST LAST` for each run of offsets that follow one another, `error TEXT` for each error of a poll, and
//! rests for the pause after each poll. Logs to stderr as RUST_LOG says.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use consumer_app::{Consumer, OffsetReset, Records, TopicPartition};
use tracing_subscriber::EnvFilter;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::from_default_env())
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    std::thread::spawn(|| {
        // whoever started this process is gone, or has seen enough
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, topic, partitions, pause, properties @ ..] = arguments.as_slice() else {
        bail!("usage: follow BOOTSTRAP_SERVERS TOPIC PARTITIONS PAUSE_MS [KEY=VALUE]...");
    };
    let partitions: i32 = partitions.parse().context("PARTITIONS")?;
    let pause = Duration::from_millis(pause.parse().context("PAUSE_MS")?);
    let mut builder = Consumer::builder()
        .bootstrap_servers(servers)
        .auto_offset_reset(OffsetReset::Earliest);
    for property in properties {
        let (key, value) = property.split_once('=').context("KEY=VALUE")?;
        builder = builder.set(key, value);
    }
    let mut consumer = builder.build().await?;
    let assignment = (0..partitions).map(|index| TopicPartition::new(topic.as_str(), index));
    consumer.assign(assignment).await?;
    let mut out = io::stdout().lock();
    loop {
        match consumer.poll(Duration::from_secs(1)).await {
            Ok(records) => print(&records, &mut out)?,
            Err(error) => writeln!(out, "error {error}")?,
        }
        out.flush()?;
        tokio::time::sleep(pause).await;
    }
}

fn print(records: &Records, out: &mut impl Write) -> io::Result<()> {
    let mut run: Option<(i32, i64, i64)> = None;
    for record in records {
        run = match run {
            Some((partition, first, last))
                if partition == record.partition() && last + 1 == record.offset() =>
            {
                Some((partition, first, record.offset()))
            }
            former => {
                if let Some((partition, first, last)) = former {
                    writeln!(out, "records {partition} {first} {last}")?;
                }
                Some((record.partition(), record.offset(), record.offset()))
            }
        };
    }
    if let Some((partition, first, last)) = run {
        writeln!(out, "records {partition} {first} {last}")?;
    }
    Ok(())
}
