//! What is told of groups besides their members, and which coordinators there are.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, DescribeGroupsRequest,
    FindCoordinatorRequest, GroupId,
};
use test_broker::TestBroker;

use crate::client::{client, text};

const GROUP: &str = "billing";
/// READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS, as Kafka codes them.
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;
const SHARE: i8 = 2;

#[tokio::test]
async fn anybody_may_do_anything_with_a_group_and_is_told_so_if_asked() {
    let broker = TestBroker::builder().topic("orders", 1).start_in_memory();
    let broker = broker.expect("a broker");
    broker
        .set_committed(GROUP, "orders", 0, 1)
        .expect("a topic");
    let mut client = client(&broker, broker.coordinator(GROUP).expect("a live node"));
    // a group that is not there is an error since version 6, and has no operations then
    let rows = [
        (5, false, [i32::MIN, i32::MIN]),
        (5, true, [ALL_OPERATIONS, ALL_OPERATIONS]),
        (6, true, [ALL_OPERATIONS, i32::MIN]),
    ];
    for (version, asked, told) in rows {
        let request = DescribeGroupsRequest::default()
            .with_groups(vec![GroupId(text(GROUP)), GroupId(text("of-nobody"))])
            .with_include_authorized_operations(asked);
        let answer = client.call(&request, version).await;
        let operations = answer
            .groups
            .iter()
            .map(|group| group.authorized_operations);
        assert_eq!(operations.collect::<Vec<_>>(), told);
    }
}

#[tokio::test]
async fn who_does_not_coordinate_has_nothing_to_say() {
    let broker = TestBroker::builder().nodes(2).start_in_memory();
    let broker = broker.expect("a broker");
    let mut client = client(&broker, 3 - broker.coordinator(GROUP).expect("a live node"));
    let groups = || vec![GroupId(text(GROUP))];
    let request = DescribeGroupsRequest::default().with_groups(groups());
    let answer = client.call(&request, 6).await;
    let not_here = ResponseError::NotCoordinator.code();
    let told = answer.groups.iter();
    let told: Vec<_> = told
        .map(|g| (g.error_code, g.error_message.clone()))
        .collect();
    assert_eq!(told, [(not_here, None)]);
    let request = ConsumerGroupDescribeRequest::default().with_group_ids(groups());
    let answer = client.call(&request, 1).await;
    let told = answer.groups.iter();
    let told: Vec<_> = told
        .map(|g| (g.error_code, g.error_message.clone()))
        .collect();
    assert_eq!(told, [(not_here, None)]);
    let request = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_member_id(text("a"))
        .with_member_epoch(1);
    let answer = client.call(&request, 1).await;
    assert_eq!((answer.error_code, answer.error_message), (not_here, None));
}

#[tokio::test]
async fn a_share_coordinator_is_asked_for_by_group_topic_and_partition() {
    let broker = TestBroker::builder().start_in_memory().expect("a broker");
    let mut client = client(&broker, 1);
    for (key, error) in [
        (
            "g:AAAAAAAAQACAAAAAAAAAAQ:0",
            ResponseError::CoordinatorNotAvailable,
        ),
        ("g", ResponseError::InvalidRequest),
        (":AAAAAAAAQACAAAAAAAAAAQ:0", ResponseError::InvalidRequest),
        ("g:no id:0", ResponseError::InvalidRequest),
        ("g:AAAAAAAAQACAAAAAAAAAAQ:x", ResponseError::InvalidRequest),
    ] {
        let request = FindCoordinatorRequest::default()
            .with_key_type(SHARE)
            .with_coordinator_keys(vec![text(key)]);
        let answer = client.call(&request, 6).await;
        assert_eq!(answer.coordinators[0].error_code, error.code(), "{key}");
    }
}
