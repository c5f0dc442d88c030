//! What can be seen of a group from outside.

use bytes::{Buf, Bytes};
use kafka_protocol::protocol::StrBytes;
use record_batch::TopicPartition;

use super::classic::{ClassicGroup, State};
use super::consumer::ConsumerGroup;
use super::{Group, Membership};
use crate::cluster::Topics;

/// A group as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupDescription {
    /// Which protocol its members use.
    pub protocol: GroupProtocol,
    /// Its state.
    pub state: GroupState,
    /// The generation of a classic group, the group epoch of one of KIP-848.
    pub generation: i32,
    /// Who assigns: the protocol that the members agreed on, or the assignor of the broker; `None` without members.
    pub assignor: Option<String>,
    /// The member that assigns; `None` in a group of KIP-848.
    pub leader: Option<String>,
    /// The members, in the order in which they came.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMember {
    /// Its id.
    pub member_id: String,
    /// `group.instance.id` of a static member (KIP-345).
    pub instance_id: Option<String>,
    /// What the client calls itself: `client.id`.
    pub client_id: String,
    /// Its member epoch (KIP-848); the generation in a classic group.
    pub epoch: i32,
    /// What it has been assigned, in order. A classic group's leader may assign what is not in the layout of consumers,
    /// which is not shown.
    pub assignment: Vec<TopicPartition>,
}

/// The protocol of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupProtocol {
    /// Members join, and one of them assigns.
    Classic,
    /// The broker assigns (KIP-848).
    Consumer,
}

/// The state of a group, by Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupState {
    /// It has no members.
    Empty,
    /// Members of a classic group are asked to join again.
    PreparingRebalance,
    /// The leader of a classic group is to assign.
    CompletingRebalance,
    /// All have what they are to have.
    Stable,
    /// Something changed since the broker last assigned (KIP-848).
    Assigning,
    /// Members do not have all they are to have, or more (KIP-848).
    Reconciling,
}

impl GroupState {
    /// As the protocol names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
        }
    }
}

impl From<State> for GroupState {
    fn from(state: State) -> Self {
        match state {
            State::Empty => Self::Empty,
            State::PreparingRebalance => Self::PreparingRebalance,
            State::CompletingRebalance => Self::CompletingRebalance,
            State::Stable => Self::Stable,
        }
    }
}

impl Group {
    /// What kind of clients its members are.
    pub(crate) fn protocol_type(&self) -> StrBytes {
        match &self.membership {
            Membership::Classic(group) => group.protocol_type().cloned().unwrap_or_default(),
            Membership::Consumer(_) => StrBytes::from_static_str("consumer"),
        }
    }

    pub(crate) fn describe(&self, topics: &Topics) -> GroupDescription {
        match &self.membership {
            Membership::Classic(group) => describe_classic(group),
            Membership::Consumer(group) => describe_consumer(group, topics),
        }
    }
}

fn describe_classic(group: &ClassicGroup) -> GroupDescription {
    let members = group.members().iter().map(|member| GroupMember {
        member_id: member.id.to_string(),
        instance_id: member.instance.as_deref().map(str::to_owned),
        client_id: member.client_id.clone(),
        epoch: group.generation(),
        assignment: partitions(member.assignment.clone()).unwrap_or_default(),
    });
    GroupDescription {
        protocol: GroupProtocol::Classic,
        state: group.state().into(),
        generation: group.generation(),
        assignor: group.protocol().map(ToString::to_string),
        leader: group.leader().map(str::to_owned),
        members: members.collect(),
    }
}

fn describe_consumer(group: &ConsumerGroup, topics: &Topics) -> GroupDescription {
    let members = group.members().iter().map(|member| {
        let assigned = member.assigned.keys().filter_map(|(topic, partition)| {
            let name = topics.name_of(*topic)?;
            Some(TopicPartition::new(&**name, *partition))
        });
        let mut assignment: Vec<TopicPartition> = assigned.collect();
        assignment.sort();
        GroupMember {
            member_id: member.id.to_string(),
            instance_id: member.instance.as_deref().map(str::to_owned),
            client_id: member.client_id.clone(),
            epoch: member.epoch,
            assignment,
        }
    });
    let members: Vec<GroupMember> = members.collect();
    let state = if members.is_empty() {
        GroupState::Empty
    } else if group.epoch() > group.target_epoch() {
        GroupState::Assigning
    } else if group.is_reconciled() {
        GroupState::Stable
    } else {
        GroupState::Reconciling
    };
    GroupDescription {
        protocol: GroupProtocol::Consumer,
        state,
        generation: group.epoch(),
        assignor: (!members.is_empty()).then(|| group.assignor().name().to_owned()),
        leader: None,
        members,
    }
}

/// The partitions of an assignment in the layout of consumers (`ConsumerProtocolAssignment`): version, topics, each with
/// its partitions. A member wrote it, so no count in it is believed.
fn partitions(mut assignment: Bytes) -> Option<Vec<TopicPartition>> {
    assignment.try_get_i16().ok()?;
    let mut found = Vec::new();
    for _ in 0..assignment.try_get_i32().ok()? {
        let length = usize::try_from(assignment.try_get_i16().ok()?).ok()?;
        if length > assignment.len() {
            return None;
        }
        let topic = assignment.split_to(length);
        let topic = std::str::from_utf8(&topic).ok()?;
        for _ in 0..assignment.try_get_i32().ok()? {
            found.push(TopicPartition::new(topic, assignment.try_get_i32().ok()?));
        }
    }
    found.sort();
    Some(found)
}
