//! ListOffsets and OffsetForLeaderEpoch requests.

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{BrokerId, ListOffsetsRequest, OffsetForLeaderEpochRequest};

use super::topic_name;

/// The first versions with a field.
const ISOLATION: i16 = 2;
const LEADER_EPOCH: i16 = 4;
const REPLICA_ID: i16 = 3;

/// Replica id of a client that may ask any replica.
const DEBUGGING_CONSUMER: i32 = -2;

/// What to look up in one topic. Fields that a version does not have are left out.
#[derive(Clone, Debug)]
pub(crate) struct ListOffsets {
    topic: String,
    /// Partition, timestamp, current leader epoch.
    partitions: Vec<(i32, i64, i32)>,
    isolation_level: i8,
    replica: i32,
}

impl ListOffsets {
    pub(crate) fn of(topic: &str, partition: i32, timestamp: i64) -> Self {
        Self {
            topic: topic.to_owned(),
            partitions: vec![(partition, timestamp, -1)],
            isolation_level: 0,
            replica: -1,
        }
    }

    pub(crate) fn and(mut self, partition: i32, timestamp: i64) -> Self {
        self.partitions.push((partition, timestamp, -1));
        self
    }

    pub(crate) fn leader_epoch(mut self, epoch: i32) -> Self {
        for (_, _, current) in &mut self.partitions {
            *current = epoch;
        }
        self
    }

    pub(crate) fn isolation(mut self, level: i8) -> Self {
        self.isolation_level = level;
        self
    }

    pub(crate) fn debugging(mut self) -> Self {
        self.replica = DEBUGGING_CONSUMER;
        self
    }

    pub(crate) fn request(&self, version: i16) -> ListOffsetsRequest {
        let partitions = self.partitions.iter().map(|(partition, timestamp, epoch)| {
            ListOffsetsPartition::default()
                .with_partition_index(*partition)
                .with_timestamp(*timestamp)
                .with_current_leader_epoch(if version < LEADER_EPOCH { -1 } else { *epoch })
        });
        let topic = ListOffsetsTopic::default()
            .with_name(topic_name(&self.topic))
            .with_partitions(partitions.collect());
        let level = self.isolation_level;
        ListOffsetsRequest::default()
            .with_replica_id(BrokerId(self.replica))
            .with_isolation_level(if version < ISOLATION { 0 } else { level })
            .with_topics(vec![topic])
    }
}

/// Where a partition begins, in a version that every broker has.
pub(crate) fn earliest(topic: &str, partition: i32) -> ListOffsetsRequest {
    ListOffsets::of(topic, partition, -2).request(7)
}

/// Where a partition ended under `epoch`, asked with the current leader epoch `current`.
pub(crate) fn offset_for_leader_epoch(
    topic: &str,
    partition: i32,
    (current, epoch): (i32, i32),
    version: i16,
) -> OffsetForLeaderEpochRequest {
    let asked = OffsetForLeaderPartition::default()
        .with_partition(partition)
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default()
        .with_topic(topic_name(topic))
        .with_partitions(vec![asked]);
    let replica = if version < REPLICA_ID { -2 } else { -1 };
    OffsetForLeaderEpochRequest::default()
        .with_replica_id(BrokerId(replica))
        .with_topics(vec![topic])
}
