//! Responses as the crate reads them, and hostile ones.

use crate::allocations::allocated;
use crate::random::Random;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData, SnapshotId,
};
use kafka_protocol::messages::{ApiKey, FetchResponse, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable};
use proptest::prelude::*;
use session_actor::wire::fetch::{FetchDecoder, Partition, TopicKey, VERSIONS};
use session_actor::wire::{ErrorCode, Malformed, Problem};

fn partition(random: &mut Random, version: i16) -> PartitionData {
    let data = PartitionData::default()
        .with_partition_index(random.i32())
        .with_error_code(random.i16())
        .with_high_watermark(random.i64())
        .with_last_stable_offset(random.i64())
        .with_log_start_offset(if version >= 5 { random.i64() } else { -1 })
        .with_aborted_transactions(random.maybe(|random| {
            random.list(|random| {
                AbortedTransaction::default()
                    .with_producer_id(random.i64().into())
                    .with_first_offset(random.i64())
                    .with_unknown_tagged_fields(random.tags())
            })
        }))
        .with_preferred_read_replica(if version >= 11 { random.i32() } else { -1 }.into())
        .with_records(random.maybe(Random::bytes))
        .with_unknown_tagged_fields(random.tags());
    if version < 12 {
        return data;
    }
    let diverging = EpochEndOffset::default()
        .with_epoch(random.i32())
        .with_end_offset(random.i64())
        .with_unknown_tagged_fields(random.tags());
    let leader = LeaderIdAndEpoch::default()
        .with_leader_id(random.i32().into())
        .with_leader_epoch(random.i32())
        .with_unknown_tagged_fields(random.tags());
    let snapshot = SnapshotId::default()
        .with_end_offset(random.i64())
        .with_epoch(random.i32());
    data.with_diverging_epoch(random.maybe(|_| diverging).unwrap_or_default())
        .with_current_leader(random.maybe(|_| leader).unwrap_or_default())
        .with_snapshot_id(random.maybe(|_| snapshot).unwrap_or_default())
}

fn response(random: &mut Random, version: i16) -> FetchResponse {
    let topics = random.list(|random| {
        let topic = FetchableTopicResponse::default()
            .with_partitions(random.list(|random| partition(random, version)))
            .with_unknown_tagged_fields(random.tags());
        match version >= 13 {
            true => topic.with_topic_id(random.uuid()),
            false => topic.with_topic(random.text().into()),
        }
    });
    let response = FetchResponse::default()
        .with_throttle_time_ms(random.i32())
        .with_error_code(if version >= 7 { random.i16() } else { 0 })
        .with_session_id(if version >= 7 { random.i32() } else { 0 })
        .with_responses(topics)
        .with_unknown_tagged_fields(random.tags());
    if version < 16 {
        return response;
    }
    response.with_node_endpoints(random.list(|random| {
        NodeEndpoint::default()
            .with_node_id(random.i32().into())
            .with_host(random.text())
            .with_port(random.i32())
            .with_rack(random.maybe(Random::text))
            .with_unknown_tagged_fields(random.tags())
    }))
}

/// A response without its correlation id, as the decoder takes it.
fn frame(response: &FetchResponse, random: &mut Random, version: i16) -> Bytes {
    let header = ResponseHeader::default().with_unknown_tagged_fields(random.tags());
    let mut frame = BytesMut::new();
    let header_version = ApiKey::Fetch.response_header_version(version);
    header.encode(&mut frame, header_version).expect("a header");
    response.encode(&mut frame, version).expect("a body");
    frame.split_off(4).freeze()
}

/// The crate's reading of a frame that our decoder has taken.
fn oracle(frame: &Bytes, version: i16) -> Option<FetchResponse> {
    let mut whole = BytesMut::from(&[0; 4][..]);
    whole.extend_from_slice(frame);
    let mut whole = whole.freeze();
    let header_version = ApiKey::Fetch.response_header_version(version);
    ResponseHeader::decode(&mut whole, header_version).ok()?;
    let response = FetchResponse::decode(&mut whole, version).ok()?;
    assert!(whole.is_empty());
    Some(response)
}

fn assert_same(frame: &Bytes, version: i16, decoder: &mut FetchDecoder, expected: &FetchResponse) {
    let ours = decoder
        .decode(version, frame, usize::MAX)
        .expect("a response");
    assert_eq!(ours.throttle_time_ms, expected.throttle_time_ms);
    assert_eq!(ours.error_code, ErrorCode(expected.error_code));
    assert_eq!(ours.session_id, expected.session_id);
    assert_eq!(ours.topics().len(), expected.responses.len());
    let count: usize = expected
        .responses
        .iter()
        .map(|topic| topic.partitions.len())
        .sum();
    assert_eq!(ours.partition_count(), count);
    for (topic, expected) in ours.topics().zip(&expected.responses) {
        match topic.key() {
            TopicKey::Id(id) => assert_eq!((id, version >= 13), (expected.topic_id, true)),
            TopicKey::Name(name) => {
                assert_eq!((name, version < 13), (expected.topic.as_bytes(), true))
            }
        }
        assert_eq!(topic.partitions().len(), expected.partitions.len());
        for (partition, expected) in topic.partitions().zip(&expected.partitions) {
            assert_same_partition(frame, partition, expected);
        }
    }
    let endpoints = expected.node_endpoints.iter();
    assert!(
        ours.node_endpoints()
            .map(|node| (node.node_id, node.host, node.port))
            .eq(endpoints.map(|node| (node.node_id.0, &*node.host, node.port)))
    );
}

fn assert_same_partition(frame: &Bytes, ours: Partition<'_>, expected: &PartitionData) {
    assert_eq!(ours.partition, expected.partition_index);
    assert_eq!(ours.error_code, ErrorCode(expected.error_code));
    assert_eq!(ours.high_watermark, expected.high_watermark);
    assert_eq!(ours.last_stable_offset, expected.last_stable_offset);
    assert_eq!(ours.log_start_offset, expected.log_start_offset);
    let replica = expected.preferred_read_replica.0;
    assert_eq!(
        ours.preferred_read_replica,
        (replica >= 0).then_some(replica)
    );
    let leader = &expected.current_leader;
    let known = leader.leader_id.0 >= 0 && leader.leader_epoch >= 0;
    assert_eq!(
        ours.current_leader
            .map(|ours| (ours.leader_id, ours.leader_epoch)),
        known.then_some((leader.leader_id.0, leader.leader_epoch))
    );
    let diverging = &expected.diverging_epoch;
    assert_eq!(
        ours.diverging_epoch
            .map(|ours| (ours.epoch, ours.end_offset)),
        (diverging.epoch >= 0).then_some((diverging.epoch, diverging.end_offset))
    );
    let aborted = expected.aborted_transactions.as_deref().unwrap_or_default();
    assert_eq!(ours.aborted_transactions().len(), aborted.len());
    assert!(
        ours.aborted_transactions()
            .map(|ours| (ours.producer_id, ours.first_offset))
            .eq(aborted
                .iter()
                .map(|aborted| (aborted.producer_id.0, aborted.first_offset)))
    );
    let records = ours.records();
    assert_eq!(records, expected.records.clone().unwrap_or_default());
    assert_eq!(ours.records_len(), records.len());
    let shared = frame.as_ptr_range();
    assert!(
        records.is_empty() || shared.contains(&records.as_ptr()),
        "the records were copied"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn responses_are_read_as_the_crate_reads_them(seed: u64) {
        let random = &mut Random::new(seed);
        let mut decoder = FetchDecoder::default();
        for version in VERSIONS.min..=VERSIONS.max {
            let expected = response(random, version);
            let frame = frame(&expected, random, version);
            assert_same(&frame, version, &mut decoder, &expected);
            let cut = frame.slice(..random.0.usize(..frame.len()));
            prop_assert!(decoder.decode(version, &cut, usize::MAX).is_err());
            let longer: Bytes = [&frame[..], &[0]].concat().into();
            prop_assert!(decoder.decode(version, &longer, usize::MAX).is_err());
        }
    }

    #[test]
    fn f017_mutated_responses_are_refused_or_read_alike(seed: u64) {
        let random = &mut Random::new(seed);
        for version in VERSIONS.min..=VERSIONS.max {
            let whole = response(random, version);
            let whole = frame(&whole, random, version);
            for _ in 0..16 {
                let mut bytes = whole.to_vec();
                let at = random.0.usize(..bytes.len());
                match random.0.u8(0..4) {
                    0 => bytes[at] = random.0.u8(..),
                    1 => bytes.insert(at, random.0.u8(..)),
                    2 => { bytes.remove(at); }
                    _ => {
                        let end = bytes.len().min(at + 4);
                        bytes[at..end].fill(0xff);
                        bytes[at] = 0x7f;
                    }
                }
                let frame = Bytes::from(bytes);
                let mut decoder = FetchDecoder::default();
                let (taken, bytes) = allocated(|| decoder.decode(version, &frame, usize::MAX).is_ok());
                // vectors that double as they grow, of entries four times as large as on the wire
                prop_assert!(bytes <= 8 * 1024 + 16 * frame.len(), "{} bytes", bytes);
                // the crate is stricter where it does not matter: names that are not UTF-8, a tag ahead of its version
                if taken && let Some(expected) = oracle(&frame, version) {
                    assert_same(&frame, version, &mut decoder, &expected);
                }
            }
        }
    }
}

fn fault(version: i16, frame: &[u8]) -> Malformed {
    let frame = Bytes::copy_from_slice(frame);
    let mut decoder = FetchDecoder::default();
    let (error, bytes) = allocated(|| decoder.decode(version, &frame, 10).map(|_| ()));
    assert_eq!(bytes, 0);
    error.expect_err("malformed")
}

#[test]
fn f017_a_fetch_response_that_claims_two_billion_entries() {
    let error = fault(4, &[0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(
        error.to_string(),
        "FetchResponse v4, byte 4, responses: claims 2147483647 entries of at least 6 bytes each, 0 bytes are left",
    );
    let compact: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0x0f];
    for (version, before, claim, smallest) in [
        (7, 10, &[0x7f, 0xff, 0xff, 0xff][..], 6),
        (12, 11, compact, 3),
        (17, 11, compact, 18),
    ] {
        let error = fault(version, &[&vec![0; before][..], claim].concat());
        assert_eq!((error.field, error.position), ("responses", before));
        assert!(
            matches!(error.problem, Problem::Count { least, left: 0, .. } if least == smallest)
        );
    }
}

#[test]
fn more_partitions_than_were_asked_for_are_refused() {
    let random = &mut Random::new(1);
    let topic = |random: &mut Random| {
        FetchableTopicResponse::default()
            .with_topic_id(random.uuid())
            .with_partitions(vec![partition(random, 17), partition(random, 17)])
    };
    let response = FetchResponse::default().with_responses(vec![topic(random), topic(random)]);
    let frame = frame(&response, random, 17);
    let mut decoder = FetchDecoder::default();
    assert_eq!(
        decoder
            .decode(17, &frame, 4)
            .map(|taken| taken.partition_count()),
        Ok(4)
    );
    let error = decoder
        .decode(17, &frame, 3)
        .map(|_| ())
        .expect_err("one too many");
    assert_eq!(error.problem, Problem::MoreThanAsked { limit: 3 });
}

#[test]
fn no_allocation_per_partition_once_the_decoder_is_warm() {
    let random = &mut Random::new(2);
    let partitions = (0..500).map(|_| partition(random, 17)).collect();
    let topic = FetchableTopicResponse::default()
        .with_topic_id(random.uuid())
        .with_partitions(partitions);
    let frame = frame(
        &FetchResponse::default().with_responses(vec![topic]),
        random,
        17,
    );
    let mut decoder = FetchDecoder::default();
    decoder.decode(17, &frame, 500).expect("a response");
    let (seen, bytes) = allocated(|| {
        let response = decoder.decode(17, &frame, 500).expect("a response");
        let partitions = response.topics().flat_map(|topic| topic.partitions());
        partitions
            .map(|partition| partition.records().len() + partition.aborted_transactions().count())
            .sum::<usize>()
    });
    assert!(seen > 0);
    assert_eq!(bytes, 0);
}
