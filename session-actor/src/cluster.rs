//! What metadata tells of a cluster, as everyone shares it.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffer_actor::{NodeId, PartitionId};
use uuid::Uuid;

use crate::wire::Address;

/// A topic's two names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic {
    /// What users call it.
    pub name: Arc<str>,
    /// What the protocol calls it since Fetch v13 (KIP-516); nil if the broker is older.
    pub id: Uuid,
}

/// One partition as metadata describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartitionLeader {
    /// Who leads it; `None` during an election.
    pub node: Option<NodeId>,
    /// Since when, -1 if the broker does not say (KIP-320).
    pub epoch: i32,
}

/// A topic as metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicMetadata {
    /// Name and id.
    pub topic: Arc<Topic>,
    /// By partition index.
    pub partitions: Vec<PartitionLeader>,
    /// Whether it is one of Kafka's own (`__consumer_offsets`).
    pub internal: bool,
}

/// Brokers, topics, leaders. A new one replaces the old as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClusterSnapshot {
    /// Where each node listens.
    pub brokers: BTreeMap<NodeId, Address>,
    /// By name.
    pub topics: BTreeMap<Arc<str>, TopicMetadata>,
}

impl ClusterSnapshot {
    /// Who leads a partition, if anybody does as far as is known.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<(NodeId, i32)> {
        let index = usize::try_from(partition).ok()?;
        let leader = self.topics.get(topic)?.partitions.get(index)?;
        Some((leader.node?, leader.epoch))
    }
}

/// An assigned partition as requests and responses name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Located {
    /// Which partition.
    pub partition: PartitionId,
    /// Its topic.
    pub topic: Arc<Topic>,
    /// Its index in the topic.
    pub index: i32,
}

/// The names of all assigned partitions, by slot. Shared by planner and sessions; replaced when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PartitionTable {
    slots: Vec<Option<Located>>,
}

impl PartitionTable {
    /// The name of a partition, if it is (still) this one that has the slot.
    pub fn get(&self, partition: PartitionId) -> Option<&Located> {
        self.slots
            .get(partition.slot())?
            .as_ref()
            .filter(|located| located.partition == partition)
    }

    /// Enters a partition; a former occupant of its slot is gone.
    pub fn insert(&mut self, located: Located) {
        let slot = located.partition.slot();
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = Some(located);
    }
}
