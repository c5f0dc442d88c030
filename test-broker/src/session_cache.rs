//! The cache of incremental fetch sessions of one node (KIP-227, sharded since KAFKA-9401).
//!
//! Pure: the time is an argument, session ids come from the broker's seeded generator.

mod context;
mod session;
mod shard;
#[cfg(test)]
mod tests;

use std::time::Duration;

use fastrand::Rng;

pub(crate) use context::{FetchContext, FetchMetadata, Outcome};
pub(crate) use session::{FetchParameters, PartitionKey};
use session::{Session, SessionPartition};
use shard::Shard;

/// Settings of a node's cache of incremental fetch sessions (KIP-227).
///
/// The defaults are those of Apache Kafka, where only the slots can be configured.
///
/// ```
/// use std::time::Duration;
/// use test_broker::{SessionCacheConfig, TestBroker};
///
/// // one shard with two slots, evictable after 100 ms: a test sees evictions with three clients
/// let mut cache = SessionCacheConfig::default();
/// cache.slots = 2;
/// cache.shards = 1;
/// cache.min_eviction_age = Duration::from_millis(100);
/// let broker = TestBroker::builder().session_cache(cache);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionCacheConfig {
    /// `max.incremental.fetch.session.cache.slots`, 1000 by default. Divided evenly over the shards, the remainder is
    /// lost: with 8 shards fewer than 8 slots means that no session is ever granted.
    pub slots: usize,
    /// Number of shards, 8 by default, 1 to 1024. New sessions go round robin over them.
    pub shards: u32,
    /// A session that was not used for longer than this may be evicted by any newcomer, and one that was *created*
    /// longer ago by a larger newcomer. 120 s by default.
    pub min_eviction_age: Duration,
}

impl Default for SessionCacheConfig {
    fn default() -> Self {
        Self {
            slots: 1000,
            shards: 8,
            min_eviction_age: Duration::from_secs(120),
        }
    }
}

/// What the broker's meters of the cache tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheMetrics {
    /// NumIncrementalFetchSessions.
    pub(crate) sessions: usize,
    /// NumIncrementalFetchPartitionsCached.
    pub(crate) partitions: usize,
    /// Count of IncrementalFetchSessionEvictionsPerSec.
    pub(crate) evictions: u64,
}

#[derive(Debug)]
pub(crate) struct SessionCache {
    shards: Vec<Shard>,
    id_range: i32,
    next_shard: u32,
    rng: Rng,
}

impl SessionCache {
    pub(crate) fn new(config: &SessionCacheConfig, rng: Rng) -> Self {
        let shards = config.shards.clamp(1, 1024).cast_signed();
        let id_range = i32::MAX / shards;
        let slots = config.slots / shards.unsigned_abs() as usize;
        let shards = (0..shards)
            .map(|number| {
                let first = (number * id_range).max(1);
                Shard::new(
                    slots,
                    config.min_eviction_age,
                    first..(number + 1) * id_range,
                )
            })
            .collect();
        Self {
            shards,
            id_range,
            next_shard: 0,
            rng,
        }
    }

    pub(crate) fn metrics(&self) -> CacheMetrics {
        let mut sum = CacheMetrics::default();
        for shard in &self.shards {
            sum.sessions += shard.sessions();
            sum.partitions += shard.cached_partitions();
            sum.evictions += shard.evictions();
        }
        sum
    }

    /// Creates a session, if there is room or something may be evicted for it.
    fn create(
        &mut self,
        privileged: bool,
        uses_topic_ids: bool,
        partitions: Vec<SessionPartition>,
        now: Duration,
    ) -> Option<i32> {
        let count = self.shards.len() as u32;
        let number = self.next_shard % count;
        self.next_shard = self.next_shard.wrapping_add(1);
        let shard = self.shards.get_mut(number as usize)?;
        shard.create(&mut self.rng, privileged, uses_topic_ids, partitions, now)
    }

    /// The shard in whose range of ids `id` lies.
    fn shard_mut(&mut self, id: i32) -> Option<&mut Shard> {
        let number = usize::try_from(id / self.id_range).ok()?;
        self.shards.get_mut(number)
    }

    fn session(&self, id: i32) -> Option<&Session> {
        let number = usize::try_from(id / self.id_range).ok()?;
        self.shards.get(number)?.get(id)
    }

    fn session_mut(&mut self, id: i32) -> Option<&mut Session> {
        self.shard_mut(id)?.get_mut(id)
    }

    fn remove(&mut self, id: i32) {
        if let Some(shard) = self.shard_mut(id) {
            shard.remove(id);
        }
    }

    /// Identities of the partitions that session `id` covers, in its order.
    pub(crate) fn covered(&self, id: i32) -> impl Iterator<Item = &PartitionKey> {
        self.session(id).into_iter().flat_map(Session::keys)
    }
}
