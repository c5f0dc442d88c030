use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestPartition;
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};

use super::RequestContext;
use crate::cluster::{Cluster, PartitionId};
use crate::groups::Committed;
use crate::groups::classic::Caller;

/// `offset.metadata.max.bytes`.
const MAX_METADATA: usize = 4096;
/// Since then members of groups of KIP-848 may commit.
const MEMBER_EPOCHS: i16 = 9;
/// Since then a group that does not exist is called so.
const GROUP_ID_NOT_FOUND: i16 = 9;

/// Keeps what a group has consumed, partition by partition.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &OffsetCommitRequest,
) -> OffsetCommitResponse {
    let refused = accept(cluster, context, request).err();
    let topics = request.topics.iter().map(|topic| {
        let name = topic.name.as_str();
        let partitions = topic.partitions.iter().map(|asked| {
            let forced = context.forced_at(name, asked.partition_index).cloned();
            let code = match forced {
                Some(forced) if !forced.after_applying => forced.error.code(),
                forced => {
                    let done = commit(cluster, context, request, name, asked, refused);
                    match (forced, done) {
                        (Some(forced), _) => forced.error.code(),
                        (None, Err(error)) => error.code(),
                        (None, Ok(())) => 0,
                    }
                }
            };
            OffsetCommitResponsePartition::default()
                .with_partition_index(asked.partition_index)
                .with_error_code(code)
        });
        OffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    OffsetCommitResponse::default()
        .with_topics(topics.collect())
        .with_throttle_time_ms(context.throttle_ms)
}

/// Whether who commits may. Without a generation it is a consumer that does not take part in the group, and is let in
/// while the group has no members.
fn accept(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &OffsetCommitRequest,
) -> Result<(), ResponseError> {
    let group = request.group_id.as_str();
    cluster.groups.coordinators.check(group, context.node)?;
    match cluster.groups.get(group) {
        None if request.generation_id_or_member_epoch < 0 => Ok(()),
        None if context.version >= GROUP_ID_NOT_FOUND => Err(ResponseError::GroupIdNotFound),
        None => Err(ResponseError::IllegalGeneration),
        Some(group) if group.consumer().is_some() => Ok(()),
        Some(_) => {
            let caller = Caller {
                member: request.member_id.as_str(),
                instance: request.group_instance_id.as_ref().map(|id| id.as_str()),
                generation: request.generation_id_or_member_epoch,
            };
            let may = cluster.groups.change(group, |group| {
                group.classic_member()?.check_commit(caller, context.now)
            });
            may.unwrap_or(Ok(()))
        }
    }
}

/// Whether a member of a group of KIP-848 may commit a partition.
fn accept_at(
    cluster: &Cluster,
    context: &RequestContext,
    request: &OffsetCommitRequest,
    partition: &PartitionId,
) -> Result<(), ResponseError> {
    let group = cluster.groups.get(request.group_id.as_str());
    let Some(group) = group.and_then(|group| group.consumer()) else {
        return Ok(());
    };
    let (member, epoch) = (&request.member_id, request.generation_id_or_member_epoch);
    let may = group.check_commit(member.as_str(), epoch, partition);
    match group.members().is_empty() || may == Err(ResponseError::UnknownMemberId) {
        false if context.version < MEMBER_EPOCHS => Err(ResponseError::UnsupportedVersion),
        _ => may,
    }
}

fn commit(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &OffsetCommitRequest,
    topic: &str,
    asked: &OffsetCommitRequestPartition,
    refused: Option<ResponseError>,
) -> Result<(), ResponseError> {
    let found = cluster.topics.get(topic);
    let found = found.filter(|topic| topic.partition(asked.partition_index).is_some());
    let found = found.ok_or(ResponseError::UnknownTopicOrPartition)?;
    let partition = (found.id, asked.partition_index);
    let topic = Arc::clone(&found.name);
    if let Some(error) = refused {
        return Err(error);
    }
    accept_at(cluster, context, request, &partition)?;
    let metadata = asked.committed_metadata.as_ref();
    let metadata = metadata.map_or("", |metadata| metadata.as_str());
    if metadata.len() > MAX_METADATA {
        return Err(ResponseError::OffsetMetadataTooLarge);
    }
    let committed = Committed {
        offset: asked.committed_offset,
        leader_epoch: asked.committed_leader_epoch,
        metadata: metadata.to_owned(),
    };
    let group = request.group_id.as_str();
    cluster.groups.change_or_create(group, |group| {
        group.offsets.set(&topic, asked.partition_index, committed);
    });
    Ok(())
}
