//! A Kafka consumer of actors: the facade a service uses, and the command line.
//!
//! [`Consumer`] is what a service holds. It runs on any async runtime; the actors that fetch for it live on a thread of their
//! own ([`ConsumerBuilder::build`]), in an arbiter of the service ([`ConsumerBuilder::spawn_in`]) or in a `LocalSet`
//! ([`ConsumerBuilder::spawn_local`]).

pub mod config;

mod builder;
mod consumer;
mod decode;
mod error;
mod facade;
mod group;
mod metadata;
mod metrics;
mod offsets;
mod positions;
mod reader;
mod records;
mod status;
mod topics;

pub use actix_rt::ArbiterHandle;
pub use buffer_actor::{ConsumedCounts, EpochEnd, PartitionError, Portion, Sampled};
pub use builder::ConsumerBuilder;
pub use config::{ConsumerConfig, OffsetReset};
pub use consumer::{Consumer, ConsumerHandle};
pub use coordinator_actor::{
    GroupCounts, GroupError, GroupMetadata, LeaveOption, OffsetAndMetadata, Offsets, Subscription,
    Timing, assign,
};
pub use decode::{Field, NotDecodable};
pub use error::{Error, Result};
pub use group::{RebalanceContext, RebalanceListener};
#[cfg(feature = "metrics")]
pub use metrics::MetricsExporter;
pub use metrics::{
    ListenerMetrics, MetricDefinition, MetricKind, MetricScope, MetricValue, Metrics,
    PartitionMetrics, PollMetrics, definitions as metric_definitions,
};
pub use offsets::{ListedOffset, OffsetSpec};
pub use reader::{Batches, DecodeFailed, PartitionBatches};
pub use record_batch::{
    BatchError, Headers, OwnedRecord, RecordHeader, TimestampType, TopicPartition,
};
pub use records::{PartitionRecords, Record, Records, RecordsIter};
pub use session_actor::FetchSamples;
pub use session_actor::wire::{ErrorCode, WireError, connect};

pub use topics::{PartitionInfo, TopicInfo};

#[doc(hidden)]
pub use buffer_actor::Policy;

/// The examples of the README and of the guide to testing, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../docs/testing-actors.md")]
struct Examples;
