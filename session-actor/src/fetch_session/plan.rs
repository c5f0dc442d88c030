//! What goes between a session and those who write its requests and read its answers.

use std::sync::Arc;

use crate::cluster::Topic;

/// What a request must say.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Plan {
    /// 0 for none.
    pub session_id: i32,
    /// 0 begins a session, -1 goes without or ends it, else the number of this request in it.
    pub session_epoch: i32,
    /// Topics go by id, which needs Fetch v13; else by name, up to v12.
    pub topic_ids: bool,
    /// Partitions to name, in this order.
    pub named: Vec<Named>,
    /// Partitions that leave the session.
    pub forgotten: Vec<Forgotten>,
}

/// A partition that a request names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Named {
    /// Its topic.
    pub topic: Arc<Topic>,
    /// Its index.
    pub index: i32,
    /// What is said of it.
    pub sent: Sent,
}

/// What a session keeps of a partition at the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sent {
    /// Fetch offset.
    pub offset: i64,
    /// Current leader epoch.
    pub leader_epoch: i32,
    /// The partition's limit, bytes.
    pub max_bytes: i32,
}

/// A partition that a request drops from the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Forgotten {
    /// Its topic, by the id under which it was named.
    pub topic: Arc<Topic>,
    /// Its index.
    pub index: i32,
}

/// What the head of an answer says, and whom its partitions belong to.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead {
    /// Top-level error code, 0 for none.
    pub error_code: i16,
    /// 0 for none.
    pub session_id: i32,
    /// The broker asks to be left alone for a while (KIP-219).
    pub throttled: bool,
}

/// What a lane has at its broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// No session, and nothing that speaks against one.
    None,
    /// A session, which a long rest would cost.
    Live,
    /// No session: the broker had no slot for it. It is asked again after a pause, and names every partition in each request until
    /// then.
    Refused,
}

/// What to do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Use it.
    Accepted,
    /// It does not fit what was asked: use nothing of it.
    Rejected {
        /// For the log.
        reason: &'static str,
        /// Whether metadata may be out of date.
        refresh_metadata: bool,
    },
}

/// What an answer told of a partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Watermarks {
    /// -1 if unknown.
    pub high: i64,
    /// -1 if unknown.
    pub last_stable: i64,
    /// -1 if unknown.
    pub log_start: i64,
}

impl Watermarks {
    pub(super) const UNKNOWN: Self = Self {
        high: -1,
        last_stable: -1,
        log_start: -1,
    };
}

/// After 2^31 - 1 comes 1.
pub(super) const fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}
