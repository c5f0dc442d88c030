use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::api::Versions;
use crate::clock::Clock;
use crate::session_cache::SessionCacheConfig;

/// What the builder was told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) nodes: BTreeMap<i32, NodeSettings>,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) versions: Versions,
    pub(crate) session_cache: SessionCacheConfig,
    /// `auto.create.topics.enable`.
    pub(crate) auto_create_topics: bool,
    /// `num.partitions`.
    pub(crate) default_partitions: i32,
    /// `default.replication.factor`.
    pub(crate) replication_factor: i16,
    /// `fetch.max.bytes` of the broker.
    pub(crate) fetch_max_bytes: i32,
    /// `socket.request.max.bytes`.
    pub(crate) max_request_bytes: usize,
    /// `connections.max.idle.ms`.
    pub(crate) max_idle: Duration,
    /// Whether `replica.selector.class` is the rack-aware one (KIP-392).
    pub(crate) rack_aware: bool,
    pub(crate) request_log_capacity: usize,
    pub(crate) groups: GroupSettings,
}

/// What coordinators of groups go by.
#[derive(Clone, Debug)]
pub(crate) struct GroupSettings {
    /// `group.initial.rebalance.delay.ms`.
    pub(crate) initial_rebalance_delay: Duration,
    /// `group.min.session.timeout.ms` to `group.max.session.timeout.ms`.
    pub(crate) session_timeouts: RangeInclusive<Duration>,
    /// `group.consumer.session.timeout.ms`.
    pub(crate) consumer_session_timeout: Duration,
    /// `group.consumer.heartbeat.interval.ms`.
    pub(crate) heartbeat_interval: Duration,
}

/// How a node is reached, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct NodeSettings {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
}
