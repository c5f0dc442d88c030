//! One assigned partition: its custody, its position, what is buffered of it.

use std::collections::VecDeque;
use std::time::Instant;

use record_batch::TopicPartition;

use crate::derived::Derived;
use crate::ids::{FetchEpoch, NodeId, TicketId};
use crate::model::{EpochEnd, Item, Origin, ResetTo};

/// Where the partition is fetched next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Position {
    /// The group's coordinator is asked what was committed.
    Committed,
    /// Being looked up.
    Wanted(ResetTo),
    /// There is none, and the reset policy is `none`: the application must seek.
    Missing,
    /// The fetch position.
    At(i64),
}

/// Whether the fetch position is one of the log that the leader has (KIP-320).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Validity {
    /// As far as is known, or it cannot be told.
    Valid,
    /// The leader is asked; its answer comes with this epoch.
    Asked(FetchEpoch),
    /// It is not: the leader's log ends below it, or does not know the epoch of what was read. What is buffered was read while it was in
    /// the log, and is given before anything is done about it.
    Diverged(Option<EpochEnd>),
}

/// A follower that is read from in place of the leader (KIP-392).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Replica {
    pub(super) node: NodeId,
    pub(super) until: Instant,
}

/// Whether a request may name the partition now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// No request may name it, and its session forgets it.
    Excluded,
    /// A request in flight has custody (I1).
    Held(TicketId),
    /// Read-ahead is at its limit: to be named again when the application took some.
    AtCredit,
    /// At this offset.
    Ready(i64),
}

/// Which request in flight may move the partition (I1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Custody {
    /// None.
    Free,
    /// This one.
    Request(TicketId),
    /// The one of this node's lane 1, if that has one: each of them names the partition, until something happens to it.
    Session(NodeId),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Partition<D> {
    pub(super) name: TopicPartition,
    /// Requests of an older epoch are void.
    pub(super) epoch: FetchEpoch,
    /// Records of an older epoch are void. A leader move changes only `epoch`: what was read from the old leader stays.
    pub(super) data_epoch: FetchEpoch,
    pub(super) position: Position,
    /// Leader epoch of the last record before the fetch position, if that is known.
    pub(super) offset_epoch: Option<i32>,
    pub(super) validity: Validity,
    pub(super) paused: bool,
    /// In the current epoch.
    pub(super) custody: Custody,
    /// Became fetchable, or gave data on lane 2, and was not asked for since: lane 2 asks at once, and wants no wait.
    pub(super) eager: bool,
    /// Its last request on lane 2 failed: a second connection that does not work must not be tried on and on. Lane 1 takes it,
    /// unless something new happens to it.
    pub(super) quick_failed: bool,
    /// Was asked for since the watchdog last looked.
    pub(super) asked: bool,
    /// Was answered with an error: until an answer without one it is asked for on lane 2 alone, where an error at once ends
    /// nobody's long poll.
    pub(super) on_trial: bool,
    /// Not before then.
    pub(super) backoff_until: Option<Instant>,
    /// Errors in a row.
    pub(super) failures: u32,
    /// What is buffered ends in a batch that cannot be read; nothing behind it is fetched until the application seeks.
    pub(super) blocked: bool,
    pub(super) queue: VecDeque<Item<D>>,
    /// Bytes in `queue`: what read-ahead is measured by.
    pub(super) queued_bytes: u64,
    /// Bytes of it that the reader has and did not finish.
    pub(super) leased_bytes: u64,
    /// The reader has unread data of it.
    pub(super) held_by_reader: bool,
    /// Scratch of one take: the reader said that it still has some.
    pub(super) still_held: bool,
    /// In the order of partitions that have something to give.
    pub(super) listed: bool,
    /// The node that is asked for it: its newest candidates have the partition. `None` if nobody's have, and between a move and the next
    /// node's first offer.
    pub(super) home: Option<NodeId>,
    /// That of its newest candidates, -1 if unknown.
    pub(super) leader_epoch: i32,
    /// The follower that is read from, if one is.
    pub(super) replica: Option<Replica>,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start_offset: i64,
    /// When it last gave data, as a count of replies.
    pub(super) served: u64,
    /// It is in the list of those that were touched, or its home has it in its own.
    pub(super) touched: Derived<bool>,
}

impl<D> Partition<D> {
    pub(super) fn new(name: TopicPartition, epoch: FetchEpoch, position: Position) -> Self {
        Self {
            name,
            epoch,
            data_epoch: epoch,
            position,
            offset_epoch: None,
            validity: Validity::Valid,
            paused: false,
            custody: Custody::Free,
            eager: true,
            quick_failed: false,
            asked: false,
            on_trial: false,
            backoff_until: None,
            failures: 0,
            blocked: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            leased_bytes: 0,
            held_by_reader: false,
            still_held: false,
            listed: false,
            home: None,
            leader_epoch: -1,
            replica: None,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            served: 0,
            touched: Derived(false),
        }
    }

    /// Whether a request may name it, given the bytes of read-ahead that a partition may have and who has custody.
    pub(super) const fn readiness(&self, credit: u64, holder: Option<TicketId>) -> Readiness {
        if self.paused || self.blocked || self.backoff_until.is_some() {
            return Readiness::Excluded;
        }
        if !matches!(self.validity, Validity::Valid) {
            return Readiness::Excluded;
        }
        let Position::At(offset) = self.position else {
            return Readiness::Excluded;
        };
        if let Some(ticket) = holder {
            Readiness::Held(ticket)
        } else if self.queued_bytes >= credit {
            Readiness::AtCredit
        } else {
            Readiness::Ready(offset)
        }
    }

    /// Has records that the application was not given, in the buffer or in the reader's lease.
    pub(super) fn is_buffered(&self) -> bool {
        self.queued_bytes > 0 || self.leased_bytes > 0
    }

    /// The reply that brought the newest of what is queued.
    pub(super) fn newest_origin(&self) -> Option<Origin> {
        self.queue.iter().rev().find_map(|item| match item {
            Item::Data(completed) => Some(completed.origin),
            Item::Error(_) => None,
        })
    }

    /// Nobody has custody any more.
    pub(super) fn release(&mut self) {
        // that it was is not seen by the next look else
        self.asked |= self.custody != Custody::Free;
        self.custody = Custody::Free;
    }

    /// Requests in flight are void from here on; custody is free for the new epoch.
    pub(super) fn void_requests(&mut self, epoch: FetchEpoch) {
        self.epoch = epoch;
        self.release();
        self.eager = true;
        self.backoff_until = None;
        self.failures = 0;
        self.on_trial = false;
    }

    /// The position jumps: requests in flight and everything buffered or leased are void.
    pub(super) fn jump(&mut self, epoch: FetchEpoch, position: Position) {
        self.void_requests(epoch);
        self.data_epoch = epoch;
        self.position = position;
        self.offset_epoch = None;
        self.validity = Validity::Valid;
        self.blocked = false;
        self.queue.clear();
        self.queued_bytes = 0;
        self.leased_bytes = 0;
        self.held_by_reader = false;
    }
}
