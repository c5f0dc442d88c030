//! What a consumer did and holds, as numbers.

use buffer_actor::messages::BufferStatus;
use session_actor::FetchCounts;

/// A reading of a consumer's counters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Metrics {
    /// Fetch requests sent, those that only keep a session alive included.
    pub fetch_requests: u64,
    /// Requests that only kept a session alive.
    pub session_touches: u64,
    /// Responses that brought records.
    pub data_bearing_responses: u64,
    /// Bytes of all fetch responses as they came over the wire.
    pub bytes_received: u64,
    /// Fetch sessions that had to start over.
    pub sessions_lost: u64,
    /// Connections made for fetching.
    pub fetch_connections: u64,
    /// Bytes of `buffer.memory` in use: reserved, buffered, or alive in the application's hands.
    pub memory_used: u64,
    /// Messages delivered to the mailboxes of buffer, planner and sessions.
    pub messages: u64,
    /// Replies that waited too long for memory and were thrown away.
    pub discarded_replies: u64,
    /// Replies that were read although the budget was full.
    pub overdrawn_replies: u64,
}

impl Metrics {
    pub(crate) fn new(fetch: FetchCounts, buffer: &BufferStatus, planner: u64) -> Self {
        Self {
            fetch_requests: fetch.requests,
            session_touches: fetch.touches,
            data_bearing_responses: fetch.responses_with_data,
            bytes_received: fetch.bytes_received,
            sessions_lost: fetch.sessions_lost,
            fetch_connections: fetch.connections,
            memory_used: buffer.memory_used,
            messages: buffer.messages + planner + fetch.messages,
            discarded_replies: buffer.counters.discarded_replies,
            overdrawn_replies: buffer.counters.overdrawn_replies,
        }
    }
}
