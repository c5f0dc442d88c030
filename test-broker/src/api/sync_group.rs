use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};
use tokio::sync::oneshot;

use super::delayed_group::{DelayedGroup, answer_sync};
use super::{RequestContext, Step};
use crate::cluster::Cluster;
use crate::groups::classic::{Caller, Syncing, sync_refused};

/// Since then a member says which protocol it believes the group to use (KIP-559).
const NAMES_PROTOCOL: i16 = 5;

/// Tells a member of a classic group what it is assigned. The answer comes when the leader has assigned.
pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &SyncGroupRequest,
) -> Step {
    let forced = context.forced_at_top().cloned();
    if let Some(forced) = forced.as_ref().filter(|forced| !forced.after_applying) {
        return answer_sync(context, sync_refused(forced.error));
    }
    let waiting = sync(cluster, context, request);
    if let Some(forced) = forced {
        return answer_sync(context, sync_refused(forced.error));
    }
    match waiting {
        Err(error) => answer_sync(context, sync_refused(error)),
        Ok(mut waiting) => match waiting.try_recv() {
            Ok(response) => answer_sync(context, response),
            Err(_) => Step::WaitForGroup(DelayedGroup::Sync(waiting)),
        },
    }
}

fn sync(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &SyncGroupRequest,
) -> Result<oneshot::Receiver<SyncGroupResponse>, ResponseError> {
    let id = request.group_id.as_str();
    let (protocol_type, protocol) = (&request.protocol_type, &request.protocol_name);
    if context.version >= NAMES_PROTOCOL && (protocol_type.is_none() || protocol.is_none()) {
        return Err(ResponseError::InconsistentGroupProtocol);
    }
    if id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    cluster.groups.coordinators.check(id, context.node)?;
    let (answer, waiting) = oneshot::channel();
    let assignments = request.assignments.iter();
    let syncing = Syncing {
        caller: Caller {
            member: request.member_id.as_str(),
            instance: request.group_instance_id.as_ref().map(|id| id.as_str()),
            generation: request.generation_id,
        },
        protocol_type: protocol_type.as_ref().map(|name| name.as_str()),
        protocol: protocol.as_ref().map(|name| name.as_str()),
        assignments: assignments
            .map(|one| (one.member_id.as_str(), one.assignment.clone()))
            .collect(),
        answer,
    };
    let done = cluster.groups.change(id, |group| {
        group.classic_member()?.sync(syncing, context.now)
    });
    done.unwrap_or(Err(ResponseError::UnknownMemberId))?;
    Ok(waiting)
}
