//! Positions are held against the log of a new leader (KIP-320).

use super::*;
use crate::model::{EpochAnswer, EpochEnd, Sought};

const NEW_LEADER: NodeId = NodeId(2);

fn ends(leader_epoch: i32, offset: i64) -> EpochAnswer {
    EpochAnswer::Ends(EpochEnd {
        leader_epoch,
        offset,
    })
}

/// One partition of which 10 records of leader epoch 5 were read and given, at a leader of epoch 5; it moves to one of epoch 6.
fn moved(reset: ResetPolicy) -> (World, Lookup) {
    let mut world = read_to_ten(reset);
    world.take();
    // the next take says that all of it was given
    world.take();
    let lookup = move_leader(&mut world);
    (world, lookup)
}

fn read_to_ten(reset: ResetPolicy) -> World {
    let mut world = World::new(BufferConfig { reset, ..config() }, 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    world
}

fn move_leader(world: &mut World) -> Lookup {
    world.move_leaders();
    let effects = world.reserve_at(NEW_LEADER, 6);
    assert_eq!(grant(effects), None, "fetched before it is validated");
    world.lookups.pop().expect("a question")
}

fn answer_with(world: &mut World, lookup: &Lookup, answer: EpochAnswer) -> Effects<u32> {
    let answers = [(lookup.partition, lookup.epoch, answer)];
    world.run(|machine, now, effects| machine.validated(now, answers, effects))
}

fn truncated(offset: i64, end: Option<(i32, i64)>) -> PartitionError {
    PartitionError::LogTruncated {
        partition: tp(0),
        offset,
        leader_epoch: Some(5),
        end: end.map(|(leader_epoch, offset)| EpochEnd {
            leader_epoch,
            offset,
        }),
    }
}

#[test]
fn a_new_leader_is_asked_about_the_epoch_that_was_read_and_nothing_is_fetched_meanwhile() {
    let (world, lookup) = moved(ResetPolicy::Earliest);
    assert_eq!(lookup.sought, Sought::EpochEnd(5));
    assert_eq!(lookup.name, tp(0));
    assert_eq!(
        world.machine.reason(lookup.partition),
        Some(Reason::Validation)
    );
}

/// Java: `SubscriptionState.maybeCompleteValidation`.
#[test]
fn b113_b114_b115_what_an_answer_does_to_a_position_of_10() {
    use ResetPolicy::{Earliest, None as Nowhere};
    let lookup_at_the_beginning = Some(Sought::End(ResetTo::Earliest));
    // policy, answer, then: where it is fetched, what is looked up, the error
    let table = [
        (Earliest, ends(5, 10), Some(10), None, None),
        (Nowhere, ends(5, 11), Some(10), None, None),
        // an older epoch that ends no earlier is none of Java's business
        (Earliest, ends(4, 10), Some(10), None, None),
        (Earliest, EpochAnswer::Unsupported, Some(10), None, None),
        (Nowhere, EpochAnswer::Unsupported, Some(10), None, None),
        (Earliest, ends(4, 7), Some(7), None, None),
        (
            Nowhere,
            ends(4, 7),
            None,
            None,
            Some(truncated(10, Some((4, 7)))),
        ),
        (
            Earliest,
            EpochAnswer::Undefined,
            None,
            lookup_at_the_beginning,
            None,
        ),
        (
            Nowhere,
            EpochAnswer::Undefined,
            None,
            None,
            Some(truncated(10, None)),
        ),
    ];
    for (reset, answer, fetched_at, sought, error) in table {
        let (mut world, lookup) = moved(reset);
        let effects = answer_with(&mut world, &lookup, answer);
        let granted = grant(effects).map(|grant| offsets(&grant)[0].0);
        assert_eq!(granted, fetched_at, "{reset:?} {answer:?}");
        let asked = world.lookups.pop().map(|lookup| lookup.sought);
        assert_eq!(asked, sought, "{reset:?} {answer:?}");
        let items = world.take();
        assert_eq!(
            errors(&items).first().copied(),
            error.as_ref(),
            "{reset:?} {answer:?}"
        );
    }
}

/// The position that is told, and committed, is that of the answer, with its epoch.
#[test]
fn b113_after_a_truncation_the_position_is_the_end_of_the_answer_and_of_its_epoch() {
    let (mut world, lookup) = moved(ResetPolicy::Latest);
    let effects = answer_with(&mut world, &lookup, ends(3, 7));
    let told = effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Position {
                offset: Some(7),
                leader_epoch: Some(3),
                ..
            }
        )
    });
    assert!(told, "{effects:?}");
    let reported = effects.iter().any(|effect| {
        let end = EpochEnd {
            leader_epoch: 3,
            offset: 7,
        };
        matches!(effect, Effect::Truncated { offset: 10, end: Some(at), .. } if *at == end)
    });
    assert!(reported, "{effects:?}");
}

/// What was read before the leader moved is given first: the application is told when it has come to the place.
#[test]
fn what_is_buffered_is_given_before_a_truncation_is_acted_upon() {
    let mut world = read_to_ten(ResetPolicy::Earliest);
    let lookup = move_leader(&mut world);
    let effects = answer_with(&mut world, &lookup, ends(4, 7));
    assert_eq!(grant(effects), None);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 10)]);
    // while the reader holds it the position stays
    let held = vec![world.ids[0]];
    let effects = world.request(held, Vec::new(), None);
    assert_eq!(grant(effects), None);
    let effects = world.request(Vec::new(), Vec::new(), None);
    assert_eq!(offsets(&grant(effects).unwrap()), [(7, false)]);

    let mut world = read_to_ten(ResetPolicy::None);
    let lookup = move_leader(&mut world);
    answer_with(&mut world, &lookup, ends(4, 7));
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 10)]);
    assert_eq!(errors(&world.take()), [&truncated(10, Some((4, 7)))]);
}

/// Policy `none`: told again and again, the leader asked anew each time; a log that has it all again is read on.
#[test]
fn b113_without_a_policy_a_truncated_partition_awaits_a_seek_or_a_better_leader() {
    let (mut world, mut lookup) = moved(ResetPolicy::None);
    for _ in 0..3 {
        answer_with(&mut world, &lookup, ends(4, 7));
        assert_eq!(errors(&world.take()), [&truncated(10, Some((4, 7)))]);
        assert_eq!(
            grant(world.wait_for_deadline(Duration::from_millis(1200))),
            None
        );
        lookup = world.lookups.pop().expect("asked again");
    }
    let mut better = world.clone();
    let effects = answer_with(&mut better, &lookup, ends(5, 12));
    assert_eq!(offsets(&grant(effects).unwrap()), [(10, false)]);

    let effects = world.run(|machine, now, effects| machine.seek(now, &tp(0), 7, effects).unwrap());
    assert_eq!(offsets(&grant(effects).unwrap()), [(7, false)]);
    // the answer that was under way means nothing
    assert_eq!(answer_with(&mut world, &lookup, EpochAnswer::Undefined), []);
}

#[test]
fn a_seek_in_the_middle_of_a_validation_wins() {
    let (mut world, lookup) = moved(ResetPolicy::Earliest);
    let effects = world.run(|machine, now, effects| machine.seek(now, &tp(0), 3, effects).unwrap());
    // an offset of the application's own choice has no epoch to validate
    assert_eq!(offsets(&grant(effects).unwrap()), [(3, false)]);
    assert_eq!(answer_with(&mut world, &lookup, ends(4, 1)), []);
}

#[test]
fn b113_a_seek_with_an_epoch_is_validated_before_anything_is_fetched() {
    let mut world = World::new(config(), 1);
    assert_eq!(
        offsets(&world.reserve(Lane::Session).unwrap()),
        [(0, false)]
    );
    world.run(|machine, now, effects| {
        machine.seek_behind(now, &tp(0), 10, 3, effects).unwrap();
    });
    assert_eq!(world.reserve(Lane::Quick), None);
    let lookup = world.lookups.pop().unwrap();
    assert_eq!(lookup.sought, Sought::EpochEnd(3));
    let effects = answer_with(&mut world, &lookup, ends(4, 5));
    assert_eq!(offsets(&grant(effects).unwrap()), [(5, false)]);
}

/// B119: the position that a group committed carries an epoch.
#[test]
fn b119_f034_a_committed_position_is_validated_before_its_first_fetch() {
    for leader_is_known_first in [false, true] {
        let mut world = World::empty(config());
        world.take();
        let effects = world.run(|machine, now, effects| {
            machine.assign(now, [(tp(0), Start::Committed)], effects);
        });
        let asked = effects.iter().find_map(|effect| match effect {
            Effect::LookupCommitted(lookup) => Some(lookup.clone()),
            _ => None,
        });
        let asked = asked.unwrap();
        if leader_is_known_first {
            assert_eq!(grant(world.reserve_at(NODE, 4)), None);
        }
        let committed = CommittedOffset {
            offset: 100,
            leader_epoch: Some(3),
        };
        world.run(|machine, now, effects| {
            let found = [(asked.partition, asked.epoch, Some(committed))];
            machine.committed_found(now, found, effects);
        });
        assert_eq!(grant(world.reserve_at(NODE, 4)), None);
        let lookup = world.lookups.pop().unwrap();
        assert_eq!(lookup.sought, Sought::EpochEnd(3));
        let effects = answer_with(&mut world, &lookup, ends(3, 90));
        assert_eq!(offsets(&grant(effects).unwrap()), [(90, false)]);
    }
}

#[test]
fn b118_a_position_that_is_looked_up_is_not_validated() {
    let mut world = World::empty(config());
    world.run(|machine, now, effects| machine.assign(now, [(tp(0), Start::Reset)], effects));
    let lookup = world.lookups.pop().unwrap();
    for leader_epoch in [3, 4] {
        world.reserve_at(NODE, leader_epoch);
        assert_eq!(world.lookups.pop(), None);
    }
    let found = [(lookup.partition, lookup.epoch, 40)];
    let effects = world.run(|machine, _, effects| machine.position_found(found, effects));
    assert_eq!(offsets(&grant(effects).unwrap()), [(40, false)]);
    assert_eq!(world.lookups.pop(), None);
}

/// The epoch may rise while the leader stays: what is in flight was asked for under the old one.
#[test]
fn an_epoch_that_rises_voids_what_is_in_flight_and_a_second_one_the_question() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let second = grant(world.done(&first, vec![data(&first.asks[0], 10, 100)]));
    let second = second.or_else(|| world.reserve(Lane::Session)).unwrap();
    world.reserve_at(NODE, 6);
    let old = world.lookups.pop().unwrap();
    world.done(&second, vec![data(&second.asks[0], 10, 100)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 10)]);
    world.reserve_at(NODE, 7);
    let new = world.lookups.pop().unwrap();
    assert_eq!(answer_with(&mut world, &old, EpochAnswer::Undefined), []);
    let effects = answer_with(&mut world, &new, ends(5, 10));
    assert_eq!(offsets(&grant(effects).unwrap()), [(10, false)]);
}

/// An error pause that was for the old leader ends with it.
#[test]
fn a_fenced_partition_goes_on_as_soon_as_the_new_epoch_is_known() {
    const FENCED_LEADER_EPOCH: i16 = 74;
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let refused = vec![error(&first.asks[0], FENCED_LEADER_EPOCH)];
    world.done(&first, refused);
    assert_eq!(world.reserve(Lane::Quick), None);
    // nothing was read, so there is no epoch to ask about
    world.reserve_at(NODE, 6);
    assert_eq!(world.lookups.pop(), None);
    assert!(world.machine.reason(world.ids[0]) != Some(Reason::Backoff));
}

/// A broker says it unasked.
#[test]
fn a_diverging_epoch_in_an_answer_is_a_truncation() {
    let mut world = read_to_ten(ResetPolicy::Earliest);
    world.take();
    world.take();
    let second = world.reserve(Lane::Session).unwrap();
    let mut reply = data(&second.asks[0], 0, 0);
    reply.diverging = Some(EpochEnd {
        leader_epoch: 4,
        offset: 8,
    });
    world.done(&second, vec![reply]);
    let third = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&third), [(8, false)]);
    // one that does not diverge is no news
    let mut reply = data(&third.asks[0], 5, 50);
    reply.diverging = Some(EpochEnd {
        leader_epoch: 4,
        offset: 8,
    });
    world.done(&third, vec![reply]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 8, 13)]);
}

/// What was leased before the truncation is waited for, and only a take says that it was given.
#[test]
fn a_take_is_sent_while_a_lease_holds_up_a_truncation() {
    let mut world = read_to_ten(ResetPolicy::Earliest);
    world.take();
    let second = world.reserve(Lane::Session).unwrap();
    assert!(world.machine.take_would_wait());
    let mut reply = data(&second.asks[0], 0, 0);
    reply.diverging = Some(EpochEnd {
        leader_epoch: 4,
        offset: 8,
    });
    world.done(&second, vec![reply]);
    assert!(!world.machine.take_would_wait());
    world.take();
    assert!(world.machine.take_would_wait());
}

/// Data of paused partitions that gave way takes the position, and its epoch, back.
#[test]
fn the_epoch_of_a_position_goes_back_with_it() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    world.take();
    let second = world.reserve(Lane::Session).unwrap();
    let mut reply = data(&second.asks[0], 10, 100);
    if let Some(fetched) = &mut reply.fetched {
        fetched.leader_epoch = Some(6);
    }
    world.done(&second, vec![reply]);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    let starving = vec![world.ids[1]];
    assert_eq!(world.machine.make_room(starving, 1), 100);
    world.move_leaders();
    world.reserve_at(NEW_LEADER, 7);
    assert_eq!(world.lookups.pop().unwrap().sought, Sought::EpochEnd(5));
}

/// What gave way is fetched again: it is part of the log that both leaders have.
#[test]
fn a_truncation_below_data_that_gave_way_skips_nothing() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    world.move_leaders();
    world.reserve_at(NEW_LEADER, 6);
    let lookup = world.lookups.pop().unwrap();
    answer_with(&mut world, &lookup, ends(5, 7));
    let starving = vec![world.ids[1]];
    assert_eq!(world.machine.make_room(starving, 1), 100);
    assert_eq!(world.take(), []);
    world.run(|machine, _, effects| machine.pause([&tp(0)], false, effects).unwrap());
    let candidates = world.ids.iter().map(|&partition| Candidate {
        partition,
        leader_epoch: 6,
    });
    let candidates = candidates.collect();
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NEW_LEADER, Lane::Quick, 2, candidates, false, effects);
    });
    assert_eq!(offsets(&grant(effects).unwrap()), [(0, false)]);
}
