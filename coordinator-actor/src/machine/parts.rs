//! One event through all parts of the machine: what each finds out concerns the others.

use session_actor::wire::{ErrorCode, WireError};

use super::auto_commit::AutoCommit;
use super::commits::{self, Commits, Ended, Who};
use super::context::Context;
use super::finder::Finder;
use super::membership::Membership;
use super::offsets::CommittedOffsets;
use crate::error::GroupError;
use crate::model::{Answer, AskId, Effect, Identity};

/// The parts of the machine while it handles an event.
pub(super) struct Parts<'a> {
    pub(super) finder: &'a mut Finder,
    pub(super) member: &'a mut dyn Membership,
    pub(super) commits: &'a mut Commits,
    pub(super) committed: &'a mut CommittedOffsets,
    pub(super) has_failed: &'a mut bool,
    pub(super) auto_commit: &'a mut Option<AutoCommit>,
    pub(super) ended: &'a mut Vec<Ended>,
}

impl Parts<'_> {
    pub(super) fn answered(
        &mut self,
        id: AskId,
        answer: Result<Answer, WireError>,
        context: &mut Context<'_>,
    ) {
        if self.finder.awaits(id) {
            if let Err(error) = self.finder.answered(answer, context) {
                self.commits.fail_all(&error, self.ended);
                self.committed.fail_all(&error, context);
                context.fail(error);
            }
            context.coordinator = self.finder.known().cloned();
            return;
        }
        let is_answer = answer.is_ok();
        if self.member.awaits(id) {
            self.member.answered(id, answer, context);
        } else if self.commits.awaits(id) {
            let failed = answer.as_ref().err().cloned();
            let identity = self.identity(context);
            let learned = self
                .commits
                .answered(answer, identity.as_ref(), self.ended, context);
            self.learn(learned, failed, context);
        } else if self.committed.awaits(id) {
            let failed = answer.as_ref().err().cloned();
            let identity = self.identity(context).filter(|identity| identity.by_epoch);
            let learned = self.committed.answered(answer, identity.as_ref(), context);
            self.learn(learned, failed, context);
        }
        // one that says that it is not the coordinator is none, as often as it says so
        if is_answer && context.verdict.lost.is_none() {
            self.finder.works();
        }
    }

    fn identity(&self, context: &Context<'_>) -> Option<Identity> {
        self.member.identity(context).ok().flatten()
    }

    /// What the answer to a commit or a lookup says about coordinator and membership.
    fn learn(&mut self, error: ErrorCode, failed: Option<WireError>, context: &mut Context<'_>) {
        match error {
            ErrorCode::NETWORK_EXCEPTION => {
                context.lose_coordinator("a request was not answered", failed);
            }
            ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                context.lose_coordinator("it is not the coordinator", None);
            }
            ErrorCode::REBALANCE_IN_PROGRESS
            | ErrorCode::UNKNOWN_MEMBER_ID
            | ErrorCode::ILLEGAL_GENERATION
            | ErrorCode::FENCED_MEMBER_EPOCH
            | ErrorCode::FENCED_INSTANCE_ID
                if self.member.is_subscribed() =>
            {
                self.member.in_trouble(error, String::new(), context);
            }
            _ => {}
        }
    }

    /// Does all that can be done now.
    pub(super) fn settle(&mut self, context: &mut Context<'_>) {
        let last = self.finder.last_error().cloned();
        self.commits.expire(last.as_ref(), self.ended, context);
        self.committed.expire(last.as_ref(), context);
        loop {
            self.judge(context);
            if *self.has_failed {
                self.member.seat_mut().act(context);
            } else {
                self.member.act(context);
            }
            self.judge(context);
            if self.member.is_subscribed() {
                // else they are another's only when the member has left, for which commits are waited for
                let let_go = self.member.seat_mut().take_let_go();
                self.commits.let_go(&let_go, self.ended, context);
            }
            let identity = !self.member.will_know_who();
            let identity = identity.then(|| self.member.identity(context));
            self.commits.act(identity, self.ended, context);
            let by_epoch = self.identity(context).filter(|identity| identity.by_epoch);
            self.committed.act(by_epoch, context);
            if self.ended.is_empty() {
                break;
            }
            for ended in std::mem::take(self.ended) {
                if ended.who == Who::Handover {
                    self.member.seat_mut().committed(context);
                }
                if ended.who == Who::Interval
                    && let Some(auto_commit) = self.auto_commit
                {
                    let passes = ended.result.as_ref().is_err_and(GroupError::is_retriable);
                    let retry = passes.then(|| self.commits.retry_at(context.now)).flatten();
                    if auto_commit.ended(retry) && context.closes_at.is_none() {
                        context.push(Effect::Collect(None));
                    }
                }
                commits::tell(ended, context);
            }
            context.may_leave = self.commits.is_idle();
        }
        if self.wants_coordinator() {
            self.finder.act(context);
        }
    }

    /// The application begins anew, or wants nothing of the group any more.
    pub(super) fn recover(&mut self, context: &mut Context<'_>) {
        if std::mem::take(self.has_failed) {
            context.push(Effect::Recovered);
        }
    }

    /// What has been found out about coordinator and membership.
    fn judge(&mut self, context: &mut Context<'_>) {
        if let Some((why, error)) = context.verdict.lost.take() {
            self.finder.lost(why, error, context);
        }
        if let Some(error) = context.verdict.fatal.take() {
            // whoever wants nothing more of the group does not mind
            if self.member.is_subscribed() {
                *self.has_failed = true;
                context.push(Effect::Fail(error));
            }
            self.member.give_up(context);
        }
    }

    fn wants_coordinator(&self) -> bool {
        (self.member.wants_coordinator() && !*self.has_failed)
            || self.commits.wants_coordinator()
            || self.committed.wants_coordinator()
    }
}
