use consumer_app::Records;

use super::journal::Journal;

/// For one consumer of assigned partitions: every offset of a partition, in order, once.
pub(crate) struct OrderChecker {
    pub(crate) journal: Journal,
    /// By partition: the next offset to be given.
    next: Vec<i64>,
    /// By partition: how many records were produced.
    produced: Vec<i64>,
}

impl OrderChecker {
    pub(crate) fn new(partitions: usize) -> Self {
        Self {
            journal: Journal::default(),
            next: vec![0; partitions],
            produced: vec![0; partitions],
        }
    }

    pub(crate) fn produced(&mut self, partition: i32, count: usize) {
        if let Some(produced) = self.produced.get_mut(index(partition)) {
            *produced += i64::try_from(count).unwrap_or(i64::MAX);
        }
    }

    pub(crate) fn given(&mut self, records: &Records) {
        if records.is_empty() {
            return;
        }
        for record in records {
            let (partition, offset) = (record.partition(), record.offset());
            let Some(next) = self.next.get_mut(index(partition)) else {
                self.journal
                    .violation(format_args!("a record of partition {partition}"));
                continue;
            };
            let expected = *next;
            *next = offset + 1;
            if offset != expected {
                let what = if offset < expected {
                    "again"
                } else {
                    "too early"
                };
                self.journal.violation(format_args!(
                    "partition {partition}: offset {offset} came {what}, {expected} is the next"
                ));
            }
        }
        self.journal.note(format_args!(
            "{} records, next are {:?}",
            records.len(),
            self.next
        ));
    }

    /// Whether all that was produced was given.
    pub(crate) fn is_complete(&self) -> bool {
        self.next == self.produced
    }

    /// What is still to come, for a message.
    pub(crate) fn missing(&self) -> String {
        format!("next are {:?} of {:?}", self.next, self.produced)
    }
}

fn index(partition: i32) -> usize {
    usize::try_from(partition).unwrap_or(usize::MAX)
}
