use std::collections::HashMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult,
};
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};

use super::{RequestContext, text};
use crate::cluster::{Cluster, NewTopic, Topic, TopicError};
use crate::topic_config::TopicConfig;

/// Config source of a value that was set for the topic.
const DYNAMIC_TOPIC_CONFIG: i8 = 1;

/// Any node takes topics, since with KRaft a broker passes the request on to the controller.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut times_named: HashMap<&str, usize> = HashMap::new();
    for topic in &request.topics {
        *times_named.entry(topic.name.as_str()).or_default() += 1;
    }
    let mut results = Vec::new();
    for topic in &request.topics {
        let name = topic.name.as_str();
        let result = match times_named.remove(name) {
            // an earlier entry answered for it
            None => continue,
            Some(1) => create(cluster, context, request, topic),
            Some(_) => {
                let message = "The request names the topic twice.";
                Err(TopicError::new(ResponseError::InvalidRequest, message))
            }
        };
        results.push(result.unwrap_or_else(|error| failure(topic, &error)));
    }
    CreateTopicsResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_topics(results)
}

fn create(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &CreateTopicsRequest,
    topic: &CreatableTopic,
) -> Result<CreatableTopicResult, TopicError> {
    let forced = context.forced_at_topic(topic.name.as_str());
    let forced_error = forced.map(|forced| TopicError::new(forced.error, "Injected."));
    if let Some(error) = &forced_error
        && !forced.is_some_and(|forced| forced.after_applying)
    {
        return Err(error.clone());
    }
    let new = new_topic(cluster, topic)?;
    let created = if request.validate_only {
        let live: Vec<i32> = cluster.live_nodes().map(|node| node.id).collect();
        let replicas = cluster.topics.plan(&new, &live)?;
        // an id is given out, although no topic will have it
        success(topic, replicas.len(), replicas.first(), &new.config)
            .with_topic_id(cluster.new_topic_id())
    } else {
        let created: &Topic = cluster.create_topic(new)?;
        let replicas = created.partitions.first().map(|p| &p.replicas);
        success(topic, created.partitions.len(), replicas, &created.config)
            .with_topic_id(created.id)
    };
    forced_error.map_or(Ok(created), Err)
}

fn new_topic(cluster: &Cluster, topic: &CreatableTopic) -> Result<NewTopic, TopicError> {
    let mut config = TopicConfig::default();
    for entry in &topic.configs {
        let Some(value) = &entry.value else {
            let message = format!("The configuration {} has no value.", entry.name.as_str());
            return Err(TopicError::new(ResponseError::InvalidConfig, message));
        };
        config.set(&entry.name, value)?;
    }
    let assigned = !topic.assignments.is_empty();
    if assigned && (topic.num_partitions != -1 || topic.replication_factor != -1) {
        let message = "With an assignment, the numbers of partitions and of replicas must be -1.";
        return Err(TopicError::new(ResponseError::InvalidRequest, message));
    }
    let mut assignment = Vec::new();
    for expected in 0..topic.assignments.len() {
        let mut entries = topic.assignments.iter();
        let found = entries.find(|entry| usize::try_from(entry.partition_index) == Ok(expected));
        let Some(found) = found else {
            let message = "The partitions of an assignment must be 0, 1, 2 and so on.";
            return Err(TopicError::new(
                ResponseError::InvalidReplicaAssignment,
                message,
            ));
        };
        assignment.push(found.broker_ids.iter().map(|id| id.0).collect());
    }
    Ok(NewTopic {
        name: topic.name.to_string(),
        partitions: match topic.num_partitions {
            -1 => cluster.settings.default_partitions,
            given => given,
        },
        replication_factor: match topic.replication_factor {
            -1 => cluster.settings.replication_factor,
            given => given,
        },
        assignment: assigned.then_some(assignment),
        config,
    })
}

fn success(
    topic: &CreatableTopic,
    partitions: usize,
    replicas: Option<&Vec<i32>>,
    config: &TopicConfig,
) -> CreatableTopicResult {
    let configs = config.entries.iter().map(|(name, value)| {
        CreatableTopicConfigs::default()
            .with_name(text(name))
            .with_value(Some(text(value)))
            .with_config_source(DYNAMIC_TOPIC_CONFIG)
    });
    CreatableTopicResult::default()
        .with_name(topic.name.clone())
        .with_error_message(None)
        .with_num_partitions(i32::try_from(partitions).unwrap_or(i32::MAX))
        .with_replication_factor(replicas.map_or(-1, |r| i16::try_from(r.len()).unwrap_or(-1)))
        .with_configs(Some(configs.collect()))
}

fn failure(topic: &CreatableTopic, error: &TopicError) -> CreatableTopicResult {
    CreatableTopicResult::default()
        .with_name(topic.name.clone())
        .with_error_code(error.error.code())
        .with_error_message(Some(text(&error.message)))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_configs(Some(Vec::new()))
}
