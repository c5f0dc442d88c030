//! What an application was given, checked as it comes: offsets of a partition rise without a gap.

use std::collections::BTreeMap;

use consumer_app::{Records, TopicPartition};

/// The next offset of each partition.
#[derive(Debug, Default, Clone)]
pub(crate) struct Delivered {
    next: BTreeMap<TopicPartition, i64>,
    pub(crate) records: usize,
}

impl Delivered {
    /// Checks that the records go on where the last ones ended, from offset 0 on.
    pub(crate) fn take(&mut self, records: &Records) {
        for record in records {
            let partition = record.topic_partition();
            let next = match self.next.get_mut(partition) {
                Some(next) => next,
                None => self.next.entry(partition.clone()).or_insert(0),
            };
            assert_eq!(record.offset(), *next, "{partition}");
            *next += 1;
            self.records += 1;
        }
    }

    /// The application moved a position.
    pub(crate) fn seek(&mut self, partition: &TopicPartition, offset: i64) {
        self.next.insert(partition.clone(), offset);
    }

    /// The offset that comes next.
    pub(crate) fn next(&self, partition: &TopicPartition) -> i64 {
        self.next.get(partition).copied().unwrap_or(0)
    }
}
