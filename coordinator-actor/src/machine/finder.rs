//! Which broker coordinates the group (FindCoordinator).

use std::time::Instant;

use session_actor::wire::{ErrorCode, Peer, WireError};

use super::context::{Context, Retry};
use crate::error::GroupError;
use crate::model::{Answer, AskId, Effect, Note, Request};

#[derive(Debug, Default)]
pub(super) struct Finder {
    state: State,
    /// Whom to ask, and who is next.
    seeds: Vec<Peer>,
    next: usize,
    retry: Retry,
    /// What went wrong last, for who waits in vain.
    last_error: Option<WireError>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Asked(AskId),
    Known(Peer),
}

impl Finder {
    /// The coordinator.
    pub(super) fn known(&self) -> Option<&Peer> {
        match &self.state {
            State::Known(peer) => Some(peer),
            State::Unknown | State::Asked(_) => None,
        }
    }

    pub(super) fn last_error(&self) -> Option<&WireError> {
        self.last_error.as_ref()
    }

    /// The brokers that there are.
    pub(super) fn set_seeds(&mut self, seeds: Vec<Peer>) {
        if !seeds.is_empty() {
            self.seeds = seeds;
        }
    }

    /// Looks for the coordinator if that is due.
    pub(super) fn act(&mut self, context: &mut Context<'_>) {
        if !matches!(self.state, State::Unknown) || !self.retry.is_due(context.now) {
            return;
        }
        let Some(peer) = self.seeds.get(self.next % self.seeds.len().max(1)).cloned() else {
            return;
        };
        let limit = context.config.request_timeout;
        self.state = State::Asked(context.ask_peer(peer, Request::FindCoordinator, limit));
    }

    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        matches!(self.state, State::Unknown)
            .then(|| self.retry.at(now))
            .flatten()
    }

    pub(super) const fn awaits(&self, id: AskId) -> bool {
        matches!(self.state, State::Asked(asked) if asked.0 == id.0)
    }

    /// Returns what the application must know: there will be no coordinator.
    pub(super) fn answered(
        &mut self,
        answer: Result<Answer, WireError>,
        context: &mut Context<'_>,
    ) -> Result<(), GroupError> {
        self.state = State::Unknown;
        match answer {
            Ok(Answer::Coordinator(Ok(peer))) => {
                context.log(Note::CoordinatorFound(peer.clone()));
                self.state = State::Known(peer);
            }
            Ok(Answer::Coordinator(Err(error))) if !error.is_retriable() => {
                self.retry.failed(context);
                return Err(refused(context, error));
            }
            Ok(_) => {
                self.next = self.next.wrapping_add(1);
                self.retry.failed(context);
            }
            Err(error) => {
                // another broker may know
                self.next = self.next.wrapping_add(1);
                self.retry.failed_with(context.config.reconnect, context);
                self.last_error = Some(error);
            }
        }
        Ok(())
    }

    /// The coordinator answered as one: should it be lost, it is looked for at once.
    pub(super) fn works(&mut self) {
        if matches!(self.state, State::Known(_)) {
            self.retry.succeeded();
            self.last_error = None;
        }
    }

    /// The coordinator is gone, or is none.
    pub(super) fn lost(
        &mut self,
        why: &'static str,
        error: Option<WireError>,
        context: &mut Context<'_>,
    ) {
        if let State::Known(peer) = &self.state {
            // what ends because of that is not why
            if error.is_some() {
                self.last_error = error;
            }
            // not first where it just failed
            if let Some(at) = self
                .seeds
                .iter()
                .position(|seed| seed.address == peer.address)
                && self.last_error.is_some()
            {
                self.next = at.wrapping_add(1);
            }
            self.state = State::Unknown;
            self.retry.ended(context);
            context.log(Note::CoordinatorLost(why));
            context.push(Effect::Disconnect);
        }
    }
}

pub(super) fn refused(context: &Context<'_>, error: ErrorCode) -> GroupError {
    GroupError::Refused {
        group: context.group(),
        error,
        advice: match error {
            ErrorCode::GROUP_AUTHORIZATION_FAILED => "grant Read on the group",
            ErrorCode::INVALID_GROUP_ID => "check group.id",
            ErrorCode::GROUP_ID_NOT_FOUND => {
                "its members use another group.protocol, and the brokers' group.consumer.migration.policy does not convert it"
            }
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL => {
                "all members must have an assignor of partition.assignment.strategy in common, and the same group.protocol unless the group is being converted"
            }
            ErrorCode::INVALID_SESSION_TIMEOUT => {
                "session.timeout.ms must be between the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms"
            }
            ErrorCode::GROUP_MAX_SIZE_REACHED => "the brokers' group.max.size is reached",
            ErrorCode::UNRELEASED_INSTANCE_ID => {
                "another member with this group.instance.id is in the group; every running member needs an id of its own"
            }
            ErrorCode::UNSUPPORTED_ASSIGNOR => {
                "group.remote.assignor must be one of the brokers' group.consumer.assignors"
            }
            ErrorCode::INVALID_REGULAR_EXPRESSION => "the pattern must be in RE2 syntax",
            _ => "see the broker's log",
        },
    }
}
