use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_request::TopicProduceData;
use kafka_protocol::messages::produce_response::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{BrokerId, ProduceRequest, ProduceResponse};

use super::{RequestContext, text};
use crate::cluster::Cluster;
use crate::log::{AppendError, ProduceLimits, is_transactional, is_zstd};

/// Leaders other than this node are told from here on (KIP-951).
const LEADER_HINTS: i16 = 10;
/// Answers have error messages from here on (KIP-467).
const ERROR_MESSAGES: i16 = 8;
/// Before that, clients are taken not to know zstd (KIP-110).
const ZSTD: i16 = 7;

/// Appends batches. Every replica has them at once, so that acks 1 and all are the same.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &ProduceRequest,
) -> ProduceResponse {
    // records of a transaction without a transactional id
    let unauthorized = request.transactional_id.is_none() && has_transactional_records(request);
    let mut leaders = BTreeSet::new();
    let topics = merged(&request.topic_data);
    let mut responses = Vec::with_capacity(topics.len());
    for topic in &topics {
        let partitions = match topic_name(cluster, topic) {
            _ if !(-1..=1).contains(&request.acks) => {
                fail_all(topic, ResponseError::InvalidRequiredAcks)
            }
            _ if unauthorized => fail_all(topic, ResponseError::TransactionalIdAuthorizationFailed),
            Some(name) => append_all(cluster, context, &name, topic, &mut leaders),
            None => fail_all(topic, ResponseError::UnknownTopicId),
        };
        responses.push(
            TopicProduceResponse::default()
                .with_name(topic.name.clone())
                .with_topic_id(topic.topic_id)
                .with_partition_responses(partitions),
        );
    }
    ProduceResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_responses(responses)
        .with_node_endpoints(endpoints(cluster, &leaders))
}

/// Every topic once, with every partition once: of a partition that is named twice the last data counts, as in the map
/// that a real broker makes of the request.
fn merged(topics: &[TopicProduceData]) -> Vec<TopicProduceData> {
    let mut merged: Vec<TopicProduceData> = Vec::with_capacity(topics.len());
    let mut topic_places = HashMap::new();
    let mut partition_places = HashMap::new();
    for topic in topics {
        let key = (&topic.name, topic.topic_id);
        let place = *topic_places.entry(key).or_insert(merged.len());
        if place == merged.len() {
            let empty = TopicProduceData::default().with_name(topic.name.clone());
            merged.push(empty.with_topic_id(topic.topic_id));
        }
        let Some(entry) = merged.get_mut(place) else {
            continue;
        };
        for data in &topic.partition_data {
            let next = entry.partition_data.len();
            let place = *partition_places.entry((key, data.index)).or_insert(next);
            match entry.partition_data.get_mut(place) {
                Some(earlier) => earlier.clone_from(data),
                None => entry.partition_data.push(data.clone()),
            }
        }
    }
    merged
}

pub(super) fn has_error(response: &ProduceResponse) -> bool {
    let partitions = response
        .responses
        .iter()
        .flat_map(|t| &t.partition_responses);
    partitions.into_iter().any(|p| p.error_code != 0)
}

fn has_transactional_records(request: &ProduceRequest) -> bool {
    let data = request
        .topic_data
        .iter()
        .flat_map(|topic| &topic.partition_data);
    data.filter_map(|data| data.records.as_ref())
        .any(|records| is_transactional(records))
}

fn topic_name(cluster: &Cluster, topic: &TopicProduceData) -> Option<String> {
    if topic.topic_id.is_nil() {
        return Some(topic.name.to_string());
    }
    let name = cluster.topics.name_of(topic.topic_id);
    name.map(|name| name.to_string())
}

fn failed(index: i32, error: ResponseError) -> PartitionProduceResponse {
    PartitionProduceResponse::default()
        .with_index(index)
        .with_error_code(error.code())
        .with_base_offset(-1)
        .with_log_append_time_ms(-1)
        .with_log_start_offset(-1)
}

fn fail_all(topic: &TopicProduceData, error: ResponseError) -> Vec<PartitionProduceResponse> {
    let partitions = topic.partition_data.iter();
    partitions.map(|data| failed(data.index, error)).collect()
}

fn append_all(
    cluster: &mut Cluster,
    context: &RequestContext,
    name: &str,
    topic: &TopicProduceData,
    leaders: &mut BTreeSet<i32>,
) -> Vec<PartitionProduceResponse> {
    let mut responses = Vec::with_capacity(topic.partition_data.len());
    for data in &topic.partition_data {
        let forced = context.forced_at(name, data.index);
        if let Some(forced) = forced.filter(|forced| !forced.after_applying) {
            responses.push(failed(data.index, forced.error));
            continue;
        }
        let records = data.records.clone().unwrap_or_default();
        let appended = append(cluster, context, name, data.index, &records);
        let response = match forced {
            Some(forced) => failed(data.index, forced.error),
            None => appended,
        };
        if response.current_leader.leader_id.0 >= 0 {
            leaders.insert(response.current_leader.leader_id.0);
        }
        responses.push(response);
    }
    responses
}

fn append(
    cluster: &mut Cluster,
    context: &RequestContext,
    name: &str,
    index: i32,
    records: &Bytes,
) -> PartitionProduceResponse {
    let unknown = failed(index, ResponseError::UnknownTopicOrPartition);
    let Some(topic) = cluster.topics.get(name) else {
        return unknown;
    };
    let now = cluster.settings.clock.now();
    let limits = ProduceLimits {
        max_message_bytes: topic.config.max_message_bytes,
        log_append_time: topic.config.log_append_time.then_some(now),
    };
    let Some((partition, decoder, id)) = cluster.partition_mut(name, index) else {
        return unknown;
    };
    if let Err(error) = partition.check_access(context.node, -1, true) {
        let mut response = failed(index, error);
        if context.version >= LEADER_HINTS {
            response.current_leader = LeaderIdAndEpoch::default()
                .with_leader_id(BrokerId(partition.leader.unwrap_or(-1)))
                .with_leader_epoch(partition.leader_epoch);
        }
        return response;
    }
    let log_start_offset = partition.log.log_start_offset();
    let refuse = |error: AppendError| {
        tracing::debug!(topic = name, partition = index, %error, "a batch is refused");
        let refused = failed(index, error.response_error());
        let message = error
            .message()
            .filter(|_| context.version >= ERROR_MESSAGES);
        let refused = refused.with_error_message(message.map(|message| text(&message)));
        match error.tells_log_start() {
            true => refused.with_log_start_offset(log_start_offset),
            false => refused,
        }
    };
    if context.version < ZSTD && is_zstd(records) {
        return refuse(AppendError::Zstd);
    }
    let epoch = partition.leader_epoch;
    let appended = partition
        .log
        .append_produced(records, epoch, limits, decoder);
    let appended = match appended {
        Ok(appended) => appended,
        Err(error) => return refuse(error),
    };
    if appended.duplicate.is_none() {
        cluster.purgatory.wake(id);
    }
    // for a repeated batch a real broker gives its largest timestamp here, whatever its timestamp type
    let log_append_time = appended.duplicate.or(limits.log_append_time);
    PartitionProduceResponse::default()
        .with_index(index)
        .with_base_offset(appended.base_offset)
        .with_log_append_time_ms(log_append_time.unwrap_or(-1))
        .with_log_start_offset(log_start_offset)
}

fn endpoints(cluster: &Cluster, leaders: &BTreeSet<i32>) -> Vec<NodeEndpoint> {
    let nodes = cluster
        .live_nodes()
        .filter(|node| leaders.contains(&node.id));
    nodes
        .map(|node| {
            NodeEndpoint::default()
                .with_node_id(BrokerId(node.id))
                .with_host(text(&node.host))
                .with_port(i32::from(node.port))
                .with_rack(node.rack.as_deref().map(text))
        })
        .collect()
}
