//! What is sent to a session, and what it sends. All are tells.

use std::sync::Arc;

use actix::Message;
use buffer_actor::{Grant, Lane, NodeId, Ticket};
use tokio::sync::oneshot;

use crate::cluster::{NewLeader, PartitionTable};
use crate::fetch_session::SessionState;

/// Fetch -> Session: ask for this. Only to an idle lane (I2).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct StartJob {
    /// What to do.
    pub job: LaneJob,
    /// The names of what the grant speaks of.
    pub table: Arc<PartitionTable>,
}

/// What a lane may be told to do.
#[derive(Debug)]
pub enum LaneJob {
    /// Send a granted request.
    Fetch {
        /// What to ask for.
        grant: Grant,
        /// The right to ask for it.
        ticket: Ticket,
    },
    /// Keep the session alive.
    Touch,
}

/// Session -> Fetch: the lane may be given a request. After [`FetchDone`](buffer_actor::messages::FetchDone) (I7).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LaneIdle {
    /// The node.
    pub node: NodeId,
    /// Its lane.
    pub lane: Lane,
    /// What the lane has at its broker: a session that a long rest would cost, or one that was refused.
    pub session: SessionState,
}

/// Session -> Fetch: the lane cannot be used until it says that it is idle.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LaneUnavailable {
    /// The node.
    pub node: NodeId,
    /// Its lane.
    pub lane: Lane,
}

/// Session -> Fetch: the actor ended without having been told to.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LaneLost {
    /// The node.
    pub node: NodeId,
    /// Its lane.
    pub lane: Lane,
}

/// Session -> Metadata: leaders, addresses or topic ids may have changed.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct RefreshMetadata {
    /// Where that showed: a node that may not answer, so that others are asked first.
    pub node: NodeId,
}

/// Session -> Metadata: a broker refused partitions and said who leads them now (KIP-951).
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LeadersTold(pub Vec<NewLeader>);

/// Session -> Metadata: a node was reached, or could not be, or what it answers is of no use.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct NodeReached {
    /// The node.
    pub node: NodeId,
    /// What kept it from being reached or used.
    pub failure: Option<crate::wire::WireError>,
    /// How often that was so since its last answer of use, this time included.
    pub failures: u32,
}

/// Fetch -> Session: end the session at the broker, then stop.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct CloseLane {
    /// Dropped when it is done.
    pub done: oneshot::Sender<()>,
}
