use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{GroupId, ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use super::{RequestContext, text};
use crate::cluster::Cluster;
use crate::groups::GroupProtocol;

/// Since then groups are told with their states (KIP-518), and since then with their types (KIP-848).
const STATES: i16 = 4;
const TYPES: i16 = 5;

/// Lists the groups that this node coordinates.
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &ListGroupsRequest,
) -> ListGroupsResponse {
    let response = ListGroupsResponse::default().with_throttle_time_ms(context.throttle_ms);
    if let Some(forced) = context.forced_at_top() {
        return response.with_error_code(forced.error.code());
    }
    let fits = |filter: &[StrBytes], name: &str| {
        let mut filter = filter.iter();
        filter.len() == 0 || filter.any(|wanted| wanted.eq_ignore_ascii_case(name))
    };
    let coordinators = &cluster.groups.coordinators;
    let own = cluster.groups.iter();
    let own = own.filter(|(id, _)| coordinators.check(id, context.node).is_ok());
    let listed = own.filter_map(|(id, group)| {
        let described = group.describe(&cluster.topics);
        let (state, kind) = (described.state.name(), type_name(described.protocol));
        if !fits(&request.states_filter, state) || !fits(&request.types_filter, kind) {
            return None;
        }
        let listed = ListedGroup::default()
            .with_group_id(GroupId(text(id)))
            .with_protocol_type(group.protocol_type());
        let listed = match context.version {
            ..STATES => listed,
            _ => listed.with_group_state(text(state)),
        };
        Some(match context.version {
            ..TYPES => listed,
            _ => listed.with_group_type(text(kind)),
        })
    });
    response.with_groups(listed.collect())
}

fn type_name(protocol: GroupProtocol) -> &'static str {
    match protocol {
        GroupProtocol::Classic => "classic",
        GroupProtocol::Consumer => "consumer",
    }
}
