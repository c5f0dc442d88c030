//! Faults that a machine can be asked to have, so that the explorer of `fetch-actor` can show that it finds them. Only with the
//! feature `mutants`, which nothing but that test turns on; without it no trace of them is compiled.

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mutant {
    /// A grant takes no custody (I1).
    NoCustody,
    /// A session partition at its credit is left out of lane 1's request (I5).
    LeavesOutAtCredit,
    /// No reply may overdraw the budget.
    NoOverdraw,
    /// A reply overdraws only when nothing is reserved either.
    OverdrawWaitsForReservations,
    /// A pause does not look at standing reservations again (I8).
    PauseLooksNotAgain,
    /// A lease that brings a partition below its credit does not either.
    LeaseLooksNotAgain,
    /// Released bytes do not either.
    ReleaseLooksNotAgain,
    /// A seek does not either.
    SeekLooksNotAgain,
    /// A resume is no event for lane 2.
    ResumeIsNoEvent,
    /// After an empty answer lane 2 leaves a partition to lane 1, however long that one's poll is.
    LeavesToLongPoll,
    /// While lane 1 is out for long, lane 2 does not stand in for it.
    NobodyStandsIn,
    /// A reply is judged by the offset it asked for in place of the epoch (I3).
    JudgesByOffset,
    /// A seek begins no new epoch (I3).
    SeekKeepsEpoch,
    /// A committed position counts although the application sought another since (I3).
    CommittedAfterSeek,
    /// A leader move voids no request (I3).
    MoveKeepsEpoch,
    /// The reader is told of a change only if it was not told of another since its last take (I6).
    TellsOfOneChange,
    /// What a reader gives back is dropped (I6).
    DropsWhatIsGivenBack,
    /// Data of paused partitions does not give way to a reply that waits.
    PausedDataStays,
    /// A discarded reply leaves its ticket live (I4).
    DiscardKeepsTicket,
    /// The reader need not send a take though there is something for it (I8).
    TakesWaitThoughReady,
    /// Nor though somebody waits for the end of its leases (I8).
    TakesWaitThoughMemoryIsShort,
}
