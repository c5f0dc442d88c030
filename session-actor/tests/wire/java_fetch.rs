//! Fetch as `kafka-clients` 4.4.0 writes it: `java_fetch.txt` has one request and one response of each version, printed from
//! its `FetchRequest` and `FetchResponseData`, headers included.

use bytes::{Buf, Bytes, BytesMut};
use session_actor::wire::fetch::{
    AbortedTransaction, EpochEndOffset, FetchDecoder, FetchPartition, FetchRequest, FetchTopic,
    ForgottenPartition, IsolationLevel, LeaderIdAndEpoch, NodeEndpoint, TopicKey, VERSIONS,
};
use session_actor::wire::{ErrorCode, RequestHeader};
use uuid::Uuid;

const ORDERS: FetchTopic<'_> = FetchTopic {
    name: "orders",
    id: Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10),
};
const PAYMENTS: FetchTopic<'_> = FetchTopic {
    name: "payments",
    id: Uuid::from_u128(0x1_0000_0000_0000_0002),
};

/// The bytes of each version of a message.
fn vectors(kind: &str) -> Vec<(i16, Bytes)> {
    let lines = include_str!("java_fetch.txt").lines();
    let vectors: Vec<_> = lines
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|words| words[0] == kind)
        .map(|words| (words[1].parse().expect("a version"), unhex(words[2])))
        .collect();
    let versions: Vec<i16> = vectors.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (VERSIONS.min..=VERSIONS.max).collect::<Vec<_>>());
    vectors
}

fn unhex(text: &str) -> Bytes {
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn partition(partition: i32, topic: FetchTopic<'_>, epoch: i32, offset: i64) -> FetchPartition<'_> {
    FetchPartition {
        topic,
        partition,
        current_leader_epoch: epoch,
        fetch_offset: offset,
        partition_max_bytes: 1_048_576,
    }
}

#[test]
fn requests_are_those_of_the_java_client() {
    let partitions = [
        partition(0, ORDERS, 5, 1000),
        partition(1, ORDERS, -1, 2000),
        partition(2, PAYMENTS, 5, 0),
    ];
    for (version, expected) in vectors("request") {
        let request = FetchRequest {
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: 52_428_800,
            isolation_level: IsolationLevel::ReadCommitted,
            session_id: 77,
            session_epoch: 3,
            rack_id: "rack-a",
        };
        let header = RequestHeader {
            correlation_id: 42,
            client_id: "tests",
        };
        let forgotten: &[i32] = if version >= 7 { &[4, 5] } else { &[] };
        let forgotten = forgotten.iter().map(|partition| ForgottenPartition {
            topic: PAYMENTS,
            partition: *partition,
        });
        let mut frame = BytesMut::new();
        let encoded = request.encode(
            version,
            header,
            partitions.iter().copied(),
            forgotten,
            &mut frame,
        );
        encoded.expect("a request");
        assert_eq!(frame.get_u32() as usize, expected.len());
        assert_eq!(frame, expected, "v{version}");
    }
}

#[test]
fn responses_of_the_java_client_are_understood() {
    let mut decoder = FetchDecoder::default();
    for (version, mut frame) in vectors("response") {
        assert_eq!(
            session_actor::wire::take_correlation_id(&mut frame),
            Some(42)
        );
        let response = decoder.decode(version, &frame, 2).expect("a response");
        let session = if version >= 7 { 77 } else { 0 };
        assert_eq!(
            (response.throttle_time_ms, response.session_id),
            (9, session)
        );
        assert!(response.error_code.is_ok());

        let topics: Vec<_> = response.topics().collect();
        let key = match version >= 13 {
            true => TopicKey::Id(ORDERS.id),
            false => TopicKey::Name(b"orders"),
        };
        assert_eq!((topics.len(), topics[0].key()), (1, key));

        let partitions: Vec<_> = topics[0].partitions().collect();
        let [good, moved] = partitions[..] else {
            panic!("two partitions");
        };
        assert_eq!((good.partition, good.error_code), (0, ErrorCode::NONE));
        assert_eq!((good.high_watermark, good.last_stable_offset), (1100, 1050));
        assert_eq!(good.log_start_offset, if version >= 5 { 10 } else { -1 });
        assert_eq!(good.preferred_read_replica, (version >= 11).then_some(3));
        assert_eq!((good.current_leader, good.diverging_epoch), (None, None));
        assert_eq!(good.records(), "records");
        let aborted: Vec<_> = good.aborted_transactions().collect();
        let transaction = |producer_id, first_offset| AbortedTransaction {
            producer_id,
            first_offset,
        };
        assert_eq!(aborted, [transaction(11, 1001), transaction(12, 1020)]);

        assert_eq!(
            (moved.partition, moved.error_code),
            (1, ErrorCode::NOT_LEADER_OR_FOLLOWER)
        );
        assert_eq!(
            (moved.high_watermark, moved.preferred_read_replica),
            (-1, None)
        );
        assert_eq!(
            (moved.records_len(), moved.aborted_transactions().len()),
            (0, 0)
        );
        let leader = LeaderIdAndEpoch {
            leader_id: 2,
            leader_epoch: 8,
        };
        assert_eq!(moved.current_leader, (version >= 12).then_some(leader));
        let diverging = EpochEndOffset {
            epoch: 4,
            end_offset: 990,
        };
        assert_eq!(moved.diverging_epoch, (version >= 12).then_some(diverging));

        let endpoint = NodeEndpoint {
            node_id: 2,
            host: "b2.example",
            port: 9093,
        };
        let expected = if version >= 16 {
            vec![endpoint]
        } else {
            vec![]
        };
        assert_eq!(response.node_endpoints().collect::<Vec<_>>(), expected);
    }
}
