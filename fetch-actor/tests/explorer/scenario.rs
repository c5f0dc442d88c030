//! The bounds of a search.

use buffer_actor::{Policy, Start};

use crate::broker::PARTITIONS;
use crate::events::Allowance as A;
use crate::events::Allowances;

/// A small cluster, a consumer of it, and how much may happen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Batches in the logs at the beginning.
    pub(crate) batches: [i64; PARTITIONS],
    /// Bytes of even and of odd batches.
    pub(crate) sizes: [[u32; 2]; PARTITIONS],
    pub(crate) leaders: [usize; PARTITIONS],
    /// Which partitions are assigned at the beginning.
    pub(crate) assigned: [bool; PARTITIONS],
    /// Where they start.
    pub(crate) start: Start,
    pub(crate) policy: Policy,
    /// `buffer.memory`.
    pub(crate) memory: u64,
    /// `max.partition.fetch.bytes`.
    pub(crate) partition_max: u32,
    /// `max.poll.records`.
    pub(crate) poll_records: u32,
    /// The application keeps records beyond their lease, for as long as it likes.
    pub(crate) keeps: bool,
    /// A body may come later than its length.
    pub(crate) splits_bodies: bool,
    /// The search begins when all that happens by itself has happened, and lane 1 waits in its long poll.
    pub(crate) warm: bool,
    pub(crate) allowances: Allowances,
    /// States to stop at; `None`: all.
    pub(crate) limit: Option<usize>,
}

/// About a megabyte: what a batch has, and what a partition is asked for at most.
const BATCH: u32 = 1_000_000;
const PARTITION_MAX: u32 = 1 << 20;

const PLAIN: Scenario = Scenario {
    name: "plain",
    batches: [2, 1],
    sizes: [[BATCH; 2]; PARTITIONS],
    leaders: [0, 0],
    assigned: [true; PARTITIONS],
    start: Start::Offset(0),
    policy: Policy::ReadAhead,
    memory: 64 << 20,
    partition_max: PARTITION_MAX,
    poll_records: 1,
    keeps: false,
    splits_bodies: false,
    warm: true,
    allowances: Allowances::of([]),
    limit: None,
};

/// A bit of everything, to be walked through.
pub(crate) const WIDE: Scenario = Scenario {
    name: "wide",
    warm: false,
    sizes: [[BATCH, 3 * BATCH], [2 * BATCH, BATCH]],
    batches: [2, 1],
    memory: 6_000_000,
    splits_bodies: true,
    allowances: Allowances::of([
        (A::Poll, 4),
        (A::Cancel, 1),
        (A::Wake, 1),
        (A::Seek, 2),
        (A::LookUp, 1),
        (A::Pause, 2),
        (A::Resume, 2),
        (A::Revoke, 1),
        (A::Assign, 1),
        (A::Produce, 2),
        (A::Move, 2),
        (A::Snapshot, 3),
        (A::Elect, 1),
        (A::Evict, 1),
        (A::Refuse, 1),
        (A::Lose, 2),
        (A::Time, 4),
        (A::Fire, 6),
    ]),
    ..PLAIN
};

/// One of [`ALL`].
pub(crate) fn named(name: &str) -> Scenario {
    let found = ALL.into_iter().find(|scenario| scenario.name == name);
    found.unwrap_or_else(|| panic!("no scenario is called {name:?}"))
}

/// Everything that is searched.
pub(crate) const ALL: [Scenario; 20] = [
    Scenario {
        name: "startup",
        warm: false,
        batches: [1, 0],
        allowances: Allowances::of([(A::Poll, 1), (A::Pause, 1), (A::Resume, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "seek",
        allowances: Allowances::of([(A::Poll, 2), (A::Seek, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "pause",
        allowances: Allowances::of([(A::Poll, 3), (A::Pause, 1), (A::Resume, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "seek and pause",
        batches: [1, 1],
        allowances: Allowances::of([(A::Poll, 2), (A::Seek, 1), (A::Pause, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "polls given up",
        batches: [1, 1],
        allowances: Allowances::of([(A::Poll, 3), (A::Cancel, 1), (A::Seek, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "woken",
        batches: [1, 0],
        allowances: Allowances::of([(A::Poll, 3), (A::Cancel, 1), (A::Wake, 1), (A::Pause, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "rebalance",
        batches: [1, 1],
        allowances: Allowances::of([(A::Poll, 2), (A::Revoke, 1), (A::Assign, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "leaders",
        batches: [1, 1],
        allowances: Allowances::of([(A::Move, 2), (A::Snapshot, 2)]),
        ..PLAIN
    },
    Scenario {
        name: "elections",
        assigned: [true, false],
        batches: [1, 0],
        allowances: Allowances::of([
            (A::Move, 1),
            (A::Snapshot, 2),
            (A::Elect, 1),
            (A::Fire, 1),
            (A::Poll, 1),
        ]),
        ..PLAIN
    },
    Scenario {
        name: "a node left and found again",
        assigned: [true, false],
        batches: [1, 0],
        allowances: Allowances::of([(A::Move, 2), (A::Snapshot, 2), (A::Lose, 1), (A::Fire, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "connections",
        batches: [1, 1],
        allowances: Allowances::of([
            (A::Lose, 2),
            (A::Fire, 2),
            (A::Snapshot, 1),
            (A::Poll, 1),
            (A::Produce, 1),
        ]),
        ..PLAIN
    },
    Scenario {
        name: "sessions",
        batches: [1, 1],
        allowances: Allowances::of([
            (A::Poll, 1),
            (A::Evict, 1),
            (A::Refuse, 1),
            (A::Lose, 1),
            (A::Fire, 1),
            (A::Produce, 1),
        ]),
        ..PLAIN
    },
    Scenario {
        name: "no slot for a session",
        batches: [1, 0],
        allowances: Allowances::of([
            (A::Evict, 1),
            (A::Refuse, 1),
            (A::Seek, 1),
            (A::Pause, 1),
            (A::Resume, 1),
            (A::Fire, 1),
        ]),
        ..PLAIN
    },
    Scenario {
        name: "read-ahead",
        batches: [3, 0],
        allowances: Allowances::of([(A::Poll, 1), (A::Produce, 1), (A::Pause, 1), (A::Resume, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "touch",
        batches: [3, 0],
        allowances: Allowances::of([(A::Poll, 1), (A::Produce, 1), (A::Time, 2), (A::Fire, 2)]),
        ..PLAIN
    },
    Scenario {
        name: "memory",
        warm: false,
        leaders: [0, 1],
        sizes: [[BATCH, 3 * BATCH], [2 * BATCH, BATCH]],
        batches: [2, 2],
        memory: 3_000_000,
        keeps: true,
        splits_bodies: true,
        allowances: Allowances::of([(A::Poll, 3)]),
        ..PLAIN
    },
    Scenario {
        name: "memory and lost connections",
        warm: false,
        leaders: [0, 1],
        sizes: [[BATCH, 3 * BATCH], [2 * BATCH, BATCH]],
        memory: 3_000_000,
        keeps: true,
        splits_bodies: true,
        allowances: Allowances::of([(A::Poll, 1), (A::Lose, 1), (A::Fire, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "memory of the paused",
        sizes: [[BATCH, 2 * BATCH], [2 * BATCH, BATCH]],
        batches: [2, 2],
        memory: 3_000_000,
        allowances: Allowances::of([
            (A::Poll, 2),
            (A::Pause, 1),
            (A::Resume, 1),
            (A::Time, 1),
            (A::Fire, 1),
        ]),
        ..PLAIN
    },
    Scenario {
        name: "lookups",
        assigned: [true, false],
        batches: [1, 0],
        allowances: Allowances::of([(A::LookUp, 2), (A::Move, 1), (A::Snapshot, 1)]),
        ..PLAIN
    },
    Scenario {
        name: "committed positions",
        warm: false,
        start: Start::Committed,
        batches: [1, 0],
        allowances: Allowances::of([(A::Seek, 1)]),
        ..PLAIN
    },
];
