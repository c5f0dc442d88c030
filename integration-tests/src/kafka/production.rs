//! A producer that goes on until it is told to end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::cluster::Cluster;
use super::error::Result;
use super::produce::ProduceSpec;
use crate::Tally;

/// Produces the same records again and again, whatever happens to the brokers meanwhile: nobody else may write to the topic. Ends with
/// this value at the latest.
#[derive(Debug)]
pub struct Production {
    is_over: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<BTreeMap<i32, Acknowledged>>>>,
}

/// What the brokers acknowledged of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// All records.
    pub all: Tally,
    /// The offset after the last.
    pub end: i64,
}

impl Production {
    /// Begins to produce `spec`, resting for `pause` after each time.
    ///
    /// The Java producer's settings for a cluster whose brokers fail are added: it waits for all replicas, numbers its batches
    /// (idempotence), has one request in flight per broker, and tries again for four minutes.
    pub fn start(kafka: Arc<Cluster>, mut spec: ProduceSpec, pause: Duration) -> Self {
        let settings = [
            ("acks", "all"),
            ("enable.idempotence", "true"),
            // a new producer whose first batch is refused by a leader that does not know yet, and whose second is taken, never gets over it
            ("max.in.flight.requests.per.connection", "1"),
            ("request.timeout.ms", "2000"),
            ("delivery.timeout.ms", "240000"),
            ("max.block.ms", "240000"),
        ];
        for (key, value) in settings {
            spec.properties.insert(key.into(), value.into());
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (over, count) = (Arc::clone(&is_over), Arc::clone(&acknowledged));
        let thread = thread::spawn(move || {
            let mut partitions: BTreeMap<i32, Acknowledged> = BTreeMap::new();
            while !over.load(Ordering::Relaxed) {
                let produced = kafka.produce(spec.clone())?;
                for (partition, written) in produced.partitions {
                    let so_far = partitions.entry(partition).or_default();
                    so_far.all.merge(&written.all);
                    so_far.end = so_far.end.max(written.last_offset + 1);
                }
                count.fetch_add(produced.all.records, Ordering::Relaxed);
                thread::sleep(pause);
            }
            Ok(partitions)
        });
        Self {
            is_over,
            acknowledged,
            thread: Some(thread),
        }
    }

    /// How many records were acknowledged so far.
    pub fn records(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Lets the records that are under way be acknowledged, and tells what all of them are.
    ///
    /// # Errors
    ///
    /// The producer's first failure: records may be in the log that were not acknowledged.
    pub fn end(mut self) -> Result<BTreeMap<i32, Acknowledged>> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(acknowledged)) => acknowledged,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(BTreeMap::new()),
        }
    }
}

impl Drop for Production {
    fn drop(&mut self) {
        // where whoever started it failed before its end
        self.is_over.store(true, Ordering::Relaxed);
    }
}
