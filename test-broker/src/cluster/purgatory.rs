use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Notify;
use uuid::Uuid;

/// A partition by the id of its topic, so that a topic that was created again is another one.
pub(crate) type PartitionId = (Uuid, i32);

/// Fetches that wait for data, by the partitions that may bring it.
#[derive(Debug, Default)]
pub(crate) struct Purgatory {
    waiting: HashMap<PartitionId, BTreeMap<u64, Arc<Notify>>>,
    next: u64,
}

/// A fetch that waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    number: u64,
    partitions: Vec<PartitionId>,
    pub(crate) woken: Arc<Notify>,
}

impl Purgatory {
    pub(crate) fn enter(&mut self, partitions: Vec<PartitionId>) -> Waiter {
        let number = self.next;
        self.next += 1;
        let woken = Arc::new(Notify::new());
        for partition in &partitions {
            let waiting = self.waiting.entry(*partition).or_default();
            waiting.insert(number, Arc::clone(&woken));
        }
        Waiter {
            number,
            partitions,
            woken,
        }
    }

    pub(crate) fn leave(&mut self, waiter: &Waiter) {
        for partition in &waiter.partitions {
            if let Some(waiting) = self.waiting.get_mut(partition) {
                waiting.remove(&waiter.number);
                if waiting.is_empty() {
                    self.waiting.remove(partition);
                }
            }
        }
    }

    /// Something about a partition changed: those who wait for it look again, in the order in which they came.
    pub(crate) fn wake(&mut self, partition: PartitionId) {
        let waiting = self.waiting.get(&partition);
        for woken in waiting.into_iter().flat_map(BTreeMap::values) {
            woken.notify_one();
        }
    }
}
