//! What a member tells of itself.

use std::fmt;
use std::fs;

use anyhow::{Context, Result};
use consumer_app::Metrics;
use serde::{Deserialize, Serialize};

/// One reading.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Seconds since the soak began; the lab says when.
    #[serde(default)]
    pub(crate) at: f64,
    /// Resident memory, in KiB.
    pub(crate) rss: u64,
    /// What is allocated and not freed, in KiB.
    pub(crate) heap: u64,
    /// In how many pieces: every task, every message that waits in a mailbox, and every buffer is at least one.
    pub(crate) allocations: u64,
    /// `/proc/self/fd`.
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    /// Tasks of the runtime, those of the actors included if they run in it.
    pub(crate) tasks: u64,
    /// From a question to each actor to its answer, in microseconds: it waits behind all that is in their mailboxes, which have no
    /// length that can be asked for.
    pub(crate) echo: u64,
    /// Of `buffer.memory`, in KiB.
    pub(crate) buffered: u64,
    /// Over all partitions that the member has, in records.
    pub(crate) lag: u64,
    pub(crate) partitions: u64,
    /// Since the member began.
    pub(crate) records: u64,
    pub(crate) rebalances: u64,
}

impl Sample {
    pub(crate) fn read(metrics: &Metrics, echo_us: u64) -> Result<Self> {
        let counts = crate::ALLOCATOR.stats();
        let live = |allocated: usize, freed: usize| allocated.saturating_sub(freed) as u64;
        let status = fs::read_to_string("/proc/self/status").context("only Linux tells this")?;
        let field = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_ascii_whitespace().next());
            Ok(number.with_context(|| name.to_owned())?.parse()?)
        };
        let lags = metrics.partitions.values();
        Ok(Self {
            at: 0.0,
            rss: field("VmRSS:")?,
            heap: live(counts.bytes_allocated, counts.bytes_deallocated) / 1024,
            allocations: live(counts.allocations, counts.deallocations),
            // less the one that is open for this
            descriptors: fs::read_dir("/proc/self/fd")?.count() as u64 - 1,
            threads: field("Threads:")?,
            tasks: tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks() as u64,
            echo: echo_us,
            buffered: metrics.memory_used / 1024,
            lag: lags
                .filter_map(|partition| partition.lag)
                .sum::<i64>()
                .unsigned_abs(),
            partitions: metrics.partitions.len() as u64,
            records: metrics
                .topics
                .values()
                .map(|topic| topic.total.records)
                .sum(),
            rebalances: metrics
                .group
                .as_ref()
                .map_or(0, |group| group.rebalances.total),
        })
    }

    pub(crate) const HEADER: &str = "      s member   rss KiB  heap KiB  pieces   fd  threads  tasks  echo us  buffered KiB     lag  partitions   records  rebalances";
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:9} {:9} {:7} {:4} {:8} {:6} {:8} {:13} {:7} {:11} {:9} {:11}",
            self.rss,
            self.heap,
            self.allocations,
            self.descriptors,
            self.threads,
            self.tasks,
            self.echo,
            self.buffered,
            self.lag,
            self.partitions,
            self.records,
            self.rebalances
        )
    }
}
