//! Names for the things that messages speak of.

use std::fmt;

/// A broker, by its `node.id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub i32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One of the two connections that carry fetches to a node.
///
/// A broker serves one request of a connection at a time, so what must not wait behind a long poll needs a second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Lane 1: the node's incremental fetch session (KIP-227), long polls.
    Session,
    /// Lane 2: opened when first needed, sessionless (epoch -1, no cache slot), for what cannot wait.
    Quick,
}

impl Lane {
    /// Both lanes, in their order.
    pub const ALL: [Self; 2] = [Self::Session, Self::Quick];
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Quick => "quick",
        })
    }
}

/// An assigned partition. The slot is reused after an unassignment, the generation tells the old owner from the new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId {
    slot: u32,
    generation: u32,
}

impl PartitionId {
    /// The id of the `generation`th partition that lives in `slot`.
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }

    /// A dense index, for tables that follow the assignment.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }

    /// Which occupant of the slot this is.
    pub const fn generation(self) -> u32 {
        self.generation
    }
}

/// Counts what makes a fetch in flight stale: seek, reset, reassignment, leader move (I3). Compare epochs, not offsets:
/// a seek back to the same offset is a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FetchEpoch(pub u64);

/// A reservation that was granted and has not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TicketId(pub u64);

/// A `Take` that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TakeId(pub u64);
