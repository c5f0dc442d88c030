//! Positions that are looked up.

use super::super::lookups::Wanted;
use super::*;
use crate::offsets::OffsetSpec;

#[test]
fn b097_lookups_go_to_leaders_grouped_and_come_back_together() {
    let mut world = World::new();
    world.assign(3);
    world.look_up(0, 1);
    world.look_up(1, 2);
    world.look_up(2, 3);
    let effects = world.answer(view(&[(1, 0), (2, 0), (1, 0)]));
    assert_eq!(offsets_asked(&effects), [(1, vec![0, 2]), (2, vec![1])]);
    let asked: Vec<_> = effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::AskOffsets { asked, .. } => Some(asked),
            _ => None,
        })
        .collect();
    let effects = world.run(|machine, now, effects| {
        machine.offsets(now, &asked[0], Ok(vec![at(5), at(6)]), effects);
    });
    let expected = vec![(id(0), FetchEpoch(1), 5), (id(2), FetchEpoch(3), 6)];
    assert!(matches!(&effects[..], [Effect::Found(found)] if *found == expected));

    // disconnected: again after the backoff, and metadata may be out of date
    let effects = world.run(|machine, now, effects| {
        machine.offsets(now, &asked[1], Err(lost(2)), effects);
    });
    assert!(offsets_asked(&effects).is_empty());
    let mut again = Vec::new();
    for _ in 0..3 {
        again.extend(offsets_asked(&world.wait(Duration::from_millis(300))));
        if !again.is_empty() {
            break;
        }
    }
    assert_eq!(again, [(2, vec![1])]);
}

#[test]
fn b098_a_newer_lookup_replaces_an_older_one_in_flight() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 0)]));
    let effects = world.look_up(0, 1);
    let [Effect::AskOffsets { asked: old, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(offsets_asked(&world.look_up(0, 2)), [(1, vec![0])]);
    let effects = world.run(|machine, now, effects| {
        machine.offsets(now, old, Ok(vec![at(5)]), effects);
    });
    assert!(effects.is_empty(), "{effects:?}");
}

#[test]
fn b099_b100_lookups_of_unassigned_partitions_end_and_refusals_are_told() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 0)]));
    let effects = world.look_up(0, 1);
    let [Effect::AskOffsets { asked, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    let refused = Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let effects = world.run(|machine, now, effects| {
        machine.offsets(now, asked, Ok(vec![refused]), effects);
    });
    assert!(matches!(
        &effects[..],
        [Effect::Report(
            _,
            PartitionError::TopicAuthorizationFailed { .. }
        )]
    ));
    world.run(|machine, now, effects| machine.assignment(now, Vec::new(), &[id(0)], effects));
    for _ in 0..3 {
        if world
            .machine
            .poll_timeout()
            .is_some_and(|at| at < world.now + Duration::from_secs(5))
        {
            assert!(offsets_asked(&world.wait(Duration::from_secs(5))).is_empty());
        }
    }
}

/// KIP-1106; Java, which stores nothing then, asks for ever.
#[test]
fn b097_where_no_record_is_so_new_a_reset_by_duration_begins_at_the_end() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 0)]));
    let lookup = Lookup {
        sought: Sought::End(ResetTo::Since(Duration::from_secs(3_600))),
        ..lookup(0, 1)
    };
    let effects = world.run(|machine, now, effects| machine.look_up(now, vec![lookup], effects));
    let [Effect::AskOffsets { asked, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(asked[0].wanted, Wanted::Since(Duration::from_secs(3_600)));
    let none = Ok(vec![Ok(None)]);
    let effects = world.run(|machine, now, effects| machine.offsets(now, asked, none, effects));
    let [Effect::AskOffsets { asked, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(asked[0].wanted, Wanted::Offset(OffsetSpec::Latest));
    let effects = world.run(|machine, now, effects| {
        machine.offsets(now, asked, Ok(vec![at(7)]), effects);
    });
    let expected = vec![(id(0), FetchEpoch(1), 7)];
    assert!(matches!(&effects[..], [Effect::Found(found)] if *found == expected));
}
