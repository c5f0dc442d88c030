//! Custody of partitions, completed fetches, byte budget and leases of a Kafka consumer.
//!
//! The buffer decides what may be fetched: before each request the planner offers an idle lane of a node
//! ([`messages::Reserve`]), and the buffer answers with the exact offsets to send, taking custody of those partitions in the
//! same step ([`messages::Granted`]). What comes back ([`messages::FetchDone`]) moves the *fetch position*; the *consumed
//! position* moves when the application is given records ([`messages::Take`]). Nothing is ever left out of a session for being
//! buffered.
//!
//! [`machine`] is the whole of the decisions, without clock or I/O; [`BufferActor`] is a thin shell around it.

mod actor;
mod alarm;
mod backoff;
mod command;
mod consumed;
mod depletion;
mod derived;
mod error;
mod ids;
pub mod machine;
mod memory;
pub mod messages;
mod model;
mod policy;
mod records;
mod samples;
mod shared;
mod take_slot;
mod ticket;
mod vital;
mod watchdog;

pub use actor::{BufferActor, Neighbours, Stop};
pub use alarm::Alarm;
pub use backoff::{Backoff, Jitter};
pub use command::{Command, Commands};
pub use consumed::{Consumed, ConsumedCounts, Portion};
pub use derived::Derived;
pub use error::PartitionError;
pub use ids::{FetchEpoch, Lane, NodeId, PartitionId, TakeId, TicketId};
pub use memory::{BatchBuffers, Claim, Memory, lend};
pub use model::*;
pub use policy::{Policy, UnknownPolicy};
pub use records::{FetchedRecords, LeasedItem};
pub use samples::{Sampled, Samples};
pub use shared::{Lags, Offsets, PartitionState, SharedState};
pub use take_slot::TakeSlot;
pub use ticket::Ticket;
pub use vital::{ActorFailed, Vital};
