//! OffsetCommit and OffsetFetch requests.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetFetchRequest};
use kafka_protocol::protocol::StrBytes;

use super::groups::group_id;
use super::{text, topic_name};

/// Since when a request names several groups (KIP-709), and members of KIP-848.
const SEVERAL_GROUPS: i16 = 8;
const MEMBER_EPOCHS: i16 = 9;

/// Commits an offset of a partition, with metadata.
pub(crate) fn commit(
    group: &str,
    member: StrBytes,
    generation: i32,
    (topic, partition, offset): (&str, i32, i64),
    metadata: &str,
) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text(metadata)));
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name(topic))
        .with_partitions(vec![partition]);
    OffsetCommitRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(member)
        .with_generation_id_or_member_epoch(generation)
        .with_topics(vec![topic])
}

/// Asks what a group has committed for partitions, or for all.
pub(crate) fn fetch_committed(
    version: i16,
    group: &str,
    topics: Option<&[(&str, &[i32])]>,
) -> OffsetFetchRequest {
    if version < SEVERAL_GROUPS {
        let topics = topics.map(|topics| {
            let topics = topics.iter().map(|(topic, partitions)| {
                OffsetFetchRequestTopic::default()
                    .with_name(topic_name(topic))
                    .with_partition_indexes(partitions.to_vec())
            });
            topics.collect()
        });
        return OffsetFetchRequest::default()
            .with_group_id(group_id(group))
            .with_topics(topics);
    }
    OffsetFetchRequest::default().with_groups(vec![asked_group(group, topics)])
}

/// A group of a request that can name several.
pub(crate) fn asked_group(
    group: &str,
    topics: Option<&[(&str, &[i32])]>,
) -> OffsetFetchRequestGroup {
    let topics = topics.map(|topics| {
        let topics = topics.iter().map(|(topic, partitions)| {
            OffsetFetchRequestTopics::default()
                .with_name(topic_name(topic))
                .with_partition_indexes(partitions.to_vec())
        });
        topics.collect()
    });
    OffsetFetchRequestGroup::default()
        .with_group_id(group_id(group))
        .with_topics(topics)
}

/// Asks as a member of a group of KIP-848, if the version can say that.
pub(crate) fn fetch_committed_as(
    version: i16,
    group: &str,
    topics: Option<&[(&str, &[i32])]>,
    member: Option<StrBytes>,
    epoch: i32,
) -> OffsetFetchRequest {
    let mut request = fetch_committed(version, group, topics);
    if version >= MEMBER_EPOCHS {
        for group in &mut request.groups {
            group.member_id.clone_from(&member);
            group.member_epoch = epoch;
        }
    }
    request
}
