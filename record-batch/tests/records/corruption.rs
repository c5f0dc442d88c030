use record_batch::{BatchErrorKind, DecodeOptions, RecordProblem, scan};

use crate::support::consume::{consume, consume_with};
use crate::support::encoder::{Codec, TestBatch, TestRecord, record, varint};
use crate::support::vectors;

/// The problem of record 1 of a batch of three whose second record is `bytes`.
fn second_is(bytes: &[u8]) -> BatchErrorKind {
    let mut batch = TestBatch::run(10, 3);
    batch.body = [
        // long enough for three records to be possible, whatever `bytes` are
        record(&TestRecord::at(0, "as long as two records")),
        bytes.to_vec(),
        record(&TestRecord::at(2, "c")),
    ]
    .concat();
    let consumed = consume(&batch.encode(), 10);
    assert!(consumed.records.is_empty());
    assert_eq!(consumed.next, 10);
    let error = consumed.failed();
    assert_eq!((error.base_offset(), error.last_offset()), (10, Some(12)));
    assert!(error.offsets_verified() && error.kind().is_corrupt());
    error.kind().clone()
}

fn problem_of(bytes: &[u8]) -> RecordProblem {
    match second_is(bytes) {
        BatchErrorKind::InvalidRecord { index: 1, problem } => problem,
        other => panic!("{other}"),
    }
}

/// A record with these bytes behind its length.
fn sized(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, body.len() as i64);
    bytes.extend(body);
    bytes
}

#[test]
fn b079_f050_bad_crc() {
    let bad = vectors::bytes("BADCRC");
    for _ in 0..3 {
        let consumed = consume(&bad, 0);
        assert_eq!((consumed.offsets(), consumed.next), (vec![], 0));
        let error = consumed.failed();
        let BatchErrorKind::WrongCrc { stored, computed } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!((stored ^ computed).count_ones(), 1);
        assert!(!error.offsets_verified());
        assert_eq!(error.step_over(), Some(3));
        let text = error.to_string();
        for part in ["0 to 2", "unverified", "0x216c5fe8", "seek to 3"] {
            assert!(text.contains(part), "{text}");
        }
    }
    let unchecked = DecodeOptions {
        check_crcs: false,
        ..DecodeOptions::default()
    };
    assert_eq!(consume_with(&bad, 0, unchecked).sound(), (vec![0, 1, 2], 3));
}

#[test]
fn b080_f050_batch_behind_a_bad_one_is_intact() {
    let log = [
        TestBatch::run(0, 3).encode(),
        vectors::bytes("BADCRC"),
        TestBatch::run(6, 2).encode(),
    ];
    let mut log = log.concat();
    // the bad one is at 3 to 5; the base offset is not under the CRC
    let at = TestBatch::run(0, 3).encode().len();
    log[at..at + 8].copy_from_slice(&3i64.to_be_bytes());
    let consumed = consume(&log, 0);
    assert_eq!((consumed.offsets(), consumed.next), (vec![0, 1, 2], 3));
    let error = consumed.failed();
    assert_eq!((error.base_offset(), error.last_offset()), (3, Some(5)));
    assert_eq!(
        consume(&log, error.step_over().unwrap()).sound(),
        (vec![6, 7], 8)
    );
    // headers alone lead past it
    assert_eq!(scan(&log, 0).next_offset, 8);
}

#[test]
fn b085_good_records_before_the_bad() {
    let log = [TestBatch::run(0, 3).encode(), vectors::bytes("NEGCOUNT")].concat();
    let mut log = log;
    let at = TestBatch::run(0, 3).encode().len();
    log[at..at + 8].copy_from_slice(&3i64.to_be_bytes());
    let first = consume(&log, 0);
    assert_eq!((first.offsets(), first.next), (vec![0, 1, 2], 3));
    let second = consume(&log, first.next);
    assert_eq!((second.offsets(), second.next), (vec![], 3));
    assert_eq!(second.failed().base_offset(), 3);
}

#[test]
fn f051_counts_that_the_bytes_cannot_hold() {
    for (name, count) in [("NEGCOUNT", -1), ("HUGECOUNT", i32::MAX)] {
        let consumed = consume(&vectors::bytes(name), 0);
        let (bytes, most) = (10, 1);
        assert_eq!(
            consumed.failed().kind(),
            &BatchErrorKind::ImpossibleRecordCount { count, bytes, most },
            "{name}"
        );
        assert_eq!(consumed.next, 0);
    }
}

#[test]
fn f051_counts_above_and_below_the_records_present() {
    let with_count = |count| {
        let batch = TestBatch {
            count,
            ..TestBatch::run(0, 3)
        };
        consume(&batch.encode(), 0).failed().kind().clone()
    };
    assert!(matches!(
        with_count(4),
        BatchErrorKind::InvalidRecord { index: 3, .. }
    ));
    assert_eq!(
        with_count(2),
        BatchErrorKind::BytesLeft { left: 10, count: 2 }
    );
    assert_eq!(
        with_count(0),
        BatchErrorKind::BytesLeft { left: 30, count: 0 }
    );
}

#[test]
fn f050_garbage_in_the_second_of_three_records() {
    second_is(&[0xff; 10]);
    second_is(&[]);
    second_is(&sized(&[0x55; 9]));
    let good = record(&TestRecord::at(1, "v1"));
    assert_eq!(good.len(), 10);
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut flipped = good.clone();
            flipped[at] ^= 1 << bit;
            let mut batch = TestBatch::run(0, 3);
            batch.body[10..20].copy_from_slice(&flipped);
            // a flip may hit what means nothing; then all records are there
            let consumed = consume(&batch.encode(), 0);
            match consumed.error {
                None => assert_eq!(consumed.offsets(), [0, 1, 2]),
                Some(_) => assert!(consumed.records.is_empty() && consumed.next == 0),
            }
        }
    }
}

#[test]
fn fields_beyond_their_record_are_refused() {
    // attributes, timestamp delta, offset delta 1, key, value, headers
    assert_eq!(
        problem_of(&sized(&[0, 0, 2, 2])),
        RecordProblem::Length {
            field: "key length",
            length: 1,
            left: 0
        }
    );
    assert_eq!(
        problem_of(&sized(&[0, 0, 2, 1, 20, b'v', 0])),
        RecordProblem::Length {
            field: "value length",
            length: 10,
            left: 2
        }
    );
    assert_eq!(
        problem_of(&sized(&[0, 0, 2, 3, 1, 0])),
        RecordProblem::Length {
            field: "key length",
            length: -2,
            left: 2
        }
    );
    assert_eq!(
        problem_of(&sized(&[0, 0, 2, 1, 1])),
        RecordProblem::Varint {
            field: "header count"
        }
    );
    assert_eq!(
        problem_of(&sized(&[0, 0, 2, 1, 1, 0, 9, 9])),
        RecordProblem::BytesLeft { left: 2 }
    );
    assert_eq!(
        problem_of(&sized(&[])),
        RecordProblem::Varint {
            field: "attributes"
        }
    );
    assert!(matches!(
        problem_of(&[1]),
        RecordProblem::Length {
            field: "record length",
            length: -1,
            ..
        }
    ));
    assert!(matches!(
        problem_of(&[0xfe, 0xff, 0xff, 0xff, 0x0f]),
        RecordProblem::Length {
            field: "record length",
            length: 0x7fff_ffff,
            ..
        }
    ));
}

#[test]
fn varints_longer_than_their_type_are_refused() {
    let too_long = |bytes: usize| [vec![0x80; bytes], vec![0]].concat();
    let body =
        |timestamp: &[u8], offset: &[u8]| sized(&[&[0], timestamp, offset, &[1, 1, 0]].concat());
    // overlong and still within its limit is legal
    assert!(matches!(
        second_is(&body(&too_long(9), &[4])),
        BatchErrorKind::InvalidRecord {
            problem: RecordProblem::Offset { .. },
            index: 2
        }
    ));
    let mut batch = TestBatch::run(0, 1);
    batch.body = body(&too_long(9), &too_long(4));
    assert_eq!(consume(&batch.encode(), 0).sound(), (vec![0], 1));

    let field = "timestampDelta";
    assert_eq!(
        problem_of(&body(&too_long(10), &[2])),
        RecordProblem::Varint { field }
    );
    let field = "offsetDelta";
    assert_eq!(
        problem_of(&body(&[0], &too_long(5))),
        RecordProblem::Varint { field }
    );
}

#[test]
fn header_counts_are_claims() {
    let with_headers = |bytes: &[u8]| problem_of(&sized(&[&[0, 0, 2, 1, 1], bytes].concat()));
    assert_eq!(
        with_headers(&[1]),
        RecordProblem::HeaderCount { count: -1, left: 0 }
    );
    let huge = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(
        with_headers(&huge),
        RecordProblem::HeaderCount {
            count: i32::MAX,
            left: 0
        }
    );
    // two headers claimed, one there
    assert_eq!(
        with_headers(&[4, 2, b'h', 1, 0]),
        RecordProblem::Varint {
            field: "header value length"
        }
    );
    // a null name
    assert!(matches!(
        with_headers(&[2, 1, 1]),
        RecordProblem::Length {
            field: "header key length",
            length: -1,
            ..
        }
    ));
}

#[test]
fn offsets_must_rise_within_the_batch() {
    let at = |delta| problem_of(&record(&TestRecord::at(delta, "b")));
    let expected = |offset| RecordProblem::Offset {
        offset,
        least: 11,
        most: 12,
    };
    assert_eq!(at(0), expected(10));
    assert_eq!(at(-1), expected(9));
    assert_eq!(at(3), expected(13));
    assert_eq!(at(i32::MAX), expected(10 + i64::from(i32::MAX)));
    assert_eq!(at(i32::MIN), expected(10 + i64::from(i32::MIN)));
}

#[test]
fn negative_last_offset_delta_hides_no_records() {
    let batch = TestBatch {
        last_offset_delta: -3,
        ..TestBatch::run(10, 1)
    };
    let log = [batch.encode(), TestBatch::run(11, 1).encode()].concat();
    let consumed = consume(&log, 10);
    assert_eq!((consumed.offsets(), consumed.next), (vec![], 10));
    let error = consumed.failed();
    // stepping over it does not lead back
    assert_eq!(
        (error.last_offset(), error.step_over()),
        (Some(7), Some(11))
    );
    assert_eq!(consume(&log, 11).sound(), (vec![11], 12));
}

#[test]
fn unused_attributes_of_records_are_ignored() {
    for codec in [Codec::None, Codec::Gzip] {
        let mut batch = TestBatch::run(0, 1).codec(codec);
        batch.body[1] = 0xff;
        assert_eq!(consume(&batch.encode(), 0).sound(), (vec![0], 1));
    }
}
