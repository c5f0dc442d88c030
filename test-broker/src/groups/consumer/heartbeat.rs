use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;

use super::member::{Member, MemberState};
use super::{Assignor, ConsumerGroup, LEAVE_STATIC, Timer, compile, fitting};
use crate::cluster::{PartitionId, Topics};

/// A heartbeat; what is `None` has not changed.
#[derive(Clone, Debug)]
pub(crate) struct Beat<'a> {
    pub(crate) member: &'a str,
    pub(crate) epoch: i32,
    pub(crate) instance: Option<&'a str>,
    pub(crate) client_id: &'a str,
    pub(crate) rack: Option<&'a str>,
    pub(crate) rebalance_timeout: Option<Duration>,
    pub(crate) topics: Option<BTreeSet<String>>,
    pub(crate) regex: Option<&'a str>,
    pub(crate) assignor: Option<&'a str>,
    pub(crate) owned: Option<BTreeSet<PartitionId>>,
}

/// What the member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beaten {
    pub(crate) epoch: i32,
    /// What it has now; `None` if that has not changed since it was told.
    pub(crate) assignment: Option<Vec<PartitionId>>,
}

/// As what a member is let in.
enum Admission {
    Known,
    New,
    /// A static member that was away under this id.
    InPlaceOf(Arc<str>),
}

impl Beat<'_> {
    pub(crate) fn joins(&self) -> bool {
        self.epoch == 0
    }

    pub(crate) fn check_regex(&self) -> Result<(), ResponseError> {
        let regex = self.regex.filter(|regex| !regex.is_empty());
        regex.map_or(Ok(()), |regex| compile(regex).map(drop))
    }

    /// Whether it says everything, as a member does that does not know what became of its last one.
    fn is_full(&self) -> bool {
        self.rebalance_timeout.is_some()
            && (self.topics.is_some() || self.regex.is_some())
            && self.owned.is_some()
    }
}

impl ConsumerGroup {
    /// Lets a member join, stay or leave, and tells it its next step towards what it is to have.
    pub(crate) fn heartbeat(
        &mut self,
        beat: &Beat<'_>,
        topics: &Topics,
        now: Duration,
    ) -> Result<Beaten, ResponseError> {
        if beat.epoch < 0 {
            return self.leave(beat.member, beat.instance, beat.epoch);
        }
        let admission = self.admission(beat)?;
        beat.check_regex()?;
        self.admit(beat, admission);
        let changed = self.update(beat, topics);
        let metadata = self.metadata(topics);
        // if somebody left, the epoch was raised for the topics too that went with it
        let was_raised = self.epoch > self.target_epoch;
        if changed || (metadata != self.known && !was_raised) {
            self.epoch = self.epoch.saturating_add(1);
        }
        self.known = metadata;
        if self.epoch > self.target_epoch {
            self.assign(topics);
        }
        let beaten = self
            .reconcile(beat, now)
            .ok_or(ResponseError::UnknownMemberId)?;
        let session = Timer::Session(Arc::from(beat.member));
        self.timers.set(session, now, self.session_timeout);
        Ok(beaten)
    }

    /// Checks who the member is.
    fn admission(&self, beat: &Beat<'_>) -> Result<Admission, ResponseError> {
        if let Some(instance) = beat.instance {
            match self.of_instance(instance) {
                None if beat.joins() => {}
                None => return Err(ResponseError::UnknownMemberId),
                Some(holder) if beat.joins() => {
                    return match holder.epoch {
                        LEAVE_STATIC => Ok(Admission::InPlaceOf(Arc::clone(&holder.id))),
                        _ => Err(ResponseError::UnreleasedInstanceId),
                    };
                }
                Some(holder) if *holder.id != *beat.member => {
                    return Err(ResponseError::FencedInstanceId);
                }
                Some(_) => {}
            }
        }
        match self.member(beat.member) {
            // it has lost everything, whatever it had
            Some(_) if beat.joins() => Ok(Admission::Known),
            Some(member) => check_epoch(member, beat).map(|()| Admission::Known),
            None if beat.joins() => Ok(Admission::New),
            None => Err(ResponseError::UnknownMemberId),
        }
    }

    fn admit(&mut self, beat: &Beat<'_>, admission: Admission) {
        match admission {
            Admission::Known => {}
            Admission::New => self.members.push(Member::new(beat.member, beat.instance)),
            Admission::InPlaceOf(old) => self.replace(&old, beat.member),
        }
    }

    /// A static member is back under another id, with what it had.
    fn replace(&mut self, old: &str, new: &str) {
        let id: Arc<str> = Arc::from(new);
        self.timers.cancel(&Timer::Session(Arc::from(old)));
        self.timers.cancel(&Timer::Rebalance(Arc::from(old)));
        if let Some(target) = self.target.remove(old) {
            self.target.insert(Arc::clone(&id), target);
        }
        if let Some(member) = self.member_mut(old) {
            member.id = id;
            member.epoch = 0;
            member.previous_epoch = 0;
            member.state = MemberState::Stable;
            // it may commit from its first epoch on what it had under the old id
            member.assigned.values_mut().for_each(|since| *since = 0);
        }
    }

    /// Takes over what the member says of itself; whether that changes what the group is to be assigned. Who subscribes
    /// to nothing changes nothing, as one that joins.
    fn update(&mut self, beat: &Beat<'_>, topics: &Topics) -> bool {
        let Some(member) = self.member_mut(beat.member) else {
            return false;
        };
        beat.client_id.clone_into(&mut member.client_id);
        if let Some(timeout) = beat.rebalance_timeout {
            member.rebalance_timeout = timeout;
        }
        if let Some(rack) = beat.rack {
            member.rack = Some(rack.to_owned());
        }
        let mut changed = false;
        if let Some(names) = &beat.topics {
            changed |= member.topics != *names;
            member.topics.clone_from(names);
        }
        if let Some(regex) = beat.regex {
            changed |=
                member.regex != regex && fitting(&member.regex, topics) != fitting(regex, topics);
            regex.clone_into(&mut member.regex);
        }
        let mut new_assignor = false;
        if let Some(assignor) = beat.assignor {
            new_assignor = member.assignor.as_deref() != Some(assignor);
            member.assignor = Some(assignor.to_owned());
        }
        changed || (new_assignor && self.assignor() != self.used_assignor)
    }

    /// Takes the member's next step.
    fn reconcile(&mut self, beat: &Beat<'_>, now: Duration) -> Option<Beaten> {
        let at = self.members.iter().position(|m| *m.id == *beat.member)?;
        let mut member = self.members.get(at)?.clone();
        let before = member.assigned.clone();
        let target = self.target.get(beat.member).cloned().unwrap_or_default();
        let mut others = self.members.clone();
        others.remove(at);
        member.reconcile(
            self.target_epoch,
            &target,
            beat.owned.as_ref(),
            |partition| !others.iter().any(|other| other.holds(partition)),
        );
        let timer = Timer::Rebalance(Arc::clone(&member.id));
        match member.state {
            MemberState::UnrevokedPartitions if !self.timers.is_set(&timer) => {
                self.timers.set(timer, now, member.rebalance_timeout);
            }
            MemberState::UnrevokedPartitions => {}
            _ => self.timers.cancel(&timer),
        }
        let told = beat.joins() || beat.is_full() || before.keys().ne(member.assigned.keys());
        let beaten = Beaten {
            epoch: member.epoch,
            assignment: told.then(|| member.assigned.keys().copied().collect()),
        };
        *self.members.get_mut(at)? = member;
        Some(beaten)
    }

    /// The assignor that most members ask for; the default one if none does.
    pub(crate) fn assignor(&self) -> Assignor {
        let asked = |assignor: Assignor| {
            let members = self.members.iter();
            let own = members.filter(|m| m.assignor.as_deref() == Some(assignor.name()));
            own.count()
        };
        match asked(Assignor::Range) > asked(Assignor::Uniform) {
            true => Assignor::Range,
            false => Assignor::Uniform,
        }
    }
}

/// Whether the member may go on from its epoch: the current one, or the one before if the answer was lost.
fn check_epoch(member: &Member, beat: &Beat<'_>) -> Result<(), ResponseError> {
    let is_subset = |owned: &BTreeSet<PartitionId>| {
        let mut owned = owned.iter();
        owned.all(|own| member.assigned.contains_key(own))
    };
    let lost_answer =
        beat.epoch == member.previous_epoch && beat.owned.as_ref().is_some_and(is_subset);
    match beat.epoch == member.epoch || (beat.epoch < member.epoch && lost_answer) {
        true => Ok(()),
        false => Err(ResponseError::FencedMemberEpoch),
    }
}
