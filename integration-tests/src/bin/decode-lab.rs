//! Whether decoding gets faster with threads: what `poll_batches` gives of a zstd topic on the embedded broker, decoded by one thread and by two. All is
//! fetched before the clock starts. Prints a Markdown table; fails if two threads are not nearly twice as fast as one.

#![expect(
    clippy::disallowed_methods,
    reason = "the real clock is the point here, and no actor calls it"
)]

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use consumer_app::{Consumer, OffsetReset, PartitionBatches, TopicPartition};
use record_batch::Compression;
use test_broker::{ProducerRecord, TestBroker};

const TOPIC: &str = "t";
const PARTITIONS: i32 = 8;
const BATCHES: u64 = 600;
const RECORDS: u64 = 64;
const VALUE_BYTES: usize = 1_024;
const ALL: u64 = PARTITIONS as u64 * BATCHES * RECORDS;
const THREADS: [usize; 2] = [1, 2];
/// Of the speed of one thread, that two have at least.
const LEAST: f64 = 1.8;

/// Compares decoding on one thread and on two.
#[derive(Debug, Parser)]
struct Arguments {
    /// How often each number of threads has its turn; the medians count.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let broker = runtime.block_on(TestBroker::builder().topic(TOPIC, PARTITIONS).start())?;
    produce(&broker)?;
    let mut times = THREADS.map(|_| Vec::new());
    for _ in 0..arguments.rounds {
        for (threads, times) in THREADS.into_iter().zip(&mut times) {
            let batches = runtime.block_on(fetch(&broker))?;
            times.push(decode(batches, threads)?);
        }
    }
    let [one, two] = times.map(median);
    println!("| threads | ms | MB/s of values | times one thread |\n|--:|--:|--:|--:|");
    for (threads, time) in THREADS.into_iter().zip([one, two]) {
        println!(
            "| {threads} | {:.1} | {:.0} | {:.2} |",
            time.as_secs_f64() * 1e3,
            ALL as f64 * VALUE_BYTES as f64 / time.as_secs_f64() / 1e6,
            one.as_secs_f64() / time.as_secs_f64(),
        );
    }
    let gain = one.as_secs_f64() / two.as_secs_f64();
    let is_reached = gain >= LEAST;
    let word = if is_reached { "reached" } else { "MISSED" };
    println!("\n- {word}: two threads, times one: {gain:.2}, at least {LEAST}");
    Ok(if is_reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Values that compress about four to one, as JSON does.
fn produce(broker: &TestBroker) -> Result<()> {
    let mut state = 1_u64;
    let mut number = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 40
    };
    for partition in 0..PARTITIONS {
        for _ in 0..BATCHES {
            let records = (0..RECORDS).map(|_| {
                let mut value = String::new();
                while value.len() < VALUE_BYTES {
                    value += &format!(
                        "{{\"user\":{},\"amount\":{},\"currency\":\"EUR\"}},",
                        number(),
                        number() % 1_000
                    );
                }
                value.truncate(VALUE_BYTES);
                ProducerRecord::new(value)
            });
            broker.produce_compressed(
                TOPIC,
                partition,
                Compression::Zstd,
                records.collect::<Vec<_>>(),
            )?;
        }
    }
    Ok(())
}

/// All batches of the topic, undecoded.
async fn fetch(broker: &TestBroker) -> Result<Vec<PartitionBatches>> {
    let mut consumer = Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers())
        .auto_offset_reset(OffsetReset::Earliest)
        .build()
        .await?;
    let partitions = (0..PARTITIONS).map(|index| TopicPartition::new(TOPIC, index));
    consumer.assign(partitions).await?;
    let mut all = Vec::new();
    let mut ended = 0;
    while ended < PARTITIONS {
        let batches = consumer.poll_batches(Duration::from_secs(10)).await?;
        ensure!(!batches.is_empty(), "nothing came for 10 s");
        for partition in batches.into_partitions() {
            ended += i32::from(partition.next_offset() as u64 == BATCHES * RECORDS);
            all.push(partition);
        }
    }
    consumer.close(Duration::from_secs(1)).await?;
    Ok(all)
}

/// Decodes all and looks at each record. Returns how long it takes.
fn decode(batches: Vec<PartitionBatches>, threads: usize) -> Result<Duration> {
    let waiting = Mutex::new(batches);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let begun = Instant::now();
    let counts: Vec<Result<u64>> = thread::scope(|scope| {
        let decode = || {
            let mut count = 0;
            while let Some(batches) = next() {
                let records = batches.decode()?;
                let whole = records
                    .iter()
                    .filter(|record| record.value().map(<[u8]>::len) == Some(VALUE_BYTES));
                count += whole.count() as u64;
            }
            Ok(count)
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(decode)).collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .map_err(|_| anyhow::anyhow!("a thread panicked"))?
            })
            .collect()
    });
    let time = begun.elapsed();
    let count: u64 = counts
        .into_iter()
        .sum::<Result<u64>>()
        .context("decoding")?;
    ensure!(count == ALL, "{count} of {ALL} records");
    Ok(time)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
