//! A real Apache Kafka for tests: one to a few nodes on this machine, and the Java client as the oracle.
//!
//! ```no_run
//! use integration_tests::kafka::{Cluster, Codec, Key, ProduceSpec, Value};
//!
//! let kafka = Cluster::builder().nodes(1).property("log.cleaner.backoff.ms", "500").start()?;
//! kafka.create_topic("events", 6, 1, &[("retention.ms", "-1")])?;
//! let produced = kafka.produce(ProduceSpec {
//!     topic: "events".into(),
//!     records: 10_000,
//!     keys: vec![Key::Numbered { distinct: 1_000, size: 8 }],
//!     values: vec![Value::Text(200), Value::Null],
//!     codec: Codec::Zstd,
//!     ..ProduceSpec::default()
//! })?;
//! assert_eq!(kafka.java_consume("events")?.total, produced.all);
//! # Ok::<(), integration_tests::kafka::Error>(())
//! ```
//!
//! Everything here blocks. In a test of tokio, start the cluster and give its commands in `tokio::task::spawn_blocking`; a [`Cluster`] is
//! `Send` and `Sync` and takes `&self` everywhere, so an `Arc` of it serves many tasks.
//!
//! Every process that a cluster starts ends with it: when it is dropped, when the test panics, and when the test process is killed.

#![expect(
    clippy::disallowed_methods,
    reason = "blocking and the real clock are the point here: this drives processes, and no actor calls it"
)]

mod assignors;
mod cache;
mod cluster;
mod compaction;
mod consume;
mod control;
mod error;
mod groups;
mod helper;
mod jars;
mod metrics;
mod node;
mod ports;
mod probe;
mod process;
mod produce;
mod production;
mod properties;
mod tools;
mod topics;

pub use assignors::{AssignCase, Assigned, CaseMember, JavaAssignors};
pub use cluster::{Builder, Cluster};
pub use consume::{ConsumeSpec, Consumed, Isolation, JavaRecord, TimestampType};
pub use control::Asked;
pub use error::{Error, Result};
pub use groups::{GroupDescription, GroupMember};
pub use jars::Jars;
pub use process::Process;
pub use produce::{
    Codec, ExplicitRecord, Key, Outcome, Partitioning, Place, ProduceSpec, Produced,
    ProducedPartition, Transactions, Value,
};
pub use production::{Acknowledged, Production};
pub use topics::{Committed, Offset, PartitionDescription, TopicDescription};
