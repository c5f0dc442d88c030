//! When a member sends its heartbeats, and when it takes the coordinator for dead.

use std::time::{Duration, Instant};

use crate::model::AskId;

#[derive(Debug)]
pub(super) struct Heartbeat {
    interval: Duration,
    session_timeout: Duration,
    next: Option<Instant>,
    in_flight: Option<(AskId, Instant)>,
    /// Without an answer until then nobody is there.
    session_end: Option<Instant>,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beat {
    Wait,
    Due,
    Dead,
}

impl Heartbeat {
    pub(super) const fn new(interval: Duration, session_timeout: Duration) -> Self {
        Self {
            interval,
            session_timeout,
            next: None,
            in_flight: None,
            session_end: None,
        }
    }

    /// `heartbeat.interval.ms`.
    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// A generation begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.next = Some(now + self.interval);
        self.session_end = Some(now + self.session_timeout);
    }

    /// There is nothing to keep alive.
    pub(super) const fn end(&mut self) {
        self.next = None;
        self.in_flight = None;
        self.session_end = None;
    }

    pub(super) fn next(&mut self, now: Instant) -> Beat {
        if self.session_end.is_some_and(|end| end <= now) {
            self.session_end = None;
            self.in_flight = None;
            Beat::Dead
        } else if self.in_flight.is_none() && self.next.is_none_or(|next| next <= now) {
            Beat::Due
        } else {
            Beat::Wait
        }
    }

    pub(super) const fn sent(&mut self, id: AskId, now: Instant) {
        self.in_flight = Some((id, now));
    }

    pub(super) fn awaits(&self, id: AskId) -> bool {
        self.in_flight.is_some_and(|(asked, _)| asked == id)
    }

    /// An answer came; `is_member` if it says that the coordinator knows this member.
    pub(super) fn answered(&mut self, now: Instant, is_member: bool) {
        if let Some((_, sent)) = self.in_flight.take() {
            // no burst after a slow answer
            self.next = Some((sent + self.interval).max(now));
            if is_member {
                self.session_end = Some(sent + self.session_timeout);
            } else {
                self.next = Some(now + self.interval);
            }
        }
    }

    /// No answer will come; the next one is due at once, to whoever is the coordinator then.
    pub(super) const fn unanswered(&mut self) {
        self.in_flight = None;
        self.next = None;
    }

    /// When it is time, if somebody `listens`.
    pub(super) fn due(&self, listens: bool) -> Option<Instant> {
        let next = self.next.filter(|_| listens && self.in_flight.is_none());
        next.into_iter().chain(self.session_end).min()
    }
}
