//! One node of a Kafka cluster as a consumer fetches from it: connections, correlation, versions, and the incremental fetch
//! session (KIP-227).
//!
//! A [`SessionActor`] is one *lane* of a node: lane 1 holds the fetch session, lane 2 is sessionless. It sends exactly the
//! requests that the buffer granted, one at a time, and tells the buffer what came of each before it tells the planner that it
//! is idle. [`machine`] and [`fetch_session`] are the decisions, [`wire`] is what goes over the connection.

mod actor;
mod cluster;
mod decode;
pub mod fetch_session;
pub mod machine;
pub mod messages;
mod stats;
pub mod wire;

pub use actor::{LaneNeighbours, LaneOptions, SessionActor};
pub use cluster::{
    ClusterSnapshot, Located, NewLeader, PartitionLeader, PartitionTable, Replicas,
    SnapshotChanged, Topic, TopicMetadata, WatchTopics,
};
pub use stats::{FetchCounts, FetchSamples, FetchStats};
