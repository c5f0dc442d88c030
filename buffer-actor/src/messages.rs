//! What is sent to the buffer, and what it sends. Each is a tell unless it says *ask*; tells between two actors arrive in the
//! order in which they were sent.

use actix::{Message, Recipient};
use record_batch::TopicPartition;
use tokio::sync::oneshot;

use crate::error::PartitionError;
use crate::ids::{FetchEpoch, Lane, NodeId, PartitionId, TicketId};
use crate::machine::NotAssigned;
use crate::model::{
    Candidates, CommittedOffset, EpochAnswer, Grant, Lookup, LookupCommitted, Outcome, ResetTo,
    Start, TakeRequest,
};
use crate::records::{FetchedRecords, LeasedItem};
use crate::ticket::Ticket;

/// Fetch -> Buffer: an idle lane may be used for these partitions. Answered by [`Granted`], now or when something can be
/// granted; until then the offer stands. Replaces a former one for the lane.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Reserve {
    /// The node.
    pub node: NodeId,
    /// Its lane.
    pub lane: Lane,
    /// Names the list of candidates; comes back with the grant.
    pub plan: u64,
    /// What the node leads.
    pub candidates: Candidates,
    /// The node has refused a session, so a request of lane 1 names every partition ([`MaxWait::Patient`](crate::MaxWait)).
    pub refused: bool,
}

/// Fetch -> Buffer: an offer does not hold any more.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Withdraw {
    /// The node.
    pub node: NodeId,
    /// Its lane.
    pub lane: Lane,
}

/// Fetch -> Buffer: these have a new leader. Before any [`Reserve`] that names them as candidates of it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LeadersChanged(pub Vec<PartitionId>);

/// Metadata -> Buffer: the topics of these were deleted and created again under their names (KIP-516).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct TopicsRecreated(pub Vec<PartitionId>);

/// Buffer -> Fetch: a request was granted. Dropped unread, it is given back.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Granted {
    /// What to ask for.
    pub grant: Grant,
    /// The right to ask for it.
    pub ticket: Ticket,
}

/// Buffer -> Fetch: the assignment changed. Before any [`Granted`] that names the new ones.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct AssignmentChanged {
    /// New ones.
    pub added: Vec<(PartitionId, TopicPartition)>,
    /// Gone ones.
    pub removed: Vec<PartitionId>,
}

/// Session -> Buffer: a granted request ended. Before the session tells Fetch that its lane is idle (I7).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct FetchDone {
    /// The right that was used.
    pub ticket: Ticket,
    /// What came of it.
    pub outcome: Outcome<FetchedRecords>,
    /// Bytes of the reply, which count until its last slice is dropped.
    pub received: u64,
}

/// [`Ticket`] -> Buffer: a ticket was dropped without having been used (I4).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Abandoned(pub TicketId);

/// Session -> Buffer: a reply is longer than what is reserved for it. Answered by [`MemoryDecision`], now or later.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct NeedMemory {
    /// Whose reply.
    pub ticket: TicketId,
    /// By how many bytes.
    pub more: u64,
    /// Who waits.
    pub session: Recipient<MemoryDecision>,
}

/// Buffer -> Session: what to do with the reply that waits at its length.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct MemoryDecision {
    /// Whose reply.
    pub ticket: TicketId,
    /// Read it; or read it without keeping it.
    pub keep: bool,
}

/// [`Memory`](crate::Memory) -> Buffer: bytes were released while the buffer waited for some. Sent from any thread.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct MemoryReleased;

/// Handle -> Buffer: the application wants records. The answer goes into `reply`, whose receiver the handle keeps: a poll
/// that is dropped loses nothing. Where the buffer need not be woken for it, it is left in the [`TakeSlot`](crate::TakeSlot).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Take {
    /// What it has and how long it waits. Its id is given by the buffer.
    pub request: TakeRequest<FetchedRecords>,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Vec<LeasedItem>>,
}

/// Handle -> Buffer: a batch of this partition cannot be read; fetch nothing behind it until the application seeks.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Block {
    /// Which partition.
    pub partition: PartitionId,
    /// The epoch of the batch.
    pub epoch: FetchEpoch,
}

/// Handle -> Buffer: the reader is gone, its lease is free.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct ReaderGone;

/// Handle, Coordinator -> Buffer, *ask*: replaces the assignment; answered when it holds. Handles send none before the coordinator has
/// given up a subscription, and with it what the group assigned ([`Commands`](crate::Commands)).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Assign(pub Vec<(TopicPartition, Start)>);

/// Handle -> Buffer, *ask*: sets the position of an assigned partition.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), NotAssigned>")]
pub struct Seek {
    /// Which partition.
    pub partition: TopicPartition,
    /// Where to.
    pub to: SeekTo,
}

/// Where a [`Seek`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekTo {
    /// This offset.
    Offset(i64),
    /// This offset behind a record of this leader epoch, which is held against the leader's log first (KIP-320).
    Behind(i64, i32),
    /// A place of the log, which is looked up.
    End(ResetTo),
}

/// Handle -> Buffer, *ask*: pauses or resumes assigned partitions; all or, if one is not assigned, none.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), NotAssigned>")]
pub struct Pause {
    /// Which partitions.
    pub partitions: Vec<TopicPartition>,
    /// Pause, or resume.
    pub paused: bool,
}

/// Buffer -> Metadata: ask the leaders of these. Answered by [`PositionsFound`], [`EpochsEnd`], or [`ReportError`] for what the application
/// must know; the looking goes on until it succeeds or a newer lookup of the partition replaces it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LookUp(pub Vec<Lookup>);

/// Buffer -> Coordinator: find what the group committed of these ([`Start::Committed`]). Answered by [`CommittedFound`], or
/// [`ReportError`] for what the application must know; the asking goes on until it succeeds, a newer lookup of the partition
/// replaces it, or the partition is not assigned any more. A seek meanwhile is not told: the answer is then dropped.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LookUpCommitted(pub Vec<LookupCommitted>);

/// Coordinator -> Buffer: what the group committed, with the epochs of the lookups; `None` if it committed nothing. Those of
/// one answer come together, so that one request can ask for all of them.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct CommittedFound(pub Vec<(PartitionId, FetchEpoch, Option<CommittedOffset>)>);

/// Buffer -> Metadata: what is known of this partition's topic is out of date.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct MetadataStale(pub TopicPartition);

/// Metadata -> Buffer: positions that were looked up, with the epochs of their lookups. Those of one answer come together, so
/// that one request can ask for all of them.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct PositionsFound(pub Vec<(PartitionId, FetchEpoch, i64)>);

/// Metadata -> Buffer: where epochs end, with the epochs of the lookups. Those of one answer come together.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct EpochsEnd(pub Vec<(PartitionId, FetchEpoch, EpochAnswer)>);

/// Buffer -> Fetch: these partitions are to be read from this follower each, or, with `None`, from the leader again (KIP-392). Answered by
/// [`Reserve`] with fresh lists that name them, of the leader too if the node is not known.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct ReadFrom(pub Vec<(PartitionId, Option<NodeId>)>);

/// Metadata, Coordinator -> Buffer: a partition cannot be read for now, and the application must know. Said again while it lasts.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct ReportError {
    /// Which partition.
    pub partition: TopicPartition,
    /// What to tell.
    pub error: PartitionError,
}

/// Metadata -> Buffer: the reader shall look at what is not in the buffer: a poll that waits ends.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct WakeReader;

/// Handle -> Buffer, *ask*: the position of an assigned partition, when it is known.
#[derive(Debug, Message)]
#[rtype(result = "Result<i64, NoPosition>")]
pub struct AwaitPosition {
    /// Which partition.
    pub partition: TopicPartition,
    /// How long to wait for it.
    pub limit: std::time::Duration,
}

/// Why there is no position to tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPosition {
    /// It is not assigned, or not any more.
    #[error(transparent)]
    NotAssigned(#[from] NotAssigned),
    /// It was not found in time.
    #[error("the position of {0} was not found in time; is its leader reachable?")]
    TimedOut(TopicPartition),
}

/// Anyone -> Buffer, *ask*: what it did so far and what it holds.
#[derive(Debug, Message)]
#[rtype(result = "BufferStatus")]
pub struct GetStatus;

/// The answer to [`GetStatus`].
#[derive(Debug, Clone, PartialEq, Eq, actix::MessageResponse)]
pub struct BufferStatus {
    /// What happened.
    pub counters: crate::machine::BufferCounters,
    /// Bytes of the budget in use.
    pub memory_used: u64,
    /// Bytes of the budget: `buffer.memory`.
    pub memory_limit: u64,
    /// Bytes of it that the application keeps.
    pub memory_kept: u64,
    /// For how long a request or a reply waited for memory.
    pub budget_depleted: std::time::Duration,
    /// For how long a node's session was at rest since a partition was at its read-ahead credit.
    pub credit_depleted: std::time::Duration,
    /// Messages delivered to the buffer's mailbox.
    pub messages: u64,
    /// Partitions that were fetchable for too long without a request, as the watchdog last saw.
    pub unasked: usize,
    /// Why each assigned partition has no request in flight, or that it has.
    pub reasons: Vec<(TopicPartition, crate::machine::Reason)>,
}
