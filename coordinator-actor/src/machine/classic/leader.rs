//! What the leader of a group does for all: computes the assignment, and watches the topics of all members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use session_actor::ClusterSnapshot;

use crate::assign::{
    AssignError, Assignment, Assignor, Member, PartitionMetadata, RebalanceProtocol, Subscription,
    TopicsMetadata, verified,
};
use crate::model::Joined;

#[derive(Debug, Default)]
pub(super) struct Leader {
    members: Vec<Member>,
    topics: BTreeSet<Arc<str>>,
    /// What the last assignment went by. `None`: this member is not the leader.
    assigned_by: Option<BTreeMap<Arc<str>, Vec<PartitionMetadata>>>,
}

impl Leader {
    /// Topics of all members.
    pub(super) const fn topics(&self) -> &BTreeSet<Arc<str>> {
        &self.topics
    }

    /// Who is in the group. A member whose subscription cannot be read gets nothing.
    pub(super) fn learn(&mut self, joined: &Joined) {
        let members = joined.members.iter().map(|(id, instance_id, metadata)| {
            let subscription = Subscription::decode(metadata).unwrap_or_default();
            let member = Member::new(&**id, subscription);
            match instance_id {
                Some(instance_id) => member.with_instance_id(&**instance_id),
                None => member,
            }
        });
        self.members = members.collect();
        let subscribed = self
            .members
            .iter()
            .map(|member| &member.subscription.topics);
        self.topics = subscribed.flatten().cloned().collect();
    }

    /// Whether metadata has told of all topics, if only that there is none of a name.
    pub(super) fn knows_enough(&self, cluster: &ClusterSnapshot) -> bool {
        let is_known = |topic: &Arc<str>| {
            cluster.topics.contains_key(topic) || cluster.missing.contains_key(topic)
        };
        self.topics.iter().all(is_known)
    }

    /// The encoded assignment of each member.
    pub(super) fn assign(
        &self,
        assignor: &dyn Assignor,
        rebalances: RebalanceProtocol,
        cluster: &ClusterSnapshot,
    ) -> Result<Vec<(Arc<str>, Bytes)>, AssignError> {
        let mut topics = TopicsMetadata::default();
        for (name, partitions) in self.shape(cluster) {
            topics.insert(name, partitions);
        }
        let assigned = verified::assign(assignor, rebalances, &topics, &self.members)?;
        let members = self.members.iter().zip(assigned);
        members
            .map(|(member, partitions)| {
                let assignment = Assignment::new(partitions).encode(Assignment::VERSION)?;
                Ok((member.id.as_str().into(), assignment))
            })
            .collect()
    }

    /// An assignment goes by what is known now.
    pub(super) fn remember(&mut self, cluster: &ClusterSnapshot) {
        self.assigned_by = Some(self.shape(cluster));
    }

    /// Whether the last assignment does not fit any more. Says so once.
    pub(super) fn sees_change(&mut self, cluster: &ClusterSnapshot) -> bool {
        let Some(assigned_by) = &self.assigned_by else {
            return false;
        };
        let shape = self.shape(cluster);
        let differs = *assigned_by != shape;
        if differs {
            self.assigned_by = Some(shape);
        }
        differs
    }

    /// Partitions of the group's topics, and the racks of their replicas.
    fn shape(&self, cluster: &ClusterSnapshot) -> BTreeMap<Arc<str>, Vec<PartitionMetadata>> {
        let topics = self.topics.iter();
        let known = topics.filter_map(|topic| cluster.topics.get_key_value(topic));
        known
            .map(|(name, topic)| {
                let partitions = 0_i32..;
                let partitions = partitions.take(topic.partitions.len());
                let racks = partitions.map(|index| {
                    let replicas = topic.replicas.of(index).iter();
                    let racks = replicas.filter_map(|node| cluster.racks.get(node));
                    PartitionMetadata::on_racks(racks.cloned())
                });
                (Arc::clone(name), racks.collect())
            })
            .collect()
    }
}
