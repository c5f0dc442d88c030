use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest, DeleteTopicsRequest};
use test_broker::{Error, TestBroker};
use uuid::Uuid;

use crate::client::{client, text, topic_name};

fn topic(name: &str, partitions: i32, replicas: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(replicas)
}

fn config(name: &str, value: &str) -> CreatableTopicConfig {
    CreatableTopicConfig::default()
        .with_name(text(name))
        .with_value(Some(text(value)))
}

fn assigned(name: &str, replicas: &[&[i32]]) -> CreatableTopic {
    let assignments = (0..).zip(replicas).map(|(partition, replicas)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(partition)
            .with_broker_ids(replicas.iter().copied().map(BrokerId).collect())
    });
    topic(name, -1, -1).with_assignments(assignments.collect())
}

#[tokio::test]
async fn every_version_creates_and_deletes() {
    let broker = TestBroker::builder()
        .nodes(2)
        .start_in_memory()
        .expect("started");
    let mut client = client(&broker, 2);
    for version in 2..=7 {
        let name = format!("t{version}");
        let request = CreateTopicsRequest::default().with_topics(vec![topic(&name, 3, 2)]);
        let response = client.call(&request, version).await;
        let created = &response.topics[0];
        assert_eq!(
            (created.error_code, created.name.as_str()),
            (0, name.as_str())
        );
        assert_eq!(created.num_partitions, if version >= 5 { 3 } else { -1 });
        let id = broker.topic_id(&name).expect("created");
        assert_eq!(
            created.topic_id,
            if version >= 7 { id } else { Uuid::nil() }
        );
    }
    for version in 1..=6 {
        let name = topic_name(&format!("t{}", version + 1));
        let request = match version {
            6 => {
                let topic = DeleteTopicState::default().with_name(Some(name));
                DeleteTopicsRequest::default().with_topics(vec![topic])
            }
            _ => DeleteTopicsRequest::default().with_topic_names(vec![name]),
        };
        let response = client.call(&request, version).await;
        assert_eq!(response.responses[0].error_code, 0, "version {version}");
        let again = client.call(&request, version).await;
        let unknown = ResponseError::UnknownTopicOrPartition.code();
        assert_eq!(again.responses[0].error_code, unknown);
    }
}

#[tokio::test]
async fn topics_are_deleted_by_id() {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .start_in_memory()
        .expect("started");
    let id = broker.topic_id("t").expect("a topic");
    let mut client = client(&broker, 1);
    let by_id = |id| {
        let topic = DeleteTopicState::default()
            .with_topic_id(id)
            .with_name(None);
        DeleteTopicsRequest::default().with_topics(vec![topic])
    };
    let deleted = client.call(&by_id(id), 6).await;
    let deleted = &deleted.responses[0];
    assert_eq!(deleted.error_code, 0);
    assert_eq!(deleted.name.as_ref().map(|name| name.as_str()), Some("t"));
    let again = client.call(&by_id(id), 6).await;
    assert_eq!(
        again.responses[0].error_code,
        ResponseError::UnknownTopicId.code()
    );
    let both = DeleteTopicState::default()
        .with_topic_id(id)
        .with_name(Some(topic_name("t")));
    let request = DeleteTopicsRequest::default().with_topics(vec![both]);
    let both = client.call(&request, 6).await;
    assert_eq!(
        both.responses[0].error_code,
        ResponseError::InvalidRequest.code()
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let broker = TestBroker::builder()
        .nodes(2)
        .topic("there", 1)
        .topic("a.b", 1);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    let long = "x".repeat(250);
    let cases = [
        (topic("there", 1, 1), ResponseError::TopicAlreadyExists),
        (topic("zero", 0, 1), ResponseError::InvalidPartitions),
        (topic("less", -2, 1), ResponseError::InvalidPartitions),
        (topic("many", i32::MAX, 1), ResponseError::InvalidPartitions),
        (topic("none", 1, 0), ResponseError::InvalidReplicationFactor),
        (
            topic("three", 1, 3),
            ResponseError::InvalidReplicationFactor,
        ),
        (topic("b d", 1, 1), ResponseError::InvalidTopicException),
        (topic("..", 1, 1), ResponseError::InvalidTopicException),
        (topic("", 1, 1), ResponseError::InvalidTopicException),
        (topic(&long, 1, 1), ResponseError::InvalidTopicException),
        (topic("a_b", 1, 1), ResponseError::InvalidTopicException),
        (
            assigned("empty", &[&[]]),
            ResponseError::InvalidReplicaAssignment,
        ),
        (
            assigned("gone", &[&[7]]),
            ResponseError::InvalidReplicaAssignment,
        ),
        (
            assigned("twice", &[&[1, 1]]),
            ResponseError::InvalidReplicaAssignment,
        ),
        (
            assigned("both", &[&[1]]).with_num_partitions(1),
            ResponseError::InvalidRequest,
        ),
        (
            topic("odd", 1, 1).with_configs(vec![config("no.such", "1")]),
            ResponseError::InvalidConfig,
        ),
        (
            topic("null", 1, 1).with_configs(vec![config("retention.ms", "1").with_value(None)]),
            ResponseError::InvalidConfig,
        ),
        (
            topic("time", 1, 1).with_configs(vec![config("message.timestamp.type", "now")]),
            ResponseError::InvalidConfig,
        ),
    ];
    for (topic, expected) in cases {
        let name = topic.name.clone();
        let request = CreateTopicsRequest::default().with_topics(vec![topic]);
        let response = client.call(&request, 7).await;
        assert_eq!(response.topics[0].error_code, expected.code(), "{name:?}");
        assert!(response.topics[0].error_message.is_some());
    }
    let twice = vec![
        topic("twice", 1, 1),
        topic("once", 1, 1),
        topic("twice", 2, 1),
    ];
    let request = CreateTopicsRequest::default().with_topics(twice);
    let response = client.call(&request, 7).await;
    let codes: Vec<_> = response.topics.iter().map(|t| t.error_code).collect();
    assert_eq!(codes, [ResponseError::InvalidRequest.code(), 0]);
}

#[tokio::test]
async fn an_assignment_is_followed_and_a_validation_creates_nothing() {
    let broker = TestBroker::builder()
        .nodes(3)
        .start_in_memory()
        .expect("started");
    let mut client = client(&broker, 1);
    let request = CreateTopicsRequest::default()
        .with_topics(vec![assigned("t", &[&[3, 1], &[2, 3]])])
        .with_validate_only(true);
    let validated = client.call(&request, 7).await;
    assert_eq!(validated.topics[0].error_code, 0);
    assert!(!validated.topics[0].topic_id.is_nil());
    assert!(broker.topic_id("t").is_err());
    let request = request.with_validate_only(false);
    assert_eq!(
        client.call(&request, 7).await.topics[0].replication_factor,
        2
    );
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(3), 0));
    assert_eq!(broker.leader("t", 1).expect("a partition"), (Some(2), 0));
}

#[tokio::test]
async fn b020_topic_names_may_have_249_characters() {
    let name = "x".repeat(249);
    let broker = TestBroker::builder()
        .topic(&name, 1)
        .start_in_memory()
        .expect("started");
    assert!(broker.produce(&name, 0, ["v"]).is_ok());
    let error = TestBroker::builder()
        .topic("x".repeat(250), 1)
        .start_in_memory();
    assert!(matches!(error, Err(Error::Topic { .. })));
}

#[tokio::test]
async fn the_same_seed_gives_the_same_ids() {
    let id = |seed| {
        let broker = TestBroker::builder().seed(seed).topic("t", 1);
        let broker = broker.start_in_memory().expect("started");
        broker.topic_id("t").expect("a topic")
    };
    assert_eq!(id(1), id(1));
    assert_ne!(id(1), id(2));
}

#[tokio::test]
async fn mistakes_of_a_test_are_told_apart() {
    let broker = TestBroker::builder()
        .topic("t", 2)
        .start_in_memory()
        .expect("started");
    let text = |error: Error| error.to_string();
    let unknown = broker.produce("u", 0, ["v"]).expect_err("no such topic");
    assert!(text(unknown).contains("no topic \"u\""));
    let unknown = broker
        .produce("t", 2, ["v"])
        .expect_err("no such partition");
    assert!(text(unknown).contains("partitions 0 to 1, not 2"));
    let empty = broker.produce::<&str>("t", 0, []).expect_err("no records");
    assert!(matches!(empty, Error::Append { .. }), "{empty}");
    let unknown = broker.connect(3).expect_err("no such node");
    assert!(text(unknown).contains("nodes 1 to 1"));
    for builder in [
        TestBroker::builder().nodes(0),
        TestBroker::builder().rack(2, "r"),
    ] {
        assert!(matches!(
            builder.start_in_memory(),
            Err(Error::Setting { .. })
        ));
    }
}
