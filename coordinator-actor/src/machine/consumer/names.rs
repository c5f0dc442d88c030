//! Topics by id, as the coordinator names them, and by name, as everybody else does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use record_batch::TopicPartition;
use session_actor::ClusterSnapshot;
use uuid::Uuid;

/// Topics of the assignment. They may be gone from the cluster and are still to be given up by their id.
#[derive(Debug, Default)]
pub(super) struct TopicNames {
    names: BTreeMap<Uuid, Arc<str>>,
    /// Of a topic that was created again, the id of the one assigned last.
    ids: BTreeMap<Arc<str>, Uuid>,
}

impl TopicNames {
    /// The assignment as far as its topics are known by name. The rest is reconciled when metadata knows them.
    pub(super) fn resolve(
        &mut self,
        assignment: &[(Uuid, Vec<i32>)],
        cluster: &ClusterSnapshot,
    ) -> BTreeSet<TopicPartition> {
        let lacking: BTreeSet<Uuid> = assignment
            .iter()
            .map(|(id, _)| *id)
            .filter(|id| !self.names.contains_key(id))
            .collect();
        if !lacking.is_empty() {
            let topics = cluster.topics.values().map(|metadata| &metadata.topic);
            for topic in topics.filter(|topic| lacking.contains(&topic.id)) {
                self.names.insert(topic.id, Arc::clone(&topic.name));
            }
        }
        let mut partitions = BTreeSet::new();
        for (id, indexes) in assignment {
            if let Some(name) = self.names.get(id) {
                self.ids.insert(Arc::clone(name), *id);
                let named = indexes.iter().filter(|index| **index >= 0);
                partitions.extend(named.map(|index| TopicPartition::new(Arc::clone(name), *index)));
            }
        }
        partitions
    }

    /// Partitions as the coordinator names them, by topic id.
    pub(super) fn ids_of(&self, partitions: &BTreeSet<TopicPartition>) -> Vec<(Uuid, Vec<i32>)> {
        let mut by_topic: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            if let Some(id) = self.ids.get(partition.topic()) {
                by_topic.entry(*id).or_default().push(partition.partition());
            }
        }
        by_topic.into_iter().collect()
    }

    /// Forgets topics of which nothing is assigned or held.
    pub(super) fn retain(
        &mut self,
        assignment: &[(Uuid, Vec<i32>)],
        held: &BTreeSet<TopicPartition>,
    ) {
        let used: BTreeSet<Uuid> = assignment.iter().map(|(id, _)| *id).collect();
        let topics: BTreeSet<&str> = held.iter().map(TopicPartition::topic).collect();
        self.ids
            .retain(|name, id| used.contains(id) || topics.contains(&**name));
        let kept: BTreeSet<Uuid> = self.ids.values().copied().collect();
        self.names
            .retain(|id, _| used.contains(id) || kept.contains(id));
    }
}
