//! Requests of members of classic groups, and about groups.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, FindCoordinatorRequest, GroupId,
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::text;

/// What members are that consume.
pub(crate) const CONSUMER: &str = "consumer";
/// Longer than any subject takes.
const TIMEOUT_MS: i32 = 300_000;
/// Since when a request has a rebalance timeout, names several keys or members, and names the protocol.
const REBALANCE_TIMEOUT: i16 = 1;
const SEVERAL_KEYS: i16 = 4;
const SEVERAL_MEMBERS: i16 = 3;
const NAMES_PROTOCOL: i16 = 5;

pub(crate) fn group_id(group: &str) -> GroupId {
    GroupId(text(group))
}

pub(crate) fn find_coordinator(version: i16, key_type: i8, key: &str) -> FindCoordinatorRequest {
    let request = FindCoordinatorRequest::default().with_key_type(key_type);
    match version {
        ..SEVERAL_KEYS => request.with_key(text(key)),
        _ => request.with_coordinator_keys(vec![text(key)]),
    }
}

/// What a member says under a protocol, as consumers do (`ConsumerProtocolSubscription` of version 0).
pub(crate) fn subscription(topic: &str) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(1);
    put_text(&mut bytes, topic);
    bytes.put_i32(-1);
    bytes.freeze()
}

/// What a member is assigned, as consumers assign it (`ConsumerProtocolAssignment` of version 0).
pub(crate) fn assignment(topic: &str, partition: i32) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(1);
    put_text(&mut bytes, topic);
    bytes.put_i32(1);
    bytes.put_i32(partition);
    bytes.put_i32(-1);
    bytes.freeze()
}

fn put_text(bytes: &mut BytesMut, text: &str) {
    // topics of the cases have short names
    bytes.put_i16(i16::try_from(text.len()).unwrap_or(i16::MAX));
    bytes.put_slice(text.as_bytes());
}

pub(crate) fn protocols(names: &[&str], topic: &str) -> Vec<JoinGroupRequestProtocol> {
    let protocols = names.iter().map(|name| {
        JoinGroupRequestProtocol::default()
            .with_name(text(name))
            .with_metadata(subscription(topic))
    });
    protocols.collect()
}

/// A member that could use `range` and `roundrobin`.
pub(crate) fn join(version: i16, group: &str, topic: &str, member: StrBytes) -> JoinGroupRequest {
    let request = JoinGroupRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(member)
        .with_session_timeout_ms(TIMEOUT_MS)
        .with_protocol_type(text(CONSUMER))
        .with_protocols(protocols(&["range", "roundrobin"], topic));
    match version {
        ..REBALANCE_TIMEOUT => request,
        _ => request.with_rebalance_timeout_ms(TIMEOUT_MS),
    }
}

/// A member of the protocol `range`, which assigns if it is the leader.
pub(crate) fn sync(
    version: i16,
    group: &str,
    member: StrBytes,
    generation: i32,
    assigned: impl IntoIterator<Item = (StrBytes, Bytes)>,
) -> SyncGroupRequest {
    let assignments = assigned.into_iter().map(|(member, assignment)| {
        SyncGroupRequestAssignment::default()
            .with_member_id(member)
            .with_assignment(assignment)
    });
    let request = SyncGroupRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(member)
        .with_generation_id(generation)
        .with_assignments(assignments.collect());
    match version {
        ..NAMES_PROTOCOL => request,
        _ => request
            .with_protocol_type(Some(text(CONSUMER)))
            .with_protocol_name(Some(text("range"))),
    }
}

pub(crate) fn heartbeat(group: &str, member: StrBytes, generation: i32) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(member)
        .with_generation_id(generation)
}

/// Members leave, each with its id, or since version 3 its instance id.
pub(crate) fn leave(
    version: i16,
    group: &str,
    members: &[(StrBytes, Option<&str>)],
) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(group_id(group));
    if version < SEVERAL_MEMBERS {
        let first = members.first().map(|(member, _)| member.clone());
        return request.with_member_id(first.unwrap_or_default());
    }
    let members = members.iter().map(|(member, instance)| {
        MemberIdentity::default()
            .with_member_id(member.clone())
            .with_group_instance_id(instance.map(text))
    });
    request.with_members(members.collect())
}

pub(crate) fn describe_groups(groups: &[&str]) -> DescribeGroupsRequest {
    let groups = groups.iter().copied().map(group_id);
    DescribeGroupsRequest::default().with_groups(groups.collect())
}

pub(crate) fn describe_consumer_groups(groups: &[&str]) -> ConsumerGroupDescribeRequest {
    let groups = groups.iter().copied().map(group_id);
    ConsumerGroupDescribeRequest::default().with_group_ids(groups.collect())
}
