//! Answers about groups. Members, topics and partitions come in no order.

use kafka_protocol::messages::consumer_group_describe_response::Assignment;
use kafka_protocol::messages::{
    ApiKey, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, ListGroupsRequest, ListGroupsResponse,
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
    SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::Compared;
use crate::engine::fields::Fields;
use crate::engine::names::Names;

impl Compared for FindCoordinatorRequest {
    const API: ApiKey = ApiKey::FindCoordinator;
}

impl Compared for JoinGroupRequest {
    const API: ApiKey = ApiKey::JoinGroup;

    fn fields(answer: &JoinGroupResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        sorted
            .members
            .sort_by_cached_key(|member| place(&member.member_id, names));
        let mut fields = Fields::of(&sorted);
        // ids of new members look the same
        let leads = answer.leader == answer.member_id;
        fields.push("(leads)", leads.to_string());
        fields
    }
}

impl Compared for SyncGroupRequest {
    const API: ApiKey = ApiKey::SyncGroup;
}

impl Compared for HeartbeatRequest {
    const API: ApiKey = ApiKey::Heartbeat;
}

impl Compared for LeaveGroupRequest {
    const API: ApiKey = ApiKey::LeaveGroup;
}

impl Compared for OffsetCommitRequest {
    const API: ApiKey = ApiKey::OffsetCommit;

    /// Topics come in no order either, and Kafka joins those that were named twice.
    fn fields(answer: &OffsetCommitResponse, _names: &Names) -> Fields {
        let mut without = answer.clone();
        let mut partitions = Vec::new();
        for topic in without.topics.drain(..) {
            let named = topic.partitions.iter();
            let named = named.map(|partition| (topic.name.to_string(), partition.clone()));
            partitions.extend(named);
        }
        partitions.sort_by_key(|(topic, partition)| (topic.clone(), partition.partition_index));
        let mut fields = Fields::of(&without);
        for (index, (topic, partition)) in partitions.iter().enumerate() {
            let path = format!("partitions[{index}]");
            fields.push(format!("{path}.topic"), topic.as_str());
            fields.extend(&path, Fields::of(partition));
        }
        fields
    }
}

impl Compared for OffsetFetchRequest {
    const API: ApiKey = ApiKey::OffsetFetch;

    fn fields(answer: &OffsetFetchResponse, _names: &Names) -> Fields {
        let mut sorted = answer.clone();
        sorted.topics.sort_by_key(|topic| topic.name.to_string());
        for topic in &mut sorted.topics {
            topic
                .partitions
                .sort_by_key(|partition| partition.partition_index);
        }
        sorted
            .groups
            .sort_by_key(|group| group.group_id.to_string());
        for group in &mut sorted.groups {
            group.topics.sort_by_key(|topic| topic.name.to_string());
            for topic in &mut group.topics {
                topic
                    .partitions
                    .sort_by_key(|partition| partition.partition_index);
            }
        }
        Fields::of(&sorted)
    }
}

impl Compared for ListGroupsRequest {
    const API: ApiKey = ApiKey::ListGroups;

    /// The groups of the subject, by their ids.
    fn fields(answer: &ListGroupsResponse, names: &Names) -> Fields {
        let mut without = answer.clone();
        let mut listed = Fields::default();
        for group in without.groups.drain(..) {
            if names.has_group(group.group_id.as_str()) {
                let path = format!("groups[{}]", group.group_id.as_str());
                listed.extend(&path, Fields::of(&group));
            }
        }
        let mut fields = Fields::of(&without);
        fields.append(listed);
        fields
    }
}

impl Compared for DescribeGroupsRequest {
    const API: ApiKey = ApiKey::DescribeGroups;

    fn fields(answer: &DescribeGroupsResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        sorted
            .groups
            .sort_by_key(|group| group.group_id.to_string());
        for group in &mut sorted.groups {
            group
                .members
                .sort_by_cached_key(|member| place(&member.member_id, names));
        }
        Fields::of(&sorted)
    }
}

impl Compared for ConsumerGroupHeartbeatRequest {
    const API: ApiKey = ApiKey::ConsumerGroupHeartbeat;

    fn fields(answer: &ConsumerGroupHeartbeatResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        if let Some(assignment) = &mut sorted.assignment {
            let topics = &mut assignment.topic_partitions;
            topics.sort_by_cached_key(|topic| names.normal("topic_id", topic.topic_id.to_string()));
            for topic in topics {
                topic.partitions.sort_unstable();
            }
        }
        Fields::of(&sorted)
    }
}

impl Compared for ConsumerGroupDescribeRequest {
    const API: ApiKey = ApiKey::ConsumerGroupDescribe;

    fn fields(answer: &ConsumerGroupDescribeResponse, names: &Names) -> Fields {
        let sort = |assignment: &mut Assignment| {
            let topics = &mut assignment.topic_partitions;
            topics.sort_by_key(|topic| topic.topic_name.to_string());
            for topic in topics {
                topic.partitions.sort_unstable();
            }
        };
        let mut sorted = answer.clone();
        sorted
            .groups
            .sort_by_key(|group| group.group_id.to_string());
        for group in &mut sorted.groups {
            group
                .members
                .sort_by_cached_key(|member| place(&member.member_id, names));
            for member in &mut group.members {
                member
                    .subscribed_topic_names
                    .sort_by_key(|topic| topic.to_string());
                sort(&mut member.assignment);
                sort(&mut member.target_assignment);
            }
        }
        Fields::of(&sorted)
    }
}

/// A member's place in the order in which members are compared.
fn place(member: &StrBytes, names: &Names) -> String {
    names.normal("member_id", member.to_string())
}
