use kafka_protocol::ResponseError;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use super::{RequestContext, text};
use crate::cluster::Cluster;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
/// KIP-932; from this version on there are any.
const SHARE: i8 = 2;
const SHARE_SINCE: i16 = 6;
const TOPIC_ID_LENGTH: usize = 22;
/// Since then a request names several keys (KIP-699).
const SEVERAL_KEYS: i16 = 4;

/// Tells who coordinates a group. There are no coordinators of transactions and share groups.
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    let response = FindCoordinatorResponse::default().with_throttle_time_ms(context.throttle_ms);
    if context.version >= SEVERAL_KEYS {
        let keys = request.coordinator_keys.iter();
        let found = keys.map(|key| find(cluster, context, request.key_type, key));
        return response.with_coordinators(found.collect());
    }
    let found = find(cluster, context, request.key_type, &request.key);
    response
        .with_error_code(found.error_code)
        .with_error_message(found.error_message)
        .with_node_id(found.node_id)
        .with_host(found.host)
        .with_port(found.port)
}

fn find(cluster: &Cluster, context: &RequestContext, key_type: i8, key: &StrBytes) -> Coordinator {
    let node = match (context.forced_at_top(), key_type) {
        (Some(forced), _) => Err(forced.error),
        (None, GROUP) => {
            let node = cluster.groups.coordinators.of(key.as_str());
            let node = node.and_then(|node| cluster.nodes.get(&node));
            node.ok_or(ResponseError::CoordinatorNotAvailable)
        }
        (None, TRANSACTION) => Err(ResponseError::CoordinatorNotAvailable),
        (None, SHARE) if context.version >= SHARE_SINCE && is_share_key(key) => {
            Err(ResponseError::CoordinatorNotAvailable)
        }
        (None, _) => Err(ResponseError::InvalidRequest),
    };
    let found = Coordinator::default().with_key(key.clone());
    match node {
        Ok(node) => found
            .with_node_id(BrokerId(node.id))
            .with_host(text(&node.host))
            .with_port(i32::from(node.port))
            .with_error_message(Some(text(""))),
        Err(error) => found
            .with_node_id(BrokerId(-1))
            .with_port(-1)
            .with_error_code(error.code())
            .with_error_message(Some(text(&error.to_string()))),
    }
}

/// Whether it is `group:topic id:partition`, with the id as Kafka writes them: in Base64 for URLs, without padding.
fn is_share_key(key: &str) -> bool {
    let mut parts = key.split(':');
    let (group, topic, partition) = (parts.next(), parts.next(), parts.next());
    let is_id = |id: &str| {
        let is_digit = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        id.len() == TOPIC_ID_LENGTH && id.bytes().all(is_digit)
    };
    parts.next().is_none()
        && group.is_some_and(|group| !group.trim().is_empty())
        && topic.is_some_and(is_id)
        && partition.is_some_and(|partition| partition.parse::<i32>().is_ok())
}
