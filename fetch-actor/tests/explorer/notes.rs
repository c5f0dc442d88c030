//! What a search met, to know that it was worth it.

use std::cell::Cell;

use buffer_actor::machine::BufferCounters;

/// Situations that a search must meet to have tried what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seen {
    Overdrawn,
    Discarded,
    StaleReply,
    DroppedPaused,
    /// A partition parked in lane 1's request.
    Parked,
    /// Lane 2 asks at once for what became fetchable.
    QuickEvent,
    /// Lane 2 polls while lane 1 rests, or is out for long.
    QuickRest,
    /// Lane 2 polls for what has no part in lane 1's long poll.
    QuickPoll,
    /// Lane 1 waits for a moment only, to take in what lane 2 polls for.
    Settles,
    /// Lane 1 is out for long, since the broker has refused a session.
    OutForLong,
    Touched,
    Abandoned,
    LargerThanReserved,
    /// A lease, or the rest of one, given back.
    GivenBack,
    /// A partition left its session.
    Forgotten,
    /// The broker did not know the session, or its epoch.
    SessionRefused,
    Failed,
    PartitionError,
    /// A request asks for what follows records that the application was not given yet.
    Ahead,
    /// Records of a parked partition, which nobody wants.
    Stray,
}

impl Seen {
    pub(crate) const ALL: [Self; 20] = [
        Self::Overdrawn,
        Self::Discarded,
        Self::StaleReply,
        Self::DroppedPaused,
        Self::Parked,
        Self::QuickEvent,
        Self::QuickRest,
        Self::QuickPoll,
        Self::Settles,
        Self::OutForLong,
        Self::Touched,
        Self::Abandoned,
        Self::LargerThanReserved,
        Self::GivenBack,
        Self::Forgotten,
        Self::SessionRefused,
        Self::Failed,
        Self::PartitionError,
        Self::Ahead,
        Self::Stray,
    ];
}

/// How often each was met.
#[derive(Debug, Default)]
pub(crate) struct Notes([Cell<u64>; Seen::ALL.len()]);

impl Notes {
    pub(crate) fn see(&self, seen: Seen) {
        self.add(seen, 1);
    }

    fn add(&self, seen: Seen, times: u64) {
        let cell = &self.0[seen as usize];
        cell.set(cell.get() + times);
    }

    pub(crate) fn counters(&self, before: BufferCounters, after: BufferCounters) {
        self.add(
            Seen::Overdrawn,
            after.overdrawn_replies - before.overdrawn_replies,
        );
        self.add(
            Seen::Discarded,
            after.discarded_replies - before.discarded_replies,
        );
        self.add(Seen::StaleReply, after.stale_replies - before.stale_replies);
        self.add(
            Seen::DroppedPaused,
            after.dropped_paused - before.dropped_paused,
        );
    }

    pub(crate) fn times(&self, seen: Seen) -> u64 {
        self.0[seen as usize].get()
    }
}
