use std::collections::BTreeMap;
use std::sync::Arc;

/// What assignors know of the cluster: its topics, and where their replicas are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicsMetadata {
    topics: BTreeMap<Arc<str>, Vec<PartitionMetadata>>,
}

/// A partition as assignors know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionMetadata {
    /// The racks (`broker.rack`) of its replicas; those without one are left out.
    pub racks: Vec<Arc<str>>,
}

impl PartitionMetadata {
    /// A partition with replicas in these racks.
    pub fn on_racks<R: Into<Arc<str>>>(racks: impl IntoIterator<Item = R>) -> Self {
        Self {
            racks: racks.into_iter().map(Into::into).collect(),
        }
    }
}

impl TopicsMetadata {
    /// Enters a topic with its partitions, from number 0; one of this name is replaced.
    pub fn insert(&mut self, topic: impl Into<Arc<str>>, partitions: Vec<PartitionMetadata>) {
        self.topics.insert(topic.into(), partitions);
    }

    /// The partitions of a topic, from number 0; none of a topic that is not known.
    pub fn partitions(&self, topic: &str) -> &[PartitionMetadata] {
        self.topics.get(topic).map_or(&[], Vec::as_slice)
    }

    /// The topics, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &[PartitionMetadata])> {
        self.topics
            .iter()
            .map(|(name, partitions)| (name, partitions.as_slice()))
    }
}
