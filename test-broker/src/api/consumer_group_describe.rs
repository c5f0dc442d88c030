use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup, Member as DescribedMember, TopicPartitions,
};
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, GroupId,
};

use super::consumer_group_heartbeat::by_topic;
use super::{ALL_OPERATIONS, CLIENT_HOST, NO_OPERATIONS, RequestContext, text};
use crate::cluster::{Cluster, PartitionId, Topics};
use crate::groups::Group;
use crate::groups::consumer::{ConsumerGroup, Member};

/// Since then it is said which protocol a member uses: 1 is KIP-848's.
const MEMBER_TYPE: i16 = 1;
const CONSUMER: i8 = 1;

/// Tells who is in groups whose members the broker assigns (KIP-848).
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let groups = request.group_ids.iter().map(|id| {
        let described = DescribedGroup::default()
            .with_group_id(id.clone())
            .with_authorized_operations(NO_OPERATIONS);
        match find(cluster, context, id) {
            Ok((group, consumers)) => {
                let state = group.describe(&cluster.topics).state;
                let members = consumers.members().iter();
                let members =
                    members.map(|member| describe(&cluster.topics, consumers, member, context));
                let operations = match request.include_authorized_operations {
                    true => ALL_OPERATIONS,
                    false => NO_OPERATIONS,
                };
                described
                    .with_authorized_operations(operations)
                    .with_group_state(text(state.name()))
                    .with_group_epoch(consumers.epoch())
                    .with_assignment_epoch(consumers.target_epoch())
                    .with_assignor_name(text(consumers.assignor().name()))
                    .with_members(members.collect())
            }
            Err(error @ ResponseError::GroupIdNotFound) => described
                .with_error_code(error.code())
                .with_error_message(Some(text(&error.to_string()))),
            Err(error) => described.with_error_code(error.code()),
        }
    });
    ConsumerGroupDescribeResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_groups(groups.collect())
}

fn find<'a>(
    cluster: &'a Cluster,
    context: &RequestContext,
    id: &GroupId,
) -> Result<(&'a Group, &'a ConsumerGroup), ResponseError> {
    if let Some(forced) = context.forced_at_top() {
        return Err(forced.error);
    }
    if id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    let groups = &cluster.groups;
    groups.coordinators.check(id.as_str(), context.node)?;
    let group = groups.get(id.as_str());
    let group = group.ok_or(ResponseError::GroupIdNotFound)?;
    let consumers = group.consumer().ok_or(ResponseError::GroupIdNotFound)?;
    Ok((group, consumers))
}

fn describe(
    topics: &Topics,
    group: &ConsumerGroup,
    member: &Member,
    context: &RequestContext,
) -> DescribedMember {
    let target = group.target_of(&member.id).into_iter().flatten().copied();
    let names = member.topics.iter().map(|name| text(name).into());
    let described = DescribedMember::default()
        .with_member_id(text(&member.id))
        .with_instance_id(member.instance.as_deref().map(text))
        .with_rack_id(member.rack.as_deref().map(text))
        .with_member_epoch(member.epoch)
        .with_client_id(text(&member.client_id))
        .with_client_host(text(CLIENT_HOST))
        .with_subscribed_topic_names(names.collect())
        .with_subscribed_topic_regex(Some(text(&member.regex)))
        .with_assignment(assignment(topics, member.held().copied()))
        .with_target_assignment(assignment(topics, target));
    match context.version {
        ..MEMBER_TYPE => described,
        _ => described.with_member_type(CONSUMER),
    }
}

/// Topics that are gone are not named any more.
fn assignment(topics: &Topics, partitions: impl Iterator<Item = PartitionId>) -> Assignment {
    let found = by_topic(partitions)
        .into_iter()
        .filter_map(|(topic, partitions)| {
            let name = topics.name_of(topic)?;
            let found = TopicPartitions::default()
                .with_topic_id(topic)
                .with_topic_name(text(name).into());
            Some(found.with_partitions(partitions))
        });
    Assignment::default().with_topic_partitions(found.collect())
}
