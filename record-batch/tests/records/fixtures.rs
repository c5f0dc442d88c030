use record_batch::{DecodeOptions, scan};

use crate::support::consume::{consume, consume_committed, consume_with};
use crate::support::vectors::{self, describe};

/// The first offset of a vector: that of its first entry, for wrappers of magic 0 and 1 that of their first record.
fn first_offset(name: &str) -> i64 {
    match name {
        "EMPTY" | "GAP" => 100,
        "ABORT" | "COMMIT" => 7,
        "TXN" => 4,
        "V0_LZ4_BROKENHC" | "V1_SNAPPY_REL" | "V1_APPENDTIME" => 40,
        _ => 0,
    }
}

#[test]
fn every_vector_gives_its_result() {
    let vectors = vectors::all();
    assert_eq!(vectors.len(), 24);
    for vector in vectors {
        let name = vector.name;
        let consumed = consume(&vector.bytes, first_offset(name));
        assert_eq!(
            consumed.error.is_some(),
            vector.is_error,
            "{name}: {consumed:?}"
        );
        assert_eq!(describe(&consumed.records), vector.records, "{name}");
        assert_eq!(consumed.next, vector.next, "{name}");
        if !vector.is_error {
            let scan = scan(&vector.bytes, first_offset(name));
            assert_eq!(scan.next_offset, vector.next, "{name}");
        }
    }
}

/// What the remarks say beyond the result.
#[test]
fn remarks_of_vectors_hold() {
    let remark = |name| {
        let vectors = vectors::all();
        vectors.iter().find(|v| v.name == name).unwrap().remark
    };
    assert!(remark("TXN").contains("read_committed with aborted=[(5,4)]: records=[] next=7"));
    let (offsets, next) = consume_committed(&vectors::bytes("TXN"), 4, &[(5, 4)]).sound();
    assert_eq!((offsets, next), (vec![], 7));

    assert!(remark("BADCRC").contains("check.crcs=false: the three records of SNAPPY_RAW"));
    let unchecked = DecodeOptions {
        check_crcs: false,
        ..DecodeOptions::default()
    };
    let read = consume_with(&vectors::bytes("BADCRC"), 0, unchecked);
    let same = consume(&vectors::bytes("SNAPPY_RAW"), 0);
    assert_eq!(describe(&read.records), describe(&same.records));
    assert_eq!(read.records.len(), 3);
}

/// Cutting a vector anywhere must never panic, never give a record that the whole does not have, and never move the
/// position beyond it.
#[test]
fn f049_vectors_cut_at_every_byte() {
    for vector in vectors::all() {
        let position = first_offset(vector.name);
        let whole = consume(&vector.bytes, position);
        for length in 0..vector.bytes.len() {
            let cut = &vector.bytes[..length];
            let consumed = consume(cut, position);
            assert!(
                whole.records.starts_with(&consumed.records),
                "{} at {length}",
                vector.name
            );
            assert!(
                consumed.next <= vector.next.max(whole.next),
                "{}",
                vector.name
            );
            if consumed.next == position {
                assert!(!scan(cut, position).progressed());
            }
        }
    }
}
