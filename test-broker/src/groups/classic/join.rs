use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::JoinGroupResponse;
use kafka_protocol::protocol::StrBytes;
use tokio::sync::oneshot;

use super::{ClassicGroup, Member, State, Timer, join_refused};

/// Since then a new member is told its id first, so that one that gives up waiting leaves no trace (KIP-394).
const MEMBER_ID_REQUIRED: i16 = 4;
/// Since then the leader can be told to leave the assignment as it is (KIP-814).
const SKIP_ASSIGNMENT: i16 = 9;
/// How long a new member may wait for its first rebalance.
const NEW_MEMBER_TIMEOUT: Duration = Duration::from_secs(300);

/// A JoinGroup, and who waits for its answer.
#[derive(Debug)]
pub(crate) struct Joining<'a> {
    pub(crate) version: i16,
    pub(crate) member: &'a str,
    pub(crate) instance: Option<&'a str>,
    /// The id that a new member gets.
    pub(crate) new_id: Arc<str>,
    pub(crate) client_id: String,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    pub(crate) protocol_type: StrBytes,
    pub(crate) protocols: Vec<(StrBytes, Bytes)>,
    pub(crate) answer: oneshot::Sender<JoinGroupResponse>,
}

impl Joining<'_> {
    fn answer(self, answer: JoinGroupResponse) {
        // who is gone does not hear it
        let _ = self.answer.send(answer);
    }
}

impl ClassicGroup {
    /// Lets a member in, or back in. It is answered when the rebalance that this brings about lets it, or at once.
    pub(crate) fn join(&mut self, joining: Joining<'_>, now: Duration, initial_delay: Duration) {
        if !self.supports(&joining) {
            let id = joining.member.to_owned();
            return joining.answer(join_refused(&id, ResponseError::InconsistentGroupProtocol));
        }
        match joining.member {
            "" => self.join_new(joining, now, initial_delay),
            _ => self.join_existing(joining, now, initial_delay),
        }
    }

    /// Whether there would be a protocol that all members know.
    fn supports(&self, joining: &Joining<'_>) -> bool {
        if self.state == State::Empty {
            return !joining.protocol_type.is_empty() && !joining.protocols.is_empty();
        }
        let all_know = |name: &StrBytes| self.members.iter().all(|m| m.supports(name.as_str()));
        self.protocol_type.as_ref() == Some(&joining.protocol_type)
            && joining.protocols.iter().any(|(name, _)| all_know(name))
    }

    fn join_new(&mut self, joining: Joining<'_>, now: Duration, initial_delay: Duration) {
        let held = joining.instance.map(|instance| {
            let holder = self.of_instance(instance);
            holder.map(|holder| Arc::clone(&holder.id))
        });
        match held {
            Some(Some(old)) => self.replace(&old, joining, now, initial_delay),
            None if joining.version >= MEMBER_ID_REQUIRED => {
                let id = Arc::clone(&joining.new_id);
                self.pending.insert(Arc::clone(&id));
                let session = Timer::Session(Arc::clone(&id));
                self.timers.set(session, now, joining.session_timeout);
                joining.answer(join_refused(&id, ResponseError::MemberIdRequired));
            }
            _ => {
                let id = Arc::clone(&joining.new_id);
                self.add(id, joining, now, initial_delay);
            }
        }
    }

    fn join_existing(&mut self, joining: Joining<'_>, now: Duration, initial_delay: Duration) {
        let id = joining.member;
        if self.pending.contains(id) {
            if joining.instance.is_some() {
                // Kafka runs into an exception: an id that was given out is never a static member's
                return joining.answer(join_refused("", ResponseError::UnknownServerError));
            }
            return self.add(Arc::from(id), joining, now, initial_delay);
        }
        if let Err(error) = self.check_member(id, joining.instance) {
            let id = id.to_owned();
            return joining.answer(join_refused(&id, error));
        }
        let same = self
            .member(id)
            .is_some_and(|m| m.protocols == joining.protocols);
        match self.state {
            State::Empty => {
                let id = id.to_owned();
                joining.answer(join_refused(&id, ResponseError::UnknownMemberId));
            }
            // it did not hear the answer of this generation
            State::CompletingRebalance if same => {
                let answer = self.joined(id);
                joining.answer(answer);
            }
            State::Stable if same && !self.is_leader(id) => {
                let answer = self.joined(id);
                joining.answer(answer);
            }
            _ => {
                self.update(joining);
                self.rebalance_or_complete(now, initial_delay);
            }
        }
    }

    /// A member that is known joins again.
    fn update(&mut self, joining: Joining<'_>) {
        let id = joining.member;
        if let Some(member) = self.member_mut(id) {
            member.protocols = joining.protocols;
            member.rebalance_timeout = joining.rebalance_timeout;
            member.session_timeout = joining.session_timeout;
            // the one that waited is answered no more, as in Kafka, where it is forgotten
            member.joining = Some(joining.answer);
        }
    }

    fn add(&mut self, id: Arc<str>, joining: Joining<'_>, now: Duration, initial_delay: Duration) {
        if self.members.is_empty() {
            self.protocol_type = Some(joining.protocol_type);
        }
        self.leader.get_or_insert_with(|| Arc::clone(&id));
        self.pending.remove(&id);
        self.joined_meanwhile |= self.is_initial;
        self.members.push(Member {
            id: Arc::clone(&id),
            instance: joining.instance.map(Arc::from),
            client_id: joining.client_id,
            rebalance_timeout: joining.rebalance_timeout,
            session_timeout: joining.session_timeout,
            protocols: joining.protocols,
            assignment: Bytes::new(),
            is_new: true,
            joining: Some(joining.answer),
            syncing: None,
        });
        // it sends no heartbeats yet; one that is still there when this runs out will ask again
        self.timers.set(Timer::Session(id), now, NEW_MEMBER_TIMEOUT);
        self.rebalance_or_complete(now, initial_delay);
    }

    /// A static member is back under a new id, and takes the place of the old one (KIP-345).
    fn replace(&mut self, old: &str, joining: Joining<'_>, now: Duration, initial_delay: Duration) {
        let old_leader = self.leader.clone();
        let id = Arc::clone(&joining.new_id);
        self.timers.cancel(&Timer::Session(Arc::from(old)));
        if self.to_sync.remove(old) {
            self.to_sync.insert(Arc::clone(&id));
        }
        if self.is_leader(old) {
            self.leader = Some(Arc::clone(&id));
        }
        let version = joining.version;
        if let Some(member) = self.member_mut(old) {
            member.refuse(old, ResponseError::FencedInstanceId);
            member.id = Arc::clone(&id);
            member.client_id = joining.client_id;
            member.protocols = joining.protocols;
            member.rebalance_timeout = joining.rebalance_timeout;
            member.session_timeout = joining.session_timeout;
            member.joining = Some(joining.answer);
        }
        self.keep_alive(&id, now);
        if self.state != State::Stable || self.select_protocol() != self.protocol {
            return self.rebalance_or_complete(now, initial_delay);
        }
        self.log();
        let mut answer = self.joined(&id);
        if version >= SKIP_ASSIGNMENT {
            answer.skip_assignment = self.is_leader(&id);
        } else {
            // named as the leader, it would assign anew; so it is told the id that was the leader's
            answer.members.clear();
            let leader = old_leader.as_deref().unwrap_or_default();
            answer.leader = StrBytes::from_string(leader.to_owned());
        }
        if let Some(member) = self.member_mut(&id) {
            member.answer_join(answer);
        }
    }
}
