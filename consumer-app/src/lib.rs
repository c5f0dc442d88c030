//! A Kafka consumer of actors: the facade a service uses, and the command line.
//!
//! [`Consumer`] is what a service holds. It runs on any async runtime; the actors that fetch for it live on a thread of their
//! own ([`ConsumerBuilder::build`]), in an arbiter of the service ([`ConsumerBuilder::spawn_in`]) or in a `LocalSet`
//! ([`ConsumerBuilder::spawn_local`]).

pub mod config;

mod builder;
mod consumer;
mod error;
mod facade;
mod group;
mod metadata;
mod metrics;
mod reader;
mod records;
mod status;

pub use actix_rt::ArbiterHandle;
pub use buffer_actor::PartitionError;
pub use builder::ConsumerBuilder;
pub use config::{ConsumerConfig, OffsetReset};
pub use consumer::{Consumer, ConsumerHandle};
pub use coordinator_actor::{
    GroupError, GroupMetadata, LeaveOption, OffsetAndMetadata, Offsets, Subscription, assign,
};
pub use error::{Error, Result};
pub use group::{RebalanceContext, RebalanceListener};
pub use metrics::Metrics;
pub use reader::{Batches, DecodeFailed, PartitionBatches};
pub use record_batch::{
    BatchError, Headers, OwnedRecord, RecordHeader, TimestampType, TopicPartition,
};
pub use records::{PartitionRecords, Record, Records, RecordsIter};
pub use session_actor::wire::{ErrorCode, WireError, connect};

#[doc(hidden)]
pub use buffer_actor::Policy;

/// The examples of the README and of the guide to testing, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/testing-actors.md")]
struct Examples;
