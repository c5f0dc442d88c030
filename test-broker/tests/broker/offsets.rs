use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{BrokerId, ListOffsetsRequest, OffsetForLeaderEpochRequest};
use test_broker::{BatchBuilder, ProducerRecord, TestBroker};

use crate::client::{Client, client, topic_name};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

/// Times 2, 4, 6, 8 at offsets 0 to 3 of partition 0, in batches of two.
fn broker() -> TestBroker {
    let broker = TestBroker::builder().nodes(2).topic("t", 2);
    let broker = broker.start_in_memory().expect("started");
    for times in [[2, 4], [6, 8]] {
        let records = times.map(|time| ProducerRecord::new("v").timestamp(time));
        broker.produce("t", 0, records).expect("produced");
    }
    broker
}

fn ask(partition: i32, timestamp: i64) -> ListOffsetsPartition {
    ListOffsetsPartition::default()
        .with_partition_index(partition)
        .with_current_leader_epoch(-1)
        .with_timestamp(timestamp)
}

fn request(partitions: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let topic = ListOffsetsTopic::default()
        .with_name(topic_name("t"))
        .with_partitions(partitions);
    ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_topics(vec![topic])
}

async fn list(
    client: &mut Client,
    asked: ListOffsetsPartition,
    isolation: i8,
    version: i16,
) -> ListOffsetsPartitionResponse {
    let request = request(vec![asked]).with_isolation_level(isolation);
    let response = client.call(&request, version).await;
    response.topics[0].partitions[0].clone()
}

fn found(response: &ListOffsetsPartitionResponse) -> (i64, i64, i32) {
    assert_eq!(response.error_code, 0);
    (response.offset, response.timestamp, response.leader_epoch)
}

#[tokio::test]
async fn every_version_finds_the_ends() {
    let broker = broker();
    broker.delete_records("t", 0, 1).expect("deleted");
    let mut client = client(&broker, 1);
    for version in 1..=10 {
        let epoch = if version >= 4 { 0 } else { -1 };
        let latest = list(&mut client, ask(0, LATEST), 0, version).await;
        assert_eq!(found(&latest), (4, -1, epoch), "version {version}");
        let earliest = list(&mut client, ask(0, EARLIEST), 0, version).await;
        assert_eq!(found(&earliest), (1, -1, epoch));
    }
}

#[tokio::test]
async fn b103_times_are_looked_up_within_batches() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for (time, expected) in [
        (0, (0, 2, 0)),
        (3, (1, 4, 0)),
        (4, (1, 4, 0)),
        (5, (2, 6, 0)),
        (8, (3, 8, 0)),
        (9, (-1, -1, -1)),
        (MAX_TIMESTAMP, (3, 8, 0)),
        // without tiered storage
        (EARLIEST_LOCAL, (0, -1, 0)),
        (LATEST_TIERED, (-1, -1, -1)),
    ] {
        let response = list(&mut client, ask(0, time), 0, 9).await;
        assert_eq!(found(&response), expected, "time {time}");
    }
}

#[tokio::test]
async fn special_times_have_a_first_version() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for (time, first) in [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9)] {
        let early = list(&mut client, ask(0, time), 0, first - 1).await;
        assert_eq!(
            early.error_code,
            ResponseError::UnsupportedVersion.code(),
            "{time}"
        );
        assert_eq!(
            list(&mut client, ask(0, time), 0, first).await.error_code,
            0
        );
    }
    let unknown = list(&mut client, ask(0, -99), 0, 10).await;
    assert_eq!(unknown.error_code, ResponseError::UnsupportedVersion.code());
}

#[tokio::test]
async fn read_committed_ends_at_the_last_stable_offset() {
    let broker = broker();
    let open = BatchBuilder::new()
        .base_offset(4)
        .timestamp(10)
        .producer(7, 0, 0)
        .transactional()
        .record("open");
    broker.append_raw("t", 0, &open.build()).expect("appended");
    let mut client = client(&broker, 1);
    for (isolation, latest, at_9) in [(0, 5, 4), (1, 4, -1)] {
        let response = list(&mut client, ask(0, LATEST), isolation, 7).await;
        assert_eq!(response.offset, latest);
        let response = list(&mut client, ask(0, 9), isolation, 7).await;
        assert_eq!(response.offset, at_9);
    }
}

#[tokio::test]
async fn only_the_leader_of_the_right_epoch_answers() {
    let broker = broker();
    broker.bump_leader_epoch("t", 0).expect("bumped");
    let mut client = client(&broker, 1);
    for (asked, expected) in [
        (ask(1, LATEST), ResponseError::NotLeaderOrFollower),
        (ask(2, LATEST), ResponseError::UnknownTopicOrPartition),
        (
            ask(0, LATEST).with_current_leader_epoch(0),
            ResponseError::FencedLeaderEpoch,
        ),
        (
            ask(0, LATEST).with_current_leader_epoch(2),
            ResponseError::UnknownLeaderEpoch,
        ),
    ] {
        let response = list(&mut client, asked, 0, 7).await;
        assert_eq!(response.error_code, expected.code(), "{expected}");
        assert_eq!((response.offset, response.timestamp), (-1, -1));
    }
}

#[tokio::test]
async fn a_partition_that_is_named_twice_is_refused() {
    let broker = broker();
    let twice = request(vec![ask(0, LATEST), ask(0, EARLIEST)]);
    let response = client(&broker, 1).call(&twice, 7).await;
    let codes: Vec<_> = response.topics[0]
        .partitions
        .iter()
        .map(|p| p.error_code)
        .collect();
    assert_eq!(codes, [ResponseError::InvalidRequest.code()]);
}

/// KIP-207: after an election the end is not told before the high watermark has reached where the leader began.
#[tokio::test]
async fn the_end_is_not_available_until_the_high_watermark_has_caught_up() {
    let broker = broker();
    broker.hold_high_watermark("t", 0, true).expect("held");
    let late = ProducerRecord::new("v").timestamp(20);
    broker.produce("t", 0, [late]).expect("produced");
    broker.bump_leader_epoch("t", 0).expect("bumped");
    let mut client = client(&broker, 1);
    for (version, expected) in [
        (4, ResponseError::LeaderNotAvailable),
        (5, ResponseError::OffsetNotAvailable),
    ] {
        for time in [LATEST, 20] {
            let response = list(&mut client, ask(0, time), 0, version).await;
            assert_eq!(
                response.error_code,
                expected.code(),
                "version {version}, time {time}"
            );
        }
        assert_eq!(found(&list(&mut client, ask(0, 3), 0, version).await).0, 1);
        assert_eq!(
            found(&list(&mut client, ask(0, EARLIEST), 0, version).await).0,
            0
        );
    }
    broker.hold_high_watermark("t", 0, false).expect("released");
    assert_eq!(found(&list(&mut client, ask(0, LATEST), 0, 7).await).0, 5);
}

async fn end_of(client: &mut Client, current: i32, epoch: i32, version: i16) -> (i16, i32, i64) {
    let partition = OffsetForLeaderPartition::default()
        .with_partition(0)
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default()
        .with_topic(topic_name("t"))
        .with_partitions(vec![partition]);
    // version 2 has no replica id
    let request = OffsetForLeaderEpochRequest::default()
        .with_replica_id(BrokerId(if version >= 3 { -1 } else { -2 }))
        .with_topics(vec![topic]);
    let response = client.call(&request, version).await;
    let end = &response.topics[0].partitions[0];
    (end.error_code, end.leader_epoch, end.end_offset)
}

#[tokio::test]
async fn b113_an_unclean_election_shows_in_the_epochs() {
    let broker = broker();
    let mut client = client(&broker, 1);
    assert_eq!(broker.bump_leader_epoch("t", 0).expect("bumped"), 1);
    broker.produce("t", 0, ["under epoch 1"]).expect("produced");
    for version in 2..=4 {
        assert_eq!(end_of(&mut client, -1, 0, version).await, (0, 0, 4));
        assert_eq!(end_of(&mut client, -1, 1, version).await, (0, 1, 5));
        assert_eq!(end_of(&mut client, -1, 2, version).await, (0, -1, -1));
    }
    // the log loses what was written under epoch 1 and more; the next leader has epoch 2
    broker.truncate("t", 0, 2).expect("truncated");
    broker.bump_leader_epoch("t", 0).expect("bumped");
    assert_eq!(end_of(&mut client, 2, 0, 4).await, (0, 0, 2));
    assert_eq!(end_of(&mut client, 2, 1, 4).await, (0, 0, 2));
    assert_eq!(
        end_of(&mut client, 1, 1, 4).await,
        (ResponseError::FencedLeaderEpoch.code(), -1, -1)
    );
    assert_eq!(
        end_of(&mut client, 3, 1, 4).await,
        (ResponseError::UnknownLeaderEpoch.code(), -1, -1)
    );
}
