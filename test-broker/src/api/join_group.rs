use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::JoinGroupRequest;
use tokio::sync::oneshot;

use super::delayed_group::{DelayedGroup, answer_join};
use super::{RequestContext, Step};
use crate::cluster::Cluster;
use crate::groups::classic::{Joining, join_refused};

/// Since then the rebalance has a timeout of its own, which was that of the session before (KIP-62).
const REBALANCE_TIMEOUT: i16 = 1;

/// Lets a member into a group of the classic protocol. The answer comes when all members are there.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &JoinGroupRequest,
) -> Step {
    let forced = context.forced_at_top().cloned();
    if let Some(forced) = forced.as_ref().filter(|forced| !forced.after_applying) {
        return answer_join(context, join_refused(&request.member_id, forced.error));
    }
    let waiting = join(cluster, context, request);
    if let Some(forced) = forced {
        return answer_join(context, join_refused(&request.member_id, forced.error));
    }
    match waiting {
        // these come before the group has looked at the member
        Err(
            error @ (ResponseError::NotCoordinator
            | ResponseError::CoordinatorLoadInProgress
            | ResponseError::InconsistentGroupProtocol),
        ) => answer_join(context, join_refused("", error)),
        Err(error) => answer_join(context, join_refused(&request.member_id, error)),
        Ok(mut waiting) => match waiting.try_recv() {
            Ok(response) => answer_join(context, response),
            Err(_) => Step::WaitForGroup(DelayedGroup::Join(waiting)),
        },
    }
}

fn join(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &JoinGroupRequest,
) -> Result<oneshot::Receiver<kafka_protocol::messages::JoinGroupResponse>, ResponseError> {
    let (id, member) = (request.group_id.as_str(), request.member_id.as_str());
    let groups = &mut cluster.groups;
    if id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    let session_timeout = millis(request.session_timeout_ms);
    if request.session_timeout_ms < 0
        || !groups.settings.session_timeouts.contains(&session_timeout)
    {
        return Err(ResponseError::InvalidSessionTimeout);
    }
    groups.coordinators.check(id, context.node)?;
    if groups.get(id).is_none() && !member.is_empty() {
        return Err(ResponseError::UnknownMemberId);
    }
    let instance = request.group_instance_id.as_ref().map(|id| id.as_str());
    let client_id = context.client_id.clone().unwrap_or_default();
    let new_id: Arc<str> = groups.new_member_id(instance.unwrap_or(&client_id));
    let (answer, waiting) = oneshot::channel();
    let protocols = request.protocols.iter();
    let joining = Joining {
        version: context.version,
        member,
        instance,
        new_id,
        client_id,
        session_timeout,
        rebalance_timeout: match context.version >= REBALANCE_TIMEOUT {
            true => millis(request.rebalance_timeout_ms),
            false => session_timeout,
        },
        protocol_type: request.protocol_type.clone(),
        protocols: protocols
            .map(|protocol| (protocol.name.clone(), protocol.metadata.clone()))
            .collect(),
        answer,
    };
    let delay = groups.settings.initial_rebalance_delay;
    let joined = groups.change_or_create(id, |group| {
        group.as_classic()?.join(joining, context.now, delay);
        Ok(())
    });
    joined.unwrap_or(Ok(()))?;
    Ok(waiting)
}

fn millis(ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
