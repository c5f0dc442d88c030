use super::*;

pub(super) fn data(base: i64, producer: i64, values: &[&str]) -> BatchBuilder {
    batch(base, values).producer(producer, 0, 0).transactional()
}

pub(super) fn end(base: i64, producer: i64, commit: bool) -> BatchBuilder {
    BatchBuilder::end_transaction(producer, 0, commit).base_offset(base)
}

fn aborted(log: &PartitionLog, offset: i64, limits: ReadLimits) -> Vec<(i64, i64)> {
    let data = log.read(offset, limits).expect("in range");
    let listed = data.aborted.expect("read_committed lists");
    listed
        .iter()
        .map(|aborted| (aborted.producer_id, aborted.first_offset))
        .collect()
}

#[test]
fn read_committed_ends_at_the_earliest_open_transaction() {
    let mut log = log([batch(0, &["a"]), data(1, 7, &["b"]), batch(2, &["c"])]);
    assert_eq!((log.last_stable_offset(), log.high_watermark()), (1, 3));
    assert_eq!(read(&log, 0, COMMITTED), (vec![(0, 0)], 0));
    assert_eq!(read(&log, 1, COMMITTED), (vec![], 0));
    assert!(log.read(0, READ).expect("in range").aborted.is_none());
    log.append_as_is(&end(3, 7, true).build(), &mut decoder())
        .expect("appended");
    assert_eq!(log.last_stable_offset(), 4);
    assert_eq!(read(&log, 0, COMMITTED).0, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert_eq!(aborted(&log, 0, COMMITTED), []);
}

#[test]
fn interleaved_transactions_are_listed_in_the_order_of_their_markers() {
    let log = log([
        data(0, 1, &["a"]),
        data(1, 2, &["b"]),
        data(2, 3, &["c"]),
        end(3, 2, false),
        end(4, 3, true),
        end(5, 1, false),
        batch(6, &["d"]),
    ]);
    assert_eq!(log.last_stable_offset(), 7);
    assert_eq!(aborted(&log, 0, COMMITTED), [(2, 1), (1, 0)]);
    assert_eq!(aborted(&log, 4, COMMITTED), [(1, 0)]);
    assert_eq!(aborted(&log, 6, COMMITTED), []);
}

#[test]
fn the_range_of_aborted_transactions_ends_at_an_index_entry() {
    let large = "x".repeat(3000);
    let log = log([
        data(0, 1, &[&large]),
        end(1, 1, false),
        data(2, 2, &[&large]),
        end(3, 2, false),
        data(4, 3, &[&large]),
        end(5, 3, false),
        data(6, 4, &[&large]),
        end(7, 4, false),
    ]);
    let first_only = ReadLimits {
        max_bytes: 1,
        ..COMMITTED
    };
    // the index has entries for offsets 3 and 7, each more than 4096 bytes after the one before; 3 bounds the first read
    assert_eq!(aborted(&log, 0, first_only), [(1, 0), (2, 2)]);
    assert_eq!(aborted(&log, 0, COMMITTED).len(), 4);
}

#[test]
fn a_transaction_ends_for_readers_when_its_marker_is_below_the_high_watermark() {
    let mut log = log([data(0, 1, &["a"])]);
    log.hold_high_watermark(true);
    log.append_as_is(&end(1, 1, false).build(), &mut decoder())
        .expect("appended");
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (1, 0));
    log.hold_high_watermark(false);
    assert_eq!(log.last_stable_offset(), 2);
}

#[test]
fn a_marker_without_a_transaction_aborts_nothing() {
    let log = log([end(0, 1, false), batch(1, &["a"])]);
    assert_eq!(aborted(&log, 0, COMMITTED), []);
}
