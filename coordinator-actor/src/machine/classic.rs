//! Membership by the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup; eager and cooperative (KIP-429).

mod heartbeat;
mod joining;
mod leader;
mod topics;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use record_batch::TopicPartition;
use session_actor::WatchTopics;
use session_actor::wire::{ErrorCode, WireError};

use self::heartbeat::{Beat, Heartbeat};
use self::leader::Leader;
use self::topics::Topics;
use super::context::{Context, Retry};
use super::finder::refused;
use super::membership::{Membership, poll_deadline};
use super::seat::Seat;
use crate::assign::{AssignError, Assignor, RebalanceProtocol, common_protocol};
use crate::error::GroupError;
use crate::model::{
    Answer, AskId, Identity, Joined, LeaveOption, Note, Request, Subscription as Wanted,
};

/// The longest reason that brokers take (KIP-800).
const LONGEST_REASON: usize = 255;

#[derive(Debug)]
pub(super) struct Classic {
    assignors: Vec<Arc<dyn Assignor>>,
    session_timeout: Duration,
    rebalances: RebalanceProtocol,
    /// What is read; `None` without a subscription.
    topics: Option<Topics>,
    state: State,
    member_id: Arc<str>,
    generation: i32,
    assigned: Assigned,
    seat: Seat,
    /// Why the member is to join (again).
    rejoin: Option<Arc<str>>,
    retry: Retry,
    heartbeat: Heartbeat,
    leader: Leader,
    leaving: Option<Leaving>,
    /// The application did not poll for too long, and has not since.
    is_late: bool,
}

#[derive(Debug)]
enum State {
    /// Nothing is on its way, and the member is not, or no more, part of a generation's assignment.
    Unjoined,
    Joining(AskId),
    /// The leader waits to know the topics of all members.
    Assigning(Joined, Instant),
    Syncing(AskId),
    Stable,
}

/// What the member was last assigned, given up since or not.
#[derive(Debug, Default)]
struct Assigned {
    /// `None` before the first time.
    generation: Option<i32>,
    /// Who did it.
    assignor: Arc<str>,
    partitions: Vec<TopicPartition>,
}

#[derive(Debug)]
enum Leaving {
    Wanted {
        option: LeaveOption,
        /// The coordinator is not looked for longer.
        until: Instant,
        /// A join that is on its way is not waited for longer.
        joins_until: Instant,
    },
    Asked(AskId),
}

impl Classic {
    pub(super) fn new(
        assignors: Vec<Arc<dyn Assignor>>,
        session_timeout: Duration,
        heartbeat_interval: Duration,
    ) -> Result<Self, AssignError> {
        Ok(Self {
            rebalances: common_protocol(&assignors)?,
            assignors,
            session_timeout,
            topics: None,
            state: State::Unjoined,
            member_id: "".into(),
            generation: -1,
            assigned: Assigned::default(),
            seat: Seat::default(),
            rejoin: None,
            retry: Retry::default(),
            heartbeat: Heartbeat::new(heartbeat_interval, session_timeout),
            leader: Leader::default(),
            leaving: None,
            is_late: false,
        })
    }

    fn want_rejoin(&mut self, reason: &str) {
        if self.topics.is_none() {
            return;
        }
        let end = reason.floor_char_boundary(LONGEST_REASON);
        self.rejoin.get_or_insert_with(|| reason[..end].into());
    }

    fn who(&self) -> Identity {
        Identity {
            member_id: Arc::clone(&self.member_id),
            epoch: self.generation,
            by_epoch: false,
        }
    }

    fn is_member(&self) -> bool {
        self.generation >= 0
    }

    /// `max.poll.interval.ms`: who does not poll leaves, and comes back with the next poll.
    fn look_at_the_poll(&mut self, context: &mut Context<'_>) {
        if self.is_late {
            if !self.seat.is_calling_roll() {
                self.is_late = false;
                self.want_rejoin("the application polls again");
            }
            return;
        }
        if self.poll_due(context).is_some_and(|due| due <= context.now) {
            context.log(Note::PollTooLate);
            // a static member keeps its place until its session times out
            if context.config.instance_id.is_none() {
                let _ = context.ask(Request::LeaveGroup {
                    member_id: Arc::clone(&self.member_id),
                    reason: "max.poll.interval.ms passed without a poll",
                });
                self.member_id = "".into();
            }
            self.is_late = true;
            self.forget_generation(context);
            self.seat.call_roll(context);
        }
    }

    /// Until when a poll is waited for, if one is.
    fn poll_due(&self, context: &Context<'_>) -> Option<Instant> {
        let waits = self.is_member() && self.topics.is_some() && !self.is_late;
        waits.then(|| poll_deadline(context)).flatten()
    }

    /// The generation is over for this member: what it owned is somebody else's.
    fn forget_generation(&mut self, context: &mut Context<'_>) {
        self.generation = -1;
        self.state = State::Unjoined;
        self.heartbeat.end();
        self.leader = Leader::default();
        self.seat.take_all(true, context);
    }

    fn beat(&mut self, context: &mut Context<'_>) {
        if !self.is_member() || matches!(self.state, State::Joining(_)) {
            return;
        }
        match self.heartbeat.next(context.now) {
            Beat::Wait => {}
            Beat::Dead => {
                context.lose_coordinator("no answer to heartbeats within session.timeout.ms", None);
            }
            Beat::Due => {
                if let Some(id) = context.ask(Request::Heartbeat(self.who())) {
                    self.heartbeat.sent(id, context.now);
                }
            }
        }
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        let Some(Leaving::Wanted {
            option,
            until,
            joins_until,
        }) = self.leaving
        else {
            return;
        };
        let is_busy = self.seat.is_handing_over() || !context.may_leave;
        if self.is_joining() {
            if is_busy && context.now < joins_until {
                self.assign(context);
                self.beat(context);
                return;
            }
            self.give_up_joining(context);
        }
        if is_busy {
            self.beat(context);
            return;
        }
        let is_static = context.config.instance_id.is_some();
        let stays = match option {
            LeaveOption::Default => is_static,
            LeaveOption::LeaveGroup => false,
            LeaveOption::RemainInGroup => true,
        };
        // by then it misses this member's heartbeats
        let is_forgotten = context.coordinator.is_none() && until <= context.now;
        if stays || self.member_id.is_empty() || is_forgotten {
            self.gone(context);
            return;
        }
        if let Some(id) = context.ask(Request::LeaveGroup {
            member_id: Arc::clone(&self.member_id),
            reason: "the consumer unsubscribed or was closed",
        }) {
            self.leaving = Some(Leaving::Asked(id));
            self.heartbeat.end();
        } else {
            self.beat(context);
        }
    }

    /// A generation is on its way.
    const fn is_joining(&self) -> bool {
        match self.state {
            State::Joining(_) | State::Assigning(..) | State::Syncing(_) => true,
            State::Unjoined | State::Stable => false,
        }
    }

    /// The connection is taken until all members have joined, or the leader has assigned.
    fn give_up_joining(&mut self, context: &mut Context<'_>) {
        context.lose_coordinator("a join is given up to leave the group", None);
        self.state = State::Unjoined;
    }

    fn gone(&mut self, context: &mut Context<'_>) {
        self.leaving = None;
        self.rejoin = None;
        self.member_id = "".into();
        self.assigned = Assigned::default();
        self.forget_generation(context);
    }

    fn unanswered(&mut self, id: AskId, context: &mut Context<'_>) {
        if self.heartbeat.awaits(id) {
            self.heartbeat.unanswered();
            return;
        }
        self.state = State::Unjoined;
        self.want_rejoin("a request was not answered");
        self.retry.failed(context);
    }

    /// The answer to a heartbeat.
    fn heard(&mut self, error: ErrorCode, context: &mut Context<'_>) {
        let is_member = error.is_ok() || error == ErrorCode::REBALANCE_IN_PROGRESS;
        self.heartbeat.answered(context.now, is_member);
        if error == ErrorCode::REBALANCE_IN_PROGRESS && !matches!(self.state, State::Stable) {
            // this member is on its way already
            return;
        }
        self.in_trouble(error, String::new(), context);
    }
}

impl Membership for Classic {
    fn seat(&self) -> &Seat {
        &self.seat
    }

    fn seat_mut(&mut self) -> &mut Seat {
        &mut self.seat
    }

    fn watched(&self) -> WatchTopics {
        let own = self.topics.iter().flat_map(Topics::names);
        WatchTopics {
            names: own.chain(self.leader.topics()).cloned().collect(),
            ids: BTreeSet::new(),
            all: self.topics.as_ref().is_some_and(Topics::is_pattern),
        }
    }

    fn subscribe(
        &mut self,
        subscription: Wanted,
        context: &mut Context<'_>,
    ) -> Result<(), GroupError> {
        let mut topics = Topics::of(subscription)?;
        topics.look(context.cluster, context.config.exclude_internal_topics);
        let reason = match &self.topics {
            Some(former)
                if former.names() == topics.names()
                    && (self.rejoin.is_some() || !matches!(self.state, State::Unjoined)) =>
            {
                None
            }
            Some(_) => Some("the subscription changed"),
            None => Some("the consumer subscribed"),
        };
        match self.leaving {
            // it is too late to stay
            Some(Leaving::Asked(_)) => self.gone(context),
            // with what it owned then
            Some(Leaving::Wanted { .. }) if self.is_joining() => self.give_up_joining(context),
            _ => {}
        }
        self.leaving = None;
        self.topics = Some(topics);
        if let Some(reason) = reason {
            self.want_rejoin(reason);
        }
        Ok(())
    }

    fn unsubscribe(&mut self, option: LeaveOption, context: &mut Context<'_>) {
        if self.topics.take().is_some() {
            self.rejoin = None;
            self.seat.resign(context);
        }
        if !matches!(self.leaving, Some(Leaving::Asked(_))) {
            // Where members keep partitions while they join (KIP-429) there may be something to commit yet, and once all have
            // joined only the new generation may: this member is part of it, and what it owned is nobody else's before it has
            // left. They hear of the rebalance by their heartbeats; those that do not poll are not waited for.
            let patience = 2 * self.heartbeat.interval();
            let at_most = context
                .closes_at
                .map(|at| at.duration_since(context.now) / 2);
            self.leaving = Some(Leaving::Wanted {
                option,
                until: context.now + self.session_timeout,
                joins_until: context.now + at_most.map_or(patience, |most| most.min(patience)),
            });
        }
    }

    fn enforce_rebalance(&mut self, reason: &str) {
        if self.topics.is_some() {
            self.want_rejoin(reason);
        }
    }

    fn named(&self) -> BTreeSet<Arc<str>> {
        let topics = self.topics.as_ref().filter(|topics| !topics.is_pattern());
        topics
            .map(|topics| topics.names().clone())
            .unwrap_or_default()
    }

    fn is_subscribed(&self) -> bool {
        self.topics.is_some()
    }

    fn has_left(&self) -> bool {
        self.topics.is_none() && self.leaving.is_none() && !self.seat.is_handing_over()
    }

    fn wants_coordinator(&self) -> bool {
        (self.topics.is_some() && !self.is_late) || self.leaving.is_some()
    }

    fn identity(&self, context: &Context<'_>) -> Result<Option<Identity>, GroupError> {
        let group = context.group();
        match self.state {
            // what it still hands over it had as a member
            _ if self.topics.is_none() && !self.is_member() && !self.seat.is_handing_over() => {
                Ok(None)
            }
            State::Joining(_) | State::Assigning(..) | State::Syncing(_) => {
                Err(GroupError::RebalanceInProgress { group })
            }
            State::Unjoined | State::Stable if !self.is_member() => Err(GroupError::CommitFailed {
                group,
                error: ErrorCode::NONE,
            }),
            State::Unjoined | State::Stable => Ok(Some(self.who())),
        }
    }

    fn will_know_who(&self) -> bool {
        self.leaving.is_some() && self.is_joining()
    }

    fn shown(&self) -> (Arc<str>, i32) {
        if self.is_member() {
            (Arc::clone(&self.member_id), self.generation)
        } else {
            ("".into(), -1)
        }
    }

    /// Metadata is new.
    fn cluster_changed(&mut self, context: &Context<'_>) {
        let exclude_internal = context.config.exclude_internal_topics;
        let Some(topics) = &mut self.topics else {
            return;
        };
        if topics.look(context.cluster, exclude_internal) {
            self.want_rejoin("other topics match the pattern");
        }
        if self.leader.sees_change(context.cluster) {
            self.want_rejoin("partitions of the group's topics changed");
        }
    }

    fn give_up(&mut self, context: &mut Context<'_>) {
        if self.topics.is_none() {
            self.gone(context);
        } else {
            self.forget_generation(context);
        }
    }

    /// Does what is due.
    fn act(&mut self, context: &mut Context<'_>) {
        self.seat.act(context);
        self.look_at_the_poll(context);
        if self.leaving.is_some() {
            self.leave(context);
            return;
        }
        if self.topics.is_none() || self.is_late {
            return;
        }
        if matches!(self.state, State::Unjoined | State::Stable) && self.rejoin.is_some() {
            self.join(context);
        }
        self.assign(context);
        self.beat(context);
    }

    fn due(&self, context: &Context<'_>) -> Option<Instant> {
        if self.topics.is_none() && self.leaving.is_none() {
            return self.seat.due(context);
        }
        let listens = context.coordinator.is_some();
        let retry = self.rejoin.as_ref().and(self.retry.at(context.now));
        let assigning = match self.state {
            State::Assigning(_, until) if listens => Some(until),
            _ => None,
        };
        let beats = self.is_member() && !matches!(self.state, State::Joining(_));
        let heartbeat = beats.then(|| self.heartbeat.due(listens)).flatten();
        let poll = self.poll_due(context);
        let leave = match self.leaving {
            Some(Leaving::Wanted { joins_until, .. }) if self.is_joining() => Some(joins_until),
            Some(Leaving::Wanted { until, .. }) if !listens => Some(until),
            _ => None,
        };
        let leave = leave.filter(|until| *until > context.now);
        [
            self.seat.due(context),
            retry,
            assigning,
            heartbeat,
            poll,
            leave,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn awaits(&self, id: AskId) -> bool {
        let asked = match self.state {
            State::Joining(asked) | State::Syncing(asked) => asked == id,
            State::Unjoined | State::Assigning(..) | State::Stable => false,
        };
        asked
            || self.heartbeat.awaits(id)
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
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.unanswered(id, context);
                if let WireError::UnsupportedVersion { .. } = error {
                    context.fail(GroupError::Unsupported {
                        group: context.group(),
                        source: error,
                    });
                } else {
                    context.lose_coordinator("a request was not answered", Some(error));
                }
                return;
            }
        };
        match answer {
            Answer::JoinGroup(Ok(joined)) => self.joined(joined, context),
            Answer::JoinGroup(Err((error, member_id))) => {
                self.state = State::Unjoined;
                self.join_refused(error, member_id, context);
            }
            Answer::SyncGroup(Ok(assignment)) => self.synced(assignment, context),
            Answer::SyncGroup(Err(error)) => {
                self.state = State::Unjoined;
                self.want_rejoin("the assignment was refused");
                self.in_trouble(error, String::new(), context);
            }
            Answer::Done(error) => self.heard(error, context),
            _ => {}
        }
    }

    /// An error of the group, from whatever request.
    fn in_trouble(&mut self, error: ErrorCode, _: String, context: &mut Context<'_>) {
        match error {
            ErrorCode::NONE => {}
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.want_rejoin("the group is being rebalanced");
                if !matches!(self.state, State::Stable) {
                    self.retry.ended(context);
                }
            }
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION => {
                if error == ErrorCode::UNKNOWN_MEMBER_ID {
                    self.member_id = "".into();
                }
                context.log(Note::Fenced(error));
                self.want_rejoin("the coordinator does not know this member any more");
                self.forget_generation(context);
                // at once, but not again and again
                self.retry.ended(context);
            }
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                context.lose_coordinator("it is not the coordinator", None);
            }
            ErrorCode::FENCED_INSTANCE_ID => {
                context.fail(GroupError::Fenced {
                    group: context.group(),
                    instance_id: context.config.instance_id.clone(),
                });
            }
            error if error.is_retriable() => self.retry.failed(context),
            error => context.fail(refused(context, error)),
        }
    }
}
