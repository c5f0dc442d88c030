use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use tokio::net::TcpListener;

use crate::api::Versions;
use crate::broker::TestBroker;
use crate::clock::Clock;
use crate::cluster::NewTopic;
use crate::error::Error;
use crate::session_cache::SessionCacheConfig;
use crate::settings::{GroupSettings, NodeSettings, Settings};
use crate::shared::Shared;
use crate::topic_config::TopicConfig;

/// Requests that the request log keeps by default.
const DEFAULT_REQUEST_LOG: usize = 100_000;

/// Settings of a [`TestBroker`], and what it starts with.
///
/// Nothing is checked before [`start`](Self::start).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct Builder {
    nodes: i32,
    racks: BTreeMap<i32, String>,
    advertised: BTreeMap<i32, (String, u16)>,
    first_port: u16,
    topics: Vec<NewTopic>,
    settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            nodes: 1,
            racks: BTreeMap::new(),
            advertised: BTreeMap::new(),
            first_port: 0,
            topics: Vec::new(),
            settings: Settings {
                nodes: BTreeMap::new(),
                seed: 0,
                clock: Clock::system(),
                versions: Versions::default(),
                session_cache: SessionCacheConfig::default(),
                auto_create_topics: true,
                default_partitions: 1,
                replication_factor: 1,
                fetch_max_bytes: 55 << 20,
                max_request_bytes: 100 << 20,
                max_idle: Duration::from_secs(600),
                rack_aware: false,
                request_log_capacity: DEFAULT_REQUEST_LOG,
                groups: GroupSettings {
                    initial_rebalance_delay: Duration::ZERO,
                    session_timeouts: Duration::from_secs(6)..=Duration::from_secs(1_800),
                    consumer_session_timeout: Duration::from_secs(45),
                    heartbeat_interval: Duration::from_secs(5),
                },
            },
        }
    }
}

impl Builder {
    /// Number of nodes, 1 to 1000; one by default. Their ids are 1, 2, and so on.
    pub fn nodes(mut self, nodes: i32) -> Self {
        self.nodes = nodes;
        self
    }

    /// `broker.rack` of a node.
    pub fn rack(mut self, node: i32, rack: impl Into<String>) -> Self {
        self.racks.insert(node, rack.into());
        self
    }

    /// Whether leaders send consumers to a follower in their rack (`replica.selector.class` =
    /// `RackAwareReplicaSelector`, KIP-392). Off by default.
    pub fn rack_aware_replica_selector(mut self, on: bool) -> Self {
        self.settings.rack_aware = on;
        self
    }

    /// Where clients are told to find a node, in place of the address it listens on. A broker without listeners of its
    /// own says `node-1:9092`, `node-2:9092`, and so on.
    pub fn advertised(mut self, node: i32, host: impl Into<String>, port: u16) -> Self {
        self.advertised.insert(node, (host.into(), port));
        self
    }

    /// The port of node 1; the others take the ports behind it. Free ports by default.
    pub fn port(mut self, port: u16) -> Self {
        self.first_port = port;
        self
    }

    /// A topic to begin with, with the replication factor of [`replication_factor`](Self::replication_factor).
    pub fn topic(mut self, name: impl Into<String>, partitions: i32) -> Self {
        self.topics.push(NewTopic {
            name: name.into(),
            partitions,
            replication_factor: 0,
            assignment: None,
            config: TopicConfig::default(),
        });
        self
    }

    /// `auto.create.topics.enable`, on by default as in Kafka.
    pub fn auto_create_topics(mut self, on: bool) -> Self {
        self.settings.auto_create_topics = on;
        self
    }

    /// `num.partitions` of topics for which nobody says it; 1 by default.
    pub fn default_partitions(mut self, partitions: i32) -> Self {
        self.settings.default_partitions = partitions;
        self
    }

    /// `default.replication.factor`, 1 by default, at most the number of nodes.
    pub fn replication_factor(mut self, factor: i16) -> Self {
        self.settings.replication_factor = factor;
        self
    }

    /// The cache of fetch sessions of each node.
    pub fn session_cache(mut self, config: SessionCacheConfig) -> Self {
        self.settings.session_cache = config;
        self
    }

    /// Offers only these versions of an API, as an older broker would.
    ///
    /// ```
    /// use test_broker::{ApiKey, TestBroker};
    ///
    /// // a broker that knows neither topic ids nor leader epochs
    /// let old = TestBroker::builder()
    ///     .api_versions(ApiKey::Fetch, 4..=8)
    ///     .api_versions(ApiKey::Metadata, 0..=6)
    ///     .without_api(ApiKey::OffsetForLeaderEpoch);
    /// ```
    pub fn api_versions(mut self, api: ApiKey, versions: RangeInclusive<i16>) -> Self {
        self.settings.versions.cap(api, versions);
        self
    }

    /// Does not offer an API at all.
    pub fn without_api(mut self, api: ApiKey) -> Self {
        self.settings.versions.remove(api);
        self
    }

    /// `group.initial.rebalance.delay.ms`: how long the first rebalance of an empty classic group waits for more members
    /// than the first one. 0 by default, so that tests need not wait; Kafka's default is 3 s.
    pub fn group_initial_rebalance_delay(mut self, delay: Duration) -> Self {
        self.settings.groups.initial_rebalance_delay = delay;
        self
    }

    /// `group.min.session.timeout.ms` and `group.max.session.timeout.ms`: the sessions that members of a classic group
    /// may ask for. 6 s to 30 minutes by default.
    pub fn group_session_timeouts(mut self, allowed: RangeInclusive<Duration>) -> Self {
        self.settings.groups.session_timeouts = allowed;
        self
    }

    /// `group.consumer.session.timeout.ms`: after how long without a heartbeat a member of a group of KIP-848 is out; 45 s
    /// by default.
    pub fn group_consumer_session_timeout(mut self, timeout: Duration) -> Self {
        self.settings.groups.consumer_session_timeout = timeout;
        self
    }

    /// `group.consumer.heartbeat.interval.ms`: how often members of groups of KIP-848 are told to send heartbeats; 5 s by
    /// default.
    pub fn group_consumer_heartbeat_interval(mut self, interval: Duration) -> Self {
        self.settings.groups.heartbeat_interval = interval;
        self
    }

    /// `fetch.max.bytes` of the broker, which caps that of each request; 55 MiB by default.
    pub fn fetch_max_bytes(mut self, bytes: i32) -> Self {
        self.settings.fetch_max_bytes = bytes;
        self
    }

    /// `socket.request.max.bytes`, 100 MiB by default.
    pub fn max_request_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_request_bytes = bytes;
        self
    }

    /// `connections.max.idle.ms`, 10 minutes by default: a connection on which no request comes, or no byte of an answer
    /// can be written, for so long is closed.
    pub fn connections_max_idle(mut self, idle: Duration) -> Self {
        self.settings.max_idle = idle;
        self
    }

    /// Seed of all that is random: ids of topics and sessions. The same seed and the same requests give the same ids.
    /// 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The clock from which records get the timestamps that they do not bring; that of the system by default.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = clock;
        self
    }

    /// How many requests the request log keeps, the last ones; 100,000 by default, 0 for none.
    pub fn request_log(mut self, capacity: usize) -> Self {
        self.settings.request_log_capacity = capacity;
        self
    }

    /// Starts the broker on TCP, at 127.0.0.1. To be called within a tokio runtime, on which its tasks run.
    ///
    /// # Errors
    /// [`Error::Setting`] or [`Error::Topic`] for what makes no sense, [`Error::Bind`] if a port is taken.
    pub async fn start(mut self) -> Result<TestBroker, Error> {
        self.name_nodes()?;
        let mut listeners = Vec::new();
        for (index, (id, node)) in (0_u16..).zip(&mut self.settings.nodes) {
            let port = match self.first_port {
                0 => 0,
                first => first.checked_add(index).ok_or_else(|| Error::Setting {
                    setting: "port",
                    value: first.to_string(),
                    allowed: "there must be a port up to 65535 for each node",
                })?,
            };
            let (listener, address) = bind(*id, SocketAddr::from(([127, 0, 0, 1], port))).await?;
            if !self.advertised.contains_key(id) {
                node.host = address.ip().to_string();
                node.port = address.port();
            }
            listeners.push((*id, listener, address));
        }
        let broker = self.launch()?;
        for (id, listener, address) in listeners {
            broker.listen(id, listener, address);
        }
        Ok(broker)
    }

    /// Starts the broker without listeners: it is reached by [`TestBroker::connect`], and by what is given to
    /// [`TestBroker::serve`]. To be called within a tokio runtime, on which its tasks run.
    ///
    /// # Errors
    /// [`Error::Setting`] or [`Error::Topic`] for what makes no sense.
    pub fn start_in_memory(mut self) -> Result<TestBroker, Error> {
        self.name_nodes()?;
        self.launch()
    }

    fn name_nodes(&mut self) -> Result<(), Error> {
        let setting = |setting, value: String, allowed| {
            Err(Error::Setting {
                setting,
                value,
                allowed,
            })
        };
        if !(1..=1000).contains(&self.nodes) {
            return setting("nodes", self.nodes.to_string(), "it must be 1 to 1000");
        }
        let shards = self.settings.session_cache.shards;
        if !(1..=1024).contains(&shards) {
            return setting(
                "session_cache.shards",
                shards.to_string(),
                "it must be 1 to 1024",
            );
        }
        for id in self.racks.keys().chain(self.advertised.keys()) {
            if !(1..=self.nodes).contains(id) {
                return setting(
                    "rack or advertised",
                    id.to_string(),
                    "it must be a node of the cluster",
                );
            }
        }
        for id in 1..=self.nodes {
            let (host, port) = match self.advertised.get(&id) {
                Some(advertised) => advertised.clone(),
                None => (format!("node-{id}"), 9092),
            };
            let rack = self.racks.get(&id).cloned();
            self.settings
                .nodes
                .insert(id, NodeSettings { host, port, rack });
        }
        Ok(())
    }

    fn launch(self) -> Result<TestBroker, Error> {
        let replication_factor = self.settings.replication_factor;
        let broker = TestBroker::new(Shared::new(self.settings));
        for topic in self.topics {
            broker.create(NewTopic {
                replication_factor,
                ..topic
            })?;
        }
        Ok(broker)
    }
}

/// Opens a port for a node.
pub(crate) async fn bind(
    node: i32,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), Error> {
    let fail = |source| Error::Bind {
        node,
        address: address.to_string(),
        source,
    };
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    Ok((listener, address))
}
