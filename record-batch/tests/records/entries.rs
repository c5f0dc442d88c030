use record_batch::{BatchErrorKind, Tail, entries, scan};

use crate::support::consume::consume;
use crate::support::encoder::{TestBatch, TestMessage};
use crate::support::vectors;

#[test]
fn f003_no_bytes_move_nothing() {
    let scan = scan(&[], 5);
    assert_eq!((scan.next_offset, scan.entries, scan.tail), (5, 0, None));
    assert!(!scan.progressed());
}

#[test]
fn b073_eight_zero_bytes_are_no_progress() {
    let scan = scan(&[0; 8], 0);
    assert_eq!(scan.next_offset, 0);
    assert!(!scan.progressed());
    assert_eq!((scan.entries, scan.corrupt), (0, None));
    let present = 8;
    assert_eq!(
        scan.tail,
        Some(Tail {
            present,
            needed: None
        })
    );
}

#[test]
fn f015_beginning_of_a_batch_tells_how_much_it_needs() {
    let batch = TestBatch::run(7, 1000).encode();
    let scan = scan(&batch[..100], 7);
    assert!(!scan.progressed());
    assert_eq!(
        scan.tail,
        Some(Tail {
            present: 100,
            needed: Some(batch.len())
        })
    );
}

#[test]
fn b039_entries_below_the_position_are_no_progress() {
    let scan = scan(&TestBatch::run(0, 3).encode(), 3);
    assert_eq!((scan.entries, scan.next_offset), (1, 3));
    assert!(!scan.progressed());
}

#[test]
fn f049_b078_tail_is_left_to_the_next_fetch() {
    for name in ["TRUNCATED", "TRUNC_HDR"] {
        let bytes = vectors::bytes(name);
        assert_eq!(consume(&bytes, 0).sound(), (vec![0, 1, 2], 3), "{name}");
        let scan = scan(&bytes, 0);
        assert_eq!(
            (scan.next_offset, scan.entries, scan.whole_bytes),
            (3, 1, 91)
        );
        assert_eq!(scan.tail.map(|tail| tail.present), Some(bytes.len() - 91));
    }
}

#[test]
fn f049_two_batches_cut_at_every_byte() {
    let (first, second) = (TestBatch::run(0, 3).encode(), TestBatch::run(3, 3).encode());
    let both = [first.clone(), second.clone()].concat();
    for length in 0..both.len() {
        let scan = scan(&both[..length], 0);
        let (whole, next) = if length < first.len() { (0, 0) } else { (1, 3) };
        assert_eq!((scan.entries, scan.next_offset), (whole, next), "{length}");
        assert_eq!(scan.corrupt, None, "{length}");
        let present = length - scan.whole_bytes;
        assert_eq!(
            scan.tail.map_or(0, |tail| tail.present),
            present,
            "{length}"
        );
        if present >= 12 {
            let needed = if whole == 0 {
                first.len()
            } else {
                second.len()
            };
            assert_eq!(scan.tail.unwrap().needed, Some(needed), "{length}");
        }
    }
}

#[test]
fn b076_versions_in_one_log() {
    let log = [
        TestMessage::new(0, 0).encode(),
        TestMessage::new(1, 1).encode(),
        TestBatch::run(2, 2).encode(),
        TestMessage::new(0, 4).encode(),
    ]
    .concat();
    let magics: Vec<_> = entries(&log)
        .map(|entry| entry.unwrap().header().magic())
        .collect();
    assert_eq!(magics, [0, 1, 2, 0]);
    assert_eq!(consume(&log, 0).sound(), (vec![0, 1, 2, 3, 4], 5));
}

#[test]
fn scan_measures_what_is_there() {
    let batches = [
        TestBatch::run(0, 3).encode(),
        TestBatch {
            leader_epoch: 13,
            ..TestBatch::run(3, 50)
        }
        .encode(),
        TestBatch {
            leader_epoch: 8,
            ..TestBatch::run(53, 1)
        }
        .encode(),
    ];
    let scan = scan(&batches.concat(), 1);
    assert_eq!(scan.next_offset, 54);
    assert_eq!(scan.entries, 3);
    assert_eq!(scan.largest_entry, batches[1].len());
    assert_eq!(scan.whole_bytes, batches.concat().len());
    assert_eq!(scan.last_leader_epoch, Some(8));
    assert!(scan.progressed());
}

#[test]
fn b082_unknown_magic_is_named_with_its_offset() {
    let mut bad = TestBatch::run(3, 1).encode();
    bad[16] = 3;
    let log = [TestBatch::run(0, 3).encode(), bad].concat();
    let scan = scan(&log, 0);
    assert_eq!((scan.next_offset, scan.entries), (3, 1));
    let error = scan.corrupt.unwrap();
    assert_eq!(error.base_offset(), 3);
    assert_eq!(error.last_offset(), None);
    assert_eq!(error.kind(), &BatchErrorKind::UnknownMagic { found: 3 });
    assert!(error.kind().is_unsupported());
    assert!(error.to_string().contains("offset 3"), "{error}");

    // what stands before it is delivered, and the walk stops there
    let consumed = consume(&log, 0);
    assert_eq!((consumed.offsets(), consumed.next), (vec![0, 1, 2], 3));
    assert_eq!(consumed.failed(), &error);
    let mut walk = entries(&log);
    assert_eq!(walk.by_ref().count(), 2);
    assert_eq!(walk.next(), None);
}

#[test]
fn impossible_lengths_are_corrupt_whatever_is_behind() {
    for (magic, smallest) in [(0u8, 14), (1, 22), (2, 49)] {
        for length in [i32::MIN, -1, 0, 13, smallest - 1] {
            let mut bytes = 9i64.to_be_bytes().to_vec();
            bytes.extend(length.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.push(magic);
            bytes.extend([0; 100]);
            let scan = scan(&bytes, 9);
            assert!(!scan.progressed());
            let error = scan.corrupt.expect("corrupt");
            assert_eq!(error.base_offset(), 9);
            assert!(
                matches!(error.kind(), BatchErrorKind::LengthTooSmall { found, .. } if *found == length),
                "{error}"
            );
        }
    }
}

#[test]
fn length_of_two_gigabytes_is_a_tail() {
    let mut bytes = TestBatch::run(0, 1).encode();
    bytes[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    let scan = scan(&bytes, 0);
    assert!(!scan.progressed());
    assert_eq!(scan.tail.unwrap().needed, Some(12 + i32::MAX as usize));
}
