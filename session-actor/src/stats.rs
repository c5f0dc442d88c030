//! What the sessions of a consumer did, countable at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use buffer_actor::{Sampled, Samples};

/// Counters that only ever rise, shared by all lanes of a consumer.
#[derive(Debug, Default)]
pub struct FetchStats {
    requests: AtomicU64,
    touches: AtomicU64,
    responses: AtomicU64,
    responses_with_data: AtomicU64,
    bytes_received: AtomicU64,
    sessions_lost: AtomicU64,
    connections: AtomicU64,
    messages: AtomicU64,
    /// Locked once per response.
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    latency: Samples,
    size: Samples,
    throttle: Samples,
}

/// What the responses of the last minute were like.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchSamples {
    /// From a request to its whole response, milliseconds; a long poll's wait at the broker included.
    pub latency: Sampled,
    /// Bytes of records in each response that brought some.
    pub size: Sampled,
    /// For how long the broker wants to be left alone, milliseconds; most often 0 (KIP-219).
    pub throttle: Sampled,
}

/// A response that was read, in figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseFacts {
    /// Since its request was written.
    pub(crate) latency: Duration,
    /// Its length.
    pub(crate) bytes: u64,
    /// Of records.
    pub(crate) records_bytes: u64,
    pub(crate) throttle: Duration,
}

/// A reading of [`FetchStats`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchCounts {
    /// Fetch requests sent, touches included.
    pub requests: u64,
    /// Requests that only kept a session alive.
    pub touches: u64,
    /// Responses that were read, those to touches included.
    pub responses: u64,
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
            responses: read(&self.responses),
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

    /// The responses of the last minute.
    pub fn recent(&self, now: Instant) -> FetchSamples {
        let recent = self.lock();
        FetchSamples {
            latency: recent.latency.read(now),
            size: recent.size.read(now),
            throttle: recent.throttle.read(now),
        }
    }

    pub(crate) fn response(&self, now: Instant, facts: ResponseFacts) {
        let with_data = facts.records_bytes > 0;
        self.responses.fetch_add(1, Ordering::Relaxed);
        self.bytes_received
            .fetch_add(facts.bytes, Ordering::Relaxed);
        self.responses_with_data
            .fetch_add(u64::from(with_data), Ordering::Relaxed);
        let mut recent = self.lock();
        recent.latency.record_time(now, facts.latency);
        recent.throttle.record_time(now, facts.throttle);
        if with_data {
            recent.size.record(now, facts.records_bytes as f64);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
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
