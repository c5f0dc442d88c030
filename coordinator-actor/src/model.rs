//! The plain values that coordinator, handle and brokers exchange.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{CommittedOffset, FetchEpoch, PartitionId};
use bytes::Bytes;
use record_batch::TopicPartition;
use session_actor::WatchTopics;
use session_actor::wire::{ErrorCode, Peer};
use uuid::Uuid;

use crate::error::GroupError;

/// What is committed of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OffsetAndMetadata {
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the last record before it, if known (KIP-320).
    pub leader_epoch: Option<i32>,
    /// Whatever the application wants to remember with it; at most `offset.metadata.max.bytes` of the broker (4096).
    pub metadata: String,
}

impl From<i64> for OffsetAndMetadata {
    fn from(offset: i64) -> Self {
        Self {
            offset,
            leader_epoch: None,
            metadata: String::new(),
        }
    }
}

/// Offsets by partition.
pub type Offsets = BTreeMap<TopicPartition, OffsetAndMetadata>;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subscription {
    /// These topics.
    Topics(BTreeSet<Arc<str>>),
    /// Those whose names match, evaluated by the broker where `group.protocol=consumer` (RE2 syntax), else here.
    Pattern(Arc<str>),
}

/// What `close` does about the membership (KIP-1092).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaveOption {
    /// A dynamic member leaves, a static one keeps its place until its session times out.
    #[default]
    Default,
    /// Leaves, static or not.
    LeaveGroup,
    /// Does not leave: the partitions move when the session has timed out.
    RemainInGroup,
}

/// Who one is in the group, for transactional producers (KIP-447) and for looking at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupMetadata {
    /// `group.id`.
    pub group_id: Arc<str>,
    /// Generation (classic) or member epoch (KIP-848); -1 outside of the group.
    pub generation_id: i32,
    /// Empty outside of the group.
    pub member_id: Arc<str>,
    /// `group.instance.id`.
    pub group_instance_id: Option<Arc<str>>,
}

/// What happens to the assignment, in the order in which it happens. The reader confirms each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebalanceEvent {
    /// Nothing to call: the poll that sees it makes what was given before count as processed.
    Checkpoint,
    /// These were given up: they may be committed still.
    Revoked(Vec<TopicPartition>),
    /// These belong to somebody else by now.
    Lost(Vec<TopicPartition>),
    /// These are new; may be empty.
    Assigned(Vec<TopicPartition>),
}

/// Names a [`RebalanceEvent`]. Rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u64);

/// Names a request to a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AskId(pub(crate) u64);

/// Names a call of the application that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CallId(pub(crate) u64);

/// How a member names itself in its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) member_id: Arc<str>,
    /// Generation or member epoch.
    pub(crate) epoch: i32,
    /// Whether it is the epoch of KIP-848.
    pub(crate) by_epoch: bool,
}

/// A request to a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    FindCoordinator,
    JoinGroup(JoinGroup),
    SyncGroup(SyncGroup),
    Heartbeat(Identity),
    LeaveGroup {
        member_id: Arc<str>,
        reason: &'static str,
    },
    ConsumerHeartbeat(ConsumerHeartbeat),
    OffsetCommit {
        identity: Option<Identity>,
        offsets: Offsets,
    },
    OffsetFetch {
        identity: Option<Identity>,
        /// `None`: all of which something was committed.
        partitions: Option<Vec<TopicPartition>>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinGroup {
    pub(crate) member_id: Arc<str>,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    /// Assignor and encoded subscription.
    pub(crate) protocols: Vec<(Arc<str>, Bytes)>,
    pub(crate) reason: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncGroup {
    pub(crate) identity: Identity,
    pub(crate) protocol: Arc<str>,
    /// Empty unless from the leader.
    pub(crate) assignments: Vec<(Arc<str>, Bytes)>,
}

/// `None` is "as before".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ConsumerHeartbeat {
    pub(crate) member_id: Arc<str>,
    pub(crate) epoch: i32,
    pub(crate) rebalance_timeout: Option<Duration>,
    pub(crate) topics: Option<Vec<Arc<str>>>,
    pub(crate) regex: Option<Arc<str>>,
    pub(crate) assignor: Option<Arc<str>>,
    pub(crate) owned: Option<Vec<(Uuid, Vec<i32>)>>,
    /// Whether instance id and rack are named, too.
    pub(crate) is_full: bool,
}

/// What a broker answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Coordinator(Result<Peer, ErrorCode>),
    JoinGroup(Result<Joined, (ErrorCode, Arc<str>)>),
    SyncGroup(Result<Bytes, ErrorCode>),
    /// Of Heartbeat and LeaveGroup.
    Done(ErrorCode),
    ConsumerHeartbeat(Result<ConsumerHeartbeatAnswer, (ErrorCode, String)>),
    /// By partition.
    OffsetCommit(BTreeMap<TopicPartition, ErrorCode>),
    OffsetFetch(Result<Fetched, ErrorCode>),
}

/// Offsets by partition, or why there is none to be told.
pub(crate) type Fetched = BTreeMap<TopicPartition, Result<Option<OffsetAndMetadata>, ErrorCode>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) member_id: Arc<str>,
    pub(crate) generation: i32,
    pub(crate) protocol: Arc<str>,
    pub(crate) is_leader: bool,
    /// KIP-814: the leader is not to compute an assignment.
    pub(crate) skip_assignment: bool,
    /// Of the leader's answer: id, instance id, encoded subscription.
    pub(crate) members: Vec<(Arc<str>, Option<Arc<str>>, Bytes)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsumerHeartbeatAnswer {
    pub(crate) member_id: Option<Arc<str>>,
    pub(crate) epoch: i32,
    pub(crate) interval: Duration,
    /// `None`: as before.
    pub(crate) assignment: Option<Vec<(Uuid, Vec<i32>)>>,
}

/// What the machine wants done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Ask a broker. The answer, or why there is none, goes back under this name.
    Ask {
        id: AskId,
        peer: Peer,
        request: Request,
        limit: Duration,
    },
    /// The coordinator is somebody else, or unknown: connections and what is on its way there are of no use.
    Disconnect,
    /// To the buffer: this is assigned now; what is new starts where the group committed.
    Assign(Vec<TopicPartition>),
    /// To the reader.
    Event(EventId, RebalanceEvent),
    /// To metadata: the group needs to know of these.
    Watch(WatchTopics),
    /// Tell what was processed of these (`None`: of all that is assigned), to be committed: the machine's `collected`.
    Collect(Option<Vec<TopicPartition>>),
    /// To who called.
    Committed(CallId, Result<(), GroupError>),
    /// To who called.
    Fetched(
        CallId,
        Result<BTreeMap<TopicPartition, Option<OffsetAndMetadata>>, GroupError>,
    ),
    /// To the buffer: positions of partitions whose start is what was committed.
    Positions(Vec<(PartitionId, FetchEpoch, Option<CommittedOffset>)>),
    /// To the buffer: the position of this one cannot be found out.
    NoPosition(TopicPartition, ErrorCode),
    /// `poll` fails with this once.
    Complain(GroupError),
    /// `poll` fails with this until the application subscribes anew.
    Fail(GroupError),
    /// It has, or wants no group any more.
    Recovered,
    /// The identity in the group changed.
    Identity(GroupMetadata),
    /// Everything that a close asked for is done.
    Closed,
    /// For the log.
    Log(Note),
}

/// What the log says.
#[derive(Debug)]
pub(crate) enum Note {
    Joined {
        generation: i32,
        member_id: Arc<str>,
    },
    Rejoins(Arc<str>),
    PollTooLate,
    Fenced(ErrorCode),
    AutoCommitFailed(GroupError),
    CoordinatorFound(Peer),
    CoordinatorLost(&'static str),
    AssignmentOfOthers(Vec<TopicPartition>),
}

/// When the application last polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastPoll {
    /// It is in a poll now.
    Now,
    At(Instant),
}
