//! What is sent to the planner from above. What buffer and sessions send is defined where they are.

use actix::Message;
use tokio::sync::oneshot;

/// Facade -> Fetch: close all lanes, end their sessions at the brokers, then stop. `done` is dropped when that is done.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct CloseAll {
    /// Dropped when every lane has closed.
    pub done: oneshot::Sender<()>,
}

/// Fetch -> Metadata: an assigned partition has no leader, or its leader no address.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct LeaderUnknown;
