use std::collections::HashSet;

use bytes::Bytes;
use record_batch::{DecodedBatch, Decoder, FreshBuffers, TimestampType, TopicPartition, entries};

use crate::support::consume::consume;
use crate::support::encoder::{
    Codec, DELETE_HORIZON, LOG_APPEND_TIME, TestBatch, TestMessage, TestRecord,
};
use crate::support::vectors;

fn decode(bytes: &[u8]) -> DecodedBatch {
    let bytes = Bytes::copy_from_slice(bytes);
    let entry = entries(&bytes).next().unwrap().unwrap();
    let mut decoder = Decoder::new(Default::default());
    decoder.decode(&bytes, &entry, &mut FreshBuffers).unwrap()
}

fn with_headers(headers: &[(&[u8], Option<&[u8]>)]) -> TestRecord {
    TestRecord {
        headers: headers
            .iter()
            .map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)))
            .collect(),
        ..TestRecord::at(0, "v")
    }
}

#[test]
fn f053_b074_b075_headers_keep_order_repetition_null_and_empty() {
    let batch = decode(&vectors::bytes("HEADERS"));
    let record = batch.records().next().unwrap();
    assert_eq!((record.key(), record.value()), (None, Some(&b""[..])));
    let headers: Vec<_> = record
        .headers()
        .iter()
        .map(|header| (header.key(), header.value()))
        .collect();
    let expected: [(&[u8], Option<&[u8]>); 3] =
        [(b"h", None), (b"h", Some(b"")), (b"h", Some(b"x"))];
    assert_eq!(headers, expected);
    assert_eq!(record.headers().len(), 3);

    let tombstone = decode(&vectors::bytes("TOMBSTONE"));
    let record = tombstone.records().next().unwrap();
    assert_eq!((record.key(), record.value()), (Some(&b"k"[..]), None));
    assert!(record.headers().is_empty());
}

#[test]
fn b074_last_header_of_a_name_counts() {
    let record = with_headers(&[(b"a", Some(b"1")), (b"b", Some(b"2")), (b"a", None)]);
    let batch = decode(&TestBatch::new(0, &[record]).encode());
    let headers = batch.records().next().unwrap().headers();
    assert_eq!(headers.last("a").map(|header| header.value()), Some(None));
    assert_eq!(headers.last("b").unwrap().value(), Some(&b"2"[..]));
    assert!(headers.last("c").is_none());
}

#[test]
fn header_names_need_not_be_text() {
    let record = with_headers(&[(b"\xff\xfe", Some(b"1")), (b"", None)]);
    let batch = decode(&TestBatch::new(0, &[record]).encode());
    let headers: Vec<_> = batch.records().next().unwrap().headers().iter().collect();
    assert_eq!(headers[0].key(), b"\xff\xfe");
    assert!(headers[0].key_str().is_err());
    assert_eq!(headers[1].key_str(), Ok(""));
}

#[test]
fn f069_timestamp_deltas_have_64_bits() {
    let read = consume(&vectors::bytes("BIGDELTA"), 0);
    let timestamps: Vec<_> = read
        .records
        .iter()
        .map(|record| record.timestamp())
        .collect();
    assert_eq!(timestamps, [0, 1_787_086_231_121]);

    const FAR: i64 = 1 << 62;
    let cases = [
        (1000, -1, 999),
        (0, FAR, FAR),
        (0, -FAR, -FAR),
        (FAR, -FAR, 0),
        // beyond the range of a timestamp: whatever comes out, and no panic
        (FAR, FAR, FAR.wrapping_mul(2)),
        (i64::MIN, -1, i64::MAX),
        (-1, i64::MIN, i64::MAX),
    ];
    for (base_timestamp, timestamp_delta, expected) in cases {
        let record = TestRecord {
            timestamp_delta,
            ..TestRecord::at(0, "v")
        };
        let batch = TestBatch {
            base_timestamp,
            ..TestBatch::new(0, &[record, TestRecord::at(1, "w")])
        };
        let batch = decode(&batch.encode());
        let timestamps: Vec<_> = batch.records().map(|record| record.timestamp()).collect();
        assert_eq!(timestamps, [expected, base_timestamp]);
    }
}

#[test]
fn f070_log_append_time_replaces_the_producers() {
    for name in ["APPENDTIME", "APPENDTIME_M1"] {
        for record in consume(&vectors::bytes(name), 0).records {
            assert_eq!(record.timestamp(), 1_700_000_000_000, "{name}");
            assert_eq!(record.timestamp_type(), TimestampType::LogAppendTime);
        }
    }
}

#[test]
fn b077_timestamp_types_with_each_codec() {
    for codec in Codec::ALL {
        let create = TestBatch::run(0, 40).codec(codec);
        let append = TestBatch {
            flags: LOG_APPEND_TIME,
            base_timestamp: 5,
            max_timestamp: 77,
            ..create.clone()
        };
        for record in consume(&create.encode(), 0).records {
            assert_eq!(record.timestamp(), 1_700_000_000_000, "{codec:?}");
            assert_eq!(record.timestamp_type(), TimestampType::CreateTime);
        }
        for record in consume(&append.encode(), 0).records {
            assert_eq!(record.timestamp(), 77, "{codec:?}");
            assert_eq!(record.timestamp_type(), TimestampType::LogAppendTime);
        }
    }
}

#[test]
fn f071_magic_0_and_minus_one_have_no_timestamp() {
    let read = consume(&TestMessage::new(0, 3).encode(), 3);
    assert_eq!(read.records[0].timestamp(), -1);
    assert_eq!(read.records[0].timestamp_type(), TimestampType::NoTimestamp);
    let none = TestBatch {
        base_timestamp: -1,
        max_timestamp: -1,
        ..TestBatch::run(0, 1)
    };
    let read = consume(&none.encode(), 0);
    assert_eq!(read.records[0].timestamp(), -1);
}

#[test]
fn delete_horizon_stands_where_the_base_timestamp_was() {
    let record = TestRecord {
        timestamp_delta: -700,
        ..TestRecord::at(0, "v")
    };
    let batch = TestBatch {
        flags: DELETE_HORIZON,
        base_timestamp: 5000,
        ..TestBatch::new(0, &[record])
    };
    let batch = decode(&batch.encode());
    assert_eq!(batch.header().delete_horizon(), Some(5000));
    assert_eq!(batch.records().next().unwrap().timestamp(), 4300);
    let plain = decode(&TestBatch::run(0, 1).encode());
    assert_eq!(plain.header().delete_horizon(), None);
}

#[test]
fn b072_records_show_the_leader_epoch_of_their_batch() {
    let mut log: Vec<u8> = [(0, 1), (1, 8), (2, 13)]
        .iter()
        .flat_map(|&(base, leader_epoch)| {
            TestBatch {
                leader_epoch,
                ..TestBatch::run(base, 1)
            }
            .encode()
        })
        .collect();
    log.extend(TestMessage::new(0, 3).encode());
    log.extend(TestMessage::new(1, 4).encode());
    let epochs: Vec<_> = consume(&log, 0)
        .records
        .iter()
        .map(|record| record.leader_epoch())
        .collect();
    assert_eq!(epochs, [Some(1), Some(8), Some(13), None, None]);
}

#[test]
fn header_fields_are_those_of_the_batch() {
    let batch = TestBatch {
        leader_epoch: -1,
        base_sequence: i32::MAX,
        producer_epoch: 4,
        max_timestamp: 9,
        ..TestBatch::run(100, 3).of_producer(77)
    };
    let batch = decode(&batch.encode());
    let header = batch.header();
    assert_eq!(header.partition_leader_epoch(), None);
    assert_eq!((header.base_offset(), header.last_offset()), (100, 102));
    assert_eq!((header.last_offset_delta(), header.next_offset()), (2, 103));
    assert_eq!(
        (header.producer_id(), header.producer_epoch()),
        (Some(77), 4)
    );
    assert_eq!(header.base_sequence(), i32::MAX);
    assert_eq!(header.base_timestamp(), 1_700_000_000_000);
    assert_eq!(header.max_timestamp(), 9);
    assert_eq!(header.record_count(), Some(3));
    assert!(header.is_transactional() && !header.is_control());
    let plain = decode(&TestBatch::run(0, 1).encode());
    assert_eq!(
        (plain.header().producer_id(), plain.header().base_sequence()),
        (None, -1)
    );
    let old = decode(&TestMessage::new(1, 6).encode());
    assert_eq!(
        (old.header().base_offset(), old.header().next_offset()),
        (6, 7)
    );
    assert_eq!(
        (old.header().record_count(), old.header().producer_id()),
        (None, None)
    );
    assert_eq!(old.header().max_timestamp(), 1_700_000_000_006);
}

#[test]
fn f014_owned_record_does_not_hold_the_batch() {
    let record = TestRecord {
        headers: vec![(b"h".to_vec(), Some(b"x".to_vec())), (b"h".to_vec(), None)],
        ..TestRecord::at(0, "small")
    };
    let large = TestRecord {
        value: Some(vec![7; 1 << 20]),
        ..TestRecord::at(1, "")
    };
    let bytes = Bytes::from(TestBatch::new(0, &[record, large]).encode());
    let entry = entries(&bytes).next().unwrap().unwrap();
    let batch = Decoder::new(Default::default())
        .decode(&bytes, &entry, &mut FreshBuffers)
        .unwrap();
    let view = batch.records().next().unwrap();
    let owned = view.to_owned();
    assert_eq!(owned.as_record(), view);
    assert_eq!(owned.headers().len(), 2);
    drop(batch);
    // nothing of the response is held any more
    assert!(bytes.is_unique());
    assert_eq!(owned.value().map(|value| &value[..]), Some(&b"small"[..]));
}

#[test]
fn parts_of_records_can_be_shared() {
    for codec in [Codec::None, Codec::Zstd] {
        let batch = decode(&TestBatch::run(0, 3).codec(codec).encode());
        let value = batch.records().nth(1).unwrap().value().unwrap();
        let shared = batch.bytes_of(value).unwrap();
        assert_eq!(&shared[..], b"v1");
        assert_eq!(shared.as_ptr(), value.as_ptr());
        assert_eq!(batch.bytes_of(b"elsewhere"), None);
        let whole = batch.bytes().clone();
        assert_eq!(batch.bytes_of(&whole), Some(whole));
    }
}

#[test]
fn uncompressed_batches_borrow_the_response() {
    let both = [TestBatch::run(0, 2), TestBatch::run(2, 2)];
    let bytes = Bytes::from(both.map(|batch| batch.encode()).concat());
    let field = bytes.as_ptr_range();
    let mut decoder = Decoder::new(Default::default());
    let [first, second] = [0, 1].map(|nth| {
        let entry = entries(&bytes).nth(nth).unwrap().unwrap();
        decoder.decode(&bytes, &entry, &mut FreshBuffers).unwrap()
    });
    for record in first.records().chain(second.records()) {
        assert!(field.contains(&record.value().unwrap().as_ptr()));
    }
    // each knows its own part of the response only
    let value = |batch: &DecodedBatch| batch.records().next().unwrap().value().unwrap().as_ptr();
    let across = value(&first) as usize - bytes.as_ptr() as usize..bytes.len();
    assert_eq!(first.bytes_of(&bytes[across]), None);
    assert_eq!(first.bytes_of(second.bytes()), None);
    assert_eq!(second.bytes_of(first.bytes()), None);
}

#[test]
fn decoded_batches_go_anywhere() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    anywhere::<DecodedBatch>();
    anywhere::<record_batch::OwnedRecord>();
    fn copy<T: Copy + Send + Sync>() {}
    copy::<record_batch::Record<'_>>();
    copy::<record_batch::RecordCursor>();
    fn send<T: Send>() {}
    send::<Decoder>();
}

#[test]
fn topic_partitions_are_map_keys() {
    let first = TopicPartition::new("orders", 0);
    let again = TopicPartition::new(first.shared_topic(), 0);
    assert_eq!(first, again);
    assert_eq!(HashSet::from([first.clone(), again]).len(), 1);
    assert_eq!((first.topic(), first.partition()), ("orders", 0));
    assert_eq!(format!("{first} {first:?}"), "orders-0 orders-0");
    let mut sorted = [("b", 0), ("a", 10), ("a", 9)].map(|(t, p)| TopicPartition::new(t, p));
    sorted.sort();
    assert_eq!(sorted.map(|tp| tp.to_string()), ["a-9", "a-10", "b-0"]);
}
