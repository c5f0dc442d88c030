use super::*;

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData,
};
use kafka_protocol::messages::{BrokerId, ProducerId, ResponseHeader, TopicName};
use kafka_protocol::protocol::{Encodable, StrBytes};

use crate::log::{EpochEndOffset as LogEpochEndOffset, ReadData};

fn read(records: Vec<Bytes>) -> PartitionRead {
    let size = records.iter().map(Bytes::len).sum();
    PartitionRead {
        high_watermark: 100,
        last_stable_offset: 90,
        log_start_offset: 7,
        data: ReadData {
            records,
            size,
            aborted: None,
        },
        ..PartitionRead::failed(0)
    }
}

fn named(topic: &str, id: u128, partition: i32, read: PartitionRead) -> Named {
    Named {
        topic: Arc::from(topic),
        topic_id: Uuid::from_u128(id),
        partition,
        read,
        current_leader: None,
    }
}

/// One partition of each kind.
fn answer() -> FetchAnswer {
    let large = Bytes::from(vec![5; 10_000]);
    let mut aborted = read(vec![
        Bytes::from_static(b"abc"),
        large,
        Bytes::from_static(b"z"),
    ]);
    aborted.data.aborted = Some(vec![
        record_batch::AbortedTransaction {
            producer_id: 4,
            first_offset: 8,
        },
        record_batch::AbortedTransaction {
            producer_id: i64::MAX,
            first_offset: 0,
        },
    ]);
    let mut nothing_aborted = read(Vec::new());
    nothing_aborted.data.aborted = Some(Vec::new());
    let mut preferred = read(Vec::new());
    preferred.preferred_read_replica = Some(3);
    let mut diverging = read(Vec::new());
    diverging.diverging_epoch = Some(LogEpochEndOffset {
        epoch: 2,
        end_offset: 50,
    });
    let mut moved = named("b", 2, 300, PartitionRead::failed(6));
    moved.current_leader = Some(CurrentLeader { id: 9, epoch: 11 });
    let endpoint = |node, rack: Option<&str>| Endpoint {
        node,
        host: format!("host-{node}"),
        port: 9000 + node,
        rack: rack.map(str::to_owned),
    };
    FetchAnswer {
        error: 71,
        session_id: 12345,
        partitions: vec![
            named("a", 1, 0, aborted),
            named("a", 1, 1, nothing_aborted),
            named("b", 2, 0, preferred),
            moved,
            named("a", 1, 2, diverging),
        ],
        endpoints: vec![endpoint(9, Some("far")), endpoint(10, None)],
    }
}

/// The same answer in the types of the protocol crate.
fn reference(answer: &FetchAnswer, version: i16) -> FetchResponse {
    let topics = by_topic(&answer.partitions).map(|partitions| {
        let first = &partitions[0];
        let data = partitions.iter().map(|named| partition(named, version));
        let topic = FetchableTopicResponse::default().with_partitions(data.collect());
        match version {
            13.. => topic.with_topic_id(first.topic_id),
            _ => topic.with_topic(TopicName(StrBytes::from_string(first.topic.to_string()))),
        }
    });
    let endpoints = answer.endpoints.iter().map(|endpoint| {
        NodeEndpoint::default()
            .with_node_id(BrokerId(endpoint.node))
            .with_host(StrBytes::from_string(endpoint.host.clone()))
            .with_port(endpoint.port)
            .with_rack(endpoint.rack.clone().map(StrBytes::from_string))
    });
    let response = FetchResponse::default()
        .with_throttle_time_ms(77)
        .with_responses(topics.collect());
    let response = match version {
        7.. => response
            .with_error_code(answer.error)
            .with_session_id(answer.session_id),
        _ => response,
    };
    match version {
        16.. => response.with_node_endpoints(endpoints.collect()),
        _ => response,
    }
}

fn partition(named: &Named, version: i16) -> PartitionData {
    let read = &named.read;
    let aborted = read.data.aborted.as_ref().map(|list| {
        let list = list.iter().map(|aborted| {
            AbortedTransaction::default()
                .with_producer_id(ProducerId(aborted.producer_id))
                .with_first_offset(aborted.first_offset)
        });
        list.collect()
    });
    let mut data = PartitionData::default()
        .with_partition_index(named.partition)
        .with_error_code(read.error)
        .with_high_watermark(read.high_watermark)
        .with_last_stable_offset(read.last_stable_offset)
        .with_aborted_transactions(aborted)
        .with_records(Some(read.data.records.concat().into()));
    if version >= 5 {
        data.log_start_offset = read.log_start_offset;
    }
    if version >= 11 {
        data.preferred_read_replica = BrokerId(read.preferred_read_replica.unwrap_or(-1));
    }
    if let Some(end) = read.diverging_epoch.filter(|_| version >= 12) {
        data.diverging_epoch = EpochEndOffset::default()
            .with_epoch(end.epoch)
            .with_end_offset(end.end_offset);
    }
    if let Some(leader) = named.current_leader.filter(|_| version >= 12) {
        data.current_leader = LeaderIdAndEpoch::default()
            .with_leader_id(BrokerId(leader.id))
            .with_leader_epoch(leader.epoch);
    }
    data
}

#[test]
fn every_version_is_encoded_as_the_protocol_crate_does() {
    for version in 4..=18 {
        let mut answer = answer();
        if version < 16 {
            // only from then on does the broker fill it in
            answer.endpoints.clear();
        }
        let reference = reference(&answer, version);
        let mut expected = BytesMut::new();
        ResponseHeader::default()
            .with_correlation_id(-5)
            .encode(&mut expected, FetchResponse::header_version(version))
            .expect("a header");
        reference
            .encode(&mut expected, version)
            .expect("a response");
        let context = RequestContext {
            client_id: None,
            node: 1,
            version,
            correlation_id: -5,
            now: Duration::ZERO,
            errors: Vec::new(),
            throttle_ms: 77,
        };
        let frame = answer.into_frame(&context).join();
        assert_eq!(frame[..4], (expected.len() as i32).to_be_bytes());
        assert_eq!(frame[4..], expected[..], "version {version}");
    }
}
