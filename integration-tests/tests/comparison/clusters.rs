//! The clusters that are compared.

use std::sync::LazyLock;

use anyhow::Result;
use integration_tests::kafka::Cluster;
use test_broker::{SessionCacheConfig, TestBroker};

/// The node on which batches of transactions are taken as they come, without a coordinator that knows of them.
pub(crate) const TRANSACTIONS: i32 = 2;
/// Slots of the session cache of [`Clusters::Small`]: two in each of the eight shards.
pub(crate) const SLOTS: usize = 16;
/// `connections.max.idle.ms` of [`Clusters::Small`].
pub(crate) const MAX_IDLE: std::time::Duration = std::time::Duration::from_secs(2);

/// Starts with the first subject that needs it and ends with the process; each subject has topics of its own.
pub(crate) static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .nodes(2)
        // as in Kafka's own defaults, which the test broker has
        .property("auto.create.topics.enable", "true")
        .property("default.replication.factor", "1")
        .node_property(
            TRANSACTIONS,
            "transaction.partition.verification.enable",
            "false",
        )
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// Which clusters a subject runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clusters {
    /// Two nodes: Kafka's are shared, the test broker's are the subject's own.
    Shared,
    /// One node that has few slots for sessions and is impatient.
    Small,
}

/// Kafka's cluster for a subject.
pub(crate) enum Kafka {
    Shared(&'static Cluster),
    Own(Box<Cluster>),
}

impl std::ops::Deref for Kafka {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        match self {
            Self::Shared(cluster) => cluster,
            Self::Own(cluster) => cluster,
        }
    }
}

impl Clusters {
    pub(crate) async fn start(self) -> Result<(Kafka, TestBroker)> {
        Ok(match self {
            Self::Shared => {
                let kafka = Kafka::Shared(&KAFKA);
                (kafka, TestBroker::builder().nodes(2).start().await?)
            }
            Self::Small => {
                let mut sessions = SessionCacheConfig::default();
                sessions.slots = SLOTS;
                let broker = TestBroker::builder()
                    .session_cache(sessions)
                    .connections_max_idle(MAX_IDLE);
                let kafka = Cluster::builder()
                    .property(
                        "max.incremental.fetch.session.cache.slots",
                        &SLOTS.to_string(),
                    )
                    .property("connections.max.idle.ms", &MAX_IDLE.as_millis().to_string());
                (Kafka::Own(Box::new(kafka.start()?)), broker.start().await?)
            }
        })
    }
}
