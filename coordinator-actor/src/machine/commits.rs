//! Commits, in order: one request at a time, and what is asked for meanwhile goes into the next, the newest offset of each
//! partition. So an older commit never overwrites a newer one, and what waits is bounded by the partitions, not by the calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use record_batch::TopicPartition;
use session_actor::wire::{ErrorCode, WireError};

use super::context::{Context, Retry};
use super::finder::refused;
use crate::error::GroupError;
use crate::model::{Answer, AskId, CallId, Effect, Identity, Note, Offsets, Request};

#[derive(Debug, Default)]
pub(super) struct Commits {
    in_flight: Option<InFlight>,
    queued: Batch,
    retry: Retry,
}

#[derive(Debug)]
struct InFlight {
    id: AskId,
    batch: Batch,
    identity: Option<Identity>,
    /// Not this member's any more: a second attempt could undo what the next owner committed.
    let_go: BTreeSet<TopicPartition>,
}

#[derive(Debug, Default)]
struct Batch {
    offsets: Offsets,
    waiters: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    who: Who,
    partitions: Vec<TopicPartition>,
    deadline: Instant,
}

/// Who wants a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The application.
    Call(CallId),
    /// `enable.auto.commit`, now and then.
    Interval,
    /// Before partitions become another's.
    Handover,
    /// Before the consumer closes.
    Close,
}

impl Who {
    /// Whether it waits for a topic that is not there, which may have been deleted.
    const fn outlasts_missing_topics(self) -> bool {
        matches!(self, Self::Call(_))
    }

    const fn is_retried(self) -> bool {
        !matches!(self, Self::Interval)
    }
}

/// Somebody's commit has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) who: Who,
    pub(super) result: Result<(), GroupError>,
}

impl Commits {
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.queued.waiters.is_empty()
    }

    pub(super) fn wants_coordinator(&self) -> bool {
        !self.is_idle()
    }

    /// Whether this one waits already.
    pub(super) fn has(&self, who: Who) -> bool {
        let in_flight = self.in_flight.iter().flat_map(|sent| &sent.batch.waiters);
        let mut waiters = in_flight.chain(&self.queued.waiters);
        waiters.any(|waiter| waiter.who == who)
    }

    /// Wants offsets committed until `deadline`.
    pub(super) fn insert(&mut self, who: Who, offsets: Offsets, deadline: Instant) {
        self.queued.waiters.push(Waiter {
            who,
            partitions: offsets.keys().cloned().collect(),
            deadline,
        });
        self.queued.offsets.extend(offsets);
    }

    /// Sends what waits, as who the member is: `Err` if it is nobody who may commit now, `None` if that is known later.
    pub(super) fn act(
        &mut self,
        identity: Option<Result<Option<Identity>, GroupError>>,
        ended: &mut Vec<Ended>,
        context: &mut Context<'_>,
    ) {
        if self.in_flight.is_some() || self.queued.waiters.is_empty() {
            return;
        }
        if self.queued.offsets.is_empty() {
            // whoever wants nothing committed waits for those before, and there is none
            self.end_queued(&Ok(()), ended);
            return;
        }
        let identity = match identity {
            Some(Ok(identity)) => identity,
            Some(Err(error)) => {
                self.end_queued(&Err(error), ended);
                return;
            }
            None => return,
        };
        if !self.retry.is_due(context.now) {
            return;
        }
        let request = Request::OffsetCommit {
            identity: identity.clone(),
            offsets: self.queued.offsets.clone(),
        };
        if let Some(id) = context.ask(request) {
            self.in_flight = Some(InFlight {
                id,
                batch: std::mem::take(&mut self.queued),
                identity,
                let_go: BTreeSet::new(),
            });
        }
    }

    fn end_queued(&mut self, result: &Result<(), GroupError>, ended: &mut Vec<Ended>) {
        let batch = std::mem::take(&mut self.queued);
        ended.extend(batch.waiters.into_iter().map(|waiter| Ended {
            who: waiter.who,
            result: result.clone(),
        }));
    }

    /// There is no coordinator to be had for the group.
    pub(super) fn fail_all(&mut self, error: &GroupError, ended: &mut Vec<Ended>) {
        self.end_queued(&Err(error.clone()), ended);
    }

    /// These are not this member's any more: what was not committed of them may be another's to commit (F018).
    pub(super) fn let_go(
        &mut self,
        partitions: &[TopicPartition],
        ended: &mut Vec<Ended>,
        context: &Context<'_>,
    ) {
        if let Some(sent) = &mut self.in_flight {
            sent.let_go.extend(partitions.iter().cloned());
        }
        let concerns = |waiter: &mut Waiter| {
            let mut names = waiter.partitions.iter();
            names.any(|name| partitions.contains(name))
        };
        for waiter in self.queued.waiters.extract_if(.., concerns) {
            let group = context.group();
            ended.push(Ended {
                who: waiter.who,
                result: Err(GroupError::RebalanceInProgress { group }),
            });
        }
        self.forget_the_unwanted();
    }

    /// Gives up on whoever waited long enough.
    pub(super) fn expire(
        &mut self,
        last: Option<&WireError>,
        ended: &mut Vec<Ended>,
        context: &Context<'_>,
    ) {
        let in_flight = self.in_flight.as_mut().map(|sent| &mut sent.batch.waiters);
        for waiters in in_flight.into_iter().chain([&mut self.queued.waiters]) {
            for waiter in waiters.extract_if(.., |waiter| waiter.deadline <= context.now) {
                let group = context.group();
                let last = last.cloned();
                ended.push(Ended {
                    who: waiter.who,
                    result: Err(GroupError::TimedOut { group, last }),
                });
            }
        }
        self.forget_the_unwanted();
    }

    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let in_flight = self.in_flight.iter().flat_map(|sent| &sent.batch.waiters);
        let waiters = in_flight.chain(&self.queued.waiters);
        let deadline = waiters.map(|waiter| waiter.deadline).min()?;
        let waits = self.in_flight.is_none() && !self.queued.waiters.is_empty();
        let retry = waits.then(|| self.retry.at(now)).flatten();
        Some(retry.map_or(deadline, |at| at.min(deadline)))
    }

    /// When whoever failed may try again.
    pub(super) fn retry_at(&self, now: Instant) -> Option<Instant> {
        self.retry.at(now)
    }

    pub(super) fn awaits(&self, id: AskId) -> bool {
        self.in_flight.as_ref().is_some_and(|sent| sent.id == id)
    }

    /// The answer to what is in flight, while the member is `identity`. Returns the worst of what was answered; what it says of a
    /// member that this one is not any more is nothing.
    pub(super) fn answered(
        &mut self,
        answer: Result<Answer, WireError>,
        identity: Option<&Identity>,
        ended: &mut Vec<Ended>,
        context: &mut Context<'_>,
    ) -> ErrorCode {
        let mut worst = ErrorCode::NONE;
        let Some(sent) = self.in_flight.take() else {
            return worst;
        };
        let codes = match answer {
            Ok(Answer::OffsetCommit(codes)) => codes,
            Ok(_) => BTreeMap::new(),
            // as if the broker had said to look for another
            Err(_) => sent
                .batch
                .offsets
                .keys()
                .map(|name| (name.clone(), ErrorCode::NETWORK_EXCEPTION))
                .collect(),
        };
        let epoch_moved = identity != sent.identity.as_ref();
        let mut again = Offsets::new();
        let mut refused = BTreeMap::new();
        for (name, offset) in sent.batch.offsets {
            // a partition that the answer leaves out was not committed
            let code = codes.get(&name).copied();
            let code = code.unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
            if code.is_ok() {
                continue;
            }
            if severity(code) > severity(worst) {
                worst = code;
            }
            let stale = code == ErrorCode::STALE_MEMBER_EPOCH && epoch_moved;
            if (stale || is_retried(code)) && !sent.let_go.contains(&name) {
                again.insert(name.clone(), offset);
            }
            refused.insert(name, code);
        }
        if refused.is_empty() {
            self.retry.succeeded();
        } else {
            self.retry.failed(context);
        }
        for mut waiter in sent.batch.waiters {
            waiter.partitions.retain(|name| refused.contains_key(name));
            let fails = |name: &&TopicPartition| {
                let code = refused.get(*name).copied().unwrap_or_default();
                let missing = code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                !again.contains_key(*name)
                    || !waiter.who.is_retried()
                    || (missing && !waiter.who.outlasts_missing_topics())
            };
            let failed = waiter.partitions.iter().find(fails);
            if let Some(name) = failed {
                let code = refused.get(name).copied().unwrap_or_default();
                ended.push(Ended {
                    who: waiter.who,
                    result: Err(commit_error(name, code, context)),
                });
            } else if waiter.partitions.is_empty() {
                ended.push(Ended {
                    who: waiter.who,
                    result: Ok(()),
                });
            } else {
                self.queued.waiters.push(waiter);
            }
        }
        for (name, offset) in again {
            // what came meanwhile is newer
            self.queued.offsets.entry(name).or_insert(offset);
        }
        self.forget_the_unwanted();
        if epoch_moved && is_about_the_member(worst) {
            ErrorCode::NONE
        } else {
            worst
        }
    }

    /// Offsets for which nobody waits any more are not committed.
    fn forget_the_unwanted(&mut self) {
        let waiters = self.queued.waiters.iter();
        let wanted: BTreeSet<_> = waiters.flat_map(|waiter| &waiter.partitions).collect();
        self.queued.offsets.retain(|name, _| wanted.contains(name));
    }
}

/// Tells who waits, unless that is the machine itself.
pub(super) fn tell(ended: Ended, context: &mut Context<'_>) {
    match (ended.who, ended.result) {
        (Who::Call(call), result) => context.push(Effect::Committed(call, result)),
        (Who::Interval | Who::Handover | Who::Close, Err(error)) => {
            context.log(Note::AutoCommitFailed(error));
        }
        (Who::Interval | Who::Handover | Who::Close, Ok(())) => {}
    }
}

/// Whether the same commit may be made again, by the same member.
const fn is_retried(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::NETWORK_EXCEPTION
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    )
}

/// Whether it says something about who committed, rather than about the commit.
const fn is_about_the_member(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::FENCED_INSTANCE_ID
            | ErrorCode::UNKNOWN_MEMBER_ID
            | ErrorCode::ILLEGAL_GENERATION
            | ErrorCode::FENCED_MEMBER_EPOCH
            | ErrorCode::REBALANCE_IN_PROGRESS
    )
}

const fn severity(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::NONE => 0,
        ErrorCode::FENCED_INSTANCE_ID => 4,
        ErrorCode::UNKNOWN_MEMBER_ID
        | ErrorCode::ILLEGAL_GENERATION
        | ErrorCode::FENCED_MEMBER_EPOCH => 3,
        ErrorCode::NOT_COORDINATOR
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::REQUEST_TIMED_OUT
        | ErrorCode::NETWORK_EXCEPTION
        | ErrorCode::REBALANCE_IN_PROGRESS => 2,
        _ => 1,
    }
}

fn commit_error(name: &TopicPartition, error: ErrorCode, context: &Context<'_>) -> GroupError {
    let group = context.group();
    match error {
        ErrorCode::FENCED_INSTANCE_ID => GroupError::Fenced {
            group,
            instance_id: context.config.instance_id.clone(),
        },
        ErrorCode::REBALANCE_IN_PROGRESS => GroupError::RebalanceInProgress { group },
        ErrorCode::UNKNOWN_MEMBER_ID
        | ErrorCode::ILLEGAL_GENERATION
        | ErrorCode::STALE_MEMBER_EPOCH
        | ErrorCode::FENCED_MEMBER_EPOCH => GroupError::CommitFailed { group, error },
        ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::INVALID_GROUP_ID => {
            refused(context, error)
        }
        _ => GroupError::OffsetRefused {
            group,
            partition: name.clone(),
            error,
        },
    }
}
