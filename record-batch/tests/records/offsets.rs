use bytes::Bytes;
use record_batch::{BatchErrorKind, Decoder, FreshBuffers, entries, scan};

use crate::support::consume::consume;
use crate::support::encoder::{Codec, TestBatch, TestMessage, TestRecord};
use crate::support::vectors;

#[test]
fn f001_emptied_batch_moves_the_position() {
    assert_eq!(
        consume(&vectors::bytes("EMPTY"), 100).sound(),
        (vec![], 110)
    );
    let five: Vec<u8> = (10..15)
        .flat_map(|ten| TestBatch::emptied(ten * 10, ten * 10 + 9).encode())
        .collect();
    assert_eq!(consume(&five, 100).sound(), (vec![], 150));
    assert_eq!(scan(&five, 100).next_offset, 150);
}

#[test]
fn f002_position_behind_the_last_survivor_stays() {
    let gap = vectors::bytes("GAP");
    assert_eq!(consume(&gap, 100).sound(), (vec![103], 110));
    assert_eq!(consume(&gap, 104).sound(), (vec![], 110));
    assert_eq!(consume(&gap, 110).sound(), (vec![], 110));
    assert_eq!(scan(&gap, 110).next_offset, 110);
}

#[test]
fn b067_gaps_within_a_batch() {
    let records = [0, 5, 15].map(|delta| TestRecord::at(delta, "v"));
    let batch = TestBatch::new(15, &records).encode();
    assert_eq!(consume(&batch, 15).sound(), (vec![15, 20, 30], 31));
    assert_eq!(consume(&batch, 16).sound(), (vec![20, 30], 31));
}

#[test]
fn b068_last_record_compacted_away() {
    let batch = TestBatch {
        last_offset_delta: 2,
        ..TestBatch::run(1, 2)
    };
    assert_eq!(consume(&batch.encode(), 1).sound(), (vec![1, 2], 4));
}

#[test]
fn b069_empty_batch() {
    let batch = TestBatch::emptied(37, 54).encode();
    assert_eq!(consume(&batch, 37).sound(), (vec![], 55));
}

#[test]
fn b070_compacted_log_with_gaps_and_empty_batches() {
    let log = [
        TestBatch::emptied(0, 9),
        TestBatch {
            last_offset_delta: 9,
            ..TestBatch::new(10, &[TestRecord::at(3, "a"), TestRecord::at(7, "b")])
        },
        // 20 to 29: the batch itself is gone
        TestBatch::emptied(30, 39),
        TestBatch::new(40, &[TestRecord::at(4, "c")]).codec(Codec::Zstd),
    ];
    let log: Vec<u8> = log.iter().flat_map(TestBatch::encode).collect();
    assert_eq!(consume(&log, 0).sound(), (vec![13, 17, 44], 45));
    assert_eq!(consume(&log, 14).sound(), (vec![17, 44], 45));
    assert_eq!(consume(&log, 25).sound(), (vec![44], 45));
}

#[test]
fn position_never_moves_backwards() {
    let batch = TestBatch {
        last_offset_delta: -50,
        ..TestBatch::emptied(100, 100)
    };
    let scan = scan(&batch.encode(), 100);
    assert_eq!(scan.next_offset, 100);
    assert!(!scan.progressed());
    assert_eq!(consume(&batch.encode(), 100).next, 100);
}

#[test]
fn offsets_at_the_end_of_their_range() {
    let last = TestBatch::run(i64::MAX - 1, 2).encode();
    assert_eq!(scan(&last, 0).next_offset, i64::MAX);
    let expected = (vec![i64::MAX - 1, i64::MAX], i64::MAX);
    assert_eq!(consume(&last, 0).sound(), expected);

    let beyond = TestBatch::run(i64::MAX - 1, 3).encode();
    assert_eq!(scan(&beyond, 0).next_offset, i64::MAX);
    let last_offset_delta = 2;
    assert_eq!(
        consume(&beyond, 0).failed().kind(),
        &BatchErrorKind::OffsetOverflow { last_offset_delta }
    );
}

#[test]
fn reading_may_stop_after_any_record_and_go_on() {
    let bytes = [
        TestBatch::run(0, 10),
        TestBatch::run(0, 10).codec(Codec::Lz4),
    ]
    .map(|batch| batch.encode());
    for bytes in bytes.map(bytes::Bytes::from) {
        let entry = entries(&bytes).next().unwrap().unwrap();
        let batch = Decoder::new(Default::default())
            .decode(&bytes, &entry, &mut FreshBuffers)
            .unwrap();
        let all: Vec<_> = batch.records().map(|record| record.offset()).collect();
        for chunk in 1..=11 {
            let (mut seen, mut cursor) = (Vec::new(), Default::default());
            loop {
                // another clone each time: a cursor is a plain value
                let batch = batch.clone();
                let mut records = batch.records_from(cursor);
                assert_eq!(records.len(), 10 - seen.len());
                let before = seen.len();
                seen.extend(records.by_ref().take(chunk).map(|record| record.offset()));
                if seen.len() == before {
                    break;
                }
                cursor = records.cursor();
                assert_eq!(cursor.index(), seen.len());
            }
            assert_eq!(seen, all);
        }
        for from in 0..=10 {
            let cursor = batch.cursor_after(Default::default(), from);
            for count in 0..12 {
                let to = batch.cursor_after(cursor, count);
                let between: Vec<_> = batch
                    .records_between(cursor, to)
                    .map(|record| record.offset())
                    .collect();
                let expected: Vec<_> = all.iter().copied().skip(from).take(count).collect();
                assert_eq!(between, expected, "{count} from {from} on");
            }
        }
        for position in -1..12 {
            let from: Vec<_> = batch
                .records_from(batch.cursor_at(position))
                .map(|record| record.offset())
                .collect();
            let expected: Vec<_> = all.iter().copied().filter(|o| *o >= position).collect();
            assert_eq!(from, expected);
        }
    }
}

/// The place behind any number of records is that to which a walk comes, whatever the number of records is to that of the marks.
#[test]
fn a_place_in_the_midst_is_where_a_walk_comes() {
    let sizes = [0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 546];
    let batches = sizes.map(|size| TestBatch::run(7, size).encode());
    let messages: Vec<_> = (0..40).map(|delta| TestMessage::new(1, delta)).collect();
    let old = TestMessage::wrapper(1, 39, Codec::Gzip, &messages).encode();
    for bytes in batches.into_iter().chain([old]).map(Bytes::from) {
        let entry = entries(&bytes).next().unwrap().unwrap();
        let batch = Decoder::new(Default::default())
            .decode(&bytes, &entry, &mut FreshBuffers)
            .unwrap();
        let mut records = batch.records();
        let mut walk = vec![records.cursor()];
        while records.next().is_some() {
            walk.push(records.cursor());
        }
        let last = walk.len() - 1;
        assert_eq!(batch.end(), walk[last]);
        for (from, cursor) in walk.iter().enumerate() {
            for to in from..last + 3 {
                let expected = walk[to.min(last)];
                assert_eq!(batch.cursor_after(*cursor, to - from), expected);
            }
            assert_eq!(batch.cursor_after(*cursor, usize::MAX), walk[last]);
        }
    }
}
