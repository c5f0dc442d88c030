use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicName,
    consumer_protocol_assignment, consumer_protocol_subscription,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use record_batch::TopicPartition;

use super::{Assignment, StickyUserData, Subscription};
use crate::assign::AssignError;

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

/// As another client writes it.
fn written(message: &impl Encodable, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(version);
    message.encode(&mut bytes, version).unwrap();
    bytes.freeze()
}

fn foreign_subscription() -> ConsumerProtocolSubscription {
    let owned = |topic, partitions| {
        consumer_protocol_subscription::TopicPartition::default()
            .with_topic(TopicName(text(topic)))
            .with_partitions(partitions)
    };
    ConsumerProtocolSubscription::default()
        .with_topics(vec![text("b"), text("a"), text("b")])
        .with_user_data(Some(Bytes::from_static(&[1, 2, 3])))
        .with_owned_partitions(vec![
            owned("b", vec![3, -1]),
            owned("a", vec![]),
            owned("b", vec![0]),
        ])
        .with_generation_id(7)
        .with_rack_id(Some(text("north")))
}

fn full_subscription() -> Subscription {
    Subscription {
        topics: ["b", "a", "b"].map(Into::into).to_vec(),
        user_data: Some(Bytes::from_static(&[1, 2, 3])),
        owned_partitions: [3, -1, 0]
            .map(|number| TopicPartition::new("b", number))
            .to_vec(),
        generation_id: Some(7),
        rack_id: Some("north".to_owned()),
    }
}

#[test]
fn what_others_write_is_read_in_every_version() {
    for version in 0..=3 {
        let mut foreign = foreign_subscription();
        let mut expected = full_subscription();
        if version < 3 {
            foreign.rack_id = None;
            expected.rack_id = None;
        }
        if version < 2 {
            foreign.generation_id = -1;
            expected.generation_id = None;
        }
        if version < 1 {
            foreign.owned_partitions.clear();
            expected.owned_partitions.clear();
        }
        let bytes = written(&foreign, version);
        assert_eq!(
            Subscription::decode(&bytes),
            Ok(expected),
            "version {version}"
        );
    }
    let nothing = written(&ConsumerProtocolSubscription::default(), 3);
    assert_eq!(Subscription::decode(&nothing), Ok(Subscription::default()));
}

#[test]
fn what_we_write_is_read_by_others_and_sorted() {
    let bytes = full_subscription().encode(Subscription::VERSION).unwrap();
    let read = ConsumerProtocolSubscription::decode(&mut bytes.slice(2..), 3).unwrap();
    let owned = consumer_protocol_subscription::TopicPartition::default()
        .with_topic(TopicName(text("b")))
        .with_partitions(vec![-1, 0, 3]);
    let expected = foreign_subscription()
        .with_topics(vec![text("a"), text("b"), text("b")])
        .with_owned_partitions(vec![owned]);
    assert_eq!(bytes[..2], [0, 3]);
    assert_eq!(read, expected);

    let partitions = [("b", 1), ("a", 2), ("b", 0)];
    let partitions = partitions.map(|(topic, number)| TopicPartition::new(topic, number));
    let bytes = Assignment::new(partitions.to_vec())
        .encode(Assignment::VERSION)
        .unwrap();
    let read = ConsumerProtocolAssignment::decode(&mut bytes.slice(2..), 3).unwrap();
    let assigned = [("a", vec![2]), ("b", vec![0, 1])].map(|(topic, partitions)| {
        consumer_protocol_assignment::TopicPartition::default()
            .with_topic(TopicName(text(topic)))
            .with_partitions(partitions)
    });
    let expected =
        ConsumerProtocolAssignment::default().with_assigned_partitions(assigned.to_vec());
    assert_eq!(read, expected);
}

#[test]
fn older_versions_leave_out_what_they_do_not_know() {
    for version in 0..=3 {
        let bytes = full_subscription().encode(version).unwrap();
        let read = Subscription::decode(&bytes).unwrap();
        assert_eq!(read.topics.len(), 3);
        assert_eq!(read.owned_partitions.is_empty(), version < 1);
        assert_eq!(read.generation_id.is_none(), version < 2);
        assert_eq!(read.rack_id.is_none(), version < 3);
    }
}

#[test]
fn a_newer_version_is_read_as_far_as_it_is_known() {
    let mut bytes = BytesMut::from(&full_subscription().encode(3).unwrap()[..]);
    bytes[..2].copy_from_slice(&9_i16.to_be_bytes());
    bytes.put_slice(b"what is new");
    let read = Subscription::decode(&bytes.freeze()).unwrap();
    assert_eq!(read.rack_id.as_deref(), Some("north"));
    assert_eq!(read.owned_partitions.len(), 3);

    let assignment = Assignment::new(vec![TopicPartition::new("a", 1)]);
    let mut bytes = BytesMut::from(&assignment.encode(3).unwrap()[..]);
    bytes[..2].copy_from_slice(&i16::MAX.to_be_bytes());
    bytes.put_u8(0);
    assert_eq!(Assignment::decode(&bytes.freeze()), Ok(assignment));
}

#[test]
fn a_version_that_does_not_exist_is_refused() {
    let negative = Bytes::from_static(&[0xff, 0xff, 0, 0, 0, 0]);
    let refused = AssignError::UnsupportedVersion {
        message: "Subscription",
        version: -1,
    };
    assert_eq!(Subscription::decode(&negative), Err(refused));
    for version in [-1, 4] {
        let refused = Subscription::default().encode(version);
        assert!(
            matches!(refused, Err(AssignError::UnsupportedVersion { .. })),
            "{refused:?}"
        );
        let refused = Assignment::default().encode(version);
        assert!(
            matches!(refused, Err(AssignError::UnsupportedVersion { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = Subscription::new(["t".repeat(32_768)])
        .encode(3)
        .unwrap_err();
    assert!(refused.to_string().contains("32768 bytes"), "{refused}");
    let longest = Subscription::new(["t".repeat(32_767)]);
    assert_eq!(
        Subscription::decode(&longest.encode(3).unwrap()),
        Ok(longest)
    );
}

/// A member that the leader forgot is sent no bytes at all by the coordinator.
#[test]
fn no_bytes_are_an_empty_assignment() {
    assert_eq!(Assignment::decode(&Bytes::new()), Ok(Assignment::default()));
    assert!(Subscription::decode(&Bytes::new()).is_err());
}

#[test]
fn f022_every_cut_is_refused_and_names_its_field() {
    let whole = full_subscription().encode(3).unwrap();
    for end in 0..whole.len() {
        let refused = Subscription::decode(&whole.slice(..end));
        assert!(
            matches!(refused, Err(AssignError::Truncated { .. })),
            "{end}: {refused:?}"
        );
    }
    let refused = Subscription::decode(&whole.slice(..whole.len() - 1)).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("rack id: it needs 5 bytes where 4 are left"),
        "{refused}"
    );
}

/// kafka-protocol's decoder asks for room for two billion names for the first of these, which ends the process.
#[test]
fn f022_a_count_or_length_that_cannot_be_is_refused_without_an_allocation() {
    let huge = [0, 3, 0x7f, 0xff, 0xff, 0xff];
    let refused = Subscription::decode(&Bytes::copy_from_slice(&huge));
    let expected = AssignError::Truncated {
        message: "Subscription",
        field: "topics",
        needed: usize::try_from(i32::MAX).unwrap() * 2,
        left: 0,
    };
    assert_eq!(refused, Err(expected));
    let refused = Assignment::decode(&Bytes::copy_from_slice(&huge));
    assert!(
        matches!(
            refused,
            Err(AssignError::Truncated {
                field: "partitions",
                ..
            })
        ),
        "{refused:?}"
    );

    let cases: [(&[u8], AssignError); 4] = [
        // no topics
        (&[0, 3, 0xff, 0xff, 0xff, 0xff], negative("topics", -1)),
        // a topic without a name
        (&[0, 3, 0, 0, 0, 1, 0xff, 0xff], negative("topics", -1)),
        // user data of -2 bytes
        (
            &[0, 3, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe],
            negative("user data", -2),
        ),
        // a name that is no text
        (
            &[0, 3, 0, 0, 0, 1, 0, 1, 0xff],
            AssignError::NotUtf8 {
                message: "Subscription",
                field: "topics",
            },
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(
            Subscription::decode(&Bytes::copy_from_slice(bytes)),
            Err(expected)
        );
    }
}

fn negative(field: &'static str, length: i32) -> AssignError {
    AssignError::NegativeLength {
        message: "Subscription",
        field,
        length,
    }
}

#[test]
fn f022_random_bytes_never_panic() {
    let whole = full_subscription().encode(3).unwrap();
    for seed in 0..20_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = whole.to_vec();
        for _ in 0..rng.usize(1..8) {
            let place = rng.usize(..bytes.len());
            bytes[place] = rng.u8(..);
        }
        let bytes = Bytes::from(bytes);
        // whatever is read can be written and read again
        if let Ok(read) = Subscription::decode(&bytes) {
            let again = Subscription::decode(&read.encode(3).unwrap()).unwrap();
            assert_eq!(again.topics.len(), read.topics.len(), "seed {seed}");
            assert_eq!(again.rack_id, read.rack_id, "seed {seed}");
        }
        if let Ok(read) = Assignment::decode(&bytes) {
            let again = Assignment::decode(&read.encode(3).unwrap()).unwrap();
            assert_eq!(again.partitions.len(), read.partitions.len(), "seed {seed}");
        }
        let _ = StickyUserData::decode(&bytes);
    }
}

/// By hand, after Java's schema: previous_assignment [{topic, partitions}], generation.
#[test]
fn the_user_data_of_sticky_is_that_of_java() {
    let partitions = [("b", 1), ("a", 2)].map(|(topic, number)| TopicPartition::new(topic, number));
    let bytes = StickyUserData::encode(&partitions, 5).unwrap();
    let expected = [
        &[0, 0, 0, 2][..],
        &[0, 1, b'a', 0, 0, 0, 1, 0, 0, 0, 2],
        &[0, 1, b'b', 0, 0, 0, 1, 0, 0, 0, 1],
        &[0, 0, 0, 5],
    ];
    assert_eq!(bytes, expected.concat());

    let mut sorted = partitions.to_vec();
    sorted.sort();
    let read = |generation| StickyUserData {
        partitions: sorted.clone(),
        generation,
    };
    assert_eq!(StickyUserData::decode(&bytes), Ok(read(Some(5))));
    // version 0 ends before the generation
    assert_eq!(
        StickyUserData::decode(&bytes.slice(..bytes.len() - 4)),
        Ok(read(None))
    );
}
