//! `quickstart`: a million records through the whole actor system, from an embedded broker, checked.

mod check;
mod embedded;
mod progress;

use std::time::Duration;

use anyhow::{anyhow, ensure};
use consumer_app::{Consumer, OffsetReset};
use tracing::info;

use self::check::Check;
use self::embedded::{Embedded, NODES, PARTITIONS, TOPIC};
use self::progress::Progress;
use super::interrupt::Interrupt;
use super::stdout;
use super::tally::Rate;

const POLL: Duration = Duration::from_millis(500);
/// Polls in a row without a record after which something is wrong.
const PATIENCE: u32 = 20;
/// How long the brokers may take to be told of the end.
const CLOSE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How many records to produce and read. They are kept in memory, about 100 bytes each.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    records: u64,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut interrupt = Interrupt::listen()?;
    tokio::select! {
        biased;
        () = interrupt.wait() => Err(anyhow!("interrupted")),
        done = fill_and_read(arguments.records) => done,
    }
}

async fn fill_and_read(records: u64) -> anyhow::Result<()> {
    info!(records, "producing to the embedded broker");
    let progress = Progress::new("producing", records);
    let (broker, mut check) = Embedded::filled(records, progress).await?;

    let progress = Progress::new("consuming", records);
    let begin = tokio::time::Instant::now();
    let mut consumer = Consumer::builder()
        .bootstrap_servers(broker.bootstrap_servers())
        .group_id("quickstart")
        .auto_offset_reset(OffsetReset::Earliest)
        .build()
        .await?;
    let read = read(&mut consumer, &mut check, &progress).await;
    let seconds = begin.elapsed().as_secs_f64();
    consumer.close(CLOSE).await?;
    drop(progress);
    read?;
    let seen = check.finish()?;

    let rate = Rate::of(seen.records, seen.bytes, seconds);
    let program = std::env::args()
        .next()
        .unwrap_or_else(|| "consumer-app".to_owned());
    // whoever cuts the output short has read enough
    let _ = stdout::print(format_args!(
        "\
records    {}
partitions {PARTITIONS}
brokers    {NODES}
seconds    {seconds:.3} ({rate})
checksum ok

Next, a broker for any Kafka client, and what is produced to it:
  {program} broker --topic orders:6
  {program} consume --bootstrap-server localhost:9092 --topic orders --from beginning",
        seen.records
    ))?;
    Ok(())
}

/// Reads until all records came.
async fn read(
    consumer: &mut Consumer,
    check: &mut Check,
    progress: &Progress,
) -> anyhow::Result<()> {
    consumer.subscribe([TOPIC]).await?;
    let mut in_vain = 0;
    while !check.is_complete() {
        let records = consumer.poll(POLL).await?;
        in_vain = if records.is_empty() { in_vain + 1 } else { 0 };
        ensure!(
            in_vain < PATIENCE,
            "nothing comes any more after {} records",
            check.seen().records
        );
        for record in &records {
            let key = record.key().map_or(0, <[u8]>::len);
            let value = record.value().map_or(0, <[u8]>::len);
            check.record(record.partition(), record.offset(), key, value)?;
        }
        progress.is_at(check.seen().records);
    }
    Ok(())
}
