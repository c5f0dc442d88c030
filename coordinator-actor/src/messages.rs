//! What is sent to the coordinator, and what it sends. Each is a tell unless it says *ask*.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use buffer_actor::PartitionState;
use record_batch::TopicPartition;
use tokio::sync::oneshot;

use crate::error::GroupError;
use crate::model::{
    EventId, GroupMetadata, LeaveOption, OffsetAndMetadata, Offsets, RebalanceEvent, Subscription,
};
use crate::stats::GroupCounts;

/// Handle -> Coordinator, *ask*: read this from now on, as a member of the group.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), GroupError>")]
pub struct Subscribe(pub Subscription);

/// Handle -> Coordinator: give everything up and leave the group.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Unsubscribe;

/// Handle -> Coordinator: have the group rebalanced, for this reason. Without effect where the coordinator decides (KIP-848).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct EnforceRebalance(pub String);

/// Handle -> Coordinator: this event, and those before it, were seen, and the listener is done with it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Confirm(pub EventId);

/// Handle -> Coordinator, *ask* by `reply`: commit these offsets.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Commit {
    /// Which.
    pub offsets: ToCommit,
    /// Told when they are committed, or why not.
    pub reply: oneshot::Sender<Result<(), GroupError>>,
}

/// Which offsets a [`Commit`] is of, by partition.
#[derive(Debug)]
pub enum ToCommit {
    /// Those that the application chose. One of a partition that is not this member's is an error.
    Chosen(Offsets),
    /// What the application was given of all that was assigned when it asked ([`given`](crate::given)). What is being taken from it is added, what is
    /// not this member's is left out.
    Given(Offsets),
    /// The same of when this is handled: it waited for what the application had asked for before.
    GivenByNow,
}

/// What the group committed, by partition; `None` for one of which it committed nothing.
pub type Committed = BTreeMap<TopicPartition, Option<OffsetAndMetadata>>;

/// Handle -> Coordinator, *ask* by `reply`: what did the group commit of these?
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct FetchCommitted {
    /// Which; `None` is all of which it committed something.
    pub partitions: Option<Vec<TopicPartition>>,
    /// Told when it is known.
    pub reply: oneshot::Sender<Result<Committed, GroupError>>,
}

/// Facade -> Coordinator: commit what was processed if that is asked for, and leave, within `timeout`.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Close {
    /// Whether to leave.
    pub option: LeaveOption,
    /// No longer than that.
    pub timeout: Duration,
    /// Dropped when it is done.
    pub done: oneshot::Sender<()>,
}

/// Handle -> Coordinator, *ask*: who are we in the group?
#[derive(Debug, Message)]
#[rtype(result = "GroupMetadata")]
pub struct GetGroupMetadata;

/// Handle -> Coordinator, *ask*: what did it do so far?
#[derive(Debug, Message)]
#[rtype(result = "GroupCounts")]
pub struct GetGroupCounts;

/// Coordinator -> reader: something happens to the assignment. Seen by the poll that goes on, or by the next one, before it
/// gives a record; confirmed by [`Confirm`].
#[derive(Debug)]
pub struct Rebalance {
    /// Its number.
    pub id: EventId,
    /// What happens.
    pub event: RebalanceEvent,
    /// Of the partitions that go, what was given of them.
    pub going: Vec<Arc<PartitionState>>,
}

/// Coordinator -> facade: the next `poll` must fail with this. What all of them fail with is a
/// [`LastingFailure`](crate::LastingFailure).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct GroupFailed(pub GroupError);
