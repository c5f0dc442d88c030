//! Takes and leases.

use super::*;

#[test]
fn a_take_waits_for_the_first_data_and_ends_empty_at_its_deadline() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let second = Duration::from_secs(1);
    assert_eq!(
        answer(world.request(Vec::new(), Vec::new(), Some(second))),
        None
    );
    let items = answer(world.done(&first, vec![data(&first.asks[0], 3, 30)])).unwrap();
    assert_eq!(spans(&world, &items), [(0, 0, 3)]);
    assert_eq!(
        answer(world.request(Vec::new(), Vec::new(), Some(second))),
        None
    );
    assert_eq!(answer(world.wait_for_deadline(second)), Some(Vec::new()));
}

#[test]
fn a_reader_that_waits_is_given_all_that_a_reply_brings() {
    let mut world = World::new(config(), 3);
    let first = world.reserve(Lane::Session).unwrap();
    world.request(Vec::new(), Vec::new(), Some(Duration::from_secs(1)));
    let replies = first.asks.iter().map(|ask| data(ask, 3, 30)).collect();
    let effects = world.done(&first, replies);
    assert!(!effects.contains(&Effect::Changed), "it has everything");
    let items = answer(effects).unwrap();
    assert_eq!(spans(&world, &items), [(0, 0, 3), (1, 0, 3), (2, 0, 3)]);
}

#[test]
fn i8_a_reader_that_is_woken_before_its_take_arrives_does_not_wait() {
    let wait = Some(Duration::from_secs(1));
    let wake = |world: &mut World| world.run(|machine, _, effects| machine.wake_reader(effects));
    let mut world = World::new(config(), 1);
    // it waits: the answer comes at once
    world.request(Vec::new(), Vec::new(), wait);
    assert_eq!(answer(wake(&mut world)), Some(Vec::new()));
    // it looked and found nothing, and its take is under way
    assert_eq!(wake(&mut world), [Effect::Changed]);
    let effects = world.request(Vec::new(), Vec::new(), wait);
    assert_eq!(answer(effects), Some(Vec::new()));
    // once
    let effects = world.request(Vec::new(), Vec::new(), wait);
    assert_eq!(answer(effects), None);
}

#[test]
fn i6_what_an_answer_leased_that_the_reader_has_not_received_is_still_held() {
    let mut world = World::new(config(), 1);
    let wait = Some(Duration::from_secs(1));
    let fetch = |world: &mut World| {
        let asked = world.reserve(Lane::Session).unwrap();
        world.done(&asked, vec![data(&asked.asks[0], 5, 50)])
    };
    // `World::new` took once
    world.request(Vec::new(), Vec::new(), wait);
    let first = answer(fetch(&mut world)).unwrap();
    assert_eq!(spans(&world, &first), [(0, 0, 5)]);
    fetch(&mut world);
    // a poll was given up with that answer under way; the next one asks before it arrives
    let take = |world: &mut World, received, holding: Vec<PartitionId>| {
        let effects = world.run(|machine, now, effects| {
            let request = TakeRequest {
                id: TakeId(9),
                received,
                holding,
                returned: Vec::new(),
                until: None,
            };
            machine.take(now, request, effects);
        });
        answer(effects).unwrap()
    };
    assert_eq!(
        take(&mut world, 1, Vec::new()),
        [],
        "given now, it would come before what comes before it"
    );
    // both answers arrived, and the records of the first are not used up
    let id = world.ids[0];
    assert_eq!(take(&mut world, 3, vec![id]), []);
    let items = take(&mut world, 4, Vec::new());
    assert_eq!(spans(&world, &items), [(0, 5, 10)]);
    // the next reader has received nothing, and holds nothing
    world.run(|machine, _, effects| machine.reader_gone(effects));
    fetch(&mut world);
    assert_eq!(take(&mut world, 0, Vec::new()).len(), 1);
}

#[test]
fn a_second_take_replaces_the_first() {
    let mut world = World::new(config(), 1);
    let wait = Some(Duration::from_secs(1));
    world.request(Vec::new(), Vec::new(), wait);
    let effects = world.request(Vec::new(), Vec::new(), wait);
    assert_eq!(
        effects,
        [Effect::Answer(TakeId(2), Lease { items: Vec::new() })]
    );
}

#[test]
fn a_lease_has_one_completed_fetch_a_partition_and_turns_through_them() {
    let mut world = World::new(config(), 3);
    for _ in 0..2 {
        let asked = world.reserve(Lane::Session).unwrap();
        let replies = asked.asks.iter().map(|ask| data(ask, 5, 50)).collect();
        world.done(&asked, replies);
    }
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 5), (1, 0, 5), (2, 0, 5)]);
    // the reader still has some of partition 0: it gets no second of it
    let holding = vec![world.ids[0]];
    let items = answer(world.request(holding, Vec::new(), None)).unwrap();
    assert_eq!(spans(&world, &items), [(1, 5, 10), (2, 5, 10)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 5, 10)]);
}

#[test]
fn the_reader_is_told_once_of_data_for_partitions_it_does_not_hold() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 5, 50)]);
    world.take();
    let hot = world.reserve(Lane::Session).unwrap();
    // of a partition that it holds it need not hear
    let effects = world.done(&hot, vec![data(&hot.asks[0], 5, 50)]);
    assert!(!effects.contains(&Effect::Changed));
    world.now += Duration::from_millis(5);
    let quiet = world.reserve(Lane::Session).unwrap();
    let effects = world.done(&quiet, vec![data(&quiet.asks[1], 1, 10)]);
    assert!(effects.contains(&Effect::Changed));
    let again = world.reserve(Lane::Session).unwrap();
    let effects = world.done(&again, vec![data(&again.asks[1], 1, 10)]);
    assert!(!effects.contains(&Effect::Changed), "it did not look yet");
    // it looks, and more comes within a millisecond: told at the end of it
    let holding = world.ids.clone();
    world.request(holding[..1].to_vec(), Vec::new(), None);
    world.request(holding[..1].to_vec(), Vec::new(), None);
    world.request(holding[..1].to_vec(), Vec::new(), None);
    let more = world.reserve(Lane::Session).unwrap();
    let effects = world.done(&more, vec![data(&more.asks[1], 1, 10)]);
    assert!(!effects.contains(&Effect::Changed));
    let effects = world.wait_for_deadline(Duration::from_millis(1));
    assert!(effects.contains(&Effect::Changed));
}

#[test]
fn data_of_a_paused_partition_is_kept_and_given_after_resume_without_a_fetch() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 5, 50)]);
    let Item::Data(completed) = world.take().remove(0) else {
        panic!("records")
    };
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    // what the reader had not given goes back
    let items = answer(world.request(Vec::new(), vec![completed.clone()], None)).unwrap();
    assert_eq!(items, []);
    world.run(|machine, _, effects| machine.pause([&tp(0)], false, effects).unwrap());
    assert_eq!(world.take(), [Item::Data(completed)]);
}

#[test]
fn what_is_given_back_after_a_seek_is_dropped() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 5, 50)]);
    let Item::Data(completed) = world.take().remove(0) else {
        panic!("records")
    };
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 2, effects).unwrap());
    assert_eq!(
        answer(world.request(Vec::new(), vec![completed], None)),
        Some(Vec::new())
    );
}

#[test]
fn i8_a_reader_that_holds_what_a_seek_made_void_gets_the_new_records_when_it_asks_again() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 5, 50)]);
    world.take();
    // its take is under way, and says what it held before the seek
    let holding = vec![world.ids[0]];
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 0, effects).unwrap());
    world.request(holding, Vec::new(), None);
    let again = world.reserve(Lane::Session).unwrap();
    world.done(&again, vec![data(&again.asks[0], 5, 50)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 5)]);
    let more = world.reserve(Lane::Session).unwrap();
    world.done(&more, vec![data(&more.asks[0], 5, 50)]);
    let items = world.take();
    assert_eq!(
        spans(&world, &items),
        [(0, 5, 10)],
        "it holds nothing any more"
    );
}

#[test]
fn i8_a_seek_or_a_pause_tells_the_reader_to_look() {
    let mut world = World::new(config(), 2);
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 2, effects).unwrap();
    });
    assert!(effects.contains(&Effect::Changed));
    world.take();
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(1)], true, effects).unwrap();
    });
    assert!(effects.contains(&Effect::Changed));
}

#[test]
fn i6_a_change_is_told_even_if_the_reader_was_told_of_something_else_and_has_looked_since() {
    // The reader looks at the table, then its take is under way: whatever changes now it has not seen.
    let change: [fn(&mut World) -> Effects<u32>; 3] = [
        |world| world.run(|machine, now, effects| machine.seek(now, &tp(0), 2, effects).unwrap()),
        |world| world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap()),
        |world| {
            world.run(|machine, now, effects| {
                machine.assign(now, [(tp(1), Start::Offset(0))], effects);
            })
        },
    ];
    for change in change {
        let mut world = World::new(config(), 2);
        let first = world.reserve(Lane::Session).unwrap();
        let effects = world.done(&first, vec![data(&first.asks[1], 1, 10)]);
        assert!(effects.contains(&Effect::Changed), "told, and it looks");
        assert!(change(&mut world).contains(&Effect::Changed));
        // also while it waits: what it is answered with may have been on its way
        world.request(Vec::new(), Vec::new(), None);
        world.request(Vec::new(), Vec::new(), Some(Duration::from_secs(1)));
        let again = world.run(|machine, now, effects| {
            machine.seek(now, &tp(1), 7, effects).unwrap();
        });
        assert!(again.contains(&Effect::Changed));
    }
}

#[test]
fn calls_for_a_partition_that_is_not_assigned_are_errors() {
    let mut world = World::new(config(), 1);
    let mut effects = Vec::new();
    let now = world.now;
    assert_eq!(
        world.machine.seek(now, &tp(7), 1, &mut effects),
        Err(NotAssigned(tp(7)))
    );
    let names = [tp(0), tp(7)];
    assert!(world.machine.pause(&names, true, &mut effects).is_err());
    assert_eq!(effects, [], "all or nothing");
}
