//! From JoinGroup to an assignment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use record_batch::TopicPartition;
use session_actor::wire::ErrorCode;

use super::super::context::Context;
use super::super::finder::refused;
use super::super::membership::Membership;
use super::leader::Leader;
use super::topics::Topics;
use super::{Classic, State};
use crate::assign::{AssignError, Assignment, Assignor, RebalanceProtocol, Subscription};
use crate::error::GroupError;
use crate::model::{JoinGroup, Joined, Note, Request, SyncGroup};

/// JoinGroup is answered when all members have joined, which may take this much longer than `max.poll.interval.ms`.
const JOIN_MARGIN: Duration = Duration::from_secs(5);

impl Classic {
    pub(super) fn join(&mut self, context: &mut Context<'_>) {
        let given_up = match self.rebalances {
            RebalanceProtocol::Eager => self.seat.owned().iter().cloned().collect(),
            RebalanceProtocol::Cooperative => self.unsubscribed(),
        };
        self.seat.take_away(given_up, false, context);
        if self.seat.is_handing_over() || !self.retry.is_due(context.now) {
            return;
        }
        let protocols = match self.protocols(context) {
            Ok(protocols) => protocols,
            Err(error) => {
                context.fail(unwritable(context, &error));
                return;
            }
        };
        let request = Request::JoinGroup(JoinGroup {
            member_id: Arc::clone(&self.member_id),
            session_timeout: self.session_timeout,
            rebalance_timeout: context.config.max_poll_interval,
            protocols,
            reason: self.rejoin.clone().unwrap_or_default(),
        });
        let patience = context.config.max_poll_interval.saturating_add(JOIN_MARGIN);
        let limit = context.config.request_timeout.max(patience);
        if let Some(id) = context.ask_within(request, limit) {
            if let Some(reason) = &self.rejoin
                && self.is_member()
            {
                context.log(Note::Rejoins(Arc::clone(reason)));
            }
            self.rejoin = None;
            self.heartbeat.end();
            self.leader = Leader::default();
            self.state = State::Joining(id);
        }
    }

    /// Owned partitions of topics that are not read any more.
    fn unsubscribed(&self) -> Vec<TopicPartition> {
        let topics = self.topics.as_ref();
        let is_read = |name: &&TopicPartition| {
            topics.is_some_and(|topics| topics.names().contains(name.topic()))
        };
        let owned = self.seat.owned().iter();
        owned.filter(|name| !is_read(name)).cloned().collect()
    }

    fn protocols(&self, context: &Context<'_>) -> Result<Vec<(Arc<str>, Bytes)>, AssignError> {
        let topics = self.topics.iter().flat_map(Topics::names);
        let topics: Vec<Arc<str>> = topics.cloned().collect();
        let assigned = &self.assigned;
        let metadata = |used: &Arc<dyn Assignor>| {
            let mut subscription = Subscription::new(topics.iter().cloned());
            // an assignor is told of what it assigned itself
            let (owned, generation) = if used.name() == &*assigned.assignor {
                (&assigned.partitions[..], assigned.generation)
            } else {
                (&[][..], None)
            };
            subscription.user_data = used.user_data(owned, generation.unwrap_or(-1), &topics);
            subscription.owned_partitions = self.seat.owned().iter().cloned().collect();
            subscription.generation_id = assigned.generation;
            subscription.rack_id = context.config.rack.as_deref().map(str::to_owned);
            subscription.encode(Subscription::VERSION)
        };
        let assignors = self.assignors.iter();
        assignors
            .map(|used| Ok((used.name().into(), metadata(used)?)))
            .collect()
    }

    pub(super) fn join_refused(
        &mut self,
        error: ErrorCode,
        member_id: Arc<str>,
        context: &mut Context<'_>,
    ) {
        self.want_rejoin("joining was refused");
        if error == ErrorCode::MEMBER_ID_REQUIRED {
            if !self.member_id.is_empty() || member_id.is_empty() {
                // whoever has an id is not asked for one, and an empty one is none
                self.retry.failed(context);
            }
            // KIP-394: with the id that was given, at once
            self.member_id = member_id;
            return;
        }
        self.in_trouble(error, String::new(), context);
    }

    pub(super) fn joined(&mut self, joined: Joined, context: &mut Context<'_>) {
        let known = self
            .assignors
            .iter()
            .any(|used| *used.name() == *joined.protocol);
        if joined.generation < 0 {
            self.state = State::Unjoined;
            self.want_rejoin("the coordinator gave no generation");
            self.retry.failed(context);
            return;
        }
        if !known {
            self.state = State::Unjoined;
            context.fail(refused(context, ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
            return;
        }
        self.member_id = Arc::clone(&joined.member_id);
        self.generation = joined.generation;
        self.heartbeat.begin(context.now);
        self.leader = Leader::default();
        if joined.is_leader {
            self.leader.learn(&joined);
        }
        let patience = self.session_timeout.min(context.config.max_poll_interval) / 2;
        self.state = State::Assigning(joined, context.now + patience);
        self.assign(context);
    }

    /// Sends the assignment, or asks for it, once everything is known that it takes.
    pub(super) fn assign(&mut self, context: &mut Context<'_>) {
        let State::Assigning(joined, until) = &self.state else {
            return;
        };
        if context.coordinator.is_none() {
            return;
        }
        let computes = joined.is_leader && !joined.skip_assignment;
        if computes && !self.leader.knows_enough(context.cluster) && context.now < *until {
            return;
        }
        let assignor = self
            .assignors
            .iter()
            .find(|used| *used.name() == *joined.protocol);
        let assignments = match assignor {
            Some(assignor) if computes => {
                self.leader
                    .assign(assignor.as_ref(), self.rebalances, context.cluster)
            }
            _ => Ok(Vec::new()),
        };
        let assignments = match assignments {
            Ok(assignments) => assignments,
            Err(error) => {
                self.state = State::Unjoined;
                context.fail(unwritable(context, &error));
                return;
            }
        };
        if joined.is_leader {
            self.leader.remember(context.cluster);
        }
        let request = Request::SyncGroup(SyncGroup {
            identity: self.who(),
            protocol: Arc::clone(&joined.protocol),
            assignments,
        });
        let protocol = Arc::clone(&joined.protocol);
        if let Some(id) = context.ask(request) {
            self.assigned.assignor = protocol;
            self.state = State::Syncing(id);
        }
    }

    pub(super) fn synced(&mut self, assignment: Bytes, context: &mut Context<'_>) {
        let assigned: BTreeSet<TopicPartition> = match Assignment::decode(&assignment) {
            Ok(assignment) => {
                let partitions = assignment.partitions.into_iter();
                partitions.filter(|name| name.partition() >= 0).collect()
            }
            Err(error) => {
                self.state = State::Unjoined;
                context.fail(unwritable(context, &error));
                return;
            }
        };
        self.retry.succeeded();
        self.state = State::Stable;
        context.log(Note::Joined {
            generation: self.generation,
            member_id: Arc::clone(&self.member_id),
        });
        if self.topics.is_none() {
            // it is about to leave
            return;
        }
        let topics = self.topics.as_ref();
        let foreign: Vec<_> = assigned
            .iter()
            .filter(|name| topics.is_none_or(|topics| !topics.names().contains(name.topic())))
            .cloned()
            .collect();
        if !foreign.is_empty() {
            // the subscription changed while the group was rebalanced
            context.log(Note::AssignmentOfOthers(foreign));
            self.want_rejoin("the assignment has topics that are not subscribed to");
            return;
        }
        self.assigned.generation = Some(self.generation);
        self.assigned.partitions = assigned.iter().cloned().collect();
        let owned = self.seat.owned();
        let gone: Vec<_> = owned.difference(&assigned).cloned().collect();
        let new: Vec<_> = assigned.difference(owned).cloned().collect();
        if !gone.is_empty() {
            // KIP-429: what moves is free in the next generation
            self.seat.take_away(gone, false, context);
            self.want_rejoin("partitions were given up");
        }
        self.seat.give(new, context);
    }
}

fn unwritable(context: &Context<'_>, error: &AssignError) -> GroupError {
    GroupError::ConsumerProtocol {
        group: context.group(),
        source: error.clone(),
    }
}
