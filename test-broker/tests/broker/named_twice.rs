//! What a request names twice, and what it names in two ways, as the comparison with Kafka showed it.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DeleteTopicsRequest, MetadataRequest};
use test_broker::{BatchBuilder, TestBroker};
use uuid::Uuid;

use crate::client::{Fetch, client, produce, topic_name};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().topic("t", 2).topic("u", 1);
    broker.start_in_memory().expect("started")
}

#[tokio::test]
async fn produce_takes_the_last_data_of_a_partition() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let one = BatchBuilder::new().record("a").build();
    let two = BatchBuilder::new().record("b").record("c").build();
    let mut request = produce(&broker, "t", 0, &one, 9);
    // the partition again, then another of the topic, in entries of their own
    for (partition, records) in [(0, &two), (1, &one)] {
        let entry = produce(&broker, "t", partition, records, 9);
        request.topic_data.extend(entry.topic_data);
    }
    let response = client.call(&request, 9).await;
    assert_eq!(response.responses.len(), 1);
    let partitions = response.responses[0].partition_responses.iter();
    let answered: Vec<_> = partitions.map(|p| (p.index, p.error_code)).collect();
    assert_eq!(answered, [(0, 0), (1, 0)]);
    let end = |partition| {
        broker
            .offsets("t", partition)
            .expect("there")
            .log_end_offset
    };
    assert_eq!((end(0), end(1)), (2, 1));
}

#[tokio::test]
async fn metadata_tells_a_topic_once_and_no_names_beside_ids() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let asked = |name: Option<&str>, id| {
        MetadataRequestTopic::default()
            .with_name(name.map(topic_name))
            .with_topic_id(id)
    };
    let request = |topics| MetadataRequest::default().with_topics(Some(topics));
    let by_name = asked(Some("t"), Uuid::nil());
    let twice = request(vec![by_name.clone(), by_name.clone()]);
    assert_eq!(client.call(&twice, 12).await.topics.len(), 1);
    let id = broker.topic_id("u").expect("there");
    let mixed = client
        .call(&request(vec![by_name, asked(None, id)]), 12)
        .await;
    let told: Vec<_> = mixed.topics.iter().map(|topic| topic.topic_id).collect();
    assert_eq!(told, [id]);
}

/// An answer of version 10 or 11 cannot have a null name.
#[tokio::test]
async fn metadata_refuses_ids_with_an_empty_name() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let asked = MetadataRequestTopic::default()
        .with_name(None)
        .with_topic_id(broker.topic_id("t").expect("there"));
    let request = MetadataRequest::default().with_topics(Some(vec![asked]));
    for version in [10, 11] {
        let response = client.call(&request, version).await;
        let refused = &response.topics[0];
        assert_eq!(refused.error_code, ResponseError::InvalidRequest.code());
        assert_eq!(refused.name.as_ref().map(|name| name.as_str()), Some(""));
    }
}

#[tokio::test]
async fn delete_topics_refuses_once_what_is_named_twice() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let by_name = |name| DeleteTopicState::default().with_name(Some(topic_name(name)));
    let topics = vec![by_name("t"), by_name("u"), by_name("t")];
    let request = DeleteTopicsRequest::default().with_topics(topics);
    let response = client.call(&request, 6).await;
    let codes: Vec<_> = response.responses.iter().map(|t| t.error_code).collect();
    assert_eq!(codes, [ResponseError::InvalidRequest.code(), 0]);
    assert!(broker.topic_id("t").is_ok());
}

#[tokio::test]
async fn fetch_tells_unknown_ids_before_unknown_partitions() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let fetch = Fetch::new()
        .and_id("none", Uuid::from_u128(4), 0, 0)
        .and(&broker, "t", 9, 0)
        .and_id("none", Uuid::from_u128(4), 1, 0)
        .and(&broker, "t", 0, 0);
    let response = client.fetch(&fetch).await;
    let topics = response.responses.iter().map(|topic| {
        let partitions = topic.partitions.iter();
        partitions
            .map(|p| (p.partition_index, p.error_code))
            .collect::<Vec<_>>()
    });
    let id = ResponseError::UnknownTopicId.code();
    let partition = ResponseError::UnknownTopicOrPartition.code();
    assert_eq!(
        topics.collect::<Vec<_>>(),
        [vec![(0, 0)], vec![(0, id), (1, id)], vec![(9, partition)]]
    );
}
