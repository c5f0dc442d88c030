//! Requests about groups.

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;

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
    classic(samples);
    all(samples, |version| {
        let owned = TopicPartitions::default()
            .with_topic_id(Uuid::from_u128(5))
            .with_partitions(vec![1, 2]);
        let request = ConsumerGroupHeartbeatRequest::default()
            .with_group_id(group())
            .with_member_id(text("member"))
            .with_instance_id(Some(text("instance")))
            .with_rack_id(Some(text("rack")))
            .with_subscribed_topic_names(Some(vec![name("a"), name("b")]))
            .with_server_assignor(Some(text("uniform")))
            .with_topic_partitions(Some(vec![owned.clone(), owned]));
        match version {
            0 => request,
            _ => request.with_subscribed_topic_regex(Some(text("a.*"))),
        }
    });
    all(samples, |_| {
        ConsumerGroupDescribeRequest::default().with_group_ids(vec![group(), group()])
    });
    all(samples, |version| {
        let request = ListGroupsRequest::default();
        let request = match version {
            0..=3 => request,
            _ => request.with_states_filter(vec![text("Stable"), text("Empty")]),
        };
        match version {
            0..=4 => request,
            _ => request.with_types_filter(vec![text("classic"), text("consumer")]),
        }
    });
    all(samples, |version| {
        let request = DescribeGroupsRequest::default().with_groups(vec![group(), group()]);
        match version {
            0..=2 => request,
            _ => request.with_include_authorized_operations(true),
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

fn classic(samples: &mut Vec<Sample>) {
    all(samples, |version| {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(text("range"))
            .with_metadata(Bytes::from_static(b"metadata"));
        let mut request = JoinGroupRequest::default()
            .with_group_id(group())
            .with_member_id(text("member"))
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol.clone(), protocol]);
        if version >= 1 {
            request.rebalance_timeout_ms = 5;
        }
        if version >= 5 {
            request.group_instance_id = Some(text("instance"));
        }
        if version >= 8 {
            request.reason = Some(text("reason"));
        }
        request
    });
    all(samples, |version| {
        let assignment = SyncGroupRequestAssignment::default()
            .with_member_id(text("member"))
            .with_assignment(Bytes::from_static(b"assignment"));
        let mut request = SyncGroupRequest::default()
            .with_group_id(group())
            .with_member_id(text("member"))
            .with_assignments(vec![assignment.clone(), assignment]);
        if version >= 3 {
            request.group_instance_id = Some(text("instance"));
        }
        if version >= 5 {
            request.protocol_type = Some(text("consumer"));
            request.protocol_name = Some(text("range"));
        }
        request
    });
    all(samples, |version| {
        let request = HeartbeatRequest::default()
            .with_group_id(group())
            .with_member_id(text("member"));
        match version {
            0..=2 => request,
            _ => request.with_group_instance_id(Some(text("instance"))),
        }
    });
    all(samples, |version| {
        let request = LeaveGroupRequest::default().with_group_id(group());
        let mut member = MemberIdentity::default()
            .with_member_id(text("member"))
            .with_group_instance_id(Some(text("instance")));
        if version >= 5 {
            member.reason = Some(text("reason"));
        }
        match version {
            0..=2 => request.with_member_id(text("member")),
            _ => request.with_members(vec![member.clone(), member.with_group_instance_id(None)]),
        }
    });
}
