use record_batch::{BatchHeader, ControlType, TransactionFilter, Verdict};

use crate::support::consume::{consume, consume_committed};
use crate::support::encoder::{CONTROL, Codec, TRANSACTIONAL, TestBatch, TestRecord};
use crate::support::vectors;

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

fn log(batches: &[TestBatch]) -> Vec<u8> {
    batches.iter().flat_map(TestBatch::encode).collect()
}

fn header(batch: &TestBatch) -> BatchHeader {
    BatchHeader::parse(&batch.encode()).unwrap()
}

#[test]
fn f004_abort_marker_without_an_entry() {
    let marker = vectors::bytes("ABORT");
    assert_eq!(consume_committed(&marker, 7, &[]).sound(), (vec![], 8));
    // a null list is that of read_uncommitted
    assert_eq!(consume(&marker, 7).sound(), (vec![], 8));
}

#[test]
fn f005_b091_list_in_any_order() {
    let log = log(&[
        TestBatch::run(0, 3).of_producer(9),
        TestBatch::marker(3, 9, ABORT),
        TestBatch::run(4, 3).of_producer(5),
        TestBatch::marker(7, 5, ABORT),
    ]);
    for list in [[(5, 4), (9, 0)], [(9, 0), (5, 4)]] {
        assert_eq!(consume_committed(&log, 0, &list).sound(), (vec![], 8));
    }
}

#[test]
fn f006_b096_codec_does_not_matter() {
    for codec in Codec::ALL {
        let log = log(&[
            TestBatch::run(4, 3).of_producer(5).codec(codec),
            TestBatch::marker(7, 5, ABORT),
        ]);
        let committed = consume_committed(&log, 4, &[(5, 4)]);
        assert_eq!(committed.sound(), (vec![], 8), "{codec:?}");
        // the same bytes, read_uncommitted
        assert_eq!(consume(&log, 4).sound(), (vec![4, 5, 6], 8), "{codec:?}");
    }
}

#[test]
fn aborted_batches_are_not_even_decoded() {
    let mut bad = TestBatch::run(0, 3).of_producer(5).encode();
    *bad.last_mut().unwrap() ^= 1;
    let log = [bad, TestBatch::marker(3, 5, ABORT).encode()].concat();
    assert_eq!(consume_committed(&log, 0, &[(5, 0)]).sound(), (vec![], 4));
    assert!(consume(&log, 0).error.is_some());
}

#[test]
fn f007_b014_aborted_data_only_is_no_error() {
    let mut batches: Vec<_> = (0..100)
        .map(|i| TestBatch::run(i * 10, 10).of_producer(5))
        .collect();
    batches.push(TestBatch::marker(1000, 5, ABORT));
    let log = log(&batches);
    assert_eq!(
        consume_committed(&log, 0, &[(5, 0)]).sound(),
        (vec![], 1001)
    );
    // a response that ends before the marker
    let cut = &log[..log.len() - 100];
    assert_eq!(consume_committed(cut, 0, &[(5, 0)]).sound(), (vec![], 990));
}

#[test]
fn b013_control_batch_only_moves_the_position() {
    for name in ["ABORT", "COMMIT"] {
        assert_eq!(consume(&vectors::bytes(name), 7).sound(), (vec![], 8));
        assert_eq!(
            consume_committed(&vectors::bytes(name), 7, &[]).sound(),
            (vec![], 8)
        );
    }
}

#[test]
fn b071_compacted_committed_batch() {
    // offsets 0 to 2 of the transaction and the records between 4 and 30 are gone
    let first = TestBatch::new(0, &[TestRecord::at(3, "a"), TestRecord::at(4, "b")]);
    let last = TestBatch::run(30, 3);
    let log = log(&[first.of_producer(1), TestBatch::marker(5, 1, COMMIT), last]);
    assert_eq!(
        consume_committed(&log, 0, &[]).sound(),
        (vec![3, 4, 30, 31, 32], 33)
    );
}

#[test]
fn b088_aborted_data_and_marker() {
    let log = log(&[
        TestBatch::run(0, 2).of_producer(1),
        TestBatch::marker(2, 1, ABORT),
    ]);
    assert_eq!(consume_committed(&log, 0, &[(1, 0)]).sound(), (vec![], 3));
}

#[test]
fn b089_committed_data() {
    let log = log(&[
        TestBatch::run(0, 2).of_producer(1),
        TestBatch::marker(2, 1, COMMIT),
    ]);
    assert_eq!(consume_committed(&log, 0, &[]).sound(), (vec![0, 1], 3));
}

#[test]
fn b090_interleaved_transactions() {
    let log = log(&[
        TestBatch::run(0, 1).of_producer(1), // commit1-1
        TestBatch::run(1, 1).of_producer(2), // abort2-1
        TestBatch::run(2, 1).of_producer(1), // commit1-2
        TestBatch::marker(3, 2, ABORT),
        TestBatch::marker(4, 1, COMMIT),
        TestBatch::run(5, 1).of_producer(1), // abort1-1
        TestBatch::run(6, 1).of_producer(2), // commit2-1
        TestBatch::marker(7, 1, ABORT),
        TestBatch::marker(8, 2, COMMIT),
    ]);
    let read = consume_committed(&log, 0, &[(2, 1), (1, 5)]);
    assert_eq!(read.sound(), (vec![0, 2, 6], 9));
}

#[test]
fn b091_transaction_over_several_batches_beside_plain_data() {
    let log = log(&[
        TestBatch::run(0, 2).of_producer(1),
        TestBatch::run(2, 2),
        TestBatch {
            // idempotent, not transactional
            flags: 0,
            ..TestBatch::run(4, 1).of_producer(1)
        },
        TestBatch::run(5, 2).of_producer(1),
        TestBatch::marker(7, 1, ABORT),
        TestBatch::run(8, 1).of_producer(1),
        TestBatch::marker(9, 1, COMMIT),
    ]);
    let read = consume_committed(&log, 0, &[(1, 0)]);
    assert_eq!(read.sound(), (vec![2, 3, 4, 8], 10));
}

#[test]
fn b092_second_marker_of_a_producer_is_ignored() {
    let log = log(&[
        TestBatch::run(0, 2).of_producer(1),
        TestBatch::marker(2, 1, ABORT),
        TestBatch::marker(3, 1, ABORT),
        TestBatch::run(4, 2).of_producer(1),
        TestBatch::marker(6, 1, COMMIT),
    ]);
    assert_eq!(
        consume_committed(&log, 0, &[(1, 0)]).sound(),
        (vec![4, 5], 7)
    );
}

#[test]
fn b093_marker_whose_data_is_not_in_the_response() {
    let log = log(&[
        TestBatch::marker(5, 1, ABORT),
        TestBatch::run(6, 3).of_producer(1),
        TestBatch::marker(9, 1, COMMIT),
    ]);
    assert_eq!(
        consume_committed(&log, 5, &[(1, 0)]).sound(),
        (vec![6, 7, 8], 10)
    );
}

#[test]
fn b094_positions_over_two_responses() {
    let first = log(&[
        TestBatch::run(0, 20).of_producer(1),
        TestBatch::marker(20, 1, ABORT),
    ]);
    let read = consume_committed(&first, 0, &[(1, 0)]);
    assert_eq!(read.sound(), (vec![], 21));
    assert_eq!(record_batch::scan(&first, 0).last_leader_epoch, Some(0));
    let second = TestBatch::run(21, 21).encode();
    let read = consume_committed(&second, 21, &[]);
    assert_eq!(read.sound(), ((21..42).collect(), 42));
}

#[test]
fn b095_empty_control_batch_in_between() {
    let empty = TestBatch {
        flags: TRANSACTIONAL | CONTROL,
        ..TestBatch::emptied(1, 1).of_producer(1)
    };
    let log = log(&[TestBatch::run(0, 1), empty, TestBatch::run(2, 1)]);
    for aborted in [&[][..], &[(1, 0)]] {
        assert_eq!(consume_committed(&log, 0, aborted).sound(), (vec![0, 2], 3));
    }
    assert_eq!(consume(&log, 0).sound(), (vec![0, 2], 3));
}

#[test]
fn b087_doubled_entries_and_markers() {
    let log = log(&[
        TestBatch::run(0, 2).of_producer(1),
        TestBatch::marker(2, 1, ABORT),
        TestBatch::marker(3, 1, ABORT),
        TestBatch::run(4, 1),
    ]);
    let aborted = [(1, 0), (1, 0), (i64::MAX, i64::MIN), (-1, i64::MAX)];
    assert_eq!(consume_committed(&log, 0, &aborted).sound(), (vec![4], 5));
}

#[test]
fn markers_are_read_only_where_they_matter() {
    let data = header(&TestBatch::run(0, 2).of_producer(1));
    let abort = header(&TestBatch::marker(2, 1, ABORT));
    let other = header(&TestBatch::marker(3, 2, ABORT));
    let aborted = record_batch::AbortedTransaction {
        producer_id: 1,
        first_offset: 0,
    };

    let mut filter = TransactionFilter::read_committed([aborted]);
    assert_eq!(filter.judge(&data), Verdict::Skip);
    assert_eq!(filter.judge(&other), Verdict::Skip);
    assert_eq!(filter.judge(&abort), Verdict::ReadMarker);
    filter.marker(&abort, Some(ControlType::Abort));
    assert_eq!(filter.judge(&abort), Verdict::Skip);
    assert_eq!(filter.judge(&data), Verdict::Deliver);

    let mut filter = TransactionFilter::read_uncommitted();
    assert_eq!(filter.judge(&data), Verdict::Deliver);
    assert_eq!(filter.judge(&abort), Verdict::Skip);
}

#[test]
fn commit_markers_and_unknown_ones_end_nothing() {
    for control_type in [COMMIT, 2, 5, 999, -1] {
        let log = log(&[
            TestBatch::run(0, 2).of_producer(1),
            TestBatch::marker(2, 1, control_type),
            TestBatch::run(3, 1).of_producer(1),
        ]);
        let read = consume_committed(&log, 0, &[(1, 0)]);
        assert_eq!(read.sound(), (vec![], 4), "{control_type}");
    }
}

#[test]
fn control_batches_without_a_producer_are_not_delivered() {
    let leader_change = TestBatch {
        flags: CONTROL,
        producer_id: -1,
        ..TestBatch::marker(1, -1, 2)
    };
    let log = log(&[TestBatch::run(0, 1), leader_change, TestBatch::run(2, 1)]);
    assert_eq!(consume(&log, 0).sound(), (vec![0, 2], 3));
    assert_eq!(
        consume_committed(&log, 0, &[(-1, 0)]).sound(),
        (vec![0, 2], 3)
    );
}

#[test]
fn keys_that_are_none_of_a_control_record_are_corrupt() {
    for key in [
        None,
        Some(vec![]),
        Some(vec![0, 0, 0]),
        Some(vec![0xff, 0xff, 0, 0]),
    ] {
        let record = TestRecord {
            key: key.clone(),
            ..TestRecord::at(0, "")
        };
        let marker = TestBatch {
            flags: TRANSACTIONAL | CONTROL,
            producer_id: 1,
            ..TestBatch::new(2, &[record])
        };
        let log = log(&[TestBatch::run(0, 2).of_producer(1), marker]);
        let read = consume_committed(&log, 0, &[(1, 0)]);
        assert_eq!(read.next, 2);
        let error = read.failed();
        assert_eq!((error.base_offset(), error.step_over()), (2, Some(3)));
        assert!(
            error.to_string().contains("control record"),
            "{key:?}: {error}"
        );
    }
}
