//! Our consumer in a process of its own. Prints what it sees of itself: lines of `KEY=VALUE`, the first word says when.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use clap::Args;
use consumer_app::{Consumer, ConsumerHandle, Error, OffsetReset, Records, TopicPartition};

use crate::case::{Application, IDLE, PARTITIONS};

const REST: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(500);
const SAMPLE: Duration = Duration::from_millis(20);
/// Nothing comes any more.
const STALLED: Duration = Duration::from_secs(60);

/// What one process does.
#[derive(Debug, Args)]
pub(crate) struct Task {
    #[arg(long)]
    pub(crate) servers: String,
    #[arg(long)]
    pub(crate) topic: String,
    /// Records to read.
    #[arg(long)]
    pub(crate) records: u64,
    #[arg(long)]
    pub(crate) memory: u32,
    #[arg(long, value_enum)]
    pub(crate) application: Application,
    #[arg(long)]
    pub(crate) stop_ms: u64,
}

#[derive(Default)]
struct Peaks {
    /// Bytes of the budget in use, those that the application keeps left out.
    held: AtomicU64,
    kept: AtomicU64,
    over: AtomicBool,
}

pub(crate) async fn run(task: Task) -> Result<()> {
    let mut consumer = Consumer::builder()
        .bootstrap_servers(&task.servers)
        .auto_offset_reset(OffsetReset::Earliest)
        .set("buffer.memory", &task.memory.to_string())
        .build()
        .await?;
    consumer.assign(partitions(IDLE)).await?;
    let mut read = 0;
    while read < PARTITIONS.unsigned_abs() as usize {
        read += consumer.poll(POLL).await?.len();
    }
    let all: Vec<_> = partitions(IDLE).collect();
    consumer.pause(&all).await?;
    consumer.resume(&all).await?;
    let begun = now();
    while begun.elapsed() < REST {
        consumer.poll(POLL).await?;
    }
    println!("idle rss={}", rss("VmRSS")?);
    let before = consumer.metrics().await?.fetch_connections;
    let peaks = Arc::new(Peaks::default());
    let sampler = tokio::spawn(sample(consumer.handle(), Arc::clone(&peaks)));
    consumer.assign(partitions(&task.topic)).await?;
    let mut application = Reader {
        task: &task,
        next: BTreeMap::new(),
        records: 0,
        memory_held: 0,
        kept: Vec::new(),
    };
    application.run(&mut consumer).await?;
    let Reader {
        records,
        memory_held,
        kept,
        ..
    } = application;
    peaks.over.store(true, Ordering::Relaxed);
    sampler.await??;
    // most is kept at the last record, which no sample between two polls sees
    peaks.sample(&consumer.handle()).await?;
    drop(kept);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = consumer.metrics().await?;
    println!(
        "end rss={} peak={} records={records} held={} kept={} connections={} sessions_lost={} overdrawn={} discarded={} dropped={} \
         memory_held={memory_held} received={} consumed={}",
        rss("VmRSS")?,
        rss("VmHWM")?,
        peaks.held.load(Ordering::Relaxed),
        peaks.kept.load(Ordering::Relaxed),
        // those of the topic of before end with it: no node has a partition until the leaders of this one are known
        after.fetch_connections - before,
        after.sessions_lost,
        after.overdrawn_replies,
        after.discarded_replies,
        after.paused_fetches_dropped,
        after.bytes_received,
        after.bytes_consumed(),
    );
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
}

struct Reader<'a> {
    task: &'a Task,
    next: BTreeMap<i32, i64>,
    records: u64,
    /// Polls that said that the application keeps all memory.
    memory_held: u64,
    kept: Vec<Bytes>,
}

impl Reader<'_> {
    async fn run(&mut self, consumer: &mut Consumer) -> Result<()> {
        match self.task.application {
            Application::Keep => {}
            Application::Stop => {
                // the first poll is what makes a consumer fetch that waits for it
                self.poll(consumer).await?;
                tokio::time::sleep(Duration::from_millis(self.task.stop_ms)).await;
                println!("stopped rss={}", rss("VmRSS")?);
            }
            Application::One => {
                tokio::time::sleep(Duration::from_millis(self.task.stop_ms)).await;
                println!("stopped rss={}", rss("VmRSS")?);
                let others =
                    (1..PARTITIONS).map(|index| TopicPartition::new(&*self.task.topic, index));
                let others: Vec<_> = others.collect();
                consumer.handle().pause(&others).await?;
            }
        }
        let mut last = now();
        while self.records < self.task.records {
            let records = self.poll(consumer).await?;
            if records.is_empty() {
                ensure!(
                    last.elapsed() < STALLED,
                    "stalled at {} records",
                    self.records
                );
                continue;
            }
            last = now();
            if self.task.application == Application::Keep {
                self.kept.extend(
                    records
                        .iter()
                        .next()
                        .and_then(|record| record.value_bytes()),
                );
            }
        }
        Ok(())
    }

    async fn poll(&mut self, consumer: &mut Consumer) -> Result<Records> {
        let records = match consumer.poll(POLL).await {
            Err(Error::MemoryHeld { .. }) => {
                self.memory_held += 1;
                return Ok(Records::default());
            }
            other => other?,
        };
        for record in &records {
            let next = self.next.entry(record.partition()).or_insert(0);
            if record.offset() != *next {
                bail!(
                    "{} gave offset {} for {next}",
                    record.topic_partition(),
                    record.offset()
                );
            }
            *next += 1;
        }
        self.records += records.len() as u64;
        Ok(records)
    }
}

impl Peaks {
    /// Looks twice: what is in use and what the application keeps of it cannot be read in one instant, and what is dropped in
    /// between would count as held.
    async fn sample(&self, consumer: &ConsumerHandle) -> Result<()> {
        let mut held = u64::MAX;
        for _ in 0..2 {
            let metrics = consumer.metrics().await?;
            held = held.min(metrics.memory_used.saturating_sub(metrics.memory_kept));
            self.kept.fetch_max(metrics.memory_kept, Ordering::Relaxed);
        }
        self.held.fetch_max(held, Ordering::Relaxed);
        Ok(())
    }
}

async fn sample(consumer: ConsumerHandle, peaks: Arc<Peaks>) -> Result<()> {
    while !peaks.over.load(Ordering::Relaxed) {
        peaks.sample(&consumer).await?;
        tokio::time::sleep(SAMPLE).await;
    }
    Ok(())
}

fn partitions(topic: &str) -> impl Iterator<Item = TopicPartition> {
    (0..PARTITIONS).map(move |index| TopicPartition::new(topic, index))
}

#[expect(clippy::disallowed_methods, reason = "this is a program, not an actor")]
fn now() -> Instant {
    Instant::now()
}

/// A line of `/proc/self/status`, in bytes.
fn rss(field: &str) -> Result<u64> {
    let status =
        fs::read_to_string("/proc/self/status").context("resident memory is Linux's to tell")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: u64 = number.context(field.to_owned())?.parse()?;
    Ok(kilobytes * 1024)
}
