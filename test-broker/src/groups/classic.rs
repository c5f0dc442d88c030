//! Groups of the classic protocol: members join, one of them assigns, all sync (KIP-62, KIP-134, KIP-345, KIP-394).

mod join;
mod leave;
mod member;
mod rebalance;
mod sync;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{JoinGroupResponse, SyncGroupResponse};
use kafka_protocol::protocol::StrBytes;

pub(crate) use join::Joining;
pub(crate) use member::Member;
pub(crate) use sync::Syncing;

use super::coordinators::java_hash;
use super::timers::Timers;

/// The state of a group. Dead is a group that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Empty,
    /// Members are asked to join again.
    PreparingRebalance,
    /// The leader is to assign.
    CompletingRebalance,
    Stable,
}

/// Who asks, and in which generation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) member: &'a str,
    pub(crate) instance: Option<&'a str>,
    pub(crate) generation: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Join,
    Sync,
    Session(Arc<str>),
}

#[derive(Debug, Default)]
pub(crate) struct ClassicGroup {
    state: State,
    /// The rebalance under way is the first of an empty group.
    is_initial: bool,
    /// What is left of the rebalance timeout for members to join the first rebalance.
    initial_left: Duration,
    /// Somebody joined since the first rebalance was put off last.
    joined_meanwhile: bool,
    generation: i32,
    protocol_type: Option<StrBytes>,
    protocol: Option<StrBytes>,
    leader: Option<Arc<str>>,
    /// In the order in which they came.
    members: Vec<Member>,
    /// Ids given to members that have not joined with them yet (KIP-394).
    pending: BTreeSet<Arc<str>>,
    /// Members that have not synced in this generation.
    to_sync: BTreeSet<Arc<str>>,
    timers: Timers<Timer>,
    /// As the log of groups has it, which is what another coordinator finds.
    logged: Option<Box<Logged>>,
}

#[derive(Debug)]
struct Logged {
    generation: i32,
    protocol_type: Option<StrBytes>,
    protocol: Option<StrBytes>,
    leader: Option<Arc<str>>,
    members: Vec<Member>,
}

impl ClassicGroup {
    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> Option<&StrBytes> {
        self.protocol_type.as_ref()
    }

    pub(crate) fn protocol(&self) -> Option<&StrBytes> {
        self.protocol.as_ref()
    }

    pub(crate) fn leader(&self) -> Option<&str> {
        self.leader.as_deref()
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn first_deadline(&self) -> Option<Duration> {
        self.timers.first()
    }

    /// Whether nobody is in it, nor about to be.
    pub(super) fn is_empty(&self) -> bool {
        self.state == State::Empty && self.pending.is_empty()
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

    fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    /// Whether the member is known, and is the one that holds its instance id (KIP-345).
    fn check_member(&self, member: &str, instance: Option<&str>) -> Result<(), ResponseError> {
        if let Some(instance) = instance {
            match self.of_instance(instance) {
                None => return Err(ResponseError::UnknownMemberId),
                Some(holder) if &*holder.id != member => {
                    return Err(ResponseError::FencedInstanceId);
                }
                Some(_) => {}
            }
        }
        match self.member(member) {
            Some(_) => Ok(()),
            None => Err(ResponseError::UnknownMemberId),
        }
    }

    fn check_caller(&self, caller: Caller<'_>) -> Result<(), ResponseError> {
        self.check_member(caller.member, caller.instance)?;
        match caller.generation == self.generation {
            true => Ok(()),
            false => Err(ResponseError::IllegalGeneration),
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        caller: Caller<'_>,
        now: Duration,
    ) -> Result<(), ResponseError> {
        self.check_caller(caller)?;
        match self.state {
            State::Empty => Err(ResponseError::UnknownMemberId),
            State::PreparingRebalance => {
                self.keep_alive(caller.member, now);
                Err(ResponseError::RebalanceInProgress)
            }
            State::CompletingRebalance | State::Stable => {
                self.keep_alive(caller.member, now);
                Ok(())
            }
        }
    }

    /// Whether who commits offsets may, which then keeps its session alive.
    pub(crate) fn check_commit(
        &mut self,
        caller: Caller<'_>,
        now: Duration,
    ) -> Result<(), ResponseError> {
        if caller.generation < 0 && self.state == State::Empty {
            return Ok(());
        }
        let is_simple =
            caller.generation < 0 && caller.member.is_empty() && caller.instance.is_none();
        match is_simple {
            false => self.check_caller(caller)?,
            true if self.state != State::Empty => return Err(ResponseError::UnknownMemberId),
            true => {}
        }
        if self.state == State::CompletingRebalance {
            return Err(ResponseError::RebalanceInProgress);
        }
        self.keep_alive(caller.member, now);
        Ok(())
    }

    /// Begins a member's session anew.
    fn keep_alive(&mut self, member: &str, now: Duration) {
        let Some(member) = self.member(member) else {
            return;
        };
        let (id, timeout) = (Arc::clone(&member.id), member.session_timeout);
        self.timers.set(Timer::Session(id), now, timeout);
    }

    /// Does what was to be done by now.
    pub(super) fn advance(&mut self, now: Duration, initial_delay: Duration) {
        while let Some((time, timer)) = self.timers.take_due(now) {
            match timer {
                Timer::Join => self.join_timer_ran_out(time, initial_delay),
                Timer::Sync => self.sync_timer_ran_out(time, initial_delay),
                Timer::Session(member) => self.session_ran_out(&member, time, initial_delay),
            }
        }
    }

    fn session_ran_out(&mut self, id: &str, now: Duration, initial_delay: Duration) {
        if self.pending.contains(id) {
            self.remove(id);
            if self.state == State::PreparingRebalance {
                self.complete_join_if_all_joined(now);
            }
        } else if self.member(id).is_some_and(|member| !member.waits()) {
            self.expel(id, now, initial_delay);
        }
    }

    /// Takes a member out as if its session had run out; whether there was one.
    pub(crate) fn expel(&mut self, id: &str, now: Duration, initial_delay: Duration) -> bool {
        let Some(member) = self.member_mut(id) else {
            return false;
        };
        member.refuse("", ResponseError::UnknownMemberId);
        self.remove(id);
        self.after_removal(now, initial_delay);
        true
    }

    /// Another node coordinates the group from now on, or this one reads it again: who waits is sent away, sessions begin
    /// anew, and what was not written to the log of groups is forgotten.
    pub(super) fn reload(&mut self, now: Duration) {
        for member in &mut self.members {
            let id = Arc::clone(&member.id);
            member.refuse(&id, ResponseError::NotCoordinator);
        }
        let logged = self.logged.take();
        *self = Self::default();
        if let Some(logged) = logged {
            self.generation = logged.generation;
            self.protocol_type.clone_from(&logged.protocol_type);
            self.protocol.clone_from(&logged.protocol);
            self.leader.clone_from(&logged.leader);
            self.members = logged.members.iter().map(Member::at_rest).collect();
            if !self.members.is_empty() {
                self.state = State::Stable;
            }
            self.logged = Some(logged);
        }
        let ids: Vec<Arc<str>> = self.members.iter().map(|m| Arc::clone(&m.id)).collect();
        for id in ids {
            self.keep_alive(&id, now);
        }
    }

    fn log(&mut self) {
        self.logged = Some(Box::new(Logged {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            members: self.members.iter().map(Member::at_rest).collect(),
        }));
    }

    /// Takes a member out, or an id that none has joined with.
    fn remove(&mut self, id: &str) {
        self.members.retain(|member| &*member.id != id);
        self.pending.remove(id);
        self.to_sync.remove(id);
        self.timers.cancel(&Timer::Session(Arc::from(id)));
        if self.is_leader(id) {
            self.leader = self.members.first().map(|member| Arc::clone(&member.id));
        }
    }

    /// The protocol that most members would rather have, of those that all of them know.
    fn select_protocol(&self) -> Option<StrBytes> {
        let all_know = |protocol: &str| self.members.iter().all(|m| m.supports(protocol));
        let mut votes: Vec<(StrBytes, usize)> = Vec::new();
        for member in &self.members {
            let mut protocols = member.protocols.iter().map(|(name, _)| name);
            if let Some(first) = protocols.find(|name| all_know(name.as_str())) {
                match votes.iter_mut().find(|(name, _)| name == first) {
                    Some((_, votes)) => *votes += 1,
                    None => votes.push((first.clone(), 1)),
                }
            }
        }
        // Kafka counts in a hash table of 16 buckets, whose order decides between equals
        let bucket = |name: &str| {
            let hash = java_hash(name);
            (hash ^ (hash >> 16)) & 15
        };
        votes.sort_by_key(|(name, votes)| (usize::MAX - votes, bucket(name.as_str())));
        votes.into_iter().next().map(|(name, _)| name)
    }
}

/// The answer to a JoinGroup that is refused.
pub(crate) fn join_refused(member_id: &str, error: ResponseError) -> JoinGroupResponse {
    JoinGroupResponse::default()
        .with_generation_id(-1)
        .with_member_id(StrBytes::from_string(member_id.to_owned()))
        .with_protocol_name(None)
        .with_error_code(error.code())
}

/// The answer to a SyncGroup that is refused.
pub(crate) fn sync_refused(error: ResponseError) -> SyncGroupResponse {
    SyncGroupResponse::default().with_error_code(error.code())
}
