//! Group membership (classic and KIP-848), assignment and commits of a Kafka consumer.
//!
//! [`CoordinatorActor`] is the shell; every decision is in the machine below it, which knows neither clock nor network.

mod actor;
pub mod assign;
mod codec;
mod config;
mod error;
mod lasting_failure;
mod machine;
pub mod messages;
mod model;
mod poll_clock;
mod stats;

pub use actor::{CoordinatorActor, LinkOptions, Neighbours, given};
pub use config::{GroupConfig, GroupProtocol};
pub use error::GroupError;
pub use lasting_failure::LastingFailure;
pub use model::{
    EventId, GroupMetadata, LeaveOption, OffsetAndMetadata, Offsets, RebalanceEvent, Subscription,
};
pub use poll_clock::{PollClock, Polling};
pub use stats::{GroupCounts, Timing};
