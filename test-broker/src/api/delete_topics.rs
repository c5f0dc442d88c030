use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse, TopicName};

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
    let topics = by_name.chain(request.topics.iter().cloned());
    let results = topics
        .map(|topic| delete(cluster, context, &topic))
        .collect();
    DeleteTopicsResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_responses(results)
}

fn delete(
    cluster: &mut Cluster,
    context: &RequestContext,
    topic: &DeleteTopicState,
) -> DeletableTopicResult {
    let result = DeletableTopicResult::default()
        .with_name(topic.name.clone())
        .with_topic_id(topic.topic_id);
    let fail = |error: ResponseError, message: &str| {
        result
            .clone()
            .with_error_code(error.code())
            .with_error_message(Some(text(message)))
    };
    let name = match (&topic.name, topic.topic_id) {
        (Some(name), id) if id.is_nil() => Some(name.to_string()),
        (None, id) if !id.is_nil() => cluster.topics.name_of(id).map(|name| name.to_string()),
        _ => {
            let message = "A topic must be named or given by its id, one of both.";
            return fail(ResponseError::InvalidRequest, message);
        }
    };
    let unknown = match topic.name {
        Some(_) => ResponseError::UnknownTopicOrPartition,
        None => ResponseError::UnknownTopicId,
    };
    let Some(name) = name else {
        return fail(unknown, "There is no topic of this id.");
    };
    let forced = context.forced_at_topic(&name);
    if let Some(forced) = forced.filter(|forced| !forced.after_applying) {
        return fail(forced.error, "Injected.");
    }
    let Some(deleted) = cluster.delete_topic(&name) else {
        return fail(unknown, "There is no topic of this name.");
    };
    if let Some(forced) = forced {
        return fail(forced.error, "Injected.");
    }
    result
        .with_name(Some(TopicName(text(&name))))
        .with_topic_id(deleted.id)
}
