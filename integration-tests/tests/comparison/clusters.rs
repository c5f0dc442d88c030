//! The clusters that are compared.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Result;
use integration_tests::kafka::Cluster;
use test_broker::{SessionCacheConfig, TestBroker};

/// The node on which batches of transactions are taken as they come, without a coordinator that knows of them.
pub(crate) const TRANSACTIONS: i32 = 2;
/// Slots of the session cache of [`SMALL`]: two in each of the eight shards.
pub(crate) const SLOTS: usize = 16;
/// `connections.max.idle.ms` of [`SMALL`].
pub(crate) const MAX_IDLE: Duration = Duration::from_secs(2);

/// The racks of the two nodes, and what has leaders send consumers to the follower in theirs (KIP-392).
const RACKS: [(i32, &str); 2] = [(1, "a"), (2, "b")];
const RACK_AWARE: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";

/// What makes coordinators of KIP-848 assign at once, as the test broker's do, and keeps the two protocols apart.
/// An odd number of partitions, since of an even one all groups may have other coordinators than in the test broker, which has 50.
const GROUPS: [(&str, &str); 5] = [
    ("offsets.topic.num.partitions", "5"),
    ("group.consumer.assignment.interval.ms", "0"),
    ("group.consumer.assignor.offload.enable", "false"),
    ("group.consumer.migration.policy", "disabled"),
    ("group.coordinator.append.linger.ms", "0"),
];

/// Two nodes. Starts with the first subject that needs it and ends with the process; each subject has topics of its own.
pub(crate) static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    let mut kafka = Cluster::builder().nodes(2);
    for (node, rack) in RACKS {
        kafka = kafka.node_property(node, "broker.rack", rack);
    }
    for (key, value) in GROUPS {
        kafka = kafka.property(key, value);
    }
    kafka
        .property("replica.selector.class", RACK_AWARE)
        .property("auto.create.topics.enable", "true")
        .node_property(
            TRANSACTIONS,
            "transaction.partition.verification.enable",
            "false",
        )
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// One node that has few slots for sessions, is impatient, and the only one to which a topic can come that nobody assigned. Only one subject
/// may open sessions on it.
static SMALL: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .property("auto.create.topics.enable", "true")
        .property(
            "max.incremental.fetch.session.cache.slots",
            &SLOTS.to_string(),
        )
        .property("connections.max.idle.ms", &MAX_IDLE.as_millis().to_string())
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// Which clusters a subject runs on. Kafka's are shared, the test broker's are the subject's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clusters {
    Two,
    Small,
}

impl Clusters {
    pub(crate) async fn start(self) -> Result<(&'static Cluster, TestBroker)> {
        Ok(match self {
            Self::Two => {
                let mut broker = TestBroker::builder().nodes(2);
                for (node, rack) in RACKS {
                    broker = broker.rack(node, rack);
                }
                let broker = broker.rack_aware_replica_selector(true);
                (&KAFKA, broker.start().await?)
            }
            Self::Small => {
                let mut sessions = SessionCacheConfig::default();
                sessions.slots = SLOTS;
                let broker = TestBroker::builder()
                    .session_cache(sessions)
                    .connections_max_idle(MAX_IDLE);
                (&SMALL, broker.start().await?)
            }
        })
    }
}
