use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::{RequestContext, text};
use crate::cluster::{Cluster, PartitionId};
use crate::groups::consumer::{Assignor, Beat, Beaten, LEAVE, LEAVE_STATIC};

/// Since then the member's id is the client's choice (KIP-1082).
const OWN_MEMBER_ID: i16 = 1;
/// What says that the rebalance timeout has not changed.
const UNCHANGED: i32 = -1;

/// Lets a member join, stay in or leave a group whose members the broker assigns (KIP-848).
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    let done = match context.forced_at_top().cloned() {
        Some(forced) => {
            if forced.after_applying {
                // what comes of it is not told
                let _ = heartbeat(cluster, context, request);
            }
            Err(forced.error)
        }
        None => heartbeat(cluster, context, request),
    };
    let response =
        ConsumerGroupHeartbeatResponse::default().with_throttle_time_ms(context.throttle_ms);
    let (member, beaten) = match done {
        Ok(done) => done,
        Err(error) => {
            // who does not coordinate the group has not looked at the request
            let says_why = !matches!(
                error,
                ResponseError::NotCoordinator | ResponseError::CoordinatorLoadInProgress
            );
            return response
                .with_error_code(error.code())
                .with_error_message(says_why.then(|| text(&error.to_string())));
        }
    };
    let interval = match beaten.epoch {
        LEAVE | LEAVE_STATIC => 0,
        _ => {
            let interval = cluster.groups.settings.heartbeat_interval.as_millis();
            i32::try_from(interval).unwrap_or(i32::MAX)
        }
    };
    response
        .with_member_id(Some(member))
        .with_member_epoch(beaten.epoch)
        .with_heartbeat_interval_ms(interval)
        .with_assignment(beaten.assignment.map(|partitions| {
            let topics = by_topic(partitions.into_iter());
            let topics = topics.into_iter().map(|(topic, partitions)| {
                TopicPartitions::default()
                    .with_topic_id(topic)
                    .with_partitions(partitions)
            });
            Assignment::default().with_topic_partitions(topics.collect())
        }))
}

pub(super) fn by_topic(partitions: impl Iterator<Item = PartitionId>) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(topic).or_default().push(partition);
    }
    topics
}

fn heartbeat(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(StrBytes, Beaten), ResponseError> {
    check(context, request)?;
    let id = request.group_id.as_str();
    let groups = &mut cluster.groups;
    groups.coordinators.check(id, context.node)?;
    if groups.get(id).is_none() && request.member_epoch != 0 {
        return Err(ResponseError::GroupIdNotFound);
    }
    let member = match request.member_id.is_empty() {
        true => text(&groups.new_consumer_id()),
        false => request.member_id.clone(),
    };
    let client_id = context.client_id.clone().unwrap_or_default();
    let names = request.subscribed_topic_names.as_ref();
    let owned = request.topic_partitions.as_ref();
    let timeout = request.rebalance_timeout_ms;
    let beat = Beat {
        member: member.as_str(),
        epoch: request.member_epoch,
        instance: request.instance_id.as_ref().map(|id| id.as_str()),
        client_id: &client_id,
        rack: request.rack_id.as_ref().map(|rack| rack.as_str()),
        rebalance_timeout: (timeout != UNCHANGED)
            .then(|| Duration::from_millis(u64::try_from(timeout).unwrap_or(0))),
        topics: names.map(|names| names.iter().map(|name| name.to_string()).collect()),
        regex: request
            .subscribed_topic_regex
            .as_ref()
            .map(|regex| regex.as_str()),
        assignor: request.server_assignor.as_ref().map(|name| name.as_str()),
        owned: owned.map(|topics| {
            let all = topics.iter().flat_map(|topic| {
                let partitions = topic.partitions.iter();
                partitions.map(|partition| (topic.topic_id, *partition))
            });
            all.collect()
        }),
    };
    if groups.get(id).is_none() {
        // one that is refused leaves no group behind
        beat.check_regex()?;
    }
    let (topics, session_timeout) = (&cluster.topics, groups.settings.consumer_session_timeout);
    let beaten = groups.change_or_create(id, |group| {
        let group = group.as_consumer(&beat, session_timeout)?;
        group.heartbeat(&beat, topics, context.now)
    });
    let beaten = beaten.unwrap_or(Err(ResponseError::GroupIdNotFound))?;
    Ok((member, beaten))
}

/// The rules of a request by itself.
fn check(
    context: &RequestContext,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), ResponseError> {
    let is_blank = |text: &StrBytes| text.trim().is_empty();
    let is_blank_if_any = |text: &Option<StrBytes>| text.as_ref().is_some_and(is_blank);
    let epoch = request.member_epoch;
    let names_itself = !is_blank(&request.member_id);
    let fits = match epoch {
        0 => {
            let subscribes = request.subscribed_topic_names.is_some()
                || request.subscribed_topic_regex.is_some();
            let owns_nothing = request.topic_partitions.as_ref().is_some_and(Vec::is_empty);
            (names_itself || context.version < OWN_MEMBER_ID)
                && request.rebalance_timeout_ms != UNCHANGED
                && subscribes
                && owns_nothing
        }
        LEAVE => names_itself,
        LEAVE_STATIC => names_itself && request.instance_id.is_some(),
        _ => names_itself && epoch > 0,
    };
    if is_blank(&request.group_id)
        || is_blank_if_any(&request.instance_id)
        || is_blank_if_any(&request.rack_id)
        || !fits
    {
        return Err(ResponseError::InvalidRequest);
    }
    let assignor = request.server_assignor.as_ref();
    match assignor.is_none_or(|name| Assignor::named(name.as_str()).is_some()) {
        true => Ok(()),
        false => Err(ResponseError::UnsupportedAssignor),
    }
}
