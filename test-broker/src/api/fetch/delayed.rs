use std::time::Duration;

use super::read::{PartitionRead, diverging_epoch};
use super::{Asked, FOLLOWER_FETCHING, Fetch, Standing};
use crate::cluster::{Cluster, PartitionId};
use crate::wire::Payload;

/// A Fetch that waits for data: `fetch.min.bytes`, for `fetch.max.wait.ms` at most.
#[derive(Debug)]
pub(crate) struct DelayedFetch {
    fetch: Fetch,
    /// Where each partition's log was when it was first read.
    positions: Vec<u64>,
}

impl DelayedFetch {
    pub(super) fn new(fetch: Fetch, reads: &[PartitionRead]) -> Self {
        let positions = reads.iter().map(|read| read.position).collect();
        Self { fetch, positions }
    }

    /// When it is answered at the latest, since the broker was started.
    pub(crate) fn deadline(&self) -> Duration {
        self.fetch.context.now.saturating_add(self.fetch.max_wait)
    }

    /// The partitions whose changes may end the wait.
    pub(crate) fn partitions(&self) -> Vec<PartitionId> {
        let partitions = self.fetch.partitions.iter();
        partitions
            .filter_map(|asked| match asked.standing {
                Standing::Readable(id) => Some(id),
                _ => None,
            })
            .collect()
    }

    /// Whether the wait is over. Bytes are counted up to each partition's own limit, so that one with the limit 0 never
    /// ends it.
    pub(crate) fn is_complete(&self, cluster: &Cluster) -> bool {
        let mut available = 0_u64;
        for (asked, start) in self.fetch.partitions.iter().zip(&self.positions) {
            if !matches!(asked.standing, Standing::Readable(_)) {
                continue;
            }
            match self.available(cluster, asked, *start) {
                Some(bytes) => available = available.saturating_add(bytes),
                None => return true,
            }
        }
        available >= self.fetch.min_bytes as u64
    }

    /// Bytes that a partition could give; `None` if it has something else to tell.
    fn available(&self, cluster: &Cluster, asked: &Asked, start: u64) -> Option<u64> {
        let node = self.fetch.context.node;
        let (topic, partition) = asked.find(cluster)?;
        let epoch = asked.parameters.current_leader_epoch;
        let leader_only = self.fetch.context.version < FOLLOWER_FETCHING;
        partition.check_access(node, epoch, leader_only).ok()?;
        if !asked.key.topic_id.is_nil() && asked.key.topic_id != topic.id {
            return None;
        }
        match diverging_epoch(partition, asked) {
            Ok(None) => {}
            _ => return None,
        }
        let (log, offset) = (&partition.log, asked.parameters.fetch_offset);
        let end = log.end_for(self.fetch.isolation, partition.replica_end(node));
        if offset > end {
            return None;
        }
        let limit = u64::try_from(asked.parameters.max_bytes).unwrap_or(0);
        Some(log.position_of(end).saturating_sub(start).min(limit))
    }

    /// The answer, with whatever there is.
    pub(crate) fn answer(self, cluster: &mut Cluster) -> Payload {
        let reads = self.fetch.read(cluster);
        self.fetch.answer(cluster, reads)
    }
}
