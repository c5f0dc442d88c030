//! Questions of the application for all topics: each is answered by a list that was asked for after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use session_actor::wire::{ErrorCode, WireError};

use super::queries::QueryId;
use super::view::TopicView;
use crate::topics::{PartitionInfo, TopicInfo};

/// Topics by name.
pub(crate) type TopicList = BTreeMap<Arc<str>, TopicInfo>;

/// What a question is answered with: the list, or why there is none, if anything is known of that.
pub(crate) type Answer = Result<Arc<TopicList>, Option<WireError>>;

#[derive(Debug, Default)]
pub(super) struct Listings {
    /// No list has been asked for since.
    due: BTreeMap<QueryId, Instant>,
    /// The next list is for these.
    asked: BTreeMap<QueryId, Instant>,
}

impl Listings {
    pub(super) fn begin(&mut self, id: QueryId, until: Instant) {
        self.due.insert(id, until);
    }

    /// A list is asked for.
    pub(super) fn asked(&mut self) {
        self.asked.append(&mut self.due);
    }

    /// A list came: for whom.
    pub(super) fn answered(&mut self) -> Vec<QueryId> {
        std::mem::take(&mut self.asked).into_keys().collect()
    }

    /// Nothing will come any more.
    pub(super) fn end(&mut self) -> Vec<QueryId> {
        self.asked();
        self.answered()
    }

    /// Those that waited long enough.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<QueryId> {
        let waiting = [&mut self.due, &mut self.asked].into_iter();
        waiting
            .flat_map(|waiting| waiting.extract_if(.., |_, until| *until <= now))
            .map(|(id, _)| id)
            .collect()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.due.values().chain(self.asked.values()).min().copied()
    }
}

/// The list, as the application gets it. Topics that cannot be described are left out, as by Java.
pub(super) fn list(topics: &[TopicView]) -> TopicList {
    let described = topics.iter().filter(|topic| topic.error == ErrorCode::NONE);
    described
        .map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let nodes =
                    |nodes: &[buffer_actor::NodeId]| nodes.iter().map(|node| node.0).collect();
                let info = PartitionInfo {
                    leader: partition.leader.map(|node| node.0),
                    replicas: nodes(&partition.replicas),
                    in_sync: nodes(&partition.in_sync),
                    offline: nodes(&partition.offline),
                };
                (partition.index, info)
            });
            let info = TopicInfo {
                internal: topic.internal,
                partitions: partitions.collect(),
            };
            (topic.name.as_str().into(), info)
        })
        .collect()
}
