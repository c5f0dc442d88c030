use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use test_broker::TestBroker;
use uuid::Uuid;

use crate::client::{client, topic_name};

fn named(names: &[&str]) -> MetadataRequest {
    let topics = names
        .iter()
        .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name))));
    MetadataRequest::default()
        .with_topics(Some(topics.collect()))
        .with_allow_auto_topic_creation(true)
}

fn all() -> MetadataRequest {
    MetadataRequest::default().with_topics(None)
}

fn names(response: &MetadataResponse) -> Vec<(String, i16)> {
    let topics = response.topics.iter();
    topics
        .map(|t| {
            (
                t.name.as_ref().map_or("", |n| n.as_str()).to_owned(),
                t.error_code,
            )
        })
        .collect()
}

/// Leader and epoch of each partition.
fn leaders(topic: &MetadataResponseTopic) -> Vec<(i32, i32)> {
    let partitions = topic.partitions.iter();
    partitions
        .map(|p| (p.leader_id.0, p.leader_epoch))
        .collect()
}

#[tokio::test]
async fn every_version_tells_nodes_topics_and_leaders() {
    let broker = TestBroker::builder()
        .nodes(2)
        .rack(2, "far")
        .topic("t", 3)
        .topic("u", 1);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 2);
    for version in 0..=13 {
        let response = client.call(&named(&["t"]), version).await;
        let nodes: Vec<_> = response
            .brokers
            .iter()
            .map(|node| (node.node_id.0, node.host.to_string(), node.port))
            .collect();
        assert_eq!(
            nodes,
            [(1, "node-1".into(), 9092), (2, "node-2".into(), 9092)]
        );
        let rack = response.brokers[1].rack.as_deref();
        assert_eq!(rack, (version >= 1).then_some("far"));
        assert_eq!(response.controller_id.0, if version >= 1 { 1 } else { -1 });
        assert_eq!(response.cluster_id.is_some(), version >= 2);
        assert_eq!(names(&response), [("t".into(), 0)]);
        let topic = &response.topics[0];
        let epoch = if version >= 7 { 0 } else { -1 };
        assert_eq!(
            leaders(topic),
            [(1, epoch), (2, epoch), (1, epoch)],
            "version {version}"
        );
        let id = broker.topic_id("t").expect("a topic");
        assert_eq!(topic.topic_id, if version >= 10 { id } else { Uuid::nil() });
    }
}

#[tokio::test]
async fn null_means_all_topics_and_so_does_an_empty_list_of_version_0() {
    let broker = TestBroker::builder().topic("t", 1).topic("u", 1);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    let both = [("t".to_owned(), 0), ("u".to_owned(), 0)];
    for version in 1..=13 {
        assert_eq!(names(&client.call(&all(), version).await), both);
        assert_eq!(names(&client.call(&named(&[]), version).await), []);
    }
    assert_eq!(names(&client.call(&named(&[]), 0).await), both);
}

#[tokio::test]
async fn an_unknown_topic_is_created_if_both_sides_allow_it() {
    let unknown = ResponseError::UnknownTopicOrPartition.code();
    for (broker_allows, client_allows, created) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
    ] {
        let broker = TestBroker::builder()
            .auto_create_topics(broker_allows)
            .default_partitions(4)
            .start_in_memory()
            .expect("started");
        let mut client = client(&broker, 1);
        let ask = named(&["new"]).with_allow_auto_topic_creation(client_allows);
        // it is known from the second request on
        assert_eq!(
            names(&client.call(&ask, 9).await),
            [("new".into(), unknown)]
        );
        let again = client.call(&ask, 9).await;
        let expected = if created { 0 } else { unknown };
        assert_eq!(names(&again), [("new".into(), expected)]);
        assert_eq!(
            again.topics[0].partitions.len(),
            if created { 4 } else { 0 }
        );
    }
    let broker = TestBroker::builder().start_in_memory().expect("started");
    let response = client(&broker, 1).call(&named(&["not a name"]), 9).await;
    assert_eq!(
        response.topics[0].error_code,
        ResponseError::InvalidTopicException.code()
    );
}

#[tokio::test]
async fn topics_go_by_id_from_version_12_on() {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .start_in_memory()
        .expect("started");
    let id = broker.topic_id("t").expect("a topic");
    let by_id = |id: Uuid| {
        let topic = MetadataRequestTopic::default()
            .with_topic_id(id)
            .with_name(None);
        MetadataRequest::default().with_topics(Some(vec![topic]))
    };
    let mut client = client(&broker, 1);
    for version in [12, 13] {
        assert_eq!(
            names(&client.call(&by_id(id), version).await),
            [("t".into(), 0)]
        );
        let unknown = client.call(&by_id(Uuid::from_u128(6)), version).await;
        assert_eq!(
            names(&unknown),
            [(String::new(), ResponseError::UnknownTopicId.code())]
        );
    }
    let named = MetadataRequestTopic::default()
        .with_topic_id(id)
        .with_name(Some(topic_name("t")));
    let request = MetadataRequest::default().with_topics(Some(vec![named]));
    let refused = client.call(&request, 11).await;
    assert_eq!(
        refused.topics[0].error_code,
        ResponseError::InvalidRequest.code()
    );
}

#[tokio::test]
async fn a_partition_without_a_leader_is_told_as_such() {
    let broker = TestBroker::builder()
        .topic("t", 2)
        .start_in_memory()
        .expect("started");
    broker.remove_leader("t", 1).expect("removed");
    let response = client(&broker, 1).call(&named(&["t"]), 9).await;
    let topic = &response.topics[0];
    assert_eq!(
        (topic.error_code, leaders(topic)),
        (0, vec![(1, 0), (-1, 1)])
    );
    let error = topic.partitions[1].error_code;
    assert_eq!(error, ResponseError::LeaderNotAvailable.code());
}

#[tokio::test]
async fn b032_partitions_can_be_added() {
    let broker = TestBroker::builder().nodes(2).topic("t", 1);
    let broker = broker.start_in_memory().expect("started");
    broker.add_partitions("t", 4).expect("added");
    assert!(broker.add_partitions("t", 4).is_err(), "it has as many");
    let response = client(&broker, 1).call(&named(&["t"]), 9).await;
    assert_eq!(
        leaders(&response.topics[0]),
        [(1, 0), (2, 0), (1, 0), (2, 0)]
    );
}
