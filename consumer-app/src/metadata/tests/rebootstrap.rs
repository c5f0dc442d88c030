//! Beginning again with the bootstrap servers (KIP-899, KIP-1102).

use super::*;

#[test]
fn without_rebootstrap_only_known_brokers_are_asked_once_there_are_some() {
    let mut world = World::new();
    world.machine = MetadataMachine::new(
        MetadataConfig {
            rebootstrap: None,
            ..world.machine.config().clone()
        },
        0,
    );
    assert_eq!(asked(&world.assign(1)), [91]);
    world.answer(view(&[(1, 5)]));
    world.stale();
    let first = asked(&world.wait(Duration::from_millis(120)));
    let second = asked(&world.fail(lost(first[0])));
    assert!(asked(&world.fail(lost(second[0]))).is_empty());
    assert!(asked(&world.wait(Duration::from_millis(60)))[0] <= 2);
}

#[test]
fn a_broker_that_wants_the_client_to_begin_again_sends_it_to_the_bootstrap() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 5)]));
    world.stale();
    world.wait(Duration::from_millis(120));
    let effects = world.run(|machine, now, effects| machine.rebootstrap(now, effects));
    assert_eq!(asked(&effects), [91]);
}

/// Not a stall either: there is nobody else to ask than the brokers that said so.
#[test]
fn without_rebootstrap_a_broker_that_wants_it_is_asked_again() {
    let mut world = World::new();
    let config = MetadataConfig {
        rebootstrap: None,
        ..world.machine.config().clone()
    };
    world.machine = MetadataMachine::new(config, 0);
    world.assign(1);
    world.answer(view(&[(1, 5)]));
    world.stale();
    world.wait(Duration::from_millis(120));
    let mut asked_after = Vec::new();
    for _ in 0..3 {
        let effects = world.run(|machine, now, effects| machine.rebootstrap(now, effects));
        asked_after.extend(asked(&effects));
        if world
            .machine
            .poll_timeout()
            .is_some_and(|at| at < world.now + Duration::from_secs(2))
        {
            asked_after.extend(asked(&world.wait(Duration::from_secs(2))));
        }
    }
    assert!(asked_after.len() >= 3, "{asked_after:?}");
    assert!(asked_after.iter().all(|&port| port <= 2), "{asked_after:?}");
}

/// KIP-1102: brokers that take requests and do not answer are not all waited for.
#[test]
fn when_no_known_broker_answers_for_the_trigger_the_bootstrap_servers_come_first() {
    let mut world = World::new();
    let config = MetadataConfig {
        rebootstrap: Some(Duration::from_secs(10)),
        ..world.machine.config().clone()
    };
    world.machine = MetadataMachine::new(config, 0);
    world.assign(1);
    let mut many = view(&[(1, 5)]);
    many.brokers = (1..50)
        .map(|node| (NodeId(node), address(node as u16)))
        .collect();
    world.answer(many);
    world.stale();
    let first = asked(&world.wait(Duration::from_millis(120)));
    assert!(first[0] < 50);
    // each is given up after a while
    let mut known = 1;
    loop {
        world.now += Duration::from_secs(4);
        let next = asked(&world.fail(lost(1)));
        if next == [91] {
            break;
        }
        assert!(next[0] < 50);
        known += 1;
    }
    assert_eq!(known, 3, "at 0, 4 and 8 s");
    // none of those either: the others are asked as well
    assert_eq!(asked(&world.fail(lost(91))), [92]);
    assert!(asked(&world.fail(lost(92)))[0] < 50);
    // an answer ends it
    world.answer(view(&[(1, 5)]));
    world.stale();
    assert!(asked(&world.wait(Duration::from_millis(120)))[0] <= 2);
}
