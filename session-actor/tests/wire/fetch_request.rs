//! Requests byte for byte as the crate encodes them.

use crate::random::Random;
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::{ApiKey, FetchRequest, RequestHeader};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use proptest::prelude::*;
use session_actor::wire;
use session_actor::wire::fetch::{EncodeError, IsolationLevel, TOPIC_IDS_SINCE, VERSIONS};
use uuid::Uuid;

struct Topic {
    name: String,
    id: Uuid,
}

fn topics(random: &mut Random) -> Vec<Topic> {
    (0..4)
        .map(|index| Topic {
            name: format!("{index}{}", &*random.text()),
            id: random.uuid(),
        })
        .collect()
}

fn topic_of(topic: &Topic) -> wire::fetch::FetchTopic<'_> {
    wire::fetch::FetchTopic {
        name: &topic.name,
        id: topic.id,
    }
}

/// Topics in random order, some twice, some often enough that their count needs more than one byte.
fn order<'t>(topics: &'t [Topic], random: &mut Random) -> Vec<&'t Topic> {
    let runs = random.0.usize(0..8);
    let mut order = Vec::new();
    for _ in 0..runs {
        let topic = &topics[random.0.usize(..topics.len())];
        let run = if random.0.u8(0..8) == 0 {
            200
        } else {
            random.0.usize(1..4)
        };
        order.extend(std::iter::repeat_n(topic, run));
    }
    order
}

fn name(topic: &Topic, version: i16) -> StrBytes {
    match version < TOPIC_IDS_SINCE {
        true => StrBytes::from_string(topic.name.clone()),
        false => StrBytes::new(),
    }
}

fn id(topic: &Topic, version: i16) -> Uuid {
    match version < TOPIC_IDS_SINCE {
        true => Uuid::nil(),
        false => topic.id,
    }
}

fn oracle(
    version: i16,
    header: &RequestHeader,
    request: &wire::fetch::FetchRequest<'_>,
    partitions: &[(&Topic, wire::fetch::FetchPartition<'_>)],
    forgotten: &[(&Topic, i32)],
) -> BytesMut {
    let by_topic = |one: &&Topic, other: &&Topic| one.name == other.name;
    let fetched = partitions
        .chunk_by(|one, other| by_topic(&one.0, &other.0))
        .map(|run| {
            let partition = |(_, partition): &(_, wire::fetch::FetchPartition<'_>)| {
                FetchPartition::default()
                    .with_partition(partition.partition)
                    .with_current_leader_epoch(partition.current_leader_epoch)
                    .with_fetch_offset(partition.fetch_offset)
                    .with_partition_max_bytes(partition.partition_max_bytes)
            };
            FetchTopic::default()
                .with_topic(name(run[0].0, version).into())
                .with_topic_id(id(run[0].0, version))
                .with_partitions(run.iter().map(partition).collect())
        });
    let forgotten = forgotten
        .chunk_by(|one, other| by_topic(&one.0, &other.0))
        .map(|run| {
            ForgottenTopic::default()
                .with_topic(name(run[0].0, version).into())
                .with_topic_id(id(run[0].0, version))
                .with_partitions(run.iter().map(|(_, partition)| *partition).collect())
        });
    let body = FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_wait_ms(request.max_wait_ms)
        .with_min_bytes(request.min_bytes)
        .with_max_bytes(request.max_bytes)
        .with_isolation_level(request.isolation_level as i8)
        .with_session_id(request.session_id)
        .with_session_epoch(request.session_epoch)
        .with_topics(fetched.collect())
        .with_forgotten_topics_data(forgotten.collect())
        .with_rack_id(StrBytes::from_string(request.rack_id.to_owned()));
    let mut frame = BytesMut::new();
    frame.put_i32(0);
    let header_version = ApiKey::Fetch.request_header_version(version);
    header.encode(&mut frame, header_version).expect("a header");
    body.encode(&mut frame, version).expect("a body");
    let len = i32::try_from(frame.len() - 4).expect("a frame's length");
    frame[..4].copy_from_slice(&len.to_be_bytes());
    frame
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn requests_are_the_crates_byte_for_byte(seed: u64) {
        let random = &mut Random::new(seed);
        let topics = topics(random);
        for version in VERSIONS.min..=VERSIONS.max {
            let rack = random.text();
            let client_id = random.text();
            let request = wire::fetch::FetchRequest {
                max_wait_ms: random.i32(),
                min_bytes: random.i32(),
                max_bytes: random.i32(),
                isolation_level: match random.bool() {
                    true => IsolationLevel::ReadCommitted,
                    false => IsolationLevel::ReadUncommitted,
                },
                session_id: random.i32(),
                session_epoch: random.i32(),
                rack_id: &rack,
            };
            let partitions: Vec<_> = order(&topics, random)
                .into_iter()
                .map(|topic| (topic, wire::fetch::FetchPartition {
                    topic: topic_of(topic),
                    partition: random.i32(),
                    current_leader_epoch: random.i32(),
                    fetch_offset: random.i64(),
                    partition_max_bytes: random.i32(),
                }))
                .collect();
            let forgotten: Vec<_> = match version >= 7 {
                true => order(&topics, random).into_iter().map(|topic| (topic, random.i32())).collect(),
                false => vec![],
            };
            let correlation_id = random.i32();
            let header = RequestHeader::default()
                .with_request_api_key(1)
                .with_request_api_version(version)
                .with_correlation_id(correlation_id)
                .with_client_id(Some(client_id.clone()));
            let expected = oracle(version, &header, &request, &partitions, &forgotten);

            let mut frame = BytesMut::from("before");
            request.encode(
                version,
                wire::RequestHeader { correlation_id, client_id: &client_id },
                partitions.iter().map(|(_, partition)| *partition),
                forgotten.iter().map(|(topic, partition)| wire::fetch::ForgottenPartition {
                    topic: topic_of(topic),
                    partition: *partition,
                }),
                &mut frame,
            ).expect("a request");
            prop_assert_eq!(&frame[..6], b"before");
            prop_assert_eq!(&frame[6..], &expected[..], "v{}", version);
        }
    }
}

#[test]
fn what_a_version_cannot_carry_is_refused_and_nothing_written() {
    let request = wire::fetch::FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 1 << 20,
        isolation_level: IsolationLevel::default(),
        session_id: 0,
        session_epoch: -1,
        rack_id: "",
    };
    let topic = Topic {
        name: "orders".into(),
        id: Uuid::nil(),
    };
    let partition = wire::fetch::FetchPartition {
        topic: topic_of(&topic),
        partition: 0,
        current_leader_epoch: -1,
        fetch_offset: 0,
        partition_max_bytes: 1,
    };
    let forgotten = wire::fetch::ForgottenPartition {
        topic: topic_of(&topic),
        partition: 0,
    };
    let encode = |version, client_id: &str, forgotten: Option<_>| {
        let mut out = BytesMut::from("before");
        let header = wire::RequestHeader {
            correlation_id: 7,
            client_id,
        };
        let partitions = std::iter::once(partition);
        let done = request.encode(version, header, partitions, forgotten.into_iter(), &mut out);
        assert!(done.is_ok() || out == "before");
        done
    };
    assert_eq!(encode(3, "c", None), Err(EncodeError::Version(3)));
    assert_eq!(encode(18, "c", None), Err(EncodeError::Version(18)));
    assert_eq!(
        encode(6, "c", Some(forgotten)),
        Err(EncodeError::Forgotten(6))
    );
    assert_eq!(encode(12, "c", Some(forgotten)), Ok(()));
    assert_eq!(
        encode(13, "c", None),
        Err(EncodeError::NoTopicId {
            version: 13,
            topic: "orders".into()
        })
    );
    let error = encode(12, &"c".repeat(40_000), None).expect_err("too long");
    assert_eq!(error.to_string(), "client.id is too long");
}

/// Entries for topics in a request for one partition of each of these topics, as the crate reads it.
fn entries(version: i16, topics: &[Topic]) -> usize {
    let request = wire::fetch::FetchRequest {
        max_wait_ms: 0,
        min_bytes: 0,
        max_bytes: 0,
        isolation_level: IsolationLevel::default(),
        session_id: 0,
        session_epoch: -1,
        rack_id: "",
    };
    let partitions = topics.iter().map(|topic| wire::fetch::FetchPartition {
        topic: topic_of(topic),
        partition: 0,
        current_leader_epoch: -1,
        fetch_offset: 0,
        partition_max_bytes: 0,
    });
    let header = wire::RequestHeader {
        correlation_id: 0,
        client_id: "",
    };
    let mut frame = BytesMut::new();
    let encoded = request.encode(version, header, partitions, std::iter::empty(), &mut frame);
    encoded.expect("a request");
    let mut frame = frame.split_off(4).freeze();
    let header_version = ApiKey::Fetch.request_header_version(version);
    RequestHeader::decode(&mut frame, header_version).expect("a header");
    let request = FetchRequest::decode(&mut frame, version).expect("a body");
    assert!(frame.is_empty());
    request.topics.len()
}

#[test]
fn a_topic_made_anew_under_its_old_name_is_another_one_where_ids_count() {
    let topic = |name: &str, id| Topic {
        name: name.into(),
        id: Uuid::from_u128(id),
    };
    let anew = [topic("orders", 1), topic("orders", 2)];
    assert_eq!((entries(12, &anew), entries(13, &anew)), (1, 2));
    let unknown_ids = [topic("orders", 0), topic("payments", 0)];
    assert_eq!(entries(12, &unknown_ids), 2);
}
