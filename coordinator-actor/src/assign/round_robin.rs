use record_batch::TopicPartition;

use super::subscribers::Subscribers;
use super::{Assignor, Member, TopicsMetadata};

/// `roundrobin`: all partitions of all topics, dealt out one by one to the members in turn; a member that does not subscribe to the topic is
/// passed over.
///
/// Even as long as all subscribe to the same topics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundRobin;

impl Assignor for RoundRobin {
    fn name(&self) -> &str {
        "roundrobin"
    }

    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        let group = Subscribers::new(cluster, group);
        let mut assigned = vec![Vec::new(); group.members.len()];
        // the rank whose turn it is; past the last one it is the first one's
        let mut turn = 0;
        for topic in &group.topics {
            let first = topic.subscribers.partition_point(|rank| *rank < turn);
            let in_turn = topic.subscribers.iter().cycle().skip(first);
            for (index, &rank) in (0..topic.partitions.len()).zip(in_turn) {
                if let Some(partitions) = assigned.get_mut(rank) {
                    partitions.push(topic.partition(index));
                }
                turn = rank + 1;
            }
        }
        group.in_place(assigned)
    }
}
