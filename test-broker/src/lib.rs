//! A Kafka broker in a process: the embedded default of the quickstart and the mock of every test.
//!
//! It answers as Apache Kafka 4.4 does, request by request: limits and long polls of Fetch, incremental fetch sessions
//! with their cache and evictions (KIP-227), leader epochs (KIP-320), topic ids (KIP-516), idempotent producers,
//! read_committed, followers that serve consumers (KIP-392). So what works against it works against a real broker, and
//! it does on command what a real one does once a month: see [`Fault`].
//!
//! # Testing a service with it
//!
//! Start a broker, give its address to the code under test, and look at what was asked:
//!
//! ```
//! use test_broker::{ApiKey, Fault, ResponseError, TestBroker};
//!
//! # async fn read_all_orders(_bootstrap_servers: &str) {}
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), test_broker::Error> {
//!     let broker = TestBroker::builder().nodes(2).topic("orders", 6).start().await?;
//!     broker.produce("orders", 0, [("customer-1", "a chair"), ("customer-2", "a table")])?;
//!     broker.inject(Fault::error(ResponseError::NotLeaderOrFollower).on(ApiKey::Fetch).times(1));
//!
//!     read_all_orders(&broker.bootstrap_servers()).await;
//!
//!     let fetches = broker.requests_of(ApiKey::Fetch);
//!     println!("{} fetches, {} of them failed on purpose", fetches.len(), 1);
//!     broker.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! Consumers that are assigned their partitions, and producers of any kind, work against it: the Java client and
//! librdkafka too. So do consumer groups of the classic protocol and of KIP-848,
//! with the members and commits that [`TestBroker::group`] and [`TestBroker::committed`] show. Transactions are not served, and ApiVersions
//! says so; [`TestBroker::append_raw`] puts transactions into a log as they would stand there.
//!
//! # Without a network, and with time under control
//!
//! The broker is single-threaded-friendly: it runs as tasks of the tokio runtime in which it is started, waits by
//! tokio's time only, and takes its randomness from a [seed](Builder::seed). In a runtime with paused time a long poll
//! of 30 s takes no time, and takes exactly 30 s:
//!
//! ```
//! # use test_broker::TestBroker;
//! # async fn example() -> Result<(), test_broker::Error> {
//! let broker = TestBroker::builder().topic("orders", 1).start_in_memory()?;
//! // anything that speaks the protocol over AsyncRead + AsyncWrite
//! let connection = broker.connect(1)?;
//! # drop(connection);
//! # Ok(())
//! # }
//! ```
//!
//! [`TestBroker::serve`] takes connections from any [`Listener`], such as that of a simulated network.
//!
//! # What differs from a real broker
//!
//! - Replicas share one log, with its leader epochs, and are in sync at once; [`TestBroker::hold_high_watermark`] and
//!   [`TestBroker::hold_follower`] hold them back.
//! - A log has no segments, lives in memory, and is kept until a test deletes from it.
//! - Timestamps far from the broker's time are accepted; a batch whose records are not numbered in order is refused
//!   where Kafka numbers them anew.
//! - CreateTopics tells the configurations that were set, not all that a topic has.
//! - Offsets of a group are kept as long as the group's topics are; there are no transactional commits.
//! - A group of KIP-848 is assigned at once and its patterns are looked up at once, where Kafka batches assignments for a
//!   second (`group.consumer.assignment.interval.ms`) and looks patterns up every ten minutes; patterns are those of crate
//!   `regex`, which like Kafka's RE2J has no look-around; members of the two protocols do not mix in one group
//!   (`group.consumer.migration.policy` = `disabled`). Which member gets which partitions from the assignor `uniform` is its
//!   own choice, as evenly and with as few moves as Kafka's.
//! - Error messages are in words of its own. Error codes are Kafka's.
//!
//! # Clients that cannot be trusted
//!
//! Whatever a client sends, the process lives: frames have a limit, no declared count or length is believed before it is
//! held against the bytes that are there, and what cannot be understood closes the connection.

mod api;
mod broker;
mod builder;
mod clock;
mod cluster;
mod connection;
mod counters;
mod dispatcher;
mod error;
mod fault;
mod groups;
mod listener;
mod log;
mod records;
mod request;
mod request_log;
mod server;
mod session_cache;
mod settings;
mod shared;
mod topic_config;
mod wire;

pub use broker::{CommittedOffset, PartitionOffsets, TestBroker};
pub use builder::Builder;
pub use clock::Clock;
pub use counters::NodeCounters;
pub use error::Error;
pub use fault::{Fault, FaultId};
pub use groups::{GroupDescription, GroupMember, GroupProtocol, GroupState};
pub use kafka_protocol::ResponseError;
pub use kafka_protocol::messages::ApiKey;
pub use listener::Listener;
pub use record_batch::{Compression, TopicPartition};
pub use records::{BatchBuilder, IntoBytes, ProducerRecord};
pub use request_log::{FetchPartitionSummary, FetchSummary, RequestRecord, RequestSummary};
pub use session_cache::SessionCacheConfig;
