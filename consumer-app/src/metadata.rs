//! What is known of the cluster, and positions that must be looked up.
//!
//! Everything here goes over control connections of its own: a lookup on a connection that carries fetches would wait behind
//! the long poll. [`machine`](self::machine) decides what to ask and whom; [`actor`](self::actor) asks.

mod actor;
mod codec;
mod listing;
mod lookups;
mod machine;
mod queries;
mod refresh;
#[cfg(test)]
mod tests;
mod topic_ids;
mod troubles;
mod turns;
mod view;
mod watch;

#[cfg(test)]
pub(crate) use actor::Panic;
pub(crate) use actor::{
    AskPartitions, ListOffsets, ListTopics, MetadataActor, Neighbours, Options,
};
pub(crate) use machine::{MetadataConfig, PartitionsUnknown};
pub(crate) use queries::OffsetsUnknown;
