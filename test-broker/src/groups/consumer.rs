//! Groups whose members the broker assigns (KIP-848).

mod assignors;
mod heartbeat;
mod leave;
mod member;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use regex::{Regex, RegexBuilder};
use uuid::Uuid;

pub(crate) use assignors::Assignor;
use assignors::{Candidate, Target};
pub(crate) use heartbeat::{Beat, Beaten};
pub(crate) use leave::{LEAVE, LEAVE_STATIC};
pub(crate) use member::Member;
use member::MemberState;

use super::timers::Timers;
use crate::cluster::{PartitionId, Topics};

/// A member's pattern may take so much memory when it is compiled.
const REGEX_SIZE: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Session(Arc<str>),
    Rebalance(Arc<str>),
}

#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    /// Rises with every change of members, subscriptions and topics.
    epoch: i32,
    /// The group epoch for which the target was made.
    target_epoch: i32,
    target: Target,
    used_assignor: Assignor,
    /// The topics that members subscribe to, with their partitions, as of the group epoch.
    known: BTreeMap<Uuid, i32>,
    /// In the order in which they came.
    members: Vec<Member>,
    timers: Timers<Timer>,
    session_timeout: Duration,
}

impl ConsumerGroup {
    pub(super) fn new(session_timeout: Duration) -> Self {
        Self {
            // as in Kafka, where 0 is that of members who join
            epoch: 1,
            target_epoch: 0,
            target: Target::new(),
            used_assignor: Assignor::Uniform,
            known: BTreeMap::new(),
            members: Vec::new(),
            timers: Timers::default(),
            session_timeout,
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn target_epoch(&self) -> i32 {
        self.target_epoch
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn target_of(&self, member: &str) -> Option<&BTreeSet<PartitionId>> {
        self.target.get(member)
    }

    /// Whether all members have what they are to have.
    pub(crate) fn is_reconciled(&self) -> bool {
        let settled = |m: &Member| m.state == MemberState::Stable && m.epoch == self.target_epoch;
        self.members.iter().all(settled)
    }

    pub(super) fn first_deadline(&self) -> Option<Duration> {
        self.timers.first()
    }

    fn member(&self, id: &str) -> Option<&Member> {
        self.members.iter().find(|member| &*member.id == id)
    }

    fn member_mut(&mut self, id: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| &*member.id == id)
    }

    fn of_instance(&self, instance: &str) -> Option<&Member> {
        let mut members = self.members.iter();
        members.find(|member| member.instance.as_deref() == Some(instance))
    }

    /// Whether a member may commit a partition, from an epoch at which it had it already (KIP-1251).
    pub(crate) fn check_commit(
        &self,
        id: &str,
        epoch: i32,
        partition: &PartitionId,
    ) -> Result<(), ResponseError> {
        if epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.member(id).ok_or(ResponseError::UnknownMemberId)?;
        let has_it = || {
            member
                .epoch_of(partition)
                .is_some_and(|since| epoch >= since)
        };
        match epoch == member.epoch || (epoch < member.epoch && has_it()) {
            true => Ok(()),
            false => Err(ResponseError::StaleMemberEpoch),
        }
    }

    /// Whether a member may ask what is committed. Who is none may.
    pub(crate) fn check_fetch(&self, id: Option<&str>, epoch: i32) -> Result<(), ResponseError> {
        let id = match id {
            None if epoch < 0 => return Ok(()),
            id => id.unwrap_or_default(),
        };
        let member = self.member(id).ok_or(ResponseError::UnknownMemberId)?;
        match member.epoch == epoch {
            true => Ok(()),
            false => Err(ResponseError::StaleMemberEpoch),
        }
    }

    /// Takes a member out; whether there was one. The others are assigned anew with their next heartbeats.
    pub(super) fn fence(&mut self, id: &str) -> bool {
        let was_member = self.member(id).is_some();
        if was_member {
            self.fence_all(&[Arc::from(id)]);
        }
        was_member
    }

    /// Takes members out together.
    fn fence_all(&mut self, ids: &[Arc<str>]) {
        for id in ids {
            self.members.retain(|member| member.id != *id);
            self.target.remove(id);
            self.timers.cancel(&Timer::Session(Arc::clone(id)));
            self.timers.cancel(&Timer::Rebalance(Arc::clone(id)));
        }
        self.epoch = self.epoch.saturating_add(1);
        if self.members.is_empty() {
            // there is nothing to assign
            self.target_epoch = self.epoch;
            self.known.clear();
        }
    }

    /// Does what was to be done by now.
    pub(super) fn advance(&mut self, now: Duration) {
        while let Some((_, Timer::Session(id) | Timer::Rebalance(id))) = self.timers.take_due(now) {
            self.fence(&id);
        }
    }

    /// Another node coordinates the group from now on: sessions begin anew. Everything else is in the log of groups.
    pub(super) fn reload(&mut self, now: Duration) {
        self.timers.clear();
        for member in &self.members {
            let id = Arc::clone(&member.id);
            if member.state == MemberState::UnrevokedPartitions {
                let timer = Timer::Rebalance(Arc::clone(&id));
                self.timers.set(timer, now, member.rebalance_timeout);
            }
            self.timers
                .set(Timer::Session(id), now, self.session_timeout);
        }
    }

    /// The topics that members subscribe to, with their partitions.
    fn metadata(&self, topics: &Topics) -> BTreeMap<Uuid, i32> {
        let all: BTreeSet<Uuid> = self
            .members
            .iter()
            .flat_map(|member| subscribed(member, topics))
            .collect();
        let known = topics.iter().filter(|topic| all.contains(&topic.id));
        known
            .map(|topic| {
                let partitions = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
                (topic.id, partitions)
            })
            .collect()
    }

    /// Says anew what each member is to have.
    fn assign(&mut self, topics: &Topics) {
        let members = self.members.iter().map(|member| Candidate {
            id: Arc::clone(&member.id),
            instance: member.instance.clone(),
            topics: subscribed(member, topics),
            had: self.target.get(&member.id).cloned().unwrap_or_default(),
        });
        let members: Vec<Candidate> = members.collect();
        self.used_assignor = self.assignor();
        self.target = self.used_assignor.assign(&members, &self.known);
        self.target_epoch = self.epoch;
    }
}

/// The topics that a member subscribes to and that there are.
fn subscribed(member: &Member, topics: &Topics) -> BTreeSet<Uuid> {
    let named = topics.iter();
    let named = named.filter(|topic| member.topics.contains(&*topic.name));
    let mut found: BTreeSet<Uuid> = named.map(|topic| topic.id).collect();
    found.append(&mut fitting(&member.regex, topics));
    found
}

/// The topics that a pattern fits; none if it is empty.
fn fitting(pattern: &str, topics: &Topics) -> BTreeSet<Uuid> {
    let regex = Some(pattern).filter(|pattern| !pattern.is_empty());
    // it was compiled when it came, and refused if it could not be
    let Some(regex) = regex.and_then(|regex| compile(regex).ok()) else {
        return BTreeSet::new();
    };
    let found = topics.iter().filter(|topic| regex.is_match(&topic.name));
    found.map(|topic| topic.id).collect()
}

/// A pattern that has to fit a topic's whole name. An empty one is none, and is not to come here.
fn compile(pattern: &str) -> Result<Regex, ResponseError> {
    // by itself too, so that it cannot close the group that is put around it
    Regex::new(pattern).map_err(|_| ResponseError::InvalidRegularExpression)?;
    let whole = RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(REGEX_SIZE)
        .build();
    whole.map_err(|_| ResponseError::InvalidRegularExpression)
}
