//! Custody of partitions, completed fetches, byte budget and leases of a Kafka consumer.

mod backoff;
mod error;
mod ids;
pub mod machine;
mod model;
mod policy;

pub use backoff::{Backoff, Jitter};
pub use error::PartitionError;
pub use ids::{FetchEpoch, Lane, NodeId, PartitionId, TakeId, TicketId};
pub use model::*;
pub use policy::{Policy, UnknownPolicy};
