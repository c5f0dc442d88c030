//! FindCoordinator, OffsetCommit and OffsetFetch of a consumer that takes no part in a group.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    ApiKey, FindCoordinatorRequest, GroupId, OffsetCommitRequest, OffsetFetchRequest,
};
use test_broker::{Fault, TestBroker};

use crate::client::{client, text, topic_name};

const GROUP: &str = "billing";

fn commit(topic: &str, offsets: &[(i32, i64)]) -> OffsetCommitRequest {
    let partitions = offsets.iter().map(|(partition, offset)| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(*partition)
            .with_committed_offset(*offset)
            .with_committed_metadata(Some(text("read")))
    });
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name(topic))
        .with_partitions(partitions.collect());
    OffsetCommitRequest::default()
        .with_group_id(GroupId(text(GROUP)))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic])
}

/// The error codes of a commit to the group's coordinator, partition by partition.
async fn codes(broker: &TestBroker, request: &OffsetCommitRequest, version: i16) -> Vec<i16> {
    let node = broker.coordinator(GROUP).expect("a live node");
    let answer = client(broker, node).call(request, version).await;
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| partition.error_code).collect()
}

#[tokio::test]
async fn what_is_committed_is_read_back_in_every_version() {
    let broker = TestBroker::builder().topic("orders", 3).start_in_memory();
    let broker = broker.expect("a broker");
    let mut client = client(&broker, 1);
    for version in 2..=9 {
        let request = commit("orders", &[(0, i64::from(version)), (1, 7)]);
        let answer = client.call(&request, version).await;
        assert_eq!(answer.topics[0].partitions[1].error_code, 0);
        let stored = broker.committed(GROUP, "orders", 0).expect("committed");
        assert_eq!(
            (stored.offset, stored.metadata.as_str()),
            (i64::from(version), "read")
        );
    }
    for version in 1..=9 {
        let request = match version {
            0..=7 => OffsetFetchRequest::default()
                .with_group_id(GroupId(text(GROUP)))
                .with_topics(Some(vec![
                    OffsetFetchRequestTopic::default()
                        .with_name(topic_name("orders"))
                        .with_partition_indexes(vec![0, 2]),
                ])),
            _ => OffsetFetchRequest::default().with_groups(vec![
                OffsetFetchRequestGroup::default()
                    .with_group_id(GroupId(text(GROUP)))
                    .with_topics(Some(vec![
                        OffsetFetchRequestTopics::default()
                            .with_name(topic_name("orders"))
                            .with_partition_indexes(vec![0, 2]),
                    ])),
            ]),
        };
        let answer = client.call(&request, version).await;
        let single = answer.topics.iter().flat_map(|topic| &topic.partitions);
        let mut offsets: Vec<i64> = single.map(|p| p.committed_offset).collect();
        for group in &answer.groups {
            let several = group.topics.iter().flat_map(|topic| &topic.partitions);
            offsets.extend(several.map(|p| p.committed_offset));
        }
        assert_eq!(
            offsets,
            [9, -1],
            "v{version}: -1 where nothing is committed"
        );
    }
}

#[tokio::test]
async fn errors_stand_at_the_partition_that_they_concern() {
    let broker = TestBroker::builder().topic("orders", 2).start_in_memory();
    let broker = broker.expect("a broker");
    let unknown = ResponseError::UnknownTopicOrPartition.code();
    let request = commit("orders", &[(0, 1), (2, 1)]);
    assert_eq!(codes(&broker, &request, 8).await, [0, unknown]);
    let mut member = commit("orders", &[(0, 1)]).with_generation_id_or_member_epoch(3);
    member.group_id = GroupId(text("of-nobody"));
    let illegal = ResponseError::IllegalGeneration.code();
    assert_eq!(codes(&broker, &member, 8).await, [illegal]);
    let not_found = ResponseError::GroupIdNotFound.code();
    assert_eq!(codes(&broker, &member, 9).await, [not_found]);

    broker.inject(
        Fault::error(ResponseError::RequestTimedOut)
            .on(ApiKey::OffsetCommit)
            .partition("orders", 1)
            .after_applying()
            .times(1),
    );
    let request = commit("orders", &[(0, 5), (1, 5)]);
    let timed_out = ResponseError::RequestTimedOut.code();
    assert_eq!(codes(&broker, &request, 9).await, [0, timed_out]);
    let stored = broker.committed(GROUP, "orders", 1).expect("applied");
    assert_eq!(stored.offset, 5);
}

#[tokio::test]
async fn b154_a_group_s_coordinator_moves_and_loads() {
    let broker = TestBroker::builder().nodes(3).topic("orders", 1);
    let broker = broker.start_in_memory().expect("a broker");
    let find = FindCoordinatorRequest::default().with_coordinator_keys(vec![text(GROUP)]);
    let first = broker.coordinator(GROUP).expect("a live node");
    let other = first % 3 + 1;
    let found = client(&broker, other).call(&find, 6).await;
    assert_eq!(found.coordinators[0].node_id.0, first);

    let request = commit("orders", &[(0, 1)]);
    broker.move_coordinator(GROUP, other).expect("a live node");
    let answer = client(&broker, first).call(&request, 8).await;
    let code = |error: ResponseError| error.code();
    assert_eq!(
        answer.topics[0].partitions[0].error_code,
        code(ResponseError::NotCoordinator)
    );
    broker.set_coordinator_loading(GROUP, true);
    let loading = code(ResponseError::CoordinatorLoadInProgress);
    assert_eq!(codes(&broker, &request, 8).await, [loading]);
    broker.set_coordinator_loading(GROUP, false);
    assert_eq!(codes(&broker, &request, 8).await, [0]);

    broker.kill_node(other).await.expect("a node");
    let next = broker.coordinator(GROUP).expect("a live node");
    assert_ne!(next, other);
    assert_eq!(codes(&broker, &request, 8).await, [0]);
}

#[tokio::test]
async fn f012_a_deleted_topic_takes_its_committed_offsets_along() {
    let broker = TestBroker::builder().topic("orders", 1).start_in_memory();
    let broker = broker.expect("a broker");
    broker
        .set_committed(GROUP, "orders", 0, 9)
        .expect("a topic");
    broker.recreate_topic("orders").expect("a topic");
    assert_eq!(broker.committed_offsets(GROUP), Default::default());
}
