//! What the application does, timed on its side: its polls, and the calls of its listener.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use buffer_actor::{Sampled, Samples};
use coordinator_actor::RebalanceEvent;

/// Written by the reader, twice a poll; read by handles. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApplicationStats(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// When the last poll began, and how long it took.
    last_poll: Option<(Instant, Duration)>,
    time_between: Samples,
    idle_ratio: Samples,
    assigned: Samples,
    revoked: Samples,
    lost: Samples,
}

/// How the application polls, over the last minute.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PollMetrics {
    /// Since the last poll began; `None` before the first.
    pub since_last: Option<Duration>,
    /// From the beginning of a poll to that of the next, milliseconds.
    pub time_between: Sampled,
    /// The share of that time that was spent in the poll, 0 to 1: near 1 the consumer waits for records, near 0 it is the
    /// application that takes the time.
    pub idle_ratio: Sampled,
}

/// How long calls of the rebalance listener took, milliseconds, over the last minute.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ListenerMetrics {
    /// `assigned`.
    pub assigned: Sampled,
    /// `revoked`.
    pub revoked: Sampled,
    /// `lost`.
    pub lost: Sampled,
}

impl ApplicationStats {
    /// A poll begins. It is going on until what is returned is dropped.
    pub(crate) fn enter(&self, now: Instant) -> InPoll {
        let mut inner = self.lock();
        if let Some((began, took)) = inner.last_poll {
            let between = now.saturating_duration_since(began);
            inner.time_between.record_time(now, between);
            if !between.is_zero() {
                let idle = took.as_secs_f64() / between.as_secs_f64();
                inner.idle_ratio.record(now, idle.min(1.0));
            }
        }
        inner.last_poll = Some((now, Duration::ZERO));
        InPoll {
            stats: self.clone(),
            began: now,
            at: now,
            waits: false,
        }
    }

    /// A call of the listener ended.
    pub(crate) fn called(&self, kind: Callback, took: Duration) {
        let now = clock();
        let mut inner = self.lock();
        let samples = match kind {
            Callback::Assigned => &mut inner.assigned,
            Callback::Revoked => &mut inner.revoked,
            Callback::Lost => &mut inner.lost,
        };
        samples.record_time(now, took);
    }

    pub(crate) fn polls(&self, now: Instant) -> PollMetrics {
        let inner = self.lock();
        let since = |(began, _)| now.saturating_duration_since(began);
        PollMetrics {
            since_last: inner.last_poll.map(since),
            time_between: inner.time_between.read(now),
            idle_ratio: inner.idle_ratio.read(now),
        }
    }

    pub(crate) fn listener(&self, now: Instant) -> ListenerMetrics {
        let inner = self.lock();
        ListenerMetrics {
            assigned: inner.assigned.read(now),
            revoked: inner.revoked.read(now),
            lost: inner.lost.read(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which method of the listener.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Callback {
    Assigned,
    Revoked,
    Lost,
}

impl Callback {
    /// What is called for an event, if anything is.
    pub(crate) const fn of(event: &RebalanceEvent) -> Option<Self> {
        match event {
            RebalanceEvent::Checkpoint => None,
            RebalanceEvent::Assigned(_) => Some(Self::Assigned),
            RebalanceEvent::Revoked(_) => Some(Self::Revoked),
            RebalanceEvent::Lost(_) => Some(Self::Lost),
        }
    }
}

/// A poll that is going on.
#[derive(Debug)]
pub(crate) struct InPoll {
    stats: ApplicationStats,
    began: Instant,
    at: Instant,
    waits: bool,
}

impl InPoll {
    /// What follows may take long, and be dropped meanwhile.
    pub(crate) const fn waits(&mut self) {
        self.waits = true;
    }

    /// The poll still goes on at this time, as it found out.
    pub(crate) const fn goes_on(&mut self, now: Instant) {
        self.at = now;
        self.waits = false;
    }
}

impl Drop for InPoll {
    fn drop(&mut self) {
        // a clock is read only if a poll was dropped while it waited
        let end = if self.waits { clock() } else { self.at };
        let took = end.saturating_duration_since(self.began);
        if let Some((_, last)) = &mut self.stats.lock().last_poll {
            *last = took;
        }
    }
}

pub(crate) fn clock() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_ratio_is_the_share_of_time_spent_in_polls() {
        let stats = ApplicationStats::default();
        let start = clock();
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(stats.polls(start).since_last, None);
        let mut polling = stats.enter(at(0));
        polling.waits();
        polling.goes_on(at(300));
        drop(polling);
        drop(stats.enter(at(400)));
        drop(stats.enter(at(600)));
        let polls = stats.polls(at(700));
        assert_eq!(polls.since_last, Some(Duration::from_millis(100)));
        assert_eq!(polls.time_between.avg(), Some(300.0));
        assert_eq!(polls.time_between.max, Some(400.0));
        let idle = polls.idle_ratio.avg().unwrap();
        assert!((idle - 0.375).abs() < 1e-9, "{idle}");
    }
}
