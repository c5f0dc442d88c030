//! Members and topics in the order that all assignors use.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use record_batch::TopicPartition;

use super::{Member, PartitionMetadata, TopicsMetadata};

/// A group in Kafka's order. A member is named by its *rank*, the place in that order.
#[derive(Debug)]
pub(super) struct Subscribers<'a> {
    /// By rank.
    pub(super) members: Vec<&'a Member>,
    /// The topics that exist and that somebody subscribes to, by name.
    pub(super) topics: Vec<SubscribedTopic<'a>>,
    /// The place in the caller's list, by rank.
    places: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct SubscribedTopic<'a> {
    pub(super) name: &'a Arc<str>,
    /// At least one.
    pub(super) partitions: &'a [PartitionMetadata],
    /// The ranks of those who subscribe, rising; at least one.
    pub(super) subscribers: Vec<usize>,
}

impl SubscribedTopic<'_> {
    /// One of its partitions, by the place in `partitions`.
    pub(super) fn partition(&self, index: usize) -> TopicPartition {
        // more than `i32::MAX` partitions do not fit into any response
        let partition = i32::try_from(index).unwrap_or(i32::MAX);
        TopicPartition::new(Arc::clone(self.name), partition)
    }
}

impl<'a> Subscribers<'a> {
    pub(super) fn new(cluster: &'a TopicsMetadata, group: &'a [Member]) -> Self {
        let mut order: Vec<(usize, &Member)> = group.iter().enumerate().collect();
        order.sort_by(|(_, one), (_, other)| kafka_order(one, other));

        let mut topics: Vec<_> = cluster
            .iter()
            .filter(|(_, partitions)| !partitions.is_empty())
            .map(|(name, partitions)| SubscribedTopic {
                name,
                partitions,
                subscribers: Vec::new(),
            })
            .collect();
        let by_name: HashMap<&str, usize> = topics
            .iter()
            .enumerate()
            .map(|(index, topic)| (&**topic.name, index))
            .collect();
        for (rank, (_, member)) in order.iter().enumerate() {
            for name in &member.subscription.topics {
                let topic = by_name
                    .get(&**name)
                    .and_then(|index| topics.get_mut(*index));
                let Some(topic) = topic else { continue };
                // a topic may be named twice
                if topic.subscribers.last() != Some(&rank) {
                    topic.subscribers.push(rank);
                }
            }
        }
        topics.retain(|topic| !topic.subscribers.is_empty());
        let (places, members) = order.into_iter().unzip();
        Self {
            members,
            topics,
            places,
        }
    }

    /// From ranks back to the caller's order; each member's partitions sorted.
    pub(super) fn in_place(
        &self,
        mut by_rank: Vec<Vec<TopicPartition>>,
    ) -> Vec<Vec<TopicPartition>> {
        let mut assigned = vec![Vec::new(); by_rank.len()];
        for (partitions, place) in by_rank.iter_mut().zip(&self.places) {
            partitions.sort_unstable();
            if let Some(slot) = assigned.get_mut(*place) {
                *slot = std::mem::take(partitions);
            }
        }
        assigned
    }
}

/// Static members first, by instance id, so that a restart under a new member id changes nothing (KIP-345); then the others by id.
fn kafka_order(one: &Member, other: &Member) -> Ordering {
    match (&one.instance_id, &other.instance_id) {
        (Some(one), Some(other)) => java_order(one, other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => java_order(&one.id, &other.id),
    }
}

/// Java compares strings by UTF-16 units. A leader in Java and one in Rust must agree.
fn java_order(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}
