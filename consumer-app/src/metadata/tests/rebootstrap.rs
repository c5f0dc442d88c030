//! Beginning again with the bootstrap servers (KIP-899, KIP-1102).

use super::*;

#[test]
fn without_rebootstrap_only_known_brokers_are_asked_once_there_are_some() {
    let mut world = World::new();
    world.machine = MetadataMachine::new(
        MetadataConfig {
            rebootstrap: false,
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
