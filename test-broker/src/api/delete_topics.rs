use std::collections::HashMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse, TopicName};
use uuid::Uuid;

use super::{RequestContext, text};
use crate::cluster::Cluster;

/// Topics go by name, or from version 6 on by id.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let by_name = request
        .topic_names
        .iter()
        .map(|name| DeleteTopicState::default().with_name(Some(name.clone())));
    let topics: Vec<DeleteTopicState> = by_name.chain(request.topics.iter().cloned()).collect();
    // a topic may be named once, in one way
    let mut ways: HashMap<Way, Vec<&DeleteTopicState>> = HashMap::new();
    for topic in &topics {
        ways.entry(way(cluster, topic)).or_default().push(topic);
    }
    let mut results = Vec::with_capacity(ways.len());
    for topic in &topics {
        // none where an earlier entry answered for it
        let ways = ways.remove(&way(cluster, topic)).unwrap_or_default();
        match ways.as_slice() {
            [] => {}
            [topic] => results.push(delete(cluster, context, topic)),
            [first, others @ ..] => {
                let mut both = (*first).clone();
                for other in others {
                    both.name = both.name.or_else(|| other.name.clone());
                    if both.topic_id.is_nil() {
                        both.topic_id = other.topic_id;
                    }
                }
                let message = "The request names the topic twice.";
                results.push(failed(&both, ResponseError::InvalidRequest, message));
            }
        }
    }
    DeleteTopicsResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_responses(results)
}

/// What an entry means: a topic that there is, or what it says.
type Way = (Option<TopicName>, Uuid);

fn way(cluster: &Cluster, topic: &DeleteTopicState) -> Way {
    let id = topic.topic_id;
    let known = match &topic.name {
        Some(name) if id.is_nil() => cluster.topics.get(name).map(|topic| topic.id),
        _ => None,
    };
    match known {
        Some(id) => (None, id),
        None => (topic.name.clone(), id),
    }
}

fn failed(topic: &DeleteTopicState, error: ResponseError, message: &str) -> DeletableTopicResult {
    DeletableTopicResult::default()
        .with_name(topic.name.clone())
        .with_topic_id(topic.topic_id)
        .with_error_code(error.code())
        .with_error_message(Some(text(message)))
}

fn delete(
    cluster: &mut Cluster,
    context: &RequestContext,
    topic: &DeleteTopicState,
) -> DeletableTopicResult {
    let name = match (&topic.name, topic.topic_id) {
        (Some(name), id) if id.is_nil() => Some(name.to_string()),
        (None, id) if !id.is_nil() => cluster.topics.name_of(id).map(|name| name.to_string()),
        _ => {
            let message = "A topic must be named or given by its id, one of both.";
            return failed(topic, ResponseError::InvalidRequest, message);
        }
    };
    let unknown = match topic.name {
        Some(_) => ResponseError::UnknownTopicOrPartition,
        None => ResponseError::UnknownTopicId,
    };
    let Some(name) = name else {
        return failed(topic, unknown, "There is no topic of this id.");
    };
    let forced = context.forced_at_topic(&name);
    if let Some(forced) = forced.filter(|forced| !forced.after_applying) {
        return failed(topic, forced.error, "Injected.");
    }
    let Some(deleted) = cluster.delete_topic(&name) else {
        return failed(topic, unknown, "There is no topic of this name.");
    };
    if let Some(forced) = forced {
        return failed(topic, forced.error, "Injected.");
    }
    DeletableTopicResult::default()
        .with_name(Some(TopicName(text(&name))))
        .with_topic_id(deleted.id)
}
