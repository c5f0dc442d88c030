//! What the sessions of a consumer did, countable at any time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that only ever rise, shared by all lanes of a consumer.
#[derive(Debug, Default)]
pub struct FetchStats {
    requests: AtomicU64,
    touches: AtomicU64,
    responses_with_data: AtomicU64,
    bytes_received: AtomicU64,
    sessions_lost: AtomicU64,
    connections: AtomicU64,
    messages: AtomicU64,
}

/// A reading of [`FetchStats`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchCounts {
    /// Fetch requests sent, touches included.
    pub requests: u64,
    /// Requests that only kept a session alive.
    pub touches: u64,
    /// Responses that brought records.
    pub responses_with_data: u64,
    /// Bytes of all fetch responses, their length fields included.
    pub bytes_received: u64,
    /// Sessions that a broker evicted or refused to go on with.
    pub sessions_lost: u64,
    /// Connections made for fetching.
    pub connections: u64,
    /// Messages delivered to the sessions' mailboxes.
    pub messages: u64,
}

impl FetchStats {
    /// All counters.
    pub fn counts(&self) -> FetchCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FetchCounts {
            requests: read(&self.requests),
            touches: read(&self.touches),
            responses_with_data: read(&self.responses_with_data),
            bytes_received: read(&self.bytes_received),
            sessions_lost: read(&self.sessions_lost),
            connections: read(&self.connections),
            messages: read(&self.messages),
        }
    }

    pub(crate) fn request(&self, touch: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.touches.fetch_add(u64::from(touch), Ordering::Relaxed);
    }

    pub(crate) fn response(&self, bytes: u64, with_data: bool) {
        self.bytes_received.fetch_add(bytes, Ordering::Relaxed);
        self.responses_with_data
            .fetch_add(u64::from(with_data), Ordering::Relaxed);
    }

    pub(crate) fn session_lost(&self) {
        self.sessions_lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn message(&self) {
        self.messages.fetch_add(1, Ordering::Relaxed);
    }
}
