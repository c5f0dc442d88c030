mod transactions;

use super::append::Appended;
use super::*;

use kafka_protocol::ResponseError;
use record_batch::{Compression, DecodeOptions, Decoder, FreshBuffers, entries};

use crate::records::BatchBuilder;

const READ: ReadLimits = ReadLimits {
    max_bytes: usize::MAX,
    at_least_one: true,
    isolation: Isolation::ReadUncommitted,
    replica_end: None,
};

const COMMITTED: ReadLimits = ReadLimits {
    isolation: Isolation::ReadCommitted,
    ..READ
};

const PRODUCE: ProduceLimits = ProduceLimits {
    max_message_bytes: 1_048_588,
    log_append_time: None,
};

fn decoder() -> Decoder {
    Decoder::new(DecodeOptions::default())
}

fn log(batches: impl IntoIterator<Item = BatchBuilder>) -> PartitionLog {
    let mut log = PartitionLog::default();
    log.begin_epoch(0);
    for batch in batches {
        log.append_as_is(&batch.build(), &mut decoder())
            .expect("appended");
    }
    log
}

fn produce(log: &mut PartitionLog, batch: &BatchBuilder) -> Result<Appended, ResponseError> {
    log.append_produced(&batch.build(), 0, PRODUCE, &mut decoder())
        .map_err(|error| error.response_error())
}

/// A batch of `values` at `base`.
fn batch(base: i64, values: &[&str]) -> BatchBuilder {
    let batch = BatchBuilder::new().base_offset(base).leader_epoch(0);
    values
        .iter()
        .fold(batch, |batch, value| batch.record(*value))
}

/// Offsets of the whole batches, and the bytes of a cut one.
fn read(log: &PartitionLog, offset: i64, limits: ReadLimits) -> (Vec<(i64, i64)>, usize) {
    let data = log.read(offset, limits).expect("in range");
    let bytes: Bytes = data.records.concat().into();
    assert_eq!(bytes.len(), data.size);
    let mut walk = entries(&bytes);
    let offsets = walk
        .by_ref()
        .map(|entry| {
            let header = *entry.expect("sound").header();
            (header.base_offset(), header.last_offset())
        })
        .collect();
    (offsets, walk.tail().map_or(0, |tail| tail.present))
}

fn offsets(log: &PartitionLog) -> Vec<i64> {
    let mut offsets = Vec::new();
    for stored in &log.batches {
        let entry = entries(&stored.bytes).next().expect("one").expect("sound");
        let batch = decoder()
            .decode(&stored.bytes, &entry, &mut FreshBuffers)
            .expect("decoded");
        offsets.extend(batch.records().map(|record| record.offset()));
    }
    offsets
}

#[test]
fn a_read_begins_with_the_batch_that_contains_the_offset() {
    let log = log([batch(0, &["a", "b", "c"]), batch(3, &["d", "e"])]);
    assert_eq!(read(&log, 0, READ), (vec![(0, 2), (3, 4)], 0));
    assert_eq!(read(&log, 2, READ), (vec![(0, 2), (3, 4)], 0));
    assert_eq!(read(&log, 3, READ), (vec![(3, 4)], 0));
}

#[test]
fn an_offset_in_a_gap_gives_the_next_batch() {
    let log = log([batch(0, &["a"]), batch(10, &["b"])]);
    assert_eq!(read(&log, 1, READ), (vec![(10, 10)], 0));
    assert_eq!(read(&log, 9, READ), (vec![(10, 10)], 0));
}

#[test]
fn the_end_is_in_range_and_empty_what_is_beyond_is_not() {
    let mut log = log([batch(5, &["a"])]);
    assert_eq!(read(&log, 6, READ), (vec![], 0));
    assert_eq!(log.read(7, READ).err(), Some(OutOfRange));
    assert_eq!(read(&log, 0, READ), (vec![(5, 5)], 0));
    log.delete_records(5).expect("below the high watermark");
    assert_eq!(log.read(4, READ).err(), Some(OutOfRange));
    assert_eq!(log.read(-1, READ).err(), Some(OutOfRange));
}

#[test]
fn the_first_batch_comes_whole_and_the_rest_is_cut_at_the_limit() {
    let log = log([batch(0, &["a"]), batch(1, &["b"]), batch(2, &["c"])]);
    let size = log.batches[0].bytes.len();
    let limited = |max_bytes| ReadLimits { max_bytes, ..READ };
    assert_eq!(read(&log, 0, limited(0)), (vec![(0, 0)], 0));
    assert_eq!(read(&log, 0, limited(1)), (vec![(0, 0)], 0));
    assert_eq!(read(&log, 0, limited(size + 1)), (vec![(0, 0)], 1));
    assert_eq!(
        read(&log, 0, limited(2 * size + 20)),
        (vec![(0, 0), (1, 1)], 20)
    );
    assert_eq!(read(&log, 0, limited(3 * size)).0.len(), 3);
}

#[test]
fn without_the_first_batch_rule_a_batch_that_does_not_fit_is_not_begun() {
    let log = log([batch(0, &["a"]), batch(1, &["b"])]);
    let size = log.batches[0].bytes.len();
    let limited = |max_bytes| ReadLimits {
        max_bytes,
        at_least_one: false,
        ..READ
    };
    assert_eq!(read(&log, 0, limited(0)), (vec![], 0));
    assert_eq!(read(&log, 0, limited(size - 1)), (vec![], 0));
    assert_eq!(read(&log, 0, limited(size + 3)), (vec![(0, 0)], 3));
}

#[test]
fn a_held_high_watermark_ends_what_consumers_see() {
    let mut log = log([batch(0, &["a"])]);
    log.hold_high_watermark(true);
    log.append_as_is(&batch(1, &["b"]).build(), &mut decoder())
        .expect("appended");
    assert_eq!((log.high_watermark(), log.log_end_offset()), (1, 2));
    assert_eq!(read(&log, 0, READ), (vec![(0, 0)], 0));
    assert_eq!(read(&log, 1, READ), (vec![], 0));
    assert_eq!(
        read(&log, 2, READ),
        (vec![], 0),
        "in range though not visible"
    );
    log.hold_high_watermark(false);
    assert_eq!(read(&log, 1, READ), (vec![(1, 1)], 0));
}

#[test]
fn a_lagging_replica_has_an_end_of_its_own() {
    let log = log([batch(0, &["a"]), batch(1, &["b"])]);
    let lagging = ReadLimits {
        replica_end: Some(1),
        ..READ
    };
    assert_eq!(read(&log, 0, lagging), (vec![(0, 0)], 0));
    assert_eq!(read(&log, 1, lagging), (vec![], 0));
    assert_eq!(log.read(2, lagging).err(), Some(OutOfRange));
}

#[test]
fn batches_of_every_magic_stand_in_one_log() {
    // messages of magic 0 and 1 at offsets 0 and 1: no key, value "v"
    let v0 = b"\0\0\0\0\0\0\0\0\0\0\0\x0f\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\x01v";
    let v1 =
        b"\0\0\0\0\0\0\0\x01\0\0\0\x17\0\0\0\0\x01\0\0\0\0\0\0\0\0\x07\xff\xff\xff\xff\0\0\0\x01v";
    let mut log = PartitionLog::default();
    let both = Bytes::from([&v0[..], &v1[..]].concat());
    log.append_as_is(&both, &mut decoder()).expect("appended");
    log.append_as_is(&batch(2, &["c"]).build(), &mut decoder())
        .expect("appended");
    assert_eq!(read(&log, 1, READ), (vec![(1, 1), (2, 2)], 0));
}

#[test]
fn raw_bytes_are_appended_whole_or_not_at_all() {
    let mut log = log([batch(0, &["a", "b"])]);
    let mut append = |bytes: Bytes| log.append_as_is(&bytes, &mut decoder());
    let overlap = [batch(2, &["c"]).build(), batch(2, &["d"]).build()].concat();
    assert!(matches!(
        append(overlap.into()),
        Err(AppendError::BehindTheEnd {
            last_offset: 2,
            log_end: 3
        })
    ));
    let whole = batch(2, &["c"]).build();
    assert_eq!(
        append(whole.slice(..whole.len() - 1)),
        Err(AppendError::Cut {
            present: whole.len() - 1
        })
    );
    assert!(append(Bytes::from_static(&[0; 20])).is_err());
    let backwards = batch(2, &["c"]).last_offset_delta(-3).build();
    assert!(matches!(
        append(backwards),
        Err(AppendError::BehindTheEnd { .. })
    ));
    assert_eq!((log.log_end_offset(), log.batches.len()), (2, 1));
}

#[test]
fn a_produced_batch_is_given_its_place() {
    let mut log = log([batch(0, &["a", "b"])]);
    let sent = batch(0, &["c", "d"])
        .leader_epoch(-1)
        .compression(Compression::Zstd);
    let appended = log.append_produced(&sent.build(), 7, PRODUCE, &mut decoder());
    assert_eq!(
        appended,
        Ok(Appended {
            base_offset: 2,
            duplicate: None
        })
    );
    let header = log.batches[1].header;
    assert_eq!(
        (header.base_offset(), header.partition_leader_epoch()),
        (2, Some(7))
    );
    assert_eq!(offsets(&log), [0, 1, 2, 3]);
}

#[test]
fn b077_a_topic_of_log_append_time_stamps_batches() {
    let mut log = PartitionLog::default();
    let limits = ProduceLimits {
        log_append_time: Some(5000),
        ..PRODUCE
    };
    for codec in [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ] {
        let sent = batch(0, &["a", "b"]).timestamp(3).compression(codec);
        log.append_produced(&sent.build(), 0, limits, &mut decoder())
            .expect("appended");
    }
    let found = log.find_by_timestamp(4, &mut decoder()).expect("found");
    assert_eq!((found.offset, found.timestamp), (0, 5000));
    assert_eq!(offsets(&log).len(), 10);
}

#[test]
fn what_a_broker_refuses_is_refused_by_its_name() {
    let good = batch(0, &["a", "b"]);
    let mut wrong_crc = good.build().to_vec();
    wrong_crc[65] ^= 1;
    let twice = [good.build(), good.build()].concat();
    let large = batch(0, &["a"; 1000]);
    let garbage = {
        let mut batch = good.build().to_vec();
        batch[61] = 0xff; // length of the first record
        record_batch::produced::write_crc(&mut batch).expect("a batch");
        batch
    };
    let mut log = PartitionLog::default();
    let limits = ProduceLimits {
        max_message_bytes: 1000,
        ..PRODUCE
    };
    for (bytes, expected) in [
        (Bytes::new(), ResponseError::InvalidRecord),
        (wrong_crc.into(), ResponseError::CorruptMessage),
        (twice.into(), ResponseError::InvalidRecord),
        (garbage.into(), ResponseError::InvalidRecord),
        (large.build(), ResponseError::MessageTooLarge),
        (batch(1, &["a"]).build(), ResponseError::InvalidRecord),
        (
            good.clone().record_count(7).build(),
            ResponseError::InvalidRecord,
        ),
        (
            good.clone().last_offset_delta(7).build(),
            ResponseError::InvalidRecord,
        ),
        (
            good.clone()
                .record_count(i32::MAX)
                .last_offset_delta(i32::MAX - 1)
                .build(),
            ResponseError::InvalidRecord,
        ),
        (batch(0, &[]).build(), ResponseError::InvalidRecord),
        (
            good.clone().producer(5, 0, -1).build(),
            ResponseError::InvalidRecord,
        ),
        (
            good.clone().producer(5, 0, 0).transactional().build(),
            ResponseError::InvalidProducerIdMapping,
        ),
        (
            BatchBuilder::end_transaction(5, 0, true).build(),
            ResponseError::InvalidRecord,
        ),
        (good.build().slice(..30), ResponseError::InvalidRecord),
    ] {
        let refused = log.append_produced(&bytes, 0, limits, &mut decoder());
        let error = refused.expect_err("refused");
        assert_eq!(error.response_error(), expected, "{error}");
    }
    assert_eq!(log.log_end_offset(), 0);
}

#[test]
fn an_idempotent_producer_is_held_to_its_sequence() {
    let mut log = PartitionLog::default();
    let two = |epoch, sequence| batch(0, &["a", "b"]).producer(9, epoch, sequence);
    let fresh = |base_offset| {
        Ok(Appended {
            base_offset,
            duplicate: None,
        })
    };
    let repeated = |base_offset| {
        Ok(Appended {
            base_offset,
            duplicate: Some(0),
        })
    };
    assert_eq!(produce(&mut log, &two(0, 0)), fresh(0));
    assert_eq!(produce(&mut log, &two(0, 2)), fresh(2));
    assert_eq!(produce(&mut log, &two(0, 0)), repeated(0));
    assert_eq!(
        produce(&mut log, &two(0, 6)),
        Err(ResponseError::OutOfOrderSequenceNumber)
    );
    for sequence in [4, 6, 8, 10] {
        assert_eq!(
            produce(&mut log, &two(0, sequence)),
            fresh(i64::from(sequence))
        );
    }
    // the first is not among the last five any more
    assert_eq!(
        produce(&mut log, &two(0, 0)),
        Err(ResponseError::OutOfOrderSequenceNumber)
    );
    assert_eq!(produce(&mut log, &two(0, 2)), repeated(2));
    // a new epoch begins at 0 and fences the old one
    assert_eq!(
        produce(&mut log, &two(1, 5)),
        Err(ResponseError::OutOfOrderSequenceNumber)
    );
    assert_eq!(produce(&mut log, &two(1, 0)), fresh(12));
    assert_eq!(
        produce(&mut log, &two(0, 12)),
        Err(ResponseError::InvalidProducerEpoch)
    );
    // a producer that the log knows nothing of may begin anywhere
    assert_eq!(
        produce(&mut log, &batch(0, &["x"]).producer(10, 0, 55)),
        fresh(14)
    );
}

#[test]
fn sequence_numbers_wrap_to_zero() {
    let mut log = PartitionLog::default();
    let two = |sequence| batch(0, &["a", "b"]).producer(9, 0, sequence);
    for (sequence, base_offset) in [(i32::MAX - 2, 0), (i32::MAX, 2), (1, 4)] {
        let appended = produce(&mut log, &two(sequence));
        assert_eq!(
            appended,
            Ok(Appended {
                base_offset,
                duplicate: None
            })
        );
    }
    let mut log = PartitionLog::default();
    produce(&mut log, &two(i32::MAX - 1)).expect("appended");
    produce(&mut log, &two(0)).expect("0 follows 2^31 - 1");
}

#[test]
fn times_are_looked_up_within_batches() {
    // the example of broker behaviour: 2, 4, 6, 8 at offsets 0 to 3
    for codec in [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ] {
        let times = |times: &[i64]| {
            let batch = BatchBuilder::new().compression(codec);
            times.iter().fold(batch, |batch, time| {
                batch.record(crate::ProducerRecord::new("v").timestamp(*time))
            })
        };
        let log = log([times(&[2, 4]), times(&[6, 8]).base_offset(2)]);
        for (asked, expected) in [
            (0, Some((0, 2))),
            (3, Some((1, 4))),
            (4, Some((1, 4))),
            (5, Some((2, 6))),
            (8, Some((3, 8))),
            (9, None),
        ] {
            let found = log.find_by_timestamp(asked, &mut decoder());
            assert_eq!(
                found.map(|f| (f.offset, f.timestamp)),
                expected,
                "time {asked}, {codec}"
            );
        }
        let largest = log.find_max_timestamp(&mut decoder()).expect("some");
        assert_eq!((largest.offset, largest.timestamp), (3, 8));
    }
    assert_eq!(
        PartitionLog::default().find_max_timestamp(&mut decoder()),
        None
    );
}

#[test]
fn times_out_of_order_and_below_the_log_start() {
    let times = |base, times: &[i64]| {
        times
            .iter()
            .fold(BatchBuilder::new().base_offset(base), |batch, time| {
                batch.record(crate::ProducerRecord::new("v").timestamp(*time))
            })
    };
    let mut log = log([times(0, &[9, 1, 9]), times(3, &[5])]);
    assert_eq!(
        log.find_max_timestamp(&mut decoder()).map(|f| f.offset),
        Some(0)
    );
    log.delete_records(1).expect("in range");
    assert_eq!(
        log.find_by_timestamp(6, &mut decoder()).map(|f| f.offset),
        Some(2)
    );
    log.delete_records(3).expect("in range");
    assert_eq!(
        log.find_by_timestamp(5, &mut decoder()).map(|f| f.offset),
        Some(3)
    );
    assert_eq!(log.find_by_timestamp(6, &mut decoder()), None);
}

#[test]
fn truncation_takes_batches_transactions_and_epochs_with_it() {
    let mut log = log([
        batch(0, &["a", "b"]),
        transactions::data(2, 1, &["c"]),
        transactions::end(3, 1, false),
    ]);
    log.begin_epoch(4);
    log.append_as_is(&batch(4, &["d"]).leader_epoch(4).build(), &mut decoder())
        .expect("appended");
    log.truncate(3, &mut decoder());
    assert_eq!(
        (log.log_end_offset(), log.last_stable_offset()),
        (3, 2),
        "open again"
    );
    assert_eq!(log.epochs().latest(), Some(0));
    log.truncate(1, &mut decoder());
    assert_eq!(
        (log.log_end_offset(), log.batches.len()),
        (1, 0),
        "the batch that contains it goes"
    );
    log.truncate(5, &mut decoder());
    assert_eq!(log.log_end_offset(), 1);
}

#[test]
fn deleted_records_go_batch_by_batch() {
    let mut log = log([batch(0, &["a", "b"]), batch(2, &["c", "d"])]);
    log.delete_records(3).expect("in range");
    assert_eq!((log.log_start_offset(), offsets(&log)), (3, vec![2, 3]));
    assert_eq!(read(&log, 3, READ), (vec![(2, 3)], 0));
    log.delete_records(1).expect("nothing to do");
    assert_eq!(log.log_start_offset(), 3);
    assert_eq!(log.delete_records(5), Err(OutOfRange));
}

#[test]
fn removed_batches_leave_a_gap() {
    let mut log = log([batch(0, &["a"]), batch(1, &["b"]), batch(2, &["c"])]);
    assert_eq!(log.remove_batches(&[1, 77], &mut decoder()), 1);
    assert_eq!(read(&log, 1, READ), (vec![(2, 2)], 0));
}

#[test]
fn b070_compaction_keeps_the_last_record_of_a_key_and_the_offsets_of_batches() {
    let keyed = |base, pairs: &[(&str, &str)]| {
        let batch = BatchBuilder::new()
            .base_offset(base)
            .leader_epoch(0)
            .compression(Compression::Gzip);
        pairs.iter().fold(batch, |batch, pair| batch.record(*pair))
    };
    let mut log = log([
        keyed(0, &[("a", "1"), ("b", "1"), ("c", "1")]),
        keyed(3, &[("a", "2"), ("b", "2")]),
        batch(5, &["no key"]),
        keyed(6, &[("a", "3"), ("b", "3")]).producer(4, 0, 0),
        keyed(8, &[("a", "4"), ("b", "4")]),
    ]);
    assert_eq!(log.compact(&mut decoder()), 6);
    assert_eq!(offsets(&log), [2, 5, 8, 9]);
    // the first keeps its span, the second is gone, the idempotent producer's is left empty
    assert_eq!(read(&log, 0, READ).0, [(0, 2), (5, 5), (6, 7), (8, 9)]);
    assert_eq!(log.batches[2].header.record_count(), Some(0));
    assert_eq!(log.compact(&mut decoder()), 0);
}
