//! `quickstart`: a million records through the whole actor system, from an embedded broker, checked.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use consumer_app::{Consumer, OffsetReset, Records, TopicPartition};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use test_broker::{ProducerRecord, TestBroker};

use super::tally::Tally;

const TOPIC: &str = "quickstart";
const NODES: i32 = 2;
const PARTITIONS: i32 = 6;
/// Records of one produced batch.
const BATCH: u64 = 500;
/// Polls in a row without a record after which something is wrong.
const PATIENCE: u32 = 20;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How many records to produce and read.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    records: u64,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let progress = progress(arguments.records);
    progress.set_message("producing");
    let (broker, expected) = serve(arguments.records, progress.clone()).await?;

    progress.set_position(0);
    progress.set_message("consuming");
    let begin = tokio::time::Instant::now();
    let mut consumer = Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers)
        .auto_offset_reset(OffsetReset::Earliest)
        .build()
        .await?;
    let partitions = consumer.partitions_for(TOPIC).await?;
    consumer.assign(partitions).await?;
    let (seen, offsets) = consume(&mut consumer, arguments.records, &progress).await?;
    let seconds = begin.elapsed().as_secs_f64();
    consumer.close(Duration::from_secs(5)).await?;
    progress.finish_and_clear();
    drop(broker);

    ensure!(
        seen == expected,
        "read {seen:?}, but {expected:?} was produced"
    );
    let rate = seen.records as f64 / seconds;
    println!("records    {}", seen.records);
    println!("partitions {}", offsets.len());
    println!("brokers    {NODES}");
    println!(
        "seconds    {seconds:.3} ({:.2} million records/s, {:.0} MB/s)",
        rate / 1e6,
        seen.bytes as f64 / seconds / 1e6
    );
    println!("checksum ok");
    println!("next: consumer-app broker --topic orders:6, or consumer-app consume --help");
    Ok(ExitCode::SUCCESS)
}

/// Reads until `records` came, each at the offset that follows the one before it in its partition.
async fn consume(
    consumer: &mut Consumer,
    records: u64,
    progress: &ProgressBar,
) -> anyhow::Result<(Tally, BTreeMap<TopicPartition, i64>)> {
    let mut seen = Tally::default();
    let mut next: BTreeMap<TopicPartition, i64> = BTreeMap::new();
    let mut in_vain = 0;
    while seen.records < records {
        let polled = consumer.poll(Duration::from_millis(500)).await?;
        in_vain = if polled.is_empty() { in_vain + 1 } else { 0 };
        ensure!(
            in_vain < PATIENCE,
            "nothing comes any more after {} records",
            seen.records
        );
        seen.add_all(&polled);
        check_order(polled, &mut next)?;
        progress.set_position(seen.records);
    }
    Ok((seen, next))
}

fn check_order(polled: Records, next: &mut BTreeMap<TopicPartition, i64>) -> anyhow::Result<()> {
    for partition in polled.by_partition() {
        let name = partition.topic_partition();
        let mut expected = next.get(name).copied().unwrap_or(0);
        for record in partition.iter() {
            if record.offset() != expected {
                bail!(
                    "{name}: offset {} came in place of {expected}",
                    record.offset()
                );
            }
            expected += 1;
        }
        next.insert(name.clone(), expected);
    }
    Ok(())
}

/// The embedded broker, on a thread of its own until it is dropped: it must not share the reader's.
struct Embedded {
    bootstrap_servers: String,
    _stop: tokio::sync::oneshot::Sender<()>,
}

/// Starts the broker and produces; tells what a reader must find.
async fn serve(records: u64, progress: ProgressBar) -> anyhow::Result<(Embedded, Tally)> {
    let (ready, filled) = tokio::sync::oneshot::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::Builder::new()
        .name("embedded-broker".to_owned())
        .spawn(move || {
            let serving = async move {
                let started = fill(records, &progress).await;
                let broker = match started {
                    Ok((broker, tally)) => {
                        let _ = ready.send(Ok((broker.bootstrap_servers(), tally)));
                        broker
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return;
                    }
                };
                // ends when the sender is dropped
                let _ = stopped.await;
                broker.shutdown().await;
            };
            match tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
            {
                Ok(runtime) => runtime.block_on(serving),
                Err(error) => {
                    eprintln!("consumer-app: no runtime for the embedded broker: {error}")
                }
            }
        })?;
    let (bootstrap_servers, tally) = filled.await??;
    let embedded = Embedded {
        bootstrap_servers,
        _stop: stop,
    };
    Ok((embedded, tally))
}

async fn fill(records: u64, progress: &ProgressBar) -> anyhow::Result<(TestBroker, Tally)> {
    let broker = TestBroker::builder()
        .nodes(NODES)
        .topic(TOPIC, PARTITIONS)
        .start()
        .await?;
    let mut expected = Tally::default();
    let mut next = vec![0_i64; PARTITIONS.unsigned_abs() as usize];
    let mut produced = 0;
    let mut partitions = (0..PARTITIONS).cycle();
    while produced < records {
        let count = BATCH.min(records - produced);
        let partition = partitions.next().unwrap_or(0);
        let Some(offset) = usize::try_from(partition)
            .ok()
            .and_then(|index| next.get_mut(index))
        else {
            break;
        };
        let batch: Vec<ProducerRecord> = (produced..produced + count)
            .map(|number| {
                let key = format!("order-{number}");
                let value = format!(
                    r#"{{"order":{number},"customer":"c{}","cents":{},"state":"paid"}}"#,
                    number % 9973,
                    number * 37 % 100_000
                );
                expected.count(*offset, key.len(), value.len());
                *offset += 1;
                ProducerRecord::new(value).key(key)
            })
            .collect();
        broker.produce(TOPIC, partition, batch)?;
        produced += count;
        progress.set_position(produced);
    }
    Ok((broker, expected))
}

fn progress(records: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(records), target);
    if let Ok(style) = ProgressStyle::with_template("{msg:10} {bar:40} {human_pos}/{human_len}") {
        bar.set_style(style);
    }
    bar
}
