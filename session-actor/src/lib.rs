//! One broker connection of a Kafka consumer and its incremental fetch session (KIP-227).

mod cluster;
pub mod fetch_session;
pub mod machine;
pub mod wire;

pub use cluster::{
    ClusterSnapshot, Located, PartitionLeader, PartitionTable, Topic, TopicMetadata,
};
