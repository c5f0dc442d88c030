//! Membership by the protocol of KIP-848: the coordinator assigns, the member reconciles and says so with its heartbeats.

mod names;
mod said;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use session_actor::WatchTopics;
use session_actor::wire::{ErrorCode, WireError};
use uuid::Uuid;

use self::names::TopicNames;
use self::said::Said;
use super::context::{Context, Retry};
use super::finder::refused;
use super::membership::{Membership, poll_deadline};
use super::seat::Seat;
use crate::error::GroupError;
use crate::model::{
    Answer, AskId, ConsumerHeartbeatAnswer, Identity, LeaveOption, Note, Request, Subscription,
};

/// Epochs with a meaning.
const JOIN: i32 = 0;
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;
/// A coordinator that wants heartbeats without a pause does not get them.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Consumer {
    remote_assignor: Option<Arc<str>>,
    /// What is read; `None` without a subscription.
    subscription: Option<Subscription>,
    /// Chosen by the member (KIP-1082), unless the broker says another.
    member_id: Arc<str>,
    epoch: i32,
    seat: Seat,
    /// What the coordinator wants this member to own; `None` until it says so.
    target: Option<Vec<(Uuid, Vec<i32>)>>,
    names: TopicNames,
    /// The target, or what is known of topics, changed since they were last looked at.
    is_unsettled: bool,
    /// The coordinator wants something else than before, and waits until it hears what is owned, even if that is the same: it may have
    /// wanted more in between, and takes for owned what it wanted (KIP-848).
    is_unacknowledged: bool,
    reconciliation: Reconciliation,
    /// The application has heard of an assignment since the member joined.
    was_assigned: bool,
    /// The coordinator may know this member: it has asked to join.
    may_be_known: bool,
    /// Something is to be said before the next heartbeat is due.
    hurries: bool,
    said: Said,
    heartbeat: Option<AskId>,
    next_heartbeat: Option<Instant>,
    interval: Duration,
    retry: Retry,
    leaving: Option<Leaving>,
    /// The application did not poll for too long, and has not since.
    is_late: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reconciliation {
    None,
    /// The application lets go what is not to be owned any more.
    Revoking,
    /// The application takes notice of what is new.
    Announcing,
}

#[derive(Debug)]
enum Leaving {
    Wanted(LeaveOption),
    Asked(AskId),
}

impl Consumer {
    pub(super) fn new(remote_assignor: Option<Arc<str>>, member_id: Arc<str>) -> Self {
        Self {
            remote_assignor,
            subscription: None,
            member_id,
            epoch: JOIN,
            seat: Seat::default(),
            target: None,
            names: TopicNames::default(),
            is_unsettled: false,
            is_unacknowledged: false,
            reconciliation: Reconciliation::None,
            was_assigned: false,
            may_be_known: false,
            hurries: false,
            said: Said::default(),
            heartbeat: None,
            next_heartbeat: None,
            interval: Duration::ZERO,
            retry: Retry::default(),
            leaving: None,
            is_late: false,
        }
    }

    /// `max.poll.interval.ms`: who does not poll leaves, and comes back with the next poll.
    fn look_at_the_poll(&mut self, context: &mut Context<'_>) {
        if self.is_late {
            if !self.seat.is_calling_roll() {
                self.is_late = false;
                self.hurries = true;
            }
            return;
        }
        if self.poll_due(context).is_some_and(|due| due <= context.now) {
            context.log(Note::PollTooLate);
            let epoch = leave_epoch(LeaveOption::Default, context).unwrap_or(LEAVE);
            let _ = context.ask(Request::ConsumerHeartbeat(Said::nothing(
                &self.member_id,
                epoch,
            )));
            self.is_late = true;
            self.fenced(context);
            self.seat.call_roll(context);
        }
    }

    /// Until when a poll is waited for, if one is.
    fn poll_due(&self, context: &Context<'_>) -> Option<Instant> {
        let waits = self.epoch > JOIN && self.subscription.is_some() && !self.is_late;
        waits.then(|| poll_deadline(context)).flatten()
    }

    /// What the member owned is somebody else's; it joins anew.
    fn fenced(&mut self, context: &mut Context<'_>) {
        self.epoch = JOIN;
        self.target = None;
        self.is_unacknowledged = false;
        if self.reconciliation != Reconciliation::None {
            self.reconciliation = Reconciliation::None;
            context.stats.rebalance_fails(context.now);
            context.stats.rebalance_is_void();
        }
        self.was_assigned = false;
        self.may_be_known = false;
        self.said.forget();
        self.heartbeat = None;
        self.next_heartbeat = None;
        self.hurries = true;
        self.seat.take_all(true, context);
    }

    /// Comes nearer to what the coordinator wants.
    fn reconcile(&mut self, context: &mut Context<'_>) {
        let Some(target) = &self.target else {
            return;
        };
        if self.reconciliation == Reconciliation::None {
            // a heartbeat that is under way may say that less is owned than is wanted here: its answer may want less too
            if self.heartbeat.is_some() || !std::mem::take(&mut self.is_unsettled) {
                return;
            }
            let wanted = self.names.resolve(target, context.cluster);
            if wanted == *self.seat.owned() && self.was_assigned {
                if std::mem::take(&mut self.is_unacknowledged) {
                    self.said.repeat_owned();
                    self.hurries = true;
                }
                return;
            }
            let gone = self.seat.owned().difference(&wanted).cloned().collect();
            self.seat.take_away(gone, false, context);
            self.reconciliation = Reconciliation::Revoking;
            context.stats.rebalance_begins(context.now);
        }
        if self.reconciliation == Reconciliation::Revoking && !self.seat.is_handing_over() {
            // by now it may want something else: what it does not want any more is not taken
            let wanted = self.names.resolve(target, context.cluster);
            let new = wanted.difference(self.seat.owned()).cloned().collect();
            self.seat.give(new, context);
            self.was_assigned = true;
            self.names.retain(target, self.seat.owned());
            self.reconciliation = Reconciliation::Announcing;
        }
        if self.reconciliation == Reconciliation::Announcing
            && !self.seat.is_handing_over()
            && !self.seat.is_announcing()
        {
            self.reconciliation = Reconciliation::None;
            self.is_unacknowledged = false;
            self.said.repeat_owned();
            context.stats.rebalance_ends(context.now);
            self.hurries = true;
            self.is_unsettled = true;
        }
    }

    fn beat(&mut self, context: &mut Context<'_>) {
        let is_due = self.hurries || self.next_heartbeat.is_none_or(|at| at <= context.now);
        if self.heartbeat.is_some() || !is_due || !self.retry.is_due(context.now) {
            return;
        }
        if self.epoch == JOIN && self.seat.is_handing_over() {
            // a commit of what was lost must not go out in the name of the next membership
            return;
        }
        if context.coordinator.is_none() {
            // what nobody is told does not count as said
            return;
        }
        let request = match &self.subscription {
            Some(subscription) => self.said.next(
                &self.member_id,
                self.epoch,
                subscription,
                self.remote_assignor.as_ref(),
                self.names.ids_of(&self.seat.held()),
                context.config,
            ),
            // it is about to leave, and no more than still there
            None => Said::nothing(&self.member_id, self.epoch),
        };
        if let Some(id) = context.ask(Request::ConsumerHeartbeat(request)) {
            self.heartbeat = Some(id);
            self.may_be_known = true;
            self.hurries = false;
            self.next_heartbeat = Some(context.now + self.interval);
        }
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        let Some(Leaving::Wanted(option)) = self.leaving else {
            return;
        };
        if self.seat.is_handing_over() || !context.may_leave {
            if self.epoch > JOIN {
                self.beat(context);
            }
            return;
        }
        let epoch = leave_epoch(option, context).filter(|_| self.may_be_known);
        let Some(epoch) = epoch else {
            self.gone(context);
            return;
        };
        let farewell = Said::nothing(&self.member_id, epoch);
        if let Some(id) = context.ask(Request::ConsumerHeartbeat(farewell)) {
            self.leaving = Some(Leaving::Asked(id));
            self.heartbeat = None;
        }
    }

    fn gone(&mut self, context: &mut Context<'_>) {
        self.leaving = None;
        self.fenced(context);
        self.hurries = false;
    }

    fn heard(&mut self, answer: ConsumerHeartbeatAnswer, context: &mut Context<'_>) {
        let interval = answer.interval.max(SHORTEST_INTERVAL);
        if answer.epoch <= JOIN {
            // no epoch of a member
            self.said.forget();
            self.retry.failed(context);
            return;
        }
        self.retry.succeeded();
        if self.epoch != answer.epoch {
            context.log(Note::Joined {
                generation: answer.epoch,
                member_id: Arc::clone(&self.member_id),
            });
        }
        self.epoch = answer.epoch;
        if let Some(member_id) = answer.member_id {
            self.member_id = member_id;
        }
        self.interval = interval;
        self.next_heartbeat = context.now.checked_add(interval);
        if let Some(target) = answer.assignment {
            let target = Some(target);
            self.is_unacknowledged |= self.target != target;
            self.target = target;
            self.is_unsettled = true;
        }
    }
}

impl Membership for Consumer {
    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn seat_mut(&mut self) -> &mut Seat {
        &mut self.seat
    }

    fn watched(&self) -> WatchTopics {
        let targets = self.target.iter().flatten();
        WatchTopics {
            names: self.named(),
            ids: targets.map(|(id, _)| *id).collect(),
            all: false,
        }
    }

    fn subscribe(
        &mut self,
        subscription: Subscription,
        context: &mut Context<'_>,
    ) -> Result<(), GroupError> {
        if let Some(Leaving::Asked(_)) = self.leaving {
            // it is too late to stay
            self.gone(context);
        }
        self.leaving = None;
        self.subscription = Some(subscription);
        self.hurries = true;
        // the coordinator does not repeat what it wants of a member that is still one
        self.is_unsettled = true;
        Ok(())
    }

    fn unsubscribe(&mut self, option: LeaveOption, context: &mut Context<'_>) {
        if self.subscription.take().is_some() {
            self.reconciliation = Reconciliation::None;
            self.seat.resign(context);
        }
        if !matches!(self.leaving, Some(Leaving::Asked(_))) {
            self.leaving = Some(Leaving::Wanted(option));
        }
    }

    /// The coordinator decides when: nothing to be done (KIP-848).
    fn enforce_rebalance(&mut self, _: &str) {}

    fn named(&self) -> BTreeSet<Arc<str>> {
        match &self.subscription {
            Some(Subscription::Topics(topics)) => topics.clone(),
            Some(Subscription::Pattern(_)) | None => BTreeSet::new(),
        }
    }

    fn is_subscribed(&self) -> bool {
        self.subscription.is_some()
    }

    fn has_left(&self) -> bool {
        self.subscription.is_none() && self.leaving.is_none() && !self.seat.is_handing_over()
    }

    fn wants_coordinator(&self) -> bool {
        (self.subscription.is_some() && !self.is_late) || self.leaving.is_some()
    }

    fn identity(&self, context: &Context<'_>) -> Result<Option<Identity>, GroupError> {
        if self.epoch > JOIN {
            return Ok(Some(Identity {
                member_id: Arc::clone(&self.member_id),
                epoch: self.epoch,
                by_epoch: true,
            }));
        }
        // what it still hands over it had as a member
        if self.subscription.is_none() && !self.seat.is_handing_over() {
            return Ok(None);
        }
        Err(GroupError::CommitFailed {
            group: context.group(),
            error: ErrorCode::NONE,
        })
    }

    fn shown(&self) -> (Arc<str>, i32) {
        if self.epoch > JOIN {
            (Arc::clone(&self.member_id), self.epoch)
        } else {
            ("".into(), -1)
        }
    }

    /// Metadata is new.
    fn cluster_changed(&mut self, _: &Context<'_>) {
        self.is_unsettled = true;
    }

    fn give_up(&mut self, context: &mut Context<'_>) {
        self.leaving = None;
        self.fenced(context);
    }

    /// Does what is due.
    fn act(&mut self, context: &mut Context<'_>) {
        self.seat.act(context);
        self.look_at_the_poll(context);
        if self.leaving.is_some() {
            self.leave(context);
            return;
        }
        if self.subscription.is_none() || self.is_late {
            return;
        }
        self.reconcile(context);
        self.beat(context);
    }

    fn due(&self, context: &Context<'_>) -> Option<Instant> {
        if self.subscription.is_none() && self.leaving.is_none() {
            return self.seat.due(context);
        }
        let waits = self.heartbeat.is_none()
            && !self.is_late
            && context.coordinator.is_some()
            && !matches!(self.leaving, Some(Leaving::Asked(_)));
        let retry = self.retry.at(context.now);
        let heartbeat = self
            .next_heartbeat
            .filter(|at| !self.hurries && *at > context.now);
        let heartbeat = heartbeat.max(retry);
        let heartbeat = heartbeat.filter(|_| waits);
        let poll = self.poll_due(context);
        [self.seat.due(context), heartbeat, poll]
            .into_iter()
            .flatten()
            .min()
    }

    fn awaits(&self, id: AskId) -> bool {
        self.heartbeat == Some(id)
            || matches!(self.leaving, Some(Leaving::Asked(asked)) if asked == id)
    }

    fn answered(
        &mut self,
        id: AskId,
        answer: Result<Answer, WireError>,
        context: &mut Context<'_>,
    ) {
        if matches!(self.leaving, Some(Leaving::Asked(asked)) if asked == id) {
            // whatever was answered: the coordinator will miss this member's heartbeats
            self.gone(context);
            return;
        }
        self.heartbeat = None;
        match answer {
            Ok(Answer::ConsumerHeartbeat(Ok(answer))) => self.heard(answer, context),
            Ok(Answer::ConsumerHeartbeat(Err((error, message)))) => {
                self.said.forget();
                self.in_trouble(error, message, context);
            }
            Ok(_) => {}
            Err(error) => {
                self.said.forget();
                self.next_heartbeat = None;
                if let WireError::UnsupportedVersion { .. } = error {
                    context.fail(GroupError::Unsupported {
                        group: context.group(),
                        source: error,
                    });
                } else {
                    self.retry.failed(context);
                    context.lose_coordinator("a request was not answered", Some(error));
                }
            }
        }
    }

    /// An error of the group, from whatever request.
    fn in_trouble(&mut self, error: ErrorCode, message: String, context: &mut Context<'_>) {
        match error {
            // that the epoch of a commit is stale says nothing new: the heartbeat brings the new one
            ErrorCode::NONE | ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::REBALANCE_IN_PROGRESS => {}
            ErrorCode::FENCED_MEMBER_EPOCH
            | ErrorCode::UNKNOWN_MEMBER_ID
            | ErrorCode::ILLEGAL_GENERATION => {
                context.log(Note::Fenced(error));
                self.fenced(context);
                // at once, but not again and again
                self.retry.ended(context);
            }
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.next_heartbeat = None;
                context.lose_coordinator("it is not the coordinator", None);
            }
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                // not for ever: somebody may grant it
                self.retry.failed(context);
                context.complain(GroupError::TopicAuthorizationFailed {
                    group: context.group(),
                    error: message,
                });
            }
            ErrorCode::FENCED_INSTANCE_ID => {
                context.fail(GroupError::Fenced {
                    group: context.group(),
                    instance_id: context.config.instance_id.clone(),
                });
            }
            error if error.is_retriable() => self.retry.failed(context),
            ErrorCode::INVALID_REGULAR_EXPRESSION => {
                context.fail(GroupError::InvalidPattern { reason: message });
            }
            error => context.fail(refused(context, error)),
        }
    }
}

/// KIP-1092: with which epoch a member says goodbye, if it does.
fn leave_epoch(option: LeaveOption, context: &Context<'_>) -> Option<i32> {
    let is_static = context.config.instance_id.is_some();
    match option {
        LeaveOption::LeaveGroup => Some(LEAVE),
        LeaveOption::Default if !is_static => Some(LEAVE),
        LeaveOption::Default => Some(LEAVE_STATIC),
        LeaveOption::RemainInGroup => is_static.then_some(LEAVE_STATIC),
    }
}
