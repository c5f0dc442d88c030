//! What metadata tells of a cluster, as everyone shares it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::Message;
use buffer_actor::{NodeId, PartitionId};
use uuid::Uuid;

use crate::wire::{Address, ErrorCode};

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
    /// Who has copies of them: with [`racks`](ClusterSnapshot::racks), what rack-aware assignors need (KIP-881).
    pub replicas: Arc<Replicas>,
    /// Whether it is one of Kafka's own (`__consumer_offsets`).
    pub internal: bool,
}

/// The brokers that have copies of each partition of a topic, one list behind the other in one piece of memory.
///
/// ```
/// use buffer_actor::NodeId;
/// use session_actor::Replicas;
///
/// let replicas: Replicas = [vec![NodeId(1), NodeId(2)], vec![NodeId(2)]].into_iter().collect();
/// assert_eq!(replicas.of(0), [NodeId(1), NodeId(2)]);
/// assert_eq!(replicas.of(1), [NodeId(2)]);
/// assert_eq!(replicas.of(2), []);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Replicas {
    nodes: Box<[NodeId]>,
    /// Where the list of each partition ends in `nodes`.
    ends: Box<[usize]>,
}

impl Replicas {
    /// Those of a partition, the preferred leader first; none if there is no such partition.
    pub fn of(&self, partition: i32) -> &[NodeId] {
        let find = || {
            let index = usize::try_from(partition).ok()?;
            let end = *self.ends.get(index)?;
            let begin = match index.checked_sub(1) {
                Some(before) => *self.ends.get(before)?,
                None => 0,
            };
            self.nodes.get(begin..end)
        };
        find().unwrap_or_default()
    }
}

/// From the replicas of each partition, by index.
impl<L: AsRef<[NodeId]>> FromIterator<L> for Replicas {
    fn from_iter<I: IntoIterator<Item = L>>(partitions: I) -> Self {
        let mut nodes = Vec::new();
        let ends = partitions
            .into_iter()
            .map(|replicas| {
                nodes.extend_from_slice(replicas.as_ref());
                nodes.len()
            })
            .collect();
        Self {
            nodes: nodes.into(),
            ends,
        }
    }
}

/// Brokers, topics, leaders. A new one replaces the old as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClusterSnapshot {
    /// Where each node listens.
    pub brokers: BTreeMap<NodeId, Address>,
    /// In which rack (`broker.rack`) each node is that has one.
    pub racks: BTreeMap<NodeId, Arc<str>>,
    /// By name. Of two topics that had a name one after the other (KIP-516), the later.
    pub topics: BTreeMap<Arc<str>, TopicMetadata>,
    /// The names of [`WatchTopics`] that are not in `topics` although the brokers were asked, and what they said. A topic that
    /// was there is believed to be there for some seconds more: a broker that lags behind does not make it vanish.
    pub missing: BTreeMap<Arc<str>, ErrorCode>,
}

impl ClusterSnapshot {
    /// Who leads a partition, if anybody does as far as is known.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<(NodeId, i32)> {
        let index = usize::try_from(partition).ok()?;
        let leader = self.topics.get(topic)?.partitions.get(index)?;
        Some((leader.node?, leader.epoch))
    }

    /// The topic that has this id (KIP-516). Looks at all topics.
    pub fn topic_with_id(&self, id: Uuid) -> Option<&TopicMetadata> {
        self.topics.values().find(|known| known.topic.id == id)
    }
}

/// A leader as a broker named it that leads the partition no more (KIP-951).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewLeader {
    /// Of which partition.
    pub partition: PartitionId,
    /// Who leads it.
    pub node: NodeId,
    /// Since when.
    pub epoch: i32,
    /// Where that node listens, if the broker said so.
    pub address: Option<Address>,
}

/// Metadata -> Fetch, Coordinator: what the cluster looks like now.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct SnapshotChanged(pub Arc<ClusterSnapshot>);

/// Coordinator -> Metadata: topics that a group needs to know although nothing of them is assigned. Replaces the former watch.
///
/// They are part of every refresh from then on, and what is not there is asked for again, with growing pauses up to
/// `retry.backoff.max.ms`. No error about them reaches the application this way: they are in the
/// [`ClusterSnapshot`], or in its [`missing`](ClusterSnapshot::missing), or not asked for yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Message)]
#[rtype(result = "()")]
pub struct WatchTopics {
    /// By name.
    pub names: BTreeSet<Arc<str>>,
    /// By id alone, as a KIP-848 assignment names them; they are asked for by name as well once that is known. One that belongs
    /// to no topic is absent from the snapshot, and asked for until it is not watched any more.
    pub ids: BTreeSet<Uuid>,
    /// All that there are, for patterns that the client matches: listed now and every `metadata.max.age.ms`, as in the Java
    /// client. What a list does not have any more is gone at once, unless it is watched by name or assigned.
    pub all: bool,
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
