use kafka_protocol::ResponseError;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

use super::RequestContext;
use crate::cluster::Cluster;

/// Gives an idempotent producer its id (KIP-98). With a transactional id it takes a transaction coordinator, which no
/// node is.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    let refuse = |error: ResponseError| {
        InitProducerIdResponse::default()
            .with_throttle_time_ms(context.throttle_ms)
            .with_error_code(error.code())
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1)
    };
    if let Some(forced) = context.forced_at_top() {
        if forced.after_applying {
            cluster.new_producer_id();
        }
        return refuse(forced.error);
    }
    match request.transactional_id.as_ref().map(|id| id.as_str()) {
        None => {}
        Some("") => return refuse(ResponseError::InvalidRequest),
        Some(_) => return refuse(ResponseError::NotCoordinator),
    }
    // one who goes on has both (KIP-360); without a transactional id it gets a new id all the same
    if (request.producer_id.0 == -1) != (request.producer_epoch == -1) {
        return refuse(ResponseError::InvalidRequest);
    }
    InitProducerIdResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_producer_id(ProducerId(cluster.new_producer_id()))
        .with_producer_epoch(0)
}
