//! Our consumers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use consumer_app::{
    Consumer, ConsumerHandle, Policy, RebalanceContext, RebalanceListener, TopicPartition,
};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::TOPIC;
use crate::setting::{Habit, Load, PARTITIONS, PAUSE, VISIT};

const POLL: Duration = Duration::from_millis(500);
const CLOSE: Duration = Duration::from_secs(5);

/// Consumers of one policy that read until this is dropped.
pub(crate) struct Readers {
    policy: Policy,
    load: Load,
    servers: String,
    counts: Arc<Counts>,
    handles: Vec<ConsumerHandle>,
    tasks: JoinSet<Result<()>>,
    // last: the tasks run in it
    runtime: Runtime,
}

/// What all of them did.
#[derive(Debug, Default)]
struct Counts {
    records: AtomicU64,
    /// Partitions paused, and partitions given away to another member of a group.
    let_go: AtomicU64,
}

impl Readers {
    pub(crate) fn start(policy: Policy, load: &Load, servers: &str) -> Result<Self> {
        let mut readers = Self {
            policy,
            load: *load,
            servers: servers.to_owned(),
            counts: Arc::default(),
            handles: Vec::new(),
            tasks: JoinSet::new(),
            runtime: Runtime::new()?,
        };
        for reader in 0..load.readers {
            let mut consumer = readers.runtime.block_on(readers.maker(reader).consumer())?;
            readers.handles.push(consumer.handle());
            let (load, counts) = (*load, Arc::clone(&readers.counts));
            let reading = async move { read(&mut consumer, load, &counts).await };
            readers.tasks.spawn_on(reading, readers.runtime.handle());
        }
        Ok(readers)
    }

    fn maker(&self, reader: u32) -> Maker {
        Maker {
            policy: self.policy,
            load: self.load,
            servers: self.servers.clone(),
            reader,
            counts: Arc::clone(&self.counts),
        }
    }

    /// A second member comes into each reader's group and leaves it again, time after time.
    pub(crate) fn visit(&mut self) {
        for reader in 0..self.load.readers {
            let visiting = visit(self.maker(reader));
            self.tasks.spawn_on(visiting, self.runtime.handle());
        }
    }

    pub(crate) fn records(&self) -> u64 {
        self.counts.records.load(Ordering::Relaxed)
    }

    /// Partitions paused or given away so far.
    pub(crate) fn let_go(&self) -> u64 {
        self.counts.let_go.load(Ordering::Relaxed)
    }

    /// Touches of all consumers so far.
    pub(crate) fn touches(&self) -> Result<u64> {
        self.runtime.block_on(async {
            let mut touches = 0;
            for handle in &self.handles {
                touches += handle.metrics().await?.session_touches;
            }
            Ok(touches)
        })
    }

    /// That none has failed.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.tasks.try_join_next() {
            Some(ended) => ended?.context("a reader of ours failed"),
            None => Ok(()),
        }
    }
}

/// What a reader's consumer is made of.
struct Maker {
    policy: Policy,
    load: Load,
    servers: String,
    reader: u32,
    counts: Arc<Counts>,
}

impl Maker {
    async fn consumer(&self) -> Result<Consumer> {
        let mut builder = Consumer::builder()
            .client_id(&format!("reader-{}", self.reader))
            .fetch_policy(self.policy);
        for (key, value) in self.load.properties(&self.servers) {
            builder = builder.set(key, &value);
        }
        if let Some(bytes) = self.load.buffer_memory {
            builder = builder.set("buffer.memory", &bytes.to_string());
        }
        if self.load.habit == Habit::InGroup {
            let consumer = builder
                .set("group.id", &format!("group-{}", self.reader))
                .set("group.protocol", "consumer")
                .rebalance_listener(CountsRevoked(Arc::clone(&self.counts)))
                .build()
                .await?;
            consumer.subscribe([TOPIC]).await?;
            return Ok(consumer);
        }
        let consumer = builder.build().await?;
        consumer.assign(partitions()).await?;
        Ok(consumer)
    }
}

fn partitions() -> Vec<TopicPartition> {
    let all = 0..PARTITIONS;
    all.map(|index| TopicPartition::new(TOPIC, index)).collect()
}

struct CountsRevoked(Arc<Counts>);

impl RebalanceListener for CountsRevoked {
    async fn revoked(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        let given_away = partitions.len() as u64;
        self.0.let_go.fetch_add(given_away, Ordering::Relaxed);
    }
}

async fn visit(maker: Maker) -> Result<()> {
    loop {
        let mut consumer = maker.consumer().await?;
        let reading = read(&mut consumer, maker.load, &maker.counts);
        // dropped in the middle, it has lost no record; here none is committed
        if let Ok(ended) = tokio::time::timeout(VISIT, reading).await {
            return ended;
        }
        consumer.close(CLOSE).await?;
        tokio::time::sleep(VISIT).await;
    }
}

async fn read(consumer: &mut Consumer, load: Load, counts: &Counts) -> Result<()> {
    let (shortest, longest) = load.work;
    let mut all = partitions();
    let mut paused = Instant::now();
    loop {
        if load.habit == Habit::Pausing && paused.elapsed() >= PAUSE {
            paused = Instant::now();
            fastrand::shuffle(&mut all);
            let (half, rest) = all.split_at(all.len() / 2);
            let before = consumer.paused();
            let more = half.iter().filter(|one| !before.contains(one)).count();
            counts.let_go.fetch_add(more as u64, Ordering::Relaxed);
            consumer.pause(half).await?;
            consumer.resume(rest).await?;
        }
        let count = consumer.poll(POLL).await?.len();
        counts.records.fetch_add(count as u64, Ordering::Relaxed);
        if count > 0 {
            let work = shortest + (longest - shortest).mul_f64(fastrand::f64());
            tokio::time::sleep(work).await;
        }
    }
}
