//! What the group committed (OffsetFetch): for positions of newly assigned partitions, and for the application.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use buffer_actor::{CommittedOffset, FetchEpoch, PartitionId};
use record_batch::TopicPartition;
use session_actor::wire::{ErrorCode, WireError};

use super::context::{Context, Retry};
use super::finder::refused;
use crate::error::GroupError;
use crate::model::{Answer, AskId, CallId, Effect, Fetched, Identity, OffsetAndMetadata, Request};

#[derive(Debug, Default)]
pub(super) struct CommittedOffsets {
    in_flight: Option<InFlight>,
    positions: Vec<Wanted>,
    calls: Vec<Call>,
    retry: Retry,
}

#[derive(Debug)]
struct InFlight {
    id: AskId,
    identity: Option<Identity>,
}

#[derive(Debug)]
struct Wanted {
    partition: PartitionId,
    epoch: FetchEpoch,
    name: TopicPartition,
    /// The request in flight asks for it. An answer to an older one may be older than the last owner's commits.
    is_asked: bool,
}

#[derive(Debug)]
struct Call {
    id: CallId,
    missing: BTreeSet<TopicPartition>,
    /// Not these but whatever was committed, which takes a request of its own.
    wants_all: bool,
    found: BTreeMap<TopicPartition, Option<OffsetAndMetadata>>,
    deadline: Instant,
    is_asked: bool,
}

impl CommittedOffsets {
    pub(super) const fn wants_coordinator(&self) -> bool {
        !self.positions.is_empty() || !self.calls.is_empty()
    }

    /// A partition starts where the group committed. A later lookup of the same one replaces it.
    pub(super) fn look_up(
        &mut self,
        partition: PartitionId,
        epoch: FetchEpoch,
        name: TopicPartition,
    ) {
        self.positions
            .retain(|wanted| wanted.partition != partition);
        self.positions.push(Wanted {
            partition,
            epoch,
            name,
            is_asked: false,
        });
    }

    /// Lookups of what is not assigned any more are not needed.
    pub(super) fn retain(&mut self, is_owned: impl Fn(&TopicPartition) -> bool) {
        self.positions.retain(|wanted| is_owned(&wanted.name));
    }

    /// The application wants to know.
    pub(super) fn call(
        &mut self,
        id: CallId,
        partitions: Option<Vec<TopicPartition>>,
        deadline: Instant,
    ) {
        self.calls.push(Call {
            id,
            wants_all: partitions.is_none(),
            missing: partitions.into_iter().flatten().collect(),
            found: BTreeMap::new(),
            deadline,
            is_asked: false,
        });
    }

    pub(super) fn act(&mut self, identity: Option<Identity>, context: &mut Context<'_>) {
        self.calls.retain_mut(|call| {
            let waits = call.wants_all || !call.missing.is_empty();
            if !waits {
                let found = std::mem::take(&mut call.found);
                context.push(Effect::Fetched(call.id, Ok(found)));
            }
            waits
        });
        if self.in_flight.is_some() || !self.retry.is_due(context.now) {
            return;
        }
        let positions = self.positions.iter().map(|wanted| &wanted.name);
        let calls = self.calls.iter().flat_map(|call| &call.missing);
        let partitions: BTreeSet<TopicPartition> = positions.chain(calls).cloned().collect();
        let all = partitions.is_empty();
        if all && self.calls.is_empty() {
            return;
        }
        let request = Request::OffsetFetch {
            identity: identity.clone(),
            partitions: (!all).then(|| partitions.into_iter().collect()),
        };
        if let Some(id) = context.ask(request) {
            self.in_flight = Some(InFlight { id, identity });
            for wanted in &mut self.positions {
                wanted.is_asked = true;
            }
            for call in &mut self.calls {
                call.is_asked = call.wants_all == all;
            }
        }
    }

    pub(super) fn expire(&mut self, last: Option<&WireError>, context: &mut Context<'_>) {
        for call in self
            .calls
            .extract_if(.., |call| call.deadline <= context.now)
        {
            let error = GroupError::TimedOut {
                group: context.group(),
                last: last.cloned(),
            };
            context.effects.push(Effect::Fetched(call.id, Err(error)));
        }
    }

    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let deadline = self.calls.iter().map(|call| call.deadline).min();
        let waits = self.wants_coordinator() && self.in_flight.is_none();
        let retry = waits.then(|| self.retry.at(now)).flatten();
        deadline.into_iter().chain(retry).min()
    }

    pub(super) fn awaits(&self, id: AskId) -> bool {
        self.in_flight.as_ref().is_some_and(|sent| sent.id == id)
    }

    /// The answer to what is in flight, while the member is `identity`. Returns what it says about coordinator and member.
    pub(super) fn answered(
        &mut self,
        answer: Result<Answer, WireError>,
        identity: Option<&Identity>,
        context: &mut Context<'_>,
    ) -> ErrorCode {
        let Some(sent) = self.in_flight.take() else {
            return ErrorCode::NONE;
        };
        match answer {
            Ok(Answer::OffsetFetch(Ok(fetched))) => {
                let waits = self.found(&fetched, context);
                if waits {
                    self.retry.failed(context);
                } else {
                    self.retry.succeeded();
                }
                ErrorCode::NONE
            }
            Ok(Answer::OffsetFetch(Err(error))) => {
                self.retry.failed(context);
                // of a member that is about to be a new one, or to have a new epoch
                let passes = error.is_retriable()
                    || matches!(
                        error,
                        ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::STALE_MEMBER_EPOCH
                    );
                if !passes {
                    self.fail_all(&unreadable(error, context), context);
                }
                let is_of_another = sent.identity.as_ref() != identity;
                if is_of_another && error == ErrorCode::UNKNOWN_MEMBER_ID {
                    ErrorCode::NONE
                } else {
                    error
                }
            }
            Ok(_) => {
                self.retry.failed(context);
                ErrorCode::NONE
            }
            Err(_) => {
                self.retry.failed(context);
                ErrorCode::NETWORK_EXCEPTION
            }
        }
    }

    /// Hands out what was found. Returns whether something of the answer has to be asked for again.
    fn found(&mut self, fetched: &Fetched, context: &mut Context<'_>) -> bool {
        let mut again = false;
        let mut positions = Vec::new();
        self.positions
            .retain(|wanted| match fetched.get(&wanted.name) {
                _ if !wanted.is_asked => true,
                // left out of the answer
                None => {
                    again = true;
                    true
                }
                Some(Ok(offset)) => {
                    let committed = offset.as_ref().map(|offset| CommittedOffset {
                        offset: offset.offset,
                        leader_epoch: offset.leader_epoch,
                    });
                    positions.push((wanted.partition, wanted.epoch, committed));
                    false
                }
                Some(Err(error)) if error.is_retriable() => {
                    again = true;
                    true
                }
                Some(Err(error)) => {
                    context.push(Effect::NoPosition(wanted.name.clone(), *error));
                    // asked for again, as the application is told again, until it does something about it
                    again = true;
                    true
                }
            });
        if !positions.is_empty() {
            context.push(Effect::Positions(positions));
        }
        self.calls.retain_mut(|call| {
            if !call.is_asked {
                return true;
            }
            if call.wants_all {
                let found = fetched.iter();
                let found = found.map(|(name, offset)| Ok((name.clone(), offset.clone()?)));
                let found = match found.collect() {
                    Err(error) if ErrorCode::is_retriable(error) => {
                        again = true;
                        return true;
                    }
                    Err(error) => Err(unreadable(error, context)),
                    Ok(found) => Ok(found),
                };
                context.push(Effect::Fetched(call.id, found));
                return false;
            }
            for (name, result) in fetched {
                if !call.missing.contains(name) {
                    continue;
                }
                match result {
                    Ok(offset) => {
                        call.missing.remove(name);
                        call.found.insert(name.clone(), offset.clone());
                    }
                    Err(error)
                        if error.is_retriable()
                            && *error != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION =>
                    {
                        again = true;
                    }
                    Err(error) => {
                        let why = unreadable(*error, context);
                        context.push(Effect::Fetched(call.id, Err(why)));
                        return false;
                    }
                }
            }
            again |= !call.missing.is_empty();
            true
        });
        again
    }

    /// Lookups of positions go on, since somebody may put it right.
    pub(super) fn fail_all(&mut self, why: &GroupError, context: &mut Context<'_>) {
        for call in self.calls.drain(..) {
            context.push(Effect::Fetched(call.id, Err(why.clone())));
        }
        if !self.positions.is_empty() {
            context.complain(why.clone());
        }
    }
}

fn unreadable(error: ErrorCode, context: &Context<'_>) -> GroupError {
    match error {
        ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::INVALID_GROUP_ID => {
            refused(context, error)
        }
        _ => GroupError::OffsetsUnreadable {
            group: context.group(),
            error,
        },
    }
}
