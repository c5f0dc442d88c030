use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse, TopicName};

use super::{RequestContext, text};
use crate::cluster::{Cluster, NewTopic, Partition, Topic, check_name};
use crate::topic_config::TopicConfig;

/// Operations that a client without an authorizer may do, a bit each, on the cluster: CREATE, ALTER, DESCRIBE,
/// CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE.
const CLUSTER_OPERATIONS: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);
/// READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
const TOPIC_OPERATIONS: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);

const fn bits(operations: &[u32]) -> i32 {
    let mut bits = 0;
    let mut at = 0;
    while at < operations.len() {
        bits |= 1 << operations[at];
        at += 1;
    }
    bits
}

pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &MetadataRequest,
) -> MetadataResponse {
    if let Some(refused) = refuse_ids(context, request) {
        return refused;
    }
    let topics = match &request.topics {
        None => all(cluster, context),
        // version 0 has no null
        Some(named) if named.is_empty() && context.version == 0 => all(cluster, context),
        Some(named) => {
            // names are not looked at beside ids, and a topic that is named twice is told once
            let by_id = named.iter().any(|topic| !topic.topic_id.is_nil());
            let asked = named.iter().filter(|t| !by_id || !t.topic_id.is_nil());
            let mut seen = HashSet::new();
            asked
                .filter(|topic| seen.insert((&topic.name, topic.topic_id)))
                .map(|topic| one(cluster, context, request, topic))
                .collect()
        }
    };
    let topics = topics.into_iter().map(|topic| {
        let known = topic.error_code != ResponseError::UnknownTopicId.code();
        if request.include_topic_authorized_operations && known {
            topic.with_topic_authorized_operations(TOPIC_OPERATIONS)
        } else {
            topic
        }
    });
    let brokers = cluster.live_nodes().map(|node| {
        MetadataResponseBroker::default()
            .with_node_id(BrokerId(node.id))
            .with_host(text(&node.host))
            .with_port(i32::from(node.port))
            .with_rack(node.rack.as_deref().map(text))
    });
    let mut response = MetadataResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_brokers(brokers.collect())
        .with_cluster_id(Some(text(&cluster.id)))
        .with_controller_id(BrokerId(cluster.controller()))
        .with_topics(topics.collect());
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = CLUSTER_OPERATIONS;
    }
    if let Some(forced) = context.forced_at_top().filter(|_| context.version >= 13) {
        response.error_code = forced.error.code();
    }
    response
}

/// Topics go by id (KIP-516) from version 12 on; versions 10 and 11 have the field but may not use it.
fn refuse_ids(context: &RequestContext, request: &MetadataRequest) -> Option<MetadataResponse> {
    let topics = request.topics.as_ref()?;
    let by_id = |topic: &MetadataRequestTopic| !topic.topic_id.is_nil() || topic.name.is_none();
    if context.version >= 12 || !topics.iter().any(by_id) {
        return None;
    }
    let refused = topics.iter().map(|topic| {
        // the name cannot be null in the answers of these versions
        let name = topic.name.clone().unwrap_or_default();
        failed(topic, ResponseError::InvalidRequest).with_name(Some(name))
    });
    let response = MetadataResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_controller_id(BrokerId(-1))
        .with_topics(refused.collect());
    Some(response)
}

fn all(cluster: &Cluster, context: &RequestContext) -> Vec<MetadataResponseTopic> {
    let topics = cluster.topics.iter();
    topics
        .map(|topic| describe(cluster, context, topic))
        .collect()
}

fn one(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &MetadataRequest,
    asked: &MetadataRequestTopic,
) -> MetadataResponseTopic {
    let name = match &asked.name {
        _ if !asked.topic_id.is_nil() => match cluster.topics.name_of(asked.topic_id) {
            Some(name) => name.to_string(),
            None => return failed(asked, ResponseError::UnknownTopicId),
        },
        Some(name) => name.to_string(),
        None => return failed(asked, ResponseError::InvalidRequest),
    };
    if let Some(topic) = cluster.topics.get(&name) {
        return describe(cluster, context, topic);
    }
    if let Some(forced) = context.forced_at_topic(&name) {
        return failed(asked, forced.error);
    }
    if let Err(error) = check_name(&name) {
        return failed(asked, error.error);
    }
    if request.allow_auto_topic_creation && cluster.settings.auto_create_topics {
        let topic = NewTopic {
            name,
            partitions: cluster.settings.default_partitions,
            replication_factor: cluster.settings.replication_factor,
            assignment: None,
            config: TopicConfig::default(),
        };
        if let Err(error) = cluster.create_topic(topic) {
            return failed(asked, error.error);
        }
    }
    // a topic that was created just now is known from the next request on, as with a real controller
    failed(asked, ResponseError::UnknownTopicOrPartition)
}

fn failed(asked: &MetadataRequestTopic, error: ResponseError) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_name(asked.name.clone())
        .with_topic_id(asked.topic_id)
        .with_error_code(error.code())
}

fn describe(cluster: &Cluster, context: &RequestContext, topic: &Topic) -> MetadataResponseTopic {
    let response = MetadataResponseTopic::default()
        .with_name(Some(TopicName(text(&topic.name))))
        .with_topic_id(topic.id);
    // an unscoped error of version 13 stands at the top
    let forced = context.forced_at_topic(&topic.name);
    if let Some(forced) = forced.filter(|f| context.version < 13 || !f.is_top_level()) {
        return response.with_error_code(forced.error.code());
    }
    let partitions = topic
        .partitions
        .iter()
        .enumerate()
        .map(|(index, partition)| {
            let index = i32::try_from(index).unwrap_or(i32::MAX);
            let described = describe_partition(cluster, index, partition);
            let mut forced = context.errors.iter();
            let forced =
                forced.find(|f| !f.is_at_topic(&topic.name) && f.is_at(&topic.name, index));
            match forced {
                Some(forced) => described.with_error_code(forced.error.code()),
                None => described,
            }
        });
    response.with_partitions(partitions.collect())
}

fn describe_partition(
    cluster: &Cluster,
    index: i32,
    partition: &Partition,
) -> MetadataResponsePartition {
    let ids = |nodes: &[i32]| nodes.iter().copied().map(BrokerId).collect();
    let is_down = |id: &&i32| cluster.nodes.get(id).is_none_or(|node| !node.alive);
    let down = partition.replicas.iter().filter(is_down);
    let error = match partition.leader {
        Some(_) => 0,
        None => ResponseError::LeaderNotAvailable.code(),
    };
    MetadataResponsePartition::default()
        .with_error_code(error)
        .with_partition_index(index)
        .with_leader_id(BrokerId(partition.leader.unwrap_or(-1)))
        .with_leader_epoch(partition.leader_epoch)
        .with_replica_nodes(ids(&partition.replicas))
        .with_isr_nodes(ids(&partition.in_sync))
        .with_offline_replicas(down.copied().map(BrokerId).collect())
}
