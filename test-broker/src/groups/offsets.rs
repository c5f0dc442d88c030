use std::collections::BTreeMap;
use std::sync::Arc;

/// What is committed for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    /// The epoch of the last record consumed; -1 if it was not told (KIP-320).
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

/// What a group has committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offsets {
    by_topic: BTreeMap<Arc<str>, BTreeMap<i32, Committed>>,
}

impl Offsets {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&Committed> {
        self.by_topic.get(topic)?.get(&partition)
    }

    pub(crate) fn set(&mut self, topic: &str, partition: i32, committed: Committed) {
        let partitions = self.by_topic.entry(Arc::from(topic)).or_default();
        partitions.insert(partition, committed);
    }

    /// All topics, each with its partitions.
    pub(crate) fn topics(
        &self,
    ) -> impl Iterator<Item = (&str, impl Iterator<Item = (i32, &Committed)>)> {
        self.by_topic.iter().map(|(topic, partitions)| {
            let partitions = partitions.iter();
            (&**topic, partitions.map(|(index, found)| (*index, found)))
        })
    }

    pub(super) fn forget_topic(&mut self, topic: &str) {
        self.by_topic.remove(topic);
    }
}
