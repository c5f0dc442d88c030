//! The plain values that buffer, planner, sessions and handle exchange.

use std::sync::Arc;
use std::time::{Duration, Instant};

use record_batch::TopicPartition;

use crate::backoff::Backoff;
use crate::derived::Derived;
use crate::error::PartitionError;
use crate::ids::{FetchEpoch, Lane, NodeId, PartitionId, TakeId, TicketId};
use crate::policy::Policy;

/// What the buffer needs to know of the configuration. Names are those of the Java client's keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BufferConfig {
    /// `buffer.memory`: bytes, the bound of everything fetched (KIP-81).
    pub buffer_memory: u64,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: u32,
    /// `fetch.max.bytes`: the most that one request asks for.
    pub fetch_max_bytes: u32,
    /// `max.partition.fetch.bytes`; read-ahead goes to twice as much per partition.
    pub max_partition_fetch_bytes: u32,
    /// `retry.backoff.ms` and `retry.backoff.max.ms`: the pauses of a partition whose fetch was answered with an error.
    pub retry: Backoff,
    /// `request.timeout.ms`: a reply that waited half as long for memory is thrown away.
    pub request_timeout: Duration,
    /// `metadata.max.age.ms`: for how long a follower is read from before the leader is asked again (KIP-392).
    pub metadata_max_age: Duration,
    /// For how long a partition may be fetchable without a request, before a warning names it.
    pub unasked_limit: Duration,
    /// `auto.offset.reset`: where a partition without a valid position starts.
    pub reset: ResetPolicy,
    /// What to do about nodes with buffered partitions.
    pub policy: Policy,
}

/// `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetPolicy {
    /// Start at the first offset of the log.
    Earliest,
    /// Start at its end.
    Latest,
    /// Start at the first record that is no older than this (KIP-1106), or at the end if none is.
    Since(Duration),
    /// Report an error to the application.
    None,
}

/// The place of a partition at which an offset lookup (ListOffsets) is aimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetTo {
    /// ListOffsets timestamp -2.
    Earliest,
    /// ListOffsets timestamp -1.
    Latest,
    /// The first record that is no older than this when the broker is asked, or the end if none is.
    Since(Duration),
}

/// Where a newly assigned partition starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// At this offset.
    Offset(i64),
    /// Where its group committed, or where the reset policy says if it committed nothing. Only for a consumer with a group: the
    /// partition has no position until [`LookUpCommitted`](crate::messages::LookUpCommitted) is answered.
    Committed,
    /// Where the reset policy says.
    Reset,
}

/// What a group committed of a partition, as OffsetFetch tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommittedOffset {
    /// The next offset to read. Below 0: nothing was committed.
    pub offset: i64,
    /// Leader epoch of the last record before it, if the commit named one (KIP-320).
    pub leader_epoch: Option<i32>,
}

/// A partition that a node leads, as the planner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Which partition.
    pub partition: PartitionId,
    /// The leader epoch that metadata gave, -1 if unknown (KIP-320).
    pub leader_epoch: i32,
}

/// One partition of a granted request: exactly what to send (I3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ask {
    /// Which partition.
    pub partition: PartitionId,
    /// The epoch the reply will be judged by.
    pub epoch: FetchEpoch,
    /// The offset to send.
    pub offset: i64,
    /// The current leader epoch to send.
    pub leader_epoch: i32,
    /// The partition's limit to send, bytes.
    pub max_bytes: i32,
    /// Named only so that it stays in the session, at its high watermark and with limit 0: the other lane holds it.
    /// What the broker sends for it is thrown away.
    pub parked: bool,
    /// Rises whenever a reply brought data: where a broker keeps no session, lower comes first (KIP-74 fairness).
    pub served: u64,
}

/// For how long a broker may wait for data before it answers that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaxWait {
    /// Not at all.
    Zero,
    /// Only for a moment, since something else waits for this request's end.
    Short,
    /// `fetch.max.wait.ms`: a long poll.
    Full,
    /// Longer, if the request turns out to be one without a session, which names every partition each time. Granted only where
    /// nothing waits for the answer: a single byte ends the wait, and lane 2 asks for whatever becomes fetchable meanwhile.
    Patient,
}

/// What may be fetched: the answer to a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Names the custody of all partitions that are not parked.
    pub ticket: TicketId,
    /// The node that may be asked.
    pub node: NodeId,
    /// On which of its connections.
    pub lane: Lane,
    /// The plan it was asked for with: the planner drops a grant whose plan is not the newest.
    pub plan: u64,
    /// For how long the broker may wait for data.
    pub max_wait: MaxWait,
    /// The request's limit to send, bytes.
    pub max_bytes: u32,
    /// Bytes set aside for the reply, its framing included.
    pub reserved: u64,
    /// The partitions to name, shared with the buffer's own record of the request.
    pub asks: Arc<Vec<Ask>>,
    /// Of lane 1: how they differ from those of a grant before. `None`: in what, is not known.
    pub changes: Derived<Option<Changes>>,
}

/// How what lane 1 is to name differs from what a grant before had it name. Partitions that are in neither list are as they were.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Changes {
    /// The grant before.
    pub since: TicketId,
    /// What may be new of [`Grant::asks`], or as before.
    pub asks: Vec<Ask>,
    /// What is not among them, whether it was or not.
    pub gone: Vec<PartitionId>,
}

/// What a session learned about one partition from a reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionReply<D> {
    /// Which partition.
    pub partition: PartitionId,
    /// The epoch it was asked under.
    pub epoch: FetchEpoch,
    /// The broker's error code, 0 for none.
    pub error_code: i16,
    /// -1 if unknown.
    pub high_watermark: i64,
    /// -1 if unknown.
    pub last_stable_offset: i64,
    /// -1 if unknown.
    pub log_start_offset: i64,
    /// The replica to read from in place of the one that answered, if it named one (KIP-392).
    pub preferred_replica: Option<NodeId>,
    /// Where the broker's log and ours part, if it said so (Fetch v12).
    pub diverging: Option<EpochEnd>,
    /// What came, if anything did.
    pub fetched: Option<Fetched<D>>,
}

/// Data of one partition in a reply, after a look at its batch headers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fetched<D> {
    /// Bytes of the records field.
    pub bytes: u32,
    /// The offset that follows the last whole batch: last offset of its header + 1, whatever records are missing.
    pub next_offset: i64,
    /// The leader epoch of the last whole batch, if it has one (KIP-320).
    pub leader_epoch: Option<i32>,
    /// The largest whole batch, bytes.
    pub largest_batch: u32,
    /// Whether there is nothing to go on to.
    pub flaw: Flaw,
    /// The records themselves; opaque here.
    pub data: D,
}

/// What the batch headers of a reply say about going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Nothing is wrong.
    None,
    /// The header walk met something that is no batch. The reader reports it when it gets there; nothing more is fetched.
    Corrupt,
    /// Bytes, but not one whole batch (only brokers below Fetch v3 do this rightly); the size that it would have.
    NoWholeBatch {
        /// Bytes of the first batch as its length field claims.
        needed: u64,
    },
}

/// How a granted request ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome<D> {
    /// The broker answered, and the session accepted the answer.
    Reply(Vec<PartitionReply<D>>),
    /// Nothing usable came: disconnected, timed out, refused, session error. Custody is freed, no position moves.
    Failed,
    /// The reply waited too long for memory and was read without being kept.
    Discarded,
    /// Nothing was asked: the offer did not hold any more, or whoever had the ticket is gone.
    Abandoned,
}

/// The reply that data came in, which is one piece of memory: that is free when all of them are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Under which ticket it came.
    pub ticket: TicketId,
    /// Bytes of the reply.
    pub bytes: u64,
    /// Partitions of which it brought records.
    pub parts: u32,
}

/// Data that waits to be leased, or is leased.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Completed<D> {
    /// Which partition.
    pub partition: PartitionId,
    /// The epoch it was asked under.
    pub epoch: FetchEpoch,
    /// The offset that was asked for.
    pub from: i64,
    /// Leader epoch of the last record before it, if that is known.
    pub from_epoch: Option<i32>,
    /// The offset that follows it.
    pub next: i64,
    /// What it costs of the partition's credit.
    pub bytes: u32,
    /// What it shares its memory with.
    pub origin: Origin,
    /// The records.
    pub data: D,
}

/// One thing that a partition has for the application, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Item<D> {
    /// Records.
    Data(Completed<D>),
    /// An error that the application must see.
    Error(PartitionError),
}

/// What the application asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TakeRequest<D> {
    /// Names the one who waits.
    pub id: TakeId,
    /// How many answers the reader has received so far. What later ones leased it holds without knowing of it: to take it for
    /// finished would give the records behind them first.
    pub received: u64,
    /// Partitions of which the reader still has unread data: it gets no second completed fetch of them.
    pub holding: Vec<PartitionId>,
    /// Unread data of paused partitions, given back.
    pub returned: Vec<Completed<D>>,
    /// Wait for something to come, until then. `None`: answer at once.
    pub until: Option<Instant>,
}

/// The answer to a [`TakeRequest`]: at most one completed fetch a partition, oldest partition first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease<D> {
    /// Records and errors, in the order in which to give them.
    pub items: Vec<Item<D>>,
}

/// What the leader of a partition is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sought {
    /// A position at an end of the log (ListOffsets).
    End(ResetTo),
    /// Where the records of a leader epoch end (OffsetForLeaderEpoch, KIP-320): a position behind records of that epoch is valid up
    /// to there.
    EpochEnd(i32),
}

/// Where the records of a leader epoch end in the leader's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochEnd {
    /// The largest epoch that the log has up to the one asked about.
    pub leader_epoch: i32,
    /// The offset behind its last record.
    pub offset: i64,
}

/// What a leader said of the epoch that a position is behind (KIP-320).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EpochAnswer {
    /// Its records end there.
    Ends(EpochEnd),
    /// It knows nothing of the epoch.
    Undefined,
    /// It cannot be asked: OffsetForLeaderEpoch before version 3 is not for consumers.
    Unsupported,
}

/// Something that the leader of a partition must be asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Which partition.
    pub partition: PartitionId,
    /// Its name.
    pub name: TopicPartition,
    /// The answer counts only while the partition is in this epoch: a seek always wins.
    pub epoch: FetchEpoch,
    /// What to ask for.
    pub sought: Sought,
}

/// A committed position that must be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LookupCommitted {
    /// Which partition.
    pub partition: PartitionId,
    /// Its name.
    pub name: TopicPartition,
    /// The answer counts only while the partition is in this epoch: a seek always wins. A leader move leaves it valid, since the
    /// answer is not the leader's.
    pub epoch: FetchEpoch,
}

/// What the buffer wants others to know or do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect<D> {
    /// To the planner: a reservation was granted.
    Granted(Grant),
    /// To the planner: these partitions are assigned now, those no longer.
    Assignment {
        /// New ones.
        added: Vec<(PartitionId, TopicPartition)>,
        /// Gone ones.
        removed: Vec<PartitionId>,
    },
    /// To the reader that waits.
    Answer(TakeId, Lease<D>),
    /// To metadata: ask the leader this.
    Lookup(Lookup),
    /// To the coordinator: find what the group committed.
    LookupCommitted(LookupCommitted),
    /// To metadata: what is known of this partition's topic is out of date.
    RefreshMetadata(TopicPartition),
    /// To the session whose reply waits at its length: memory is set aside, read it.
    ReadReply(TicketId),
    /// To the session whose reply waited too long: read it without keeping it.
    DiscardReply(TicketId),
    /// To the reader: look again before you give out another record.
    Changed,
    /// For the shared table: records below this epoch are void, and the position is now this.
    Position {
        /// Which partition.
        partition: PartitionId,
        /// Records of an older epoch are void.
        data_epoch: FetchEpoch,
        /// The next offset that the application will be given; `None` while it is being looked up.
        offset: Option<i64>,
        /// Leader epoch of the last record before it, if that is known.
        leader_epoch: Option<i32>,
    },
    /// For the shared table: whether the partition is paused.
    Paused(PartitionId, bool),
    /// For the shared table: what a reply told about the log.
    Watermarks {
        /// Which partition.
        partition: PartitionId,
        /// -1 if unknown.
        high_watermark: i64,
        /// -1 if unknown.
        last_stable_offset: i64,
        /// -1 if unknown.
        log_start_offset: i64,
    },
    /// To the planner: this partition is to be read from a follower (KIP-392), or from its leader again. Until the planner names the
    /// node that is asked, nobody is.
    ReadFrom(PartitionId, Option<NodeId>),
    /// For the log: the leader's log ends below the position, and the application does not see it since the position is reset.
    Truncated {
        /// Which partition.
        name: TopicPartition,
        /// The position.
        offset: i64,
        /// What the leader still has of the records before it; `None` if it does not know their epoch.
        end: Option<EpochEnd>,
    },
    /// For the log: a partition's fetch was answered with an error that the application does not see.
    Troubled {
        /// Which partition.
        name: TopicPartition,
        /// The broker's code.
        error_code: i16,
        /// At which offset.
        offset: i64,
    },
}

/// The candidates of a node, shared by planner and buffer.
pub type Candidates = Arc<[Candidate]>;
