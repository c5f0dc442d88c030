//! CreateTopics and Metadata requests.

use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest, MetadataRequest};

use super::{text, topic_name};

/// A topic whose replicas are given per partition.
pub(crate) fn creatable_topic(name: &str, replicas: &[&[i32]]) -> CreatableTopic {
    let assignments = (0..).zip(replicas).map(|(partition, replicas)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(partition)
            .with_broker_ids(replicas.iter().copied().map(BrokerId).collect())
    });
    CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments(assignments.collect())
}

pub(crate) fn create_topic(
    name: &str,
    replicas: &[&[i32]],
    configs: &[(&str, &str)],
) -> CreateTopicsRequest {
    let configs = configs.iter().map(|(key, value)| {
        CreatableTopicConfig::default()
            .with_name(text(key))
            .with_value(Some(text(value)))
    });
    let topic = creatable_topic(name, replicas).with_configs(configs.collect());
    CreateTopicsRequest::default()
        .with_timeout_ms(10_000)
        .with_topics(vec![topic])
}

/// Metadata of topics by name.
pub(crate) fn metadata_of(names: &[&str]) -> MetadataRequest {
    let topics = names
        .iter()
        .copied()
        .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name))));
    metadata(topics.collect())
}

pub(crate) fn metadata(topics: Vec<MetadataRequestTopic>) -> MetadataRequest {
    MetadataRequest::default().with_topics(Some(topics))
}
