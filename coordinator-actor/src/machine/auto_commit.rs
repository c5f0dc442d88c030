//! When `enable.auto.commit` commits: every `auto.commit.interval.ms`, sooner after a failure that passes, one at a time.

use std::time::{Duration, Instant};

/// Between two commits at least, whatever is configured.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct AutoCommit {
    interval: Duration,
    next: Instant,
    /// One became due while another was on its way.
    is_overdue: bool,
}

impl AutoCommit {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        let interval = interval.max(SHORTEST_INTERVAL);
        Self {
            interval,
            next: now + interval,
            is_overdue: false,
        }
    }

    pub(super) const fn due(&self) -> Instant {
        self.next
    }

    /// Whether to commit now, unless that is still being done.
    pub(super) fn is_due(&mut self, now: Instant, is_busy: bool) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.interval;
        self.is_overdue = is_busy;
        !is_busy
    }

    /// The commit has ended; `retry` is when it may be tried again if it failed for now. Then it is made anew, with the newest
    /// offsets. Returns whether the next one is overdue.
    pub(super) fn ended(&mut self, retry: Option<Instant>) -> bool {
        if let Some(retry) = retry {
            self.next = self.next.min(retry);
        }
        std::mem::take(&mut self.is_overdue) && retry.is_none()
    }
}
