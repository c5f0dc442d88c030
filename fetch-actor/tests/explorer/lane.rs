//! A lane: the real session machine and the connection it speaks over.

use std::time::Instant;

use buffer_actor::{Ask, Lane, TicketId};
use session_actor::fetch_session::FetchSession;
use session_actor::machine::{Request, SessionConfig, SessionMachine};

use crate::broker::{PARTITIONS, Pending, Reply};

/// Bytes of an answer besides records: a fixed part and one for each partition. Less than what the buffer reserves for it.
const ANSWER: u64 = 100;
const ANSWER_PART: u64 = 60;

/// Where the connection and the one request on it are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Wire {
    Closed,
    Connecting,
    Open,
    /// A request on its way.
    Request(Request),
    /// The broker waits for data.
    Polling(Pending),
    /// An answer on its way.
    Answer(Reply),
    /// Its length was told.
    Body(Reply, Body),
}

/// What the session does about a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    /// Nothing yet: it waits for memory.
    Waits,
    Read,
    Skip,
}

/// What the request in flight asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    /// `None`: a touch.
    pub(crate) ticket: Option<TicketId>,
    /// By partition.
    pub(crate) asks: [Option<Ask>; PARTITIONS],
    /// Partitions that the request may leave out or forget, for a reason that I5 allows.
    pub(crate) excused: [bool; PARTITIONS],
    pub(crate) is_long_poll: bool,
    /// The broker may keep it for longer than `fetch.max.wait.ms`.
    pub(crate) out_for_long: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneActor {
    pub(crate) machine: SessionMachine,
    pub(crate) wire: Wire,
    pub(crate) work: Option<Work>,
}

impl LaneActor {
    pub(crate) const fn new(config: SessionConfig, session: FetchSession) -> Self {
        Self {
            machine: SessionMachine::new(config, session, 7),
            wire: Wire::Closed,
            work: None,
        }
    }

    /// Has a request or a touch in the making, out, or being answered.
    pub(crate) const fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// Is in a pause: after a failure, or throttled.
    pub(crate) fn rests(&self) -> bool {
        self.work.is_none() && self.machine.poll_timeout().is_some()
    }

    /// Nothing happens on it unless the broker, the clock or the buffer does something.
    pub(crate) const fn is_quiet(&self) -> bool {
        matches!(
            self.wire,
            Wire::Closed | Wire::Open | Wire::Polling(_) | Wire::Body(_, Body::Waits)
        )
    }

    /// What it asks of a partition; nothing if it only parks it.
    pub(crate) fn ask(&self, partition: usize) -> Option<&Ask> {
        let work = self.work.as_ref()?;
        work.asks[partition].as_ref().filter(|ask| !ask.parked)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }
}

pub(crate) fn answer_length(reply: &Reply) -> u64 {
    let records: u64 = reply.parts.iter().map(|part| u64::from(part.bytes)).sum();
    ANSWER + ANSWER_PART * reply.parts.len() as u64 + records
}

/// Lanes by index: both of the first node, then both of the second.
pub(crate) const fn lane_index(node: usize, lane: Lane) -> usize {
    node * 2 + lane as usize
}

pub(crate) const fn lane_of(index: usize) -> (usize, Lane) {
    (index / 2, Lane::ALL[index % 2])
}
