use kafka_protocol::ResponseError;
use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use super::RequestContext;
use crate::cluster::Cluster;
use crate::groups::classic::Caller;

/// Keeps a member of a classic group in it, and tells it that a rebalance is under way.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &HeartbeatRequest,
) -> HeartbeatResponse {
    let done = match context.forced_at_top().cloned() {
        Some(forced) => {
            if forced.after_applying {
                // what comes of it is not told
                let _ = heartbeat(cluster, context, request);
            }
            Err(forced.error)
        }
        None => heartbeat(cluster, context, request),
    };
    HeartbeatResponse::default()
        .with_error_code(done.err().map_or(0, |error| error.code()))
        .with_throttle_time_ms(context.throttle_ms)
}

fn heartbeat(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &HeartbeatRequest,
) -> Result<(), ResponseError> {
    let id = request.group_id.as_str();
    if id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    cluster.groups.coordinators.check(id, context.node)?;
    let caller = Caller {
        member: request.member_id.as_str(),
        instance: request.group_instance_id.as_ref().map(|id| id.as_str()),
        generation: request.generation_id,
    };
    let done = cluster.groups.change(id, |group| {
        group.classic_member()?.heartbeat(caller, context.now)
    });
    done.unwrap_or(Err(ResponseError::UnknownMemberId))
}
