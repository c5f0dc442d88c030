use kafka_protocol::ResponseError;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::RequestContext;
use crate::cluster::Cluster;

/// Since then a request names several members (KIP-345).
const SEVERAL_MEMBERS: i16 = 3;

/// Takes members out of a group: themselves out of a classic one, others out of any.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &LeaveGroupRequest,
) -> LeaveGroupResponse {
    let response = LeaveGroupResponse::default().with_throttle_time_ms(context.throttle_ms);
    let members: Vec<(&StrBytes, Option<&StrBytes>)> = match context.version {
        ..SEVERAL_MEMBERS => vec![(&request.member_id, None)],
        _ => {
            let members = request.members.iter();
            members
                .map(|member| (&member.member_id, member.group_instance_id.as_ref()))
                .collect()
        }
    };
    let left = match context.forced_at_top().cloned() {
        Some(forced) => {
            if forced.after_applying {
                // what comes of it is not told
                let _ = leave(cluster, context, request, &members);
            }
            Err(forced.error)
        }
        None => leave(cluster, context, request, &members),
    };
    let left = match left {
        Ok(left) => left,
        Err(error) => return response.with_error_code(error.code()),
    };
    let code = |left: &Result<(), ResponseError>| left.err().map_or(0, |error| error.code());
    if context.version < SEVERAL_MEMBERS {
        return response.with_error_code(left.first().map_or(0, code));
    }
    let members = members.iter().zip(&left).map(|((id, instance), left)| {
        MemberResponse::default()
            .with_member_id((*id).clone())
            .with_group_instance_id(instance.cloned())
            .with_error_code(code(left))
    });
    response.with_members(members.collect())
}

fn leave(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &LeaveGroupRequest,
    members: &[(&StrBytes, Option<&StrBytes>)],
) -> Result<Vec<Result<(), ResponseError>>, ResponseError> {
    let id = request.group_id.as_str();
    if id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    let groups = &mut cluster.groups;
    groups.coordinators.check(id, context.node)?;
    let named: Vec<(&str, Option<&str>)> = members
        .iter()
        .map(|(id, instance)| (id.as_str(), instance.map(|id| id.as_str())))
        .collect();
    let delay = groups.settings.initial_rebalance_delay;
    let left = groups.change(id, |group| group.leave(&named, context.now, delay));
    Ok(left.unwrap_or_else(|| vec![Err(ResponseError::UnknownMemberId); named.len()]))
}
