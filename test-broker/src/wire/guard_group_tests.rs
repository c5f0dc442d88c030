//! Requests about groups.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use super::*;

fn group() -> GroupId {
    GroupId(text("group"))
}

pub(super) fn samples(samples: &mut Vec<Sample>) {
    all(samples, |version| {
        let request = FindCoordinatorRequest::default();
        match version {
            0..=3 => request.with_key(text("group")),
            _ => request.with_coordinator_keys(vec![text("a"), text("b")]),
        }
    });
    all(samples, |version| {
        let partition = OffsetCommitRequestPartition::default();
        let partition = match version {
            0..=5 => partition,
            _ => partition.with_committed_leader_epoch(3),
        };
        let topic = OffsetCommitRequestTopic::default()
            .with_name(name("a"))
            .with_partitions(vec![
                partition.clone().with_committed_metadata(Some(text("m"))),
                partition.with_committed_metadata(None),
            ]);
        let request = OffsetCommitRequest::default()
            .with_group_id(group())
            .with_member_id(text("member"))
            .with_topics(vec![topic.clone(), topic]);
        match version {
            0..=6 => request,
            _ => request.with_group_instance_id(Some(text("instance"))),
        }
    });
    all(samples, |version| {
        let request = OffsetFetchRequest::default();
        let request = match version {
            0..=6 => request,
            _ => request.with_require_stable(true),
        };
        if version <= 7 {
            let topic = OffsetFetchRequestTopic::default()
                .with_name(name("a"))
                .with_partition_indexes(vec![1, 2]);
            return request
                .with_group_id(group())
                .with_topics(Some(vec![topic.clone(), topic]));
        }
        let topic = OffsetFetchRequestTopics::default()
            .with_name(name("a"))
            .with_partition_indexes(vec![1, 2]);
        let one = OffsetFetchRequestGroup::default()
            .with_group_id(group())
            .with_topics(Some(vec![topic.clone(), topic]));
        let one = match version {
            8 => one,
            _ => one
                .with_member_id(Some(text("member")))
                .with_member_epoch(4),
        };
        request.with_groups(vec![one.clone(), one.with_topics(None)])
    });
}
