use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::JoinGroupResponse;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::protocol::StrBytes;

use super::{ClassicGroup, State, Timer, sync_refused};

impl ClassicGroup {
    /// The largest rebalance timeout of the members.
    fn rebalance_timeout(&self) -> Duration {
        let timeouts = self.members.iter().map(|member| member.rebalance_timeout);
        timeouts.max().unwrap_or_default()
    }

    fn have_all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.iter().all(|member| member.joining.is_some())
    }

    /// Somebody joined or changed: begins a rebalance, or ends the one under way if all are there.
    pub(super) fn rebalance_or_complete(&mut self, now: Duration, initial_delay: Duration) {
        match self.state {
            State::PreparingRebalance => self.complete_join_if_all_joined(now),
            _ => self.prepare_rebalance(now, initial_delay),
        }
    }

    /// Somebody is gone.
    pub(super) fn after_removal(&mut self, now: Duration, initial_delay: Duration) {
        match self.state {
            State::Stable | State::CompletingRebalance => {
                self.prepare_rebalance(now, initial_delay);
            }
            State::PreparingRebalance => self.complete_join_if_all_joined(now),
            State::Empty => {}
        }
    }

    pub(super) fn prepare_rebalance(&mut self, now: Duration, initial_delay: Duration) {
        if self.state == State::CompletingRebalance {
            for member in &mut self.members {
                member.assignment = Bytes::new();
            }
            self.answer_syncs(Some(ResponseError::RebalanceInProgress), now);
        }
        self.timers.cancel(&Timer::Sync);
        self.is_initial = self.state == State::Empty;
        self.state = State::PreparingRebalance;
        if self.is_initial {
            // more time for more members to come
            self.joined_meanwhile = false;
            self.initial_left = self.rebalance_timeout().saturating_sub(initial_delay);
            match initial_delay.is_zero() {
                true => self.complete_join(now),
                false => self.timers.set(Timer::Join, now, initial_delay),
            }
        } else if self.have_all_joined() {
            self.complete_join(now);
        } else {
            let timeout = self.rebalance_timeout();
            self.timers.set(Timer::Join, now, timeout);
        }
    }

    pub(super) fn complete_join_if_all_joined(&mut self, now: Duration) {
        if self.have_all_joined() && !self.is_initial {
            self.complete_join(now);
        }
    }

    pub(super) fn join_timer_ran_out(&mut self, now: Duration, initial_delay: Duration) {
        if self.is_initial && self.joined_meanwhile && !self.initial_left.is_zero() {
            self.joined_meanwhile = false;
            let delay = initial_delay.min(self.initial_left);
            self.initial_left = self.initial_left.saturating_sub(initial_delay);
            self.timers.set(Timer::Join, now, delay);
        } else {
            self.complete_join(now);
        }
    }

    /// Ends the phase in which members join. Dynamic ones that did not are out.
    fn complete_join(&mut self, now: Duration) {
        self.timers.cancel(&Timer::Join);
        let late = self.members.iter();
        let late = late.filter(|member| member.joining.is_none() && member.instance.is_none());
        let late: Vec<Arc<str>> = late.map(|member| Arc::clone(&member.id)).collect();
        for member in late {
            self.remove(&member);
        }
        if !self.members.is_empty() && !self.elect_leader() {
            // only static members, and none is back
            let timeout = self.rebalance_timeout();
            self.timers.set(Timer::Join, now, timeout);
            return;
        }
        self.is_initial = false;
        self.generation = self.generation.wrapping_add(1).max(0);
        self.to_sync.clear();
        if self.members.is_empty() {
            self.protocol = None;
            self.leader = None;
            self.state = State::Empty;
            self.log();
            return;
        }
        self.protocol = self.select_protocol();
        self.state = State::CompletingRebalance;
        let ids: Vec<Arc<str>> = self.members.iter().map(|m| Arc::clone(&m.id)).collect();
        for id in ids {
            let answer = self.joined(&id);
            if let Some(member) = self.member_mut(&id) {
                member.answer_join(answer);
                member.is_new = false;
            }
            self.keep_alive(&id, now);
            self.to_sync.insert(id);
        }
        let timeout = self.rebalance_timeout();
        self.timers.set(Timer::Sync, now, timeout);
    }

    /// Makes sure that the leader is one who joined; whether there is one.
    fn elect_leader(&mut self) -> bool {
        let has_joined = |id: &str| self.member(id).is_some_and(|m| m.joining.is_some());
        if self.leader.as_deref().is_some_and(has_joined) {
            return true;
        }
        let mut members = self.members.iter();
        let joined = members.find(|member| member.joining.is_some());
        match joined.map(|member| Arc::clone(&member.id)) {
            Some(leader) => {
                self.leader = Some(leader);
                true
            }
            None => false,
        }
    }

    /// The answer to a JoinGroup in the current generation. Only the leader is told the members.
    pub(super) fn joined(&self, id: &str) -> JoinGroupResponse {
        let text = |value: &str| StrBytes::from_string(value.to_owned());
        let members = match self.is_leader(id) {
            true => self.all_members(),
            false => Vec::new(),
        };
        JoinGroupResponse::default()
            .with_generation_id(self.generation)
            .with_protocol_type(self.protocol_type.clone())
            .with_protocol_name(self.protocol.clone())
            .with_leader(text(self.leader.as_deref().unwrap_or_default()))
            .with_member_id(text(id))
            .with_members(members)
    }

    fn all_members(&self) -> Vec<JoinGroupResponseMember> {
        let text = |value: &str| StrBytes::from_string(value.to_owned());
        let protocol = self.protocol.as_ref().map_or("", |name| name.as_str());
        let members = self.members.iter().map(|member| {
            JoinGroupResponseMember::default()
                .with_member_id(text(&member.id))
                .with_group_instance_id(member.instance.as_deref().map(text))
                .with_metadata(member.metadata(protocol))
        });
        members.collect()
    }

    /// The leader did not assign in time, or others did not ask for what they got: they are out.
    pub(super) fn sync_timer_ran_out(&mut self, now: Duration, initial_delay: Duration) {
        if self.to_sync.is_empty() {
            return;
        }
        for member in std::mem::take(&mut self.to_sync) {
            self.remove(&member);
        }
        self.prepare_rebalance(now, initial_delay);
    }

    /// Answers the SyncGroups that wait, and begins those members' sessions anew.
    pub(super) fn answer_syncs(&mut self, error: Option<ResponseError>, now: Duration) {
        let mut answered = Vec::new();
        for member in &mut self.members {
            let answer = match error {
                Some(error) => sync_refused(error),
                None => {
                    super::sync::synced(&self.protocol_type, &self.protocol, &member.assignment)
                }
            };
            if member.answer_sync(answer) {
                answered.push(Arc::clone(&member.id));
            }
        }
        for id in answered {
            self.keep_alive(&id, now);
        }
    }
}
