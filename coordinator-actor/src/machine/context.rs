//! What every part of the machine needs while it handles an event.

use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Backoff, Jitter};
use session_actor::ClusterSnapshot;
use session_actor::wire::{Peer, WireError};

use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::model::{AskId, Effect, LastPoll, Note, Request};
use crate::stats::GroupStats;

/// The surroundings of one event.
pub(super) struct Context<'a> {
    pub(super) config: &'a GroupConfig,
    pub(super) now: Instant,
    pub(super) last_poll: LastPoll,
    pub(super) cluster: &'a ClusterSnapshot,
    /// The group's coordinator, if it is known.
    pub(super) coordinator: Option<Peer>,
    /// Nothing has to be done any more before the member leaves.
    pub(super) may_leave: bool,
    /// When a close must be over.
    pub(super) closes_at: Option<Instant>,
    pub(super) verdict: &'a mut Verdict,
    pub(super) jitter: &'a mut Jitter,
    pub(super) asks: &'a mut u64,
    pub(super) stats: &'a mut GroupStats,
    pub(super) effects: &'a mut Vec<Effect>,
}

impl Context<'_> {
    /// Asks the coordinator, if there is one.
    pub(super) fn ask(&mut self, request: Request) -> Option<AskId> {
        self.ask_within(request, self.config.request_timeout)
    }

    pub(super) fn ask_within(&mut self, request: Request, limit: Duration) -> Option<AskId> {
        let peer = self.coordinator.clone()?;
        Some(self.ask_peer(peer, request, limit))
    }

    pub(super) fn ask_peer(&mut self, peer: Peer, request: Request, limit: Duration) -> AskId {
        *self.asks += 1;
        let id = AskId(*self.asks);
        self.stats.asked(self.now, id, &request);
        self.effects.push(Effect::Ask {
            id,
            peer,
            request,
            limit,
        });
        id
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The coordinator is gone, or is none.
    pub(super) fn lose_coordinator(&mut self, why: &'static str, error: Option<WireError>) {
        self.coordinator = None;
        self.verdict.lost = Some((why, error));
    }

    /// The application must see this, and nothing goes on before it acts.
    pub(super) fn fail(&mut self, error: GroupError) {
        self.verdict.fatal = Some(error);
    }

    /// The application must see this; all goes on.
    pub(super) fn complain(&mut self, error: GroupError) {
        self.effects.push(Effect::Complain(error));
    }

    pub(super) fn log(&mut self, note: Note) {
        self.effects.push(Effect::Log(note));
    }

    pub(super) fn group(&self) -> Arc<str> {
        Arc::clone(&self.config.group_id)
    }
}

/// What one part found out that concerns all.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) lost: Option<(&'static str, Option<WireError>)>,
    pub(super) fatal: Option<GroupError>,
}

/// Attempts in a row that failed, and when the next one may be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Retry {
    failures: u32,
    not_before: Option<Instant>,
}

impl Retry {
    /// Another attempt failed.
    pub(super) fn failed(&mut self, context: &mut Context<'_>) {
        self.failed_with(context.config.retry, context);
    }

    pub(super) fn failed_with(&mut self, backoff: Backoff, context: &mut Context<'_>) {
        let delay = backoff.delay(self.failures, context.jitter.next());
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(context.now + delay);
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Something that worked does not any more: the first attempt may be made at once.
    pub(super) fn ended(&mut self, context: &mut Context<'_>) {
        if self.failures == 0 {
            self.failures = 1;
        } else {
            self.failed(context);
        }
    }

    /// Another attempt may be made.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }

    /// When, if that is still to come.
    pub(super) fn at(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|at| *at > now)
    }
}
