//! What the watchdog is told of, and what not.

use super::*;

/// Names of the unasked partitions at the second of two looks in a row, and what they wait for.
fn looked(world: &mut World) -> Vec<(i32, Reason)> {
    world.machine.look_for_unasked();
    let found = world.machine.look_for_unasked();
    let named = |unasked: Unasked| {
        assert_eq!(unasked.node, NODE);
        (unasked.name.partition(), unasked.reason)
    };
    found.into_iter().map(named).collect()
}

fn empty(grant: &Grant) -> Vec<PartitionReply<u32>> {
    grant.asks.iter().map(|ask| data(ask, 0, 0)).collect()
}

#[test]
fn a_planner_that_never_asks_again_is_noticed() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(looked(&mut world), []);
    world.done(&first, empty(&first));
    let expected = [(0, Reason::NoNode), (1, Reason::NoNode)];
    assert_eq!(looked(&mut world), expected);
    assert_eq!(looked(&mut world), expected);
    world.reserve(Lane::Session).unwrap();
    assert_eq!(looked(&mut world), []);
}

#[test]
fn a_request_that_never_comes_and_would_name_the_partition_is_noticed() {
    let mut world = World::new(config(), 2);
    world.run(|machine, _, effects| machine.pause([&tp(1)], true, effects).unwrap());
    world.reserve(Lane::Session).unwrap();
    world.run(|machine, _, effects| machine.pause([&tp(1)], false, effects).unwrap());
    // lane 2 is not offered
    assert_eq!(looked(&mut world), [(1, Reason::NextRequest)]);
    world.machine.look_for_unasked();
    let found = world.machine.look_for_unasked();
    assert_eq!((found[0].offset, found[0].partition), (0, world.ids[1]));
}

#[test]
fn what_was_asked_for_since_the_last_look_is_not_unasked() {
    let mut world = World::new(config(), 1);
    for _ in 0..3 {
        let granted = world.reserve(Lane::Session).unwrap();
        world.done(&granted, empty(&granted));
        assert_eq!(world.machine.look_for_unasked(), []);
    }
    assert_eq!(world.machine.look_for_unasked().len(), 1);
}

/// A request asks for what the ones before did, whether or not it says so again, and until something ends that.
#[test]
fn what_stays_with_the_session_is_asked_for_with_each_request() {
    let mut world = World::new(config(), 1);
    let candidates = world.candidates();
    let request = |world: &mut World| {
        let candidates = std::sync::Arc::clone(&candidates);
        let granted = grant(world.run(|machine, _, effects| {
            machine.reserve(NODE, Lane::Session, 1, candidates, false, effects);
        }))
        .unwrap();
        world.done(&granted, Vec::new());
        granted
    };
    request(&mut world);
    for _ in 0..3 {
        assert_eq!(world.machine.look_for_unasked(), []);
        let granted = request(&mut world);
        assert_eq!(granted.changes.as_ref().unwrap().asks, []);
    }
    let seek = |machine: &mut BufferMachine<u32>, now, effects: &mut Effects<u32>| {
        machine.seek(now, &tp(0), 5, effects).unwrap();
    };
    world.run(seek);
    assert_eq!(world.machine.look_for_unasked(), []);
    assert_eq!(world.machine.look_for_unasked().len(), 1);
}

#[test]
fn a_named_reason_is_no_fault() {
    type Make = fn() -> World;
    let table: [(Reason, Make); 8] = [
        (Reason::InFlight, || {
            let mut world = World::new(config(), 1);
            world.reserve(Lane::Session).unwrap();
            world
        }),
        (Reason::Paused, || {
            let mut world = World::new(config(), 1);
            world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        (Reason::NoPosition, || {
            let mut world = World::empty(config());
            world
                .run(|machine, now, effects| machine.assign(now, [(tp(0), Start::Reset)], effects));
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        (Reason::Blocked, || {
            let mut world = World::new(config(), 1);
            let granted = world.reserve(Lane::Session).unwrap();
            let mut reply = data(&granted.asks[0], 1, 10);
            if let Some(fetched) = &mut reply.fetched {
                fetched.flaw = Flaw::Corrupt;
            }
            world.done(&granted, vec![reply]);
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        // topic authorization failed
        (Reason::Backoff, || {
            let mut world = World::new(config(), 1);
            let granted = world.reserve(Lane::Session).unwrap();
            world.done(&granted, vec![error(&granted.asks[0], 29)]);
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        (Reason::Credit, || {
            let mut world = World::new(config(), 1);
            for _ in 0..2 {
                let granted = world.reserve(Lane::Session).unwrap();
                world.done(&granted, vec![data(&granted.asks[0], 10, MIB)]);
            }
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        (Reason::Budget, || {
            let mut world = World::new(
                BufferConfig {
                    buffer_memory: 8 << 20,
                    ..config()
                },
                2,
            );
            world.machine.charge(6 << 20);
            let granted = world.reserve(Lane::Session).unwrap();
            let reply = data(&granted.asks[0], 10, granted.max_bytes);
            world.done(&granted, vec![reply]);
            assert_eq!(world.reserve(Lane::Session), None);
            world
        }),
        // no node was ever offered for it
        (Reason::NoNode, || World::new(config(), 1)),
    ];
    for (reason, make) in table {
        let mut world = make();
        assert_eq!(world.machine.reason(world.ids[0]), Some(reason));
        assert_eq!(looked(&mut world), [], "{reason:?}");
    }
}

#[test]
fn between_a_leader_move_and_the_new_leaders_first_offer_nothing_is_unasked() {
    let mut world = World::new(config(), 1);
    world.reserve(Lane::Session).unwrap();
    let moved = world.ids.clone();
    world.run(|machine, _, effects| machine.leaders_changed(moved, effects));
    assert_eq!(looked(&mut world), []);
}

/// A node that rests for the sake of a partition that needs no rest any more.
#[cfg(feature = "mutants")]
#[test]
fn i8_a_pause_after_which_nobody_looked_again_is_noticed() {
    let mut world = World::new(config(), 2);
    world.machine.mutate(Mutant::PauseLooksNotAgain);
    super::lanes::hot_at_credit(&mut world);
    assert_eq!(looked(&mut world), []);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    assert_eq!(looked(&mut world), [(1, Reason::Credit)]);
}
