use allocation_counter::measure;
use bytes::Bytes;
use proptest::prelude::*;
use record_batch::{
    AbortedTransaction, DecodeOptions, Decoder, FreshBuffers, TimestampType, TransactionFilter,
    entries, scan,
};

use crate::support::consume::consume;
use crate::support::encoder::{Codec, LOG_APPEND_TIME, TestBatch, TestMessage, TestRecord};

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(vec![])),
        6 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Some),
        1 => prop::collection::vec(any::<u8>(), 100..20_000).prop_map(Some),
    ]
}

fn timestamp() -> impl Strategy<Value = i64> {
    const FAR: i64 = 1 << 62;
    prop_oneof![
        0..10i64,
        -1000..1000i64,
        -FAR..FAR,
        Just(-FAR),
        Just(FAR),
        any::<i64>()
    ]
}

prop_compose! {
    fn record()(
        step in prop_oneof![8 => 1..2i32, 1 => 2..100i32, 1 => 100..100_000i32],
        timestamp_delta in timestamp(),
        key in bytes(),
        value in bytes(),
        headers in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..5), bytes()),
            0..4,
        ),
    ) -> TestRecord {
        // `offset_delta` is the step from the record before, until `batch` adds them up
        TestRecord { offset_delta: step, timestamp_delta, key, value, headers }
    }
}

prop_compose! {
    fn batch()(
        mut records in prop::collection::vec(record(), 0..30),
        base_offset in prop_oneof![0..1000i64, 0..i64::MAX - i64::from(i32::MAX)],
        base_timestamp in timestamp(),
        max_timestamp in timestamp(),
        append in any::<bool>(),
        codec in prop::sample::select(&Codec::ALL[..]),
        tail in 0..50i32,
        leader_epoch in -1..5i32,
    ) -> (TestBatch, Vec<TestRecord>) {
        let mut delta = -1;
        for record in &mut records {
            delta += record.offset_delta;
            record.offset_delta = delta;
        }
        let batch = TestBatch {
            base_timestamp,
            max_timestamp,
            leader_epoch,
            flags: if append { LOG_APPEND_TIME } else { 0 },
            last_offset_delta: delta + tail,
            ..TestBatch::new(base_offset, &records).codec(codec)
        };
        (batch, records)
    }
}

prop_compose! {
    fn messages()(
        magic in 0..2u8,
        first in 0..1000i64,
        fields in prop::collection::vec((bytes(), bytes(), timestamp()), 1..10),
        codec in prop::option::of(prop::sample::select(&[
            Codec::Gzip, Codec::GzipMembers, Codec::SnappyRaw, Codec::SnappyXerial, Codec::Lz4,
        ][..])),
    ) -> (Vec<u8>, Vec<TestMessage>) {
        let messages: Vec<_> = (first..).zip(fields).map(|(offset, (key, value, timestamp))| {
            TestMessage { key, value, timestamp, ..TestMessage::new(magic, offset) }
        }).collect();
        let encoded = match codec {
            None => messages.iter().flat_map(TestMessage::encode).collect(),
            Some(codec) => {
                let relative: Vec<_> = messages.iter().map(|message| TestMessage {
                    offset: if magic == 0 { message.offset } else { message.offset - first },
                    ..message.clone()
                }).collect();
                let last = messages.last().unwrap().offset;
                TestMessage::wrapper(magic, last, codec, &relative).encode()
            }
        };
        (encoded, messages)
    }
}

/// Decodes whatever is in `bytes` and touches all of it; says how many records there were.
fn read_all(bytes: &Bytes, options: DecodeOptions) -> usize {
    let mut decoder = Decoder::new(options);
    let aborted = [(0, 0), (5, 3)].map(|(producer_id, first_offset)| AbortedTransaction {
        producer_id,
        first_offset,
    });
    let mut filter = TransactionFilter::read_committed(aborted);
    let mut count = 0;
    let mut next = 0;
    for entry in entries(bytes) {
        let Ok(entry) = entry else { break };
        next = entry.header().next_offset().max(next);
        filter.judge(entry.header());
        let Ok(batch) = decoder.decode(bytes, &entry, &mut FreshBuffers) else {
            continue;
        };
        if let Ok(control) = batch.control_type() {
            filter.marker(entry.header(), control);
        }
        let mut seen = 0;
        let mut least = i64::MIN;
        for record in batch.records() {
            assert!(record.offset() >= least && record.offset() <= batch.last_offset());
            least = record.offset().saturating_add(1);
            let headers = record.headers();
            assert_eq!(headers.iter().count(), headers.len());
            seen += 1;
        }
        assert_eq!(seen, batch.len());
        count += seen;
    }
    assert_eq!(scan(bytes, 0).next_offset, next);
    count
}

proptest! {
    #[test]
    fn b076_what_was_encoded_is_decoded((batch, records) in batch()) {
        let encoded = batch.encode();
        let read = consume(&encoded, batch.base_offset);
        prop_assert_eq!(&read.error, &None);
        prop_assert_eq!(read.records.len(), records.len());
        let end = batch.base_offset + i64::from(batch.last_offset_delta) + 1;
        prop_assert_eq!(read.next, end.max(batch.base_offset));
        for (read, written) in read.records.iter().zip(&records) {
            prop_assert_eq!(read.offset(), batch.base_offset + i64::from(written.offset_delta));
            if batch.flags == LOG_APPEND_TIME {
                prop_assert_eq!(read.timestamp(), batch.max_timestamp);
                prop_assert_eq!(read.timestamp_type(), TimestampType::LogAppendTime);
            } else {
                let timestamp = batch.base_timestamp.wrapping_add(written.timestamp_delta);
                prop_assert_eq!(read.timestamp(), timestamp);
                prop_assert_eq!(read.timestamp_type(), TimestampType::CreateTime);
            }
            prop_assert_eq!(read.leader_epoch(), Some(batch.leader_epoch).filter(|e| *e >= 0));
            prop_assert_eq!(read.as_record().key(), written.key.as_deref());
            prop_assert_eq!(read.as_record().value(), written.value.as_deref());
            let headers: Vec<_> = read.headers().iter()
                .map(|header| (header.key().to_vec(), header.value().map(<[u8]>::to_vec)))
                .collect();
            prop_assert_eq!(&headers, &written.headers);
        }
    }

    #[test]
    fn b076_old_messages_are_decoded((encoded, messages) in messages()) {
        let read = consume(&encoded, messages[0].offset);
        prop_assert_eq!(&read.error, &None);
        prop_assert_eq!(read.records.len(), messages.len());
        prop_assert_eq!(read.next, messages.last().unwrap().offset + 1);
        for (read, written) in read.records.iter().zip(&messages) {
            prop_assert_eq!(read.offset(), written.offset);
            let timestamp = if written.magic == 0 { -1 } else { written.timestamp };
            prop_assert_eq!(read.timestamp(), timestamp);
            prop_assert_eq!(read.as_record().key(), written.key.as_deref());
            prop_assert_eq!(read.as_record().value(), written.value.as_deref());
        }
    }

    /// Damaged anywhere, with and without a CRC that hides it: no panic, no memory beyond the cap.
    #[test]
    fn damaged_batches_do_no_harm(
        (batch, _) in batch(),
        (old, _) in messages(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
        check_crcs in any::<bool>(),
    ) {
        const CAP: usize = 64 << 10;
        let options = DecodeOptions { check_crcs, max_decompressed_bytes: CAP };
        for mut bytes in [batch.encode(), old] {
            for (at, byte) in &damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let bytes = Bytes::from(bytes);
            let memory = measure(|| { read_all(&bytes, options); });
            // twice while a buffer grows, and the state of gzip
            let most = 2 * CAP as u64 + (64 << 10);
            prop_assert!(memory.bytes_max <= most, "{memory:?}");
        }
    }

    #[test]
    fn random_bytes_do_no_harm(
        magic in 0..3u8,
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
        length in 0..400i32,
    ) {
        if let Some(place) = bytes.get_mut(16) {
            *place = magic;
        }
        if let Some(place) = bytes.get_mut(8..12) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        let options = DecodeOptions { check_crcs: false, max_decompressed_bytes: 1 << 16 };
        read_all(&Bytes::from(bytes), options);
    }
}
