use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse, GroupId};

use super::{ALL_OPERATIONS, CLIENT_HOST, NO_OPERATIONS, RequestContext, text};
use crate::cluster::Cluster;
use crate::groups::{GroupState, classic::ClassicGroup};

/// Since then a group that is not there is an error, and errors have words.
const NOT_FOUND: i16 = 6;

/// Tells who is in classic groups.
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let operations = match request.include_authorized_operations {
        true => ALL_OPERATIONS,
        false => NO_OPERATIONS,
    };
    let groups = request.groups.iter().map(|id| {
        let described = DescribedGroup::default()
            .with_group_id(id.clone())
            .with_authorized_operations(operations);
        match find(cluster, context, id) {
            Ok(group) => describe(group, described),
            Err(ResponseError::GroupIdNotFound) if context.version < NOT_FOUND => {
                described.with_group_state(text("Dead"))
            }
            Err(error) => {
                let refused = described
                    .with_authorized_operations(NO_OPERATIONS)
                    .with_error_code(error.code());
                match error {
                    ResponseError::GroupIdNotFound => refused
                        .with_group_state(text("Dead"))
                        .with_error_message(Some(text(&error.to_string()))),
                    _ => refused,
                }
            }
        }
    });
    DescribeGroupsResponse::default()
        .with_throttle_time_ms(context.throttle_ms)
        .with_groups(groups.collect())
}

fn find<'a>(
    cluster: &'a Cluster,
    context: &RequestContext,
    id: &GroupId,
) -> Result<&'a ClassicGroup, ResponseError> {
    if let Some(forced) = context.forced_at_top() {
        return Err(forced.error);
    }
    let groups = &cluster.groups;
    groups.coordinators.check(id.as_str(), context.node)?;
    let group = groups.get(id.as_str());
    let group = group.ok_or(ResponseError::GroupIdNotFound)?;
    group.classic().ok_or(ResponseError::GroupIdNotFound)
}

fn describe(group: &ClassicGroup, described: DescribedGroup) -> DescribedGroup {
    let state = GroupState::from(group.state());
    // until all are assigned, an assignment is that of the generation before, and there may be no protocol
    let is_stable = state == GroupState::Stable;
    let protocol = group
        .protocol()
        .filter(|_| is_stable)
        .cloned()
        .unwrap_or_default();
    let members = group.members().iter().map(|member| {
        let described = DescribedGroupMember::default()
            .with_member_id(text(&member.id))
            .with_group_instance_id(member.instance.as_deref().map(text))
            .with_client_id(text(&member.client_id))
            .with_client_host(text(CLIENT_HOST))
            .with_member_assignment(member.assignment.clone());
        match is_stable {
            true => described.with_member_metadata(member.metadata(protocol.as_str())),
            false => described,
        }
    });
    described
        .with_group_state(text(state.name()))
        .with_protocol_type(group.protocol_type().cloned().unwrap_or_default())
        .with_members(members.collect())
        .with_protocol_data(protocol)
}
