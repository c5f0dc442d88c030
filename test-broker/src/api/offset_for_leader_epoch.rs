use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kafka_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset as PartitionEnd, OffsetForLeaderTopicResult,
};
use kafka_protocol::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::RequestContext;
use crate::cluster::Cluster;
use crate::log::EpochEndOffset;

/// Where the log ended under a leader epoch, by which a client finds out about truncation (KIP-320).
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let forced = context.forced_at(topic.topic.as_str(), asked.partition);
            let end = match forced {
                Some(forced) => Err(forced.error),
                None => end_offset(cluster, context, topic.topic.as_str(), asked),
            };
            let result = PartitionEnd::default().with_partition(asked.partition);
            let unknown = result.clone().with_leader_epoch(-1).with_end_offset(-1);
            match end {
                Ok(Some(end)) => result
                    .with_leader_epoch(end.epoch)
                    .with_end_offset(end.end_offset),
                Ok(None) => unknown,
                Err(error) => unknown.with_error_code(error.code()),
            }
        });
        OffsetForLeaderTopicResult::default()
            .with_topic(topic.topic.clone())
            .with_partitions(partitions.collect())
    });
    OffsetForLeaderEpochResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_topics(topics.collect())
}

fn end_offset(
    cluster: &Cluster,
    context: &RequestContext,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<Option<EpochEndOffset>, ResponseError> {
    let topic = cluster.topics.get(topic);
    let partition = topic.and_then(|topic| topic.partition(asked.partition));
    let partition = partition.ok_or(ResponseError::UnknownTopicOrPartition)?;
    partition.check_access(context.node, asked.current_leader_epoch, true)?;
    Ok(partition.log.end_offset_for(asked.leader_epoch))
}
