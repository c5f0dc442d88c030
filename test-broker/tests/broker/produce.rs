use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{InitProducerIdRequest, ProduceRequest, ProduceResponse};
use record_batch::Compression;
use test_broker::{BatchBuilder, Clock, TestBroker};
use uuid::Uuid;

use crate::client::{Fetch, batches, client, produce, text};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().nodes(2).topic("t", 2);
    broker.start_in_memory().expect("started")
}

fn batch(values: &[&str]) -> BatchBuilder {
    values
        .iter()
        .fold(BatchBuilder::new(), |batch, value| batch.record(*value))
}

fn only(response: &ProduceResponse) -> &PartitionProduceResponse {
    &response.responses[0].partition_responses[0]
}

#[tokio::test]
async fn every_version_appends() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let batch = batch(&["a", "b"]).build();
    for version in 3..=13 {
        let request = produce(&broker, "t", 0, &batch, version);
        let response = client.call(&request, version).await;
        let appended = only(&response);
        let base_offset = 2 * i64::from(version - 3);
        assert_eq!(
            (appended.error_code, appended.base_offset),
            (0, base_offset)
        );
        assert_eq!(appended.log_append_time_ms, -1);
    }
    assert_eq!(
        broker.offsets("t", 0).expect("a partition").high_watermark,
        22
    );
}

#[tokio::test]
async fn b076_every_codec_is_stored_as_it_came() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for (codec, version, error) in [
        (Compression::None, 9, 0),
        (Compression::Gzip, 9, 0),
        (Compression::Snappy, 9, 0),
        (Compression::Lz4, 9, 0),
        (Compression::Zstd, 7, 0),
        (
            Compression::Zstd,
            6,
            ResponseError::UnsupportedCompressionType.code(),
        ),
    ] {
        let sent = batch(&["a", "b"]).compression(codec).build();
        let offset = broker.offsets("t", 0).expect("a partition").log_end_offset;
        let response = client
            .call(&produce(&broker, "t", 0, &sent, version), version)
            .await;
        assert_eq!(only(&response).error_code, error, "{codec}");
        if error == 0 {
            let read = client.fetch_one(&Fetch::at(&broker, "t", 0, offset)).await;
            // base offset and leader epoch are the broker's, the rest is the producer's
            assert_eq!(read.records.expect("records")[16..], sent[16..]);
        }
    }
}

#[tokio::test]
async fn errors_stand_at_their_partition() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let good = batch(&["a"]).build();
    let mut corrupt = good.to_vec();
    corrupt[65] ^= 1;
    let mut magic = good.to_vec();
    magic[16] = 3;
    let cases: [(&str, i32, Bytes, ResponseError); 6] = [
        ("t", 0, corrupt.into(), ResponseError::CorruptMessage),
        ("t", 0, magic.into(), ResponseError::CorruptMessage),
        ("t", 0, Bytes::new(), ResponseError::InvalidRecord),
        ("t", 1, good.clone(), ResponseError::NotLeaderOrFollower),
        ("t", 2, good.clone(), ResponseError::UnknownTopicOrPartition),
        ("u", 0, good.clone(), ResponseError::UnknownTopicOrPartition),
    ];
    for (topic, partition, records, expected) in cases {
        let response = client
            .call(&produce(&broker, topic, partition, &records, 9), 9)
            .await;
        let failed = only(&response);
        assert_eq!(failed.error_code, expected.code(), "{expected}");
        assert_eq!(failed.base_offset, -1);
    }
    let mut by_id = produce(&broker, "t", 0, &good, 13);
    by_id.topic_data[0].topic_id = Uuid::from_u128(3);
    let response = client.call(&by_id, 13).await;
    assert_eq!(
        only(&response).error_code,
        ResponseError::UnknownTopicId.code()
    );
    let acks = produce(&broker, "t", 0, &good, 9).with_acks(2);
    let response = client.call(&acks, 9).await;
    assert_eq!(
        only(&response).error_code,
        ResponseError::InvalidRequiredAcks.code()
    );
    let transactional = batch(&["x"]).producer(1, 0, 0).transactional().build();
    let mut request = produce(&broker, "t", 0, &transactional, 9);
    let response = client.call(&request, 9).await;
    let error = ResponseError::TransactionalIdAuthorizationFailed;
    assert_eq!(only(&response).error_code, error.code());
    request.transactional_id = Some(text("tx").into());
    let response = client.call(&request, 9).await;
    assert_eq!(
        only(&response).error_code,
        ResponseError::InvalidProducerIdMapping.code()
    );
    assert_eq!(
        broker.offsets("t", 0).expect("a partition").log_end_offset,
        0
    );
}

#[tokio::test]
async fn the_leader_is_told_from_version_10_on() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let good = batch(&["a"]).build();
    for (version, leader, nodes) in [(9, -1, 0), (10, 2, 1), (13, 2, 1)] {
        let response = client
            .call(&produce(&broker, "t", 1, &good, version), version)
            .await;
        assert_eq!(
            only(&response).current_leader.leader_id.0,
            leader,
            "KIP-951"
        );
        assert_eq!(response.node_endpoints.len(), nodes);
    }
}

#[tokio::test]
async fn acks_0_is_not_answered_and_an_error_closes_the_connection() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let good = batch(&["a"]).build();
    for _ in 0..3 {
        client
            .send(&produce(&broker, "t", 0, &good, 9).with_acks(0), 9)
            .await;
    }
    // the answer to what follows comes next
    let response = client
        .call(&produce(&broker, "t", 0, &good, 9).with_acks(1), 9)
        .await;
    assert_eq!(only(&response).base_offset, 3);
    client
        .send(&produce(&broker, "t", 7, &good, 9).with_acks(0), 9)
        .await;
    assert!(client.receive::<ProduceRequest>(9).await.is_err());
}

#[tokio::test]
async fn an_idempotent_producer_may_send_again() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let mut ids = Vec::new();
    for version in 0..=5 {
        let request = InitProducerIdRequest::default().with_transactional_id(None);
        let given = client.call(&request, version).await;
        assert_eq!((given.error_code, given.producer_epoch), (0, 0));
        ids.push(given.producer_id.0);
    }
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    let send = |sequence| batch(&["a", "b"]).producer(ids[0], 0, sequence).build();
    for (sequence, error, base_offset) in [(0, 0, 0), (2, 0, 2), (2, 0, 2), (0, 0, 0), (5, 45, -1)]
    {
        let response = client
            .call(&produce(&broker, "t", 0, &send(sequence), 9), 9)
            .await;
        let appended = only(&response);
        assert_eq!(
            (appended.error_code, appended.base_offset),
            (error, base_offset)
        );
    }
    assert_eq!(
        broker.offsets("t", 0).expect("a partition").log_end_offset,
        4
    );
    // KIP-360: who goes on tells both
    for (id, epoch) in [(ids[0], -1), (-1, 0)] {
        let half = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_producer_id(id.into())
            .with_producer_epoch(epoch);
        let refused = client.call(&half, 4).await;
        assert_eq!(refused.error_code, ResponseError::InvalidRequest.code());
    }
    let transactional =
        InitProducerIdRequest::default().with_transactional_id(Some(text("tx").into()));
    let refused = client.call(&transactional, 4).await;
    assert_eq!(refused.error_code, ResponseError::NotCoordinator.code());
}

#[tokio::test]
async fn b077_log_append_time_comes_from_the_brokers_clock() {
    let broker = TestBroker::builder().clock(Clock::new(|| 123_456));
    let broker = broker.start_in_memory().expect("started");
    let configs = [
        ("message.timestamp.type", "LogAppendTime"),
        ("max.message.bytes", "100"),
    ];
    broker.create_topic_with("t", 1, configs).expect("created");
    let mut client = client(&broker, 1);
    let sent = batch(&["a"]).timestamp(5).build();
    let response = client.call(&produce(&broker, "t", 0, &sent, 9), 9).await;
    assert_eq!(only(&response).log_append_time_ms, 123_456);
    let read = client.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    let records = read.records.expect("records");
    let header = record_batch::BatchHeader::parse(&records).expect("a batch");
    assert_eq!(header.max_timestamp(), 123_456);
    assert!(
        record_batch::produced::validate(&records).is_ok(),
        "its CRC is new"
    );
    let large = batch(&["x"; 50]).build();
    let response = client.call(&produce(&broker, "t", 0, &large, 9), 9).await;
    assert_eq!(
        only(&response).error_code,
        ResponseError::MessageTooLarge.code()
    );
}

#[tokio::test]
async fn records_without_a_timestamp_get_the_brokers_time() {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .clock(Clock::new(|| 777));
    let broker = broker.start_in_memory().expect("started");
    let codec = Compression::Lz4;
    assert_eq!(
        broker
            .produce_compressed("t", 0, codec, ["a", "b"])
            .expect("produced"),
        0
    );
    assert_eq!(broker.produce("t", 0, [("k", "v")]).expect("produced"), 2);
    let read = client(&broker, 1)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(batches(&read), [(0, 1), (2, 2)]);
    let header = record_batch::BatchHeader::parse(&read.records.expect("records"));
    let header = header.expect("a batch");
    assert_eq!(
        (header.max_timestamp(), header.compression()),
        (777, Some(codec))
    );
}
