//! Partitions that start where their group committed.

use super::*;

fn world(reset: ResetPolicy, partitions: i32) -> (World, Vec<LookupCommitted>) {
    let mut world = World::empty(BufferConfig { reset, ..config() });
    world.take();
    let wanted = (0..partitions).map(|partition| (tp(partition), Start::Committed));
    let effects = world.run(|machine, now, effects| machine.assign(now, wanted, effects));
    let asked = asked(&effects);
    (world, asked)
}

fn asked(effects: &[Effect<u32>]) -> Vec<LookupCommitted> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::LookupCommitted(lookup) => Some(lookup.clone()),
            _ => None,
        })
        .collect()
}

fn find(
    world: &mut World,
    asked: &[LookupCommitted],
    committed: Option<CommittedOffset>,
) -> Effects<u32> {
    let found: Vec<_> = asked
        .iter()
        .map(|lookup| (lookup.partition, lookup.epoch, committed))
        .collect();
    world.run(|machine, now, effects| machine.committed_found(now, found, effects))
}

const fn at(offset: i64) -> Option<CommittedOffset> {
    Some(CommittedOffset {
        offset,
        leader_epoch: None,
    })
}

/// What became known of a position: the offset, and the leader epoch of the record before it.
fn positions(effects: &[Effect<u32>]) -> Vec<(Option<i64>, Option<i32>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Position {
                offset,
                leader_epoch,
                ..
            } => Some((*offset, *leader_epoch)),
            _ => None,
        })
        .collect()
}

#[test]
fn b106_a_new_partition_starts_where_the_group_committed_or_where_the_policy_says() {
    use ResetPolicy::{Earliest, Latest, None as Nowhere};
    let with_epoch = |offset, epoch| {
        Some(CommittedOffset {
            offset,
            leader_epoch: Some(epoch),
        })
    };
    // policy, what was committed, then: the position, its leader epoch, the lookup, whether there is an error
    let table = [
        (Earliest, at(100), Some(100), None, None, false),
        (Latest, at(0), Some(0), None, None, false),
        (Nowhere, at(7), Some(7), None, None, false),
        (
            Earliest,
            with_epoch(9, 3),
            Some(9),
            Some(3),
            Some(Sought::EpochEnd(3)),
            false,
        ),
        (Earliest, with_epoch(9, -1), Some(9), None, None, false),
        (
            Earliest,
            None,
            None,
            None,
            Some(Sought::End(ResetTo::Earliest)),
            false,
        ),
        (
            Latest,
            None,
            None,
            None,
            Some(Sought::End(ResetTo::Latest)),
            false,
        ),
        (Nowhere, None, None, None, None, true),
        // OffsetFetch says -1 of what was not committed
        (
            Latest,
            at(-1),
            None,
            None,
            Some(Sought::End(ResetTo::Latest)),
            false,
        ),
        (Nowhere, with_epoch(-1, -1), None, None, None, true),
    ];
    for (policy, committed, position, leader_epoch, lookup, told) in table {
        let case = format!("{policy:?} {committed:?}");
        let (mut world, lookups) = world(policy, 1);
        assert_eq!(lookups.len(), 1, "{case}");
        assert!(
            world.lookups.is_empty(),
            "{case}: nothing else is looked up"
        );
        assert_eq!(world.reserve(Lane::Session), None, "{case}");
        let id = world.ids[0];
        assert_eq!(world.machine.reason(id), Some(Reason::NoPosition), "{case}");
        let effects = find(&mut world, &lookups, committed);
        assert_eq!(positions(&effects), [(position, leader_epoch)], "{case}");
        assert_eq!(
            world.lookups.pop().map(|lookup| lookup.sought),
            lookup,
            "{case}"
        );
        let asked = grant(effects).map(|grant| offsets(&grant));
        assert_eq!(
            asked,
            // one with an epoch is validated first (KIP-320)
            position
                .filter(|_| lookup.is_none())
                .map(|offset| vec![(offset, false)]),
            "{case}"
        );
        let expected = PartitionError::NoOffsetForPartition { partition: tp(0) };
        let expected = if told { vec![&expected] } else { Vec::new() };
        let items = world.take();
        assert_eq!(errors(&items), expected, "{case}");
    }
}

#[test]
fn b107_the_positions_of_all_new_partitions_are_asked_for_at_once_and_once() {
    let (mut world, lookups) = world(ResetPolicy::Earliest, 3);
    let names: Vec<_> = lookups.iter().map(|lookup| lookup.name.clone()).collect();
    assert_eq!(names, [tp(0), tp(1), tp(2)]);
    // neither a poll nor a leader move nor the same assignment again asks again
    world.take();
    let ids = world.ids.clone();
    let effects = world.run(|machine, _, effects| machine.leaders_changed(ids, effects));
    assert_eq!(asked(&effects), []);
    let wanted = (0..3).map(|partition| (tp(partition), Start::Committed));
    let effects = world.run(|machine, now, effects| machine.assign(now, wanted, effects));
    assert_eq!(effects, []);
    // what comes is asked for alone, and the answer of before the leader move counts
    let wanted = (0..4).map(|partition| (tp(partition), Start::Committed));
    let effects = world.run(|machine, now, effects| machine.assign(now, wanted, effects));
    assert_eq!(asked(&effects).len(), 1);
    find(&mut world, &lookups, at(5));
    let grant = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&grant), [(5, false); 3]);
}

#[test]
fn b107_a_seek_wins_over_a_committed_position_in_flight() {
    let (mut world, lookups) = world(ResetPolicy::Earliest, 1);
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 237, effects).unwrap());
    assert_eq!(positions(&find(&mut world, &lookups, at(5))), []);
    let grant = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&grant), [(237, false)]);
    // also over the news that there is none, and one to an end of the log
    let (mut world, lookups) = self::world(ResetPolicy::None, 1);
    world.run(|machine, now, effects| {
        machine
            .seek_to(now, &tp(0), ResetTo::Latest, effects)
            .unwrap();
    });
    find(&mut world, &lookups, None);
    assert_eq!(world.take(), []);
    find(&mut world, &lookups, at(5));
    assert_eq!(world.reserve(Lane::Session), None);
    assert_eq!(world.lookups.len(), 1);
}

#[test]
fn b107_an_answer_for_a_former_assignment_of_the_partition_is_dropped() {
    let (mut world, former) = world(ResetPolicy::Earliest, 1);
    world.run(|machine, now, effects| machine.assign(now, [], effects));
    assert_eq!(find(&mut world, &former, at(5)), []);
    let again = [(tp(0), Start::Committed)];
    let effects = world.run(|machine, now, effects| machine.assign(now, again, effects));
    assert_eq!(find(&mut world, &former, at(5)), []);
    find(&mut world, &asked(&effects), at(6));
    let grant = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&grant), [(6, false)]);
}

#[test]
fn b107_an_answer_that_comes_twice_counts_once() {
    let (mut world, lookups) = world(ResetPolicy::Earliest, 1);
    find(&mut world, &lookups, at(5));
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 3, 30)]);
    assert_eq!(positions(&find(&mut world, &lookups, at(5))), []);
    assert_eq!(positions(&find(&mut world, &lookups, None)), []);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 5, 8)]);
}

#[test]
fn b108_nothing_committed_and_no_policy_wakes_the_reader_that_waits() {
    let (mut world, lookups) = world(ResetPolicy::None, 1);
    assert_eq!(
        answer(world.request(Vec::new(), Vec::new(), Some(Duration::from_secs(9)))),
        None
    );
    let told = answer(find(&mut world, &lookups, None)).unwrap();
    let expected = PartitionError::NoOffsetForPartition { partition: tp(0) };
    assert_eq!(errors(&told), [&expected]);
    // a seek ends it
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 1, effects).unwrap());
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn b108_what_the_coordinator_reports_is_told_and_the_answer_still_counts() {
    let (mut world, lookups) = world(ResetPolicy::Earliest, 1);
    let refused = PartitionError::TopicAuthorizationFailed { partition: tp(0) };
    let error = refused.clone();
    world.run(|machine, now, effects| machine.report_error(now, &tp(0), error, effects));
    assert_eq!(errors(&world.take()), [&refused]);
    find(&mut world, &lookups, at(5));
    let asked = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&asked), [(5, false)]);
}
