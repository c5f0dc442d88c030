use fastrand::Rng;

use crate::counters::NodeCounters;
use crate::session_cache::{SessionCache, SessionCacheConfig};
use crate::settings::NodeSettings;

/// One broker of the cluster.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: i32,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    pub(crate) alive: bool,
    pub(crate) sessions: SessionCache,
    pub(crate) counters: NodeCounters,
    /// Sessions evicted before the node was last restarted.
    evicted_before: u64,
}

impl Node {
    pub(super) fn new(id: i32, spec: NodeSettings, cache: &SessionCacheConfig, rng: Rng) -> Self {
        Self {
            id,
            host: spec.host,
            port: spec.port,
            rack: spec.rack,
            alive: true,
            sessions: SessionCache::new(cache, rng),
            counters: NodeCounters::default(),
            evicted_before: 0,
        }
    }

    pub(super) fn forget_sessions(&mut self, cache: &SessionCacheConfig, rng: Rng) {
        self.evicted_before += self.sessions.metrics().evictions;
        self.sessions = SessionCache::new(cache, rng);
    }

    /// Counters, with what the session cache counts by itself.
    pub(crate) fn counted(&self) -> NodeCounters {
        let cache = self.sessions.metrics();
        NodeCounters {
            fetch_sessions: cache.sessions,
            cached_partitions: cache.partitions,
            sessions_evicted: self.evicted_before + cache.evictions,
            ..self.counters.clone()
        }
    }
}
