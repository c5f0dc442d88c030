//! When a program that is to end at the end does so.

use super::*;

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// Some time; what counts is what passes after it.
fn start() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What is seen of partitions 0, 1 and so on: position, and whether a fetch was answered.
fn seen(partitions: &[(Option<i64>, bool)]) -> impl Fn(&TopicPartition) -> Seen {
    |partition| {
        let index = usize::try_from(partition.partition()).unwrap();
        let (position, is_answered) = partitions[index];
        Seen {
            position,
            is_answered,
        }
    }
}

const fn at(position: i64) -> (Option<i64>, bool) {
    (Some(position), true)
}

const UNASSIGNED: (Option<i64>, bool) = (None, false);

#[test]
fn f073_each_partition_stops_at_its_own_end() {
    let now = start();
    let mut ends = Ends::new([(tp(0), 10), (tp(1), 20), (tp(2), 0)], now);
    assert_eq!((ends.of(&tp(0)), ends.of(&tp(1))), (10, 20));
    assert_eq!(
        ends.look(now, seen(&[at(0), at(0), at(0)])),
        Next::Stop(vec![tp(2)])
    );
    assert_eq!(ends.look(now, seen(&[at(9), at(7), at(0)])), Next::Wait);
    // the producer goes on, and batches end where they end
    assert_eq!(
        ends.look(now, seen(&[at(15), at(19), at(5)])),
        Next::Stop(vec![tp(0)])
    );
    assert!(!ends.are_reached());
    assert_eq!((ends.of(&tp(0)), ends.of(&tp(1))), (i64::MIN, 20));
    assert_eq!(
        ends.look(now, seen(&[at(15), at(20), at(5)])),
        Next::Stop(vec![tp(1)])
    );
    assert!(ends.are_reached());
}

#[test]
fn f073_nothing_is_waited_for_where_there_is_nothing() {
    assert!(Ends::new([], start()).are_reached());
}

#[test]
fn f073_a_position_that_is_not_known_is_no_end() {
    let now = start();
    let mut ends = Ends::new([(tp(0), 10)], now);
    assert_eq!(ends.look(now, seen(&[UNASSIGNED])), Next::Wait);
    // there is nothing to begin at again
    assert_eq!(ends.look(now + 10 * QUIET, seen(&[UNASSIGNED])), Next::Wait);
}

#[test]
fn f073_offsets_without_records_up_to_the_end_are_an_end() {
    let now = start();
    let mut ends = Ends::new([(tp(0), 10), (tp(1), 10), (tp(2), 10)], now);
    let positions = [at(7), at(10), at(3)];
    assert_eq!(ends.look(now, seen(&positions)), Next::Stop(vec![tp(1)]));
    assert_eq!(ends.look(now + QUIET / 2, seen(&positions)), Next::Wait);
    let now = now + QUIET;
    assert_eq!(ends.look(now, seen(&positions)), Next::Alone(tp(0), 7));
    // assigned anew, and asked for
    let alone = [(Some(7), false), UNASSIGNED, UNASSIGNED];
    assert_eq!(ends.look(now + 9 * QUIET, seen(&alone)), Next::Wait);
    // answered; the poll after that would give what came
    let alone = [at(7), UNASSIGNED, UNASSIGNED];
    assert_eq!(ends.look(now, seen(&alone)), Next::Wait);
    assert!(!ends.are_reached());
    // nothing: the next one
    assert_eq!(ends.look(now, seen(&alone)), Next::Alone(tp(2), 3));
    let alone = [UNASSIGNED, UNASSIGNED, at(3)];
    assert_eq!(ends.look(now, seen(&alone)), Next::Wait);
    assert_eq!(
        ends.look(now, seen(&alone)),
        Next::Wait,
        "nothing is left to assign"
    );
    assert!(ends.are_reached());
}

#[test]
fn f073_what_comes_late_is_waited_for() {
    let now = start();
    let mut ends = Ends::new([(tp(0), 10), (tp(1), 10)], now);
    assert_eq!(ends.look(now, seen(&[at(0), at(0)])), Next::Wait);
    let now = now + QUIET;
    assert_eq!(ends.look(now, seen(&[at(0), at(0)])), Next::Alone(tp(0), 0));
    assert_eq!(ends.look(now, seen(&[at(0), UNASSIGNED])), Next::Wait);
    // the answer had records in it
    assert_eq!(ends.look(now, seen(&[at(5), UNASSIGNED])), Next::Wait);
    assert_eq!(ends.look(now, seen(&[at(8), UNASSIGNED])), Next::Wait);
    assert_eq!(
        ends.look(now, seen(&[at(8), UNASSIGNED])),
        Next::Alone(tp(1), 0)
    );
    assert_eq!(
        ends.look(now, seen(&[UNASSIGNED, at(10)])),
        Next::Stop(vec![tp(1)])
    );
    assert!(ends.are_reached());
}
