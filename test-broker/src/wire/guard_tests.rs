use super::*;

use bytes::{Bytes, BytesMut};
use fastrand::Rng;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::fetch_request::{
    FetchPartition, FetchTopic, ForgottenTopic, ReplicaState,
};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Request, StrBytes};
use uuid::Uuid;

#[path = "guard_group_tests.rs"]
mod groups;

fn text(value: &'static str) -> StrBytes {
    StrBytes::from_static_str(value)
}

fn name(value: &'static str) -> TopicName {
    TopicName(text(value))
}

/// An encoded request, and a decoder to hold the check against.
struct Sample {
    api: ApiKey,
    version: i16,
    body: Bytes,
    decode: fn(&mut Bytes, i16) -> bool,
}

fn sample<R: Request>(version: i16, request: R) -> Sample {
    let mut body = BytesMut::new();
    request.encode(&mut body, version).expect("a valid request");
    Sample {
        api: ApiKey::try_from(R::KEY).expect("a known key"),
        version,
        body: body.freeze(),
        decode: |body, version| R::decode(body, version).is_ok(),
    }
}

fn all<R: Request>(samples: &mut Vec<Sample>, make: impl Fn(i16) -> R) {
    for version in R::VERSIONS.min..=R::VERSIONS.max {
        samples.push(sample(version, make(version)));
    }
}

/// Requests in which every array has two elements and every field of the version is set.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    all(&mut samples, |version| match version {
        0..=2 => ApiVersionsRequest::default(),
        _ => ApiVersionsRequest::default()
            .with_client_software_name(text("name"))
            .with_client_software_version(text("1.0")),
    });
    all(&mut samples, |version| {
        let topic = |topic| {
            let topic = MetadataRequestTopic::default().with_name(Some(name(topic)));
            match version {
                0..=9 => topic,
                _ => topic.with_topic_id(Uuid::from_u128(5)),
            }
        };
        MetadataRequest::default()
            .with_topics(Some(vec![topic("a"), topic("b")]))
            .with_include_topic_authorized_operations(version >= 8)
    });
    all(&mut samples, |_| {
        let assignment =
            CreatableReplicaAssignment::default().with_broker_ids(vec![BrokerId(1), BrokerId(2)]);
        let config = CreatableTopicConfig::default()
            .with_name(text("cleanup.policy"))
            .with_value(Some(text("compact")));
        let topic = CreatableTopic::default()
            .with_name(name("a"))
            .with_assignments(vec![assignment.clone(), assignment])
            .with_configs(vec![config.clone(), config.with_value(None)]);
        CreateTopicsRequest::default().with_topics(vec![topic.clone(), topic])
    });
    all(&mut samples, |version| {
        let request = DeleteTopicsRequest::default().with_timeout_ms(7);
        let topic = DeleteTopicState::default().with_name(Some(name("a")));
        match version {
            0..=5 => request.with_topic_names(vec![name("a"), name("b")]),
            _ => request.with_topics(vec![topic.clone(), topic.with_name(None)]),
        }
    });
    all(&mut samples, |_| {
        InitProducerIdRequest::default().with_transactional_id(Some(text("t").into()))
    });
    all(&mut samples, |version| {
        let partition =
            PartitionProduceData::default().with_records(Some(Bytes::from_static(b"some records")));
        let topic = TopicProduceData::default()
            .with_partition_data(vec![partition.clone(), partition.with_records(None)]);
        let topic = match version {
            0..=12 => topic.with_name(name("a")),
            _ => topic.with_topic_id(Uuid::from_u128(5)),
        };
        ProduceRequest::default().with_topic_data(vec![topic.clone(), topic])
    });
    all(&mut samples, fetch);
    groups::samples(&mut samples);
    all(&mut samples, |_| {
        let partition = ListOffsetsPartition::default();
        let topic = ListOffsetsTopic::default()
            .with_name(name("a"))
            .with_partitions(vec![partition.clone(), partition]);
        ListOffsetsRequest::default().with_topics(vec![topic.clone(), topic])
    });
    all(&mut samples, |_| {
        let partition = OffsetForLeaderPartition::default();
        let topic = OffsetForLeaderTopic::default()
            .with_topic(name("a"))
            .with_partitions(vec![partition.clone(), partition]);
        OffsetForLeaderEpochRequest::default().with_topics(vec![topic.clone(), topic])
    });
    samples
}

fn fetch(version: i16) -> FetchRequest {
    let mut partition = FetchPartition::default();
    if version >= 17 {
        partition.replica_directory_id = Uuid::from_u128(3);
    }
    if version >= 18 {
        partition.high_watermark = 4;
    }
    let mut topic = FetchTopic::default().with_partitions(vec![partition.clone(), partition]);
    let mut forgotten = ForgottenTopic::default().with_partitions(vec![1, 2]);
    if version >= 13 {
        topic.topic_id = Uuid::from_u128(5);
        forgotten.topic_id = Uuid::from_u128(5);
    } else {
        topic.topic = name("a");
        forgotten.topic = name("a");
    }
    let mut request = FetchRequest::default().with_topics(vec![topic.clone(), topic]);
    if version >= 7 {
        request.forgotten_topics_data = vec![forgotten.clone(), forgotten];
    }
    if version >= 11 {
        request.rack_id = text("rack");
    }
    if version >= 12 {
        request.cluster_id = Some(text("cluster"));
    }
    if version >= 15 {
        request.replica_state = ReplicaState::default().with_replica_id(BrokerId(2));
    }
    request
}

#[test]
fn the_walk_ends_where_the_request_ends() {
    for sample in samples() {
        let layout = layout_of(sample.api).expect("served");
        let mut reader = Reader::new(&sample.body);
        let walked = layout.check(&mut reader, sample.version, &mut Budget::default());
        assert_eq!(walked, Ok(()), "{:?} v{}", sample.api, sample.version);
        assert_eq!(
            reader.position(),
            sample.body.len(),
            "{:?} v{}",
            sample.api,
            sample.version
        );
    }
}

#[test]
fn a_cut_request_is_refused_wherever_it_is_cut() {
    for sample in samples() {
        for cut in 0..sample.body.len() {
            let refused = check(sample.api, sample.version, &sample.body[..cut]);
            assert!(
                refused.is_err(),
                "{:?} v{} cut at {cut}",
                sample.api,
                sample.version
            );
        }
    }
}

/// The decoder would abort the process if the check let a large count through.
#[test]
fn f017_what_passes_is_decoded_without_an_allocation_by_its_claims() {
    let mut rng = Rng::with_seed(1);
    let (mut passed, mut refused) = (0, 0);
    for sample in samples() {
        for _ in 0..2000 {
            let mut body = sample.body.to_vec();
            for _ in 0..rng.usize(1..4) {
                if body.is_empty() {
                    break;
                }
                let at = rng.usize(..body.len());
                let any = rng.u8(..);
                body[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff, any]).expect("some");
            }
            match check(sample.api, sample.version, &body) {
                Ok(()) => {
                    passed += 1;
                    (sample.decode)(&mut Bytes::from(body), sample.version);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        passed > 10_000 && refused > 10_000,
        "{passed} passed, {refused} refused"
    );
}

#[test]
fn f017_declared_counts_and_lengths_are_refused() {
    // Metadata v0: one array of topics
    let count = |count: i32| check(ApiKey::Metadata, 0, &count.to_be_bytes());
    assert!(matches!(
        count(i32::MAX),
        Err(Malformed::Count { left: 0, .. })
    ));
    assert_eq!(count(-2), Err(Malformed::NegativeLength));
    assert_eq!(count(-1), Ok(()));
    assert_eq!(count(0), Ok(()));
    // Metadata v12, compact
    let compact = check(ApiKey::Metadata, 12, &[0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert!(matches!(compact, Err(Malformed::Count { left: 0, .. })));
    let endless = check(ApiKey::Metadata, 12, &[0xff; 5]);
    assert_eq!(endless, Err(Malformed::Varint));
    let too_large = check(ApiKey::Metadata, 12, &[0xff, 0xff, 0xff, 0xff, 0x1f]);
    assert_eq!(too_large, Err(Malformed::Varint));
}

#[test]
fn f017_many_small_elements_are_refused_too() {
    // DeleteTopics v4: names of one byte each, the shortest that a decoder makes a string of
    let mut body = vec![0x82, 0x89, 0x7a];
    body.resize(3 + 2_000_001, 1);
    assert_eq!(
        check(ApiKey::DeleteTopics, 4, &body),
        Err(Malformed::TooManyElements)
    );
}

#[test]
fn a_tagged_field_whose_size_lies_is_refused() {
    let request = FetchRequest::default().with_cluster_id(Some(text("cluster")));
    let sample = sample(12, request);
    let mut body = sample.body.to_vec();
    let size = body.len() - 9;
    assert_eq!(
        body[size], 8,
        "size of the tag: a length byte and seven letters"
    );
    body[size] = 7;
    let refused = check(sample.api, 12, &body);
    assert_eq!(refused, Err(Malformed::TagSize { number: 0, size: 7 }));
}

#[test]
fn f017_many_tagged_fields_are_refused_too() {
    // ApiVersions v3: two empty names, then 2,000,000 tagged fields of no bytes, number 1 each
    let mut body = vec![1, 1, 0x80, 0x89, 0x7a];
    body.resize(5 + 4_000_000, 1);
    for size in body[5..].iter_mut().skip(1).step_by(2) {
        *size = 0;
    }
    assert_eq!(
        check(ApiKey::ApiVersions, 3, &body),
        Err(Malformed::TooManyElements)
    );
}
