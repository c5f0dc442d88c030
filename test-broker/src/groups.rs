//! Consumer groups: who coordinates them, who is in them, and what they have committed.
//!
//! Time is an argument everywhere. What is to happen later stands in [`Timers`], and whoever takes a request in, looks at
//! a group or waits for one first lets the time pass ([`Groups::advance`]); so no task of the broker's own keeps time.

mod coordinators;
mod offsets;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use coordinators::Coordinators;
pub(crate) use offsets::{Committed, Offsets};

/// All groups of the cluster. They are not the nodes' own, as they are not in Kafka, where a topic keeps them.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) coordinators: Coordinators,
    by_id: BTreeMap<Arc<str>, Group>,
}

/// One group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) offsets: Offsets,
}

impl Groups {
    pub(crate) fn new(nodes: &[i32]) -> Self {
        Self {
            coordinators: Coordinators::new(nodes),
            by_id: BTreeMap::new(),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.by_id.get(id)
    }

    pub(crate) fn get_or_create(&mut self, id: &str) -> &mut Group {
        self.by_id.entry(Arc::from(id)).or_default()
    }

    /// A node is gone: another one coordinates its groups.
    pub(crate) fn node_died(&mut self, node: i32, live: &[i32]) {
        self.coordinators.node_died(node, live);
    }

    /// A node is back and takes what no other could.
    pub(crate) fn node_returned(&mut self, node: i32) {
        self.coordinators.node_returned(node);
    }

    /// Moves a group, and with it all groups of its partition of `__consumer_offsets`.
    pub(crate) fn move_coordinator(&mut self, group: &str, node: i32) {
        let partition = coordinators::partition_of(group);
        self.coordinators.set_node(partition, node);
    }

    pub(crate) fn set_loading(&mut self, group: &str, loading: bool) {
        let partition = coordinators::partition_of(group);
        self.coordinators.set_loading(partition, loading);
    }

    /// A topic was deleted, and with it what was committed for it.
    pub(crate) fn forget_topic(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.offsets.forget_topic(topic);
        }
    }
}
