use std::collections::HashMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::ListOffsetsPartition;
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::RequestContext;
use crate::cluster::{Cluster, Partition};
use crate::log::{FoundOffset, Isolation};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

/// Answers tell leader epochs from here on (KIP-320).
const LEADER_EPOCHS: i16 = 4;

/// Replica id of a client that may ask any replica.
const DEBUGGING_CONSUMER: i32 = -2;

/// The first version in which a negative timestamp has a meaning.
fn first_version(timestamp: i64) -> i16 {
    match timestamp {
        LATEST | EARLIEST => 1,
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        _ => i16::MAX,
    }
}

pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &ListOffsetsRequest,
) -> ListOffsetsResponse {
    let mut counts: HashMap<(&str, i32), usize> = HashMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let key = (topic.name.as_str(), partition.partition_index);
            *counts.entry(key).or_default() += 1;
        }
    }
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let name = topic.name.as_str();
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let index = partition.partition_index;
            let found = match (
                counts.remove(&(name, index)),
                context.forced_at(name, index),
            ) {
                // answered where it was named first
                (None, _) => continue,
                (_, Some(forced)) => Err(forced.error),
                (Some(1), None) => find(cluster, context, request, name, partition),
                (Some(_), None) => Err(ResponseError::InvalidRequest),
            };
            partitions.push(result(context, index, found));
        }
        topics.push(
            ListOffsetsTopicResponse::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions),
        );
    }
    ListOffsetsResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_topics(topics)
}

fn result(
    context: &RequestContext,
    partition: i32,
    found: Result<Option<FoundOffset>, ResponseError>,
) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse::default()
        .with_partition_index(partition)
        .with_timestamp(-1)
        .with_offset(-1);
    let leader_epoch = |found: FoundOffset| match context.version {
        LEADER_EPOCHS.. => found.leader_epoch.unwrap_or(-1),
        _ => -1,
    };
    match found {
        Ok(None) => response,
        Ok(Some(found)) => response
            .with_timestamp(found.timestamp)
            .with_offset(found.offset)
            .with_leader_epoch(leader_epoch(found)),
        Err(error) => response.with_error_code(error.code()),
    }
}

fn find(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &ListOffsetsRequest,
    topic: &str,
    asked: &ListOffsetsPartition,
) -> Result<Option<FoundOffset>, ResponseError> {
    let unknown = ResponseError::UnknownTopicOrPartition;
    let partition = asked.partition_index;
    let (partition, decoder, _) = cluster.partition_mut(topic, partition).ok_or(unknown)?;
    let timestamp = asked.timestamp;
    if timestamp < 0 && context.version < first_version(timestamp) {
        return Err(ResponseError::UnsupportedVersion);
    }
    let leader_only = request.replica_id.0 != DEBUGGING_CONSUMER;
    partition.check_access(context.node, asked.current_leader_epoch, leader_only)?;

    let log = &partition.log;
    let isolation = Isolation::from_level(request.isolation_level);
    let isolation = isolation.ok_or(ResponseError::UnknownServerError)?;
    let end = log.end_for(isolation, partition.replica_end(context.node));
    let latest_is_known = latest_is_known(partition);
    let unavailable = match context.version {
        ..5 => ResponseError::LeaderNotAvailable,
        _ => ResponseError::OffsetNotAvailable,
    };
    let offset = |offset, leader_epoch| FoundOffset {
        offset,
        timestamp: -1,
        leader_epoch,
    };
    let found = match timestamp {
        LATEST if !latest_is_known => return Err(unavailable),
        LATEST => return Ok(Some(offset(end, Some(partition.leader_epoch)))),
        EARLIEST | EARLIEST_LOCAL => {
            let start = log.log_start_offset();
            return Ok(Some(offset(start, log.epochs().at(start))));
        }
        // nothing is tiered here
        LATEST_TIERED => return Ok(None),
        MAX_TIMESTAMP => log.find_max_timestamp(decoder),
        timestamp => log.find_by_timestamp(timestamp, decoder),
    };
    match found {
        Some(found) if found.offset < end => Ok(Some(found)),
        _ if !latest_is_known => Err(unavailable),
        _ => Ok(None),
    }
}

/// After an election the high watermark may lie below what the leader began with; until it has caught up, the end of
/// the log is not told (KIP-207).
fn latest_is_known(partition: &Partition) -> bool {
    let log = &partition.log;
    log.epochs()
        .start_of(partition.leader_epoch)
        .is_none_or(|start| start <= log.high_watermark())
}
