//! Our consumers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use consumer_app::{Consumer, ConsumerHandle, Policy, TopicPartition};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::TOPIC;
use crate::setting::{Load, PARTITIONS};

const POLL: Duration = Duration::from_millis(500);

/// Consumers of one policy that read until this is dropped.
pub(crate) struct Readers {
    records: Arc<AtomicU64>,
    handles: Vec<ConsumerHandle>,
    tasks: JoinSet<Result<()>>,
    // last: the tasks run in it
    runtime: Runtime,
}

impl Readers {
    pub(crate) fn start(policy: Policy, load: &Load, servers: &str) -> Result<Self> {
        let runtime = Runtime::new()?;
        let records = Arc::new(AtomicU64::new(0));
        let mut handles = Vec::new();
        let mut tasks = JoinSet::new();
        for reader in 0..load.readers {
            let consumer = runtime.block_on(consumer(policy, load, servers, reader))?;
            handles.push(consumer.handle());
            let reading = read(consumer, load.work, Arc::clone(&records));
            tasks.spawn_on(reading, runtime.handle());
        }
        Ok(Self {
            records,
            handles,
            tasks,
            runtime,
        })
    }

    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
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

async fn consumer(policy: Policy, load: &Load, servers: &str, reader: u32) -> Result<Consumer> {
    let mut builder = Consumer::builder()
        .client_id(&format!("reader-{reader}"))
        .fetch_policy(policy);
    for (key, value) in load.properties(servers) {
        builder = builder.set(key, &value);
    }
    if let Some(bytes) = load.buffer_memory {
        builder = builder.set("buffer.memory", &bytes.to_string());
    }
    let consumer = builder.build().await?;
    let partitions = (0..PARTITIONS).map(|index| TopicPartition::new(TOPIC, index));
    consumer.assign(partitions).await?;
    Ok(consumer)
}

async fn read(
    mut consumer: Consumer,
    (shortest, longest): (Duration, Duration),
    records: Arc<AtomicU64>,
) -> Result<()> {
    loop {
        let count = consumer.poll(POLL).await?.len();
        records.fetch_add(count as u64, Ordering::Relaxed);
        if count > 0 {
            let work = shortest + (longest - shortest).mul_f64(fastrand::f64());
            tokio::time::sleep(work).await;
        }
    }
}
