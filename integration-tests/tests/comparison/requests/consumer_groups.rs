//! Heartbeats of members that the broker assigns (KIP-848).

use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::groups::group_id;
use super::topic_name;

/// Longer than any subject takes.
const REBALANCE_TIMEOUT_MS: i32 = 300_000;

/// A heartbeat that says that nothing has changed.
pub(crate) fn beat(group: &str, member: StrBytes, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(member)
        .with_member_epoch(epoch)
}

/// A heartbeat that says everything.
pub(crate) fn full_beat(
    group: &str,
    member: StrBytes,
    epoch: i32,
    topics: &[&str],
    owned: Vec<TopicPartitions>,
) -> ConsumerGroupHeartbeatRequest {
    let topics = topics.iter().copied().map(topic_name);
    beat(group, member, epoch)
        .with_rebalance_timeout_ms(REBALANCE_TIMEOUT_MS)
        .with_subscribed_topic_names(Some(topics.collect()))
        .with_topic_partitions(Some(owned))
}

/// Partitions of a topic that a member owns.
pub(crate) fn owned(topic: Uuid, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions::default()
        .with_topic_id(topic)
        .with_partitions(partitions.to_vec())
}
