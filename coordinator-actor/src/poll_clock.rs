//! When the application last polled: written by every poll, read by the coordinator, no message between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::model::LastPoll;

/// Shared by the reader and the coordinator. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PollClock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Times are told from here.
    start: Instant,
    /// Milliseconds since `start`, and in the lowest bit whether a poll is going on.
    word: AtomicU64,
}

impl PollClock {
    /// A clock of an application that shows itself `now`.
    pub fn new(now: Instant) -> Self {
        Self(Arc::new(Inner {
            start: now,
            word: AtomicU64::new(0),
        }))
    }

    /// A poll begins. It is going on until what is returned is dropped.
    pub fn enter(&self, now: Instant) -> Polling {
        let polling = Polling {
            clock: self.clone(),
            at: now,
        };
        self.set(now, true);
        polling
    }

    pub(crate) fn last(&self) -> LastPoll {
        let word = self.0.word.load(Ordering::Acquire);
        if word & 1 == 1 {
            LastPoll::Now
        } else {
            LastPoll::At(self.0.start + Duration::from_millis(word >> 1))
        }
    }

    fn set(&self, now: Instant, is_polling: bool) {
        let since = now.saturating_duration_since(self.0.start).as_millis();
        let millis = u64::try_from(since).unwrap_or(u64::MAX >> 1);
        let word = (millis << 1) | u64::from(is_polling);
        self.0.word.store(word, Ordering::Release);
    }
}

/// A poll that is going on.
#[derive(Debug)]
pub struct Polling {
    clock: PollClock,
    at: Instant,
}

impl Polling {
    /// The poll still goes on at this time, as it found out.
    pub const fn goes_on(&mut self, now: Instant) {
        self.at = now;
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.clock.set(self.at, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_counts_as_going_on_until_it_ends_or_is_dropped() {
        let start = tokio::time::Instant::now().into_std();
        let clock = PollClock::new(start);
        assert_eq!(clock.last(), LastPoll::At(start));
        let later = start + Duration::from_millis(1500);
        let mut polling = clock.enter(later);
        assert_eq!(clock.last(), LastPoll::Now);
        let end = later + Duration::from_secs(7);
        polling.goes_on(end);
        drop(polling);
        assert_eq!(clock.last(), LastPoll::At(end));
    }
}
