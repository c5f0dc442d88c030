use bytes::Bytes;
use record_batch::{
    BatchErrorKind, BatchHeader, Decoder, FreshBuffers, RecordProblem, TimestampType, entries,
};

use crate::support::consume::consume;
use crate::support::encoder::{Codec, LOG_APPEND_TIME, TestBatch, TestMessage};
use crate::support::vectors;

fn relative(offsets: &[i64]) -> Vec<TestMessage> {
    offsets.iter().map(|o| TestMessage::new(1, *o)).collect()
}

/// The problem of record `index` in a wrapper of magic 1 at offset 42.
fn problem(inner: &[TestMessage]) -> (usize, RecordProblem) {
    let bytes = TestMessage::wrapper(1, 42, Codec::Gzip, inner).encode();
    let consumed = consume(&bytes, 40);
    assert_eq!((consumed.offsets(), consumed.next), (vec![], 40));
    let error = consumed.failed();
    assert_eq!((error.base_offset(), error.step_over()), (42, Some(43)));
    match error.kind() {
        BatchErrorKind::InvalidRecord { index, problem } => (*index, problem.clone()),
        other => panic!("{other}"),
    }
}

#[test]
fn f048_inner_offsets_become_absolute() {
    let rel = vectors::bytes("V1_SNAPPY_REL");
    assert_eq!(consume(&rel, 40).sound(), (vec![40, 41, 42], 43));
    assert_eq!(consume(&rel, 42).sound(), (vec![42], 43));

    let compacted = TestMessage::wrapper(1, 42, Codec::Gzip, &relative(&[0, 2]));
    assert_eq!(consume(&compacted.encode(), 40).sound(), (vec![40, 42], 43));
    // a producer that writes absolute offsets into magic 1
    let absolute = TestMessage::wrapper(1, 42, Codec::Lz4, &relative(&[40, 41, 42]));
    assert_eq!(
        consume(&absolute.encode(), 40).sound(),
        (vec![40, 41, 42], 43)
    );
    // one that leaves the wrapper at 0
    let at_0 = TestMessage::wrapper(1, 0, Codec::Gzip, &relative(&[0, 1, 2]));
    assert_eq!(consume(&at_0.encode(), 0).offsets(), [0, 1, 2]);
    let at_0 = Bytes::from(at_0.encode());
    let entry = entries(&at_0).next().unwrap().unwrap();
    let batch = Decoder::new(Default::default())
        .decode(&at_0, &entry, &mut FreshBuffers)
        .unwrap();
    assert_eq!((batch.last_offset(), batch.next_offset()), (2, 3));

    let inner = [40, 41, 42].map(|offset| TestMessage::new(0, offset));
    let v0 = TestMessage::wrapper(0, 42, Codec::SnappyRaw, &inner);
    assert_eq!(consume(&v0.encode(), 40).sound(), (vec![40, 41, 42], 43));
}

#[test]
fn f048_inner_offsets_without_sense_are_corrupt() {
    for (offsets, index) in [
        (&[0, 0][..], 1),
        (&[1, 0], 1),
        (&[-1, 0], 0),
        (&[i64::MIN, 5], 0),
        // 42 - 100 + 0 is below 0
        (&[0, 100], 0),
        (&[0, i64::MAX], 0),
        (&[i64::MAX, i64::MAX], 1),
    ] {
        let (at, problem) = problem(&relative(offsets));
        assert!(
            matches!(problem, RecordProblem::Offset { .. }),
            "{offsets:?}"
        );
        assert_eq!(at, index, "{offsets:?}");
    }
    let inner = [40, 41, 43].map(|offset| TestMessage::new(0, offset));
    let beyond = TestMessage::wrapper(0, 42, Codec::Gzip, &inner);
    assert!(consume(&beyond.encode(), 40).error.is_some());
}

#[test]
fn f071_append_time_of_a_wrapper_is_that_of_its_records() {
    let read = consume(&vectors::bytes("V1_APPENDTIME"), 40);
    assert_eq!(read.records.len(), 3);
    for record in read.records {
        assert_eq!(record.timestamp(), 1_700_000_000_000);
        assert_eq!(record.timestamp_type(), TimestampType::LogAppendTime);
    }
    let create = consume(&vectors::bytes("V1_SNAPPY_REL"), 40);
    let timestamps: Vec<_> = create.records.iter().map(|r| r.timestamp()).collect();
    assert_eq!(timestamps, [0, 1, 2].map(|ms| 1_700_000_000_000 + ms));
    assert_eq!(
        create.records[0].timestamp_type(),
        TimestampType::CreateTime
    );

    let plain = TestMessage {
        attributes: LOG_APPEND_TIME,
        ..TestMessage::new(1, 5)
    };
    let read = consume(&plain.encode(), 5);
    assert_eq!(read.records[0].timestamp(), 1_700_000_000_005);
    assert_eq!(
        read.records[0].timestamp_type(),
        TimestampType::LogAppendTime
    );
}

#[test]
fn b077_wrappers_of_every_codec() {
    for codec in [
        Codec::Gzip,
        Codec::GzipMembers,
        Codec::SnappyRaw,
        Codec::SnappyXerial,
        Codec::Lz4,
    ] {
        for magic in [0, 1] {
            let inner: Vec<_> = (0..50)
                .map(|i| TestMessage::new(magic, if magic == 0 { 100 + i } else { i }))
                .collect();
            let wrapper = TestMessage::wrapper(magic, 149, codec, &inner);
            let (offsets, next) = consume(&wrapper.encode(), 100).sound();
            assert_eq!(offsets, (100..150).collect::<Vec<_>>(), "{codec:?}");
            assert_eq!(next, 150);
        }
    }
}

#[test]
fn b081_good_messages_before_a_bad_one() {
    let mut bad = TestMessage::new(1, 1).encode();
    *bad.last_mut().unwrap() ^= 1;
    let log = [
        TestMessage::new(1, 0).encode(),
        bad,
        TestMessage::new(1, 2).encode(),
    ]
    .concat();
    let consumed = consume(&log, 0);
    assert_eq!((consumed.offsets(), consumed.next), (vec![0], 1));
    let error = consumed.failed();
    assert!(matches!(error.kind(), BatchErrorKind::WrongCrc { .. }));
    assert_eq!((error.base_offset(), error.step_over()), (1, Some(2)));
    // blocked, until the application seeks
    assert_eq!(consume(&log, 1).failed(), error);
    assert_eq!(consume(&log, 2).sound(), (vec![2], 3));

    // a size that cannot be right: what is behind cannot be found
    let mut sizes = log.clone();
    let at = TestMessage::new(1, 0).encode().len();
    sizes[at + 8..at + 12].copy_from_slice(&5i32.to_be_bytes());
    for position in [1, 2] {
        let consumed = consume(&sizes, position);
        assert_eq!((consumed.offsets(), consumed.next), (vec![], position));
        assert!(matches!(
            consumed.failed().kind(),
            BatchErrorKind::LengthTooSmall { found: 5, .. }
        ));
    }
}

#[test]
fn null_and_empty_are_distinct() {
    for magic in [0, 1] {
        for (key, value) in [(None, Some(vec![])), (Some(vec![]), None), (None, None)] {
            let message = TestMessage {
                key: key.clone(),
                value: value.clone(),
                ..TestMessage::new(magic, 0)
            };
            let read = consume(&message.encode(), 0);
            let record = read.records[0].as_record();
            assert_eq!(record.key(), key.as_deref());
            assert_eq!(record.value(), value.as_deref());
            assert!(record.headers().is_empty());
            assert_eq!(record.headers().iter().count(), 0);
        }
    }
}

#[test]
fn invalid_wrappers_are_corrupt() {
    let inner = relative(&[0, 1, 2]);
    let with = |change: fn(&mut TestMessage)| {
        let mut messages = inner.clone();
        change(&mut messages[1]);
        problem(&messages)
    };
    let nested = with(|message| message.attributes = 2);
    assert_eq!(nested, (1, RecordProblem::NestedCompression { codec: 2 }));
    let (found, wrapper) = (0, 1);
    let other = with(|message| message.magic = 0);
    assert_eq!(other, (1, RecordProblem::InnerMagic { found, wrapper }));
    assert_eq!(problem(&[]), (0, RecordProblem::EmptyWrapper));

    let wrapper = TestMessage::wrapper(1, 42, Codec::Gzip, &inner);
    for value in [None, Some(vec![])] {
        let empty = TestMessage {
            value,
            ..wrapper.clone()
        };
        let consumed = consume(&empty.encode(), 40);
        let problem = RecordProblem::EmptyWrapper;
        let kind = BatchErrorKind::InvalidRecord { index: 0, problem };
        assert_eq!(consumed.failed().kind(), &kind);
    }
    // zstd came with magic 2
    let zstd = TestMessage::wrapper(1, 42, Codec::Zstd, &inner);
    let kind = BatchErrorKind::UnknownCompression { codec: 4, magic: 1 };
    assert_eq!(consume(&zstd.encode(), 40).failed().kind(), &kind);
}

#[test]
fn inner_crcs_and_lengths_are_checked() {
    let encoded: Vec<_> = relative(&[0, 1, 2])
        .iter()
        .map(TestMessage::encode)
        .collect();
    let wrapped = |inner: &[u8]| {
        let wrapper = TestMessage {
            value: Some(Codec::Gzip.compress(inner)),
            ..TestMessage::wrapper(1, 42, Codec::Gzip, &[])
        };
        consume(&wrapper.encode(), 40).error
    };
    let all = encoded.concat();
    assert_eq!(wrapped(&all), None);
    for cut in 1..all.len() {
        // a cut between messages leaves a wrapper with fewer of them; anything else is corrupt
        let between = cut % encoded[0].len() == 0;
        assert_eq!(wrapped(&all[..cut]).is_none(), between, "{cut}");
    }
    let mut wrong = all.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(matches!(
        wrapped(&wrong).unwrap().kind(),
        BatchErrorKind::InvalidRecord {
            index: 2,
            problem: RecordProblem::WrongCrc { .. }
        }
    ));
}

#[test]
fn key_and_value_lengths_are_claims() {
    for magic in [0u8, 1] {
        let header = if magic == 0 { 18 } else { 26 };
        for length in [-2, 1000, i32::MAX, i32::MIN, 0, 2] {
            let mut bytes = TestMessage::new(magic, 0).encode();
            bytes[header..header + 4].copy_from_slice(&i32::to_be_bytes(length));
            let crc = crc32fast::hash(&bytes[16..]);
            bytes[12..16].copy_from_slice(&crc.to_be_bytes());
            let consumed = consume(&bytes, 0);
            let error = consumed.failed();
            assert!(
                matches!(error.kind(), BatchErrorKind::InvalidRecord { index: 0, .. }),
                "{length}: {error}"
            );
        }
    }
}

#[test]
fn attributes_of_batches_mean_nothing_in_messages() {
    let message = TestMessage {
        attributes: 0xf0,
        ..TestMessage::new(1, 5)
    };
    assert_eq!(consume(&message.encode(), 5).sound(), (vec![5], 6));
    let header = BatchHeader::parse(&message.encode()).unwrap();
    assert!(!header.is_control() && !header.is_transactional());
    assert_eq!(header.delete_horizon(), None);
}

#[test]
fn bytes_behind_the_value_are_corrupt() {
    for magic in [0, 1] {
        let mut bytes = TestMessage::new(magic, 0).encode();
        bytes.extend([7; 3]);
        let size = bytes.len() as i32 - 12;
        bytes[8..12].copy_from_slice(&size.to_be_bytes());
        let crc = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_be_bytes());
        let problem = RecordProblem::BytesLeft { left: 3 };
        let kind = BatchErrorKind::InvalidRecord { index: 0, problem };
        assert_eq!(consume(&bytes, 0).failed().kind(), &kind);
    }
}

#[test]
fn b076_old_and_new_in_one_log() {
    let log = [
        TestMessage::new(0, 0).encode(),
        TestMessage::wrapper(1, 3, Codec::Lz4, &relative(&[0, 1, 2])).encode(),
        TestMessage::new(1, 4).encode(),
        TestBatch::run(5, 2).codec(Codec::Zstd).encode(),
    ]
    .concat();
    assert_eq!(consume(&log, 0).sound(), ((0..7).collect(), 7));
    assert_eq!(consume(&log, 2).sound(), ((2..7).collect(), 7));
}
