//! What becomes of grants, and of lanes that come and go.

use super::*;

#[test]
fn a_lane_is_opened_by_its_first_grant_and_not_before() {
    let mut world = World::assigned(&[ONE]);
    let first = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(first)), ["open 1/1 9001", "fetch 1/1 1"]);
    assert!(world.machine.is_busy(ONE, Lane::Session));
    assert!(!world.machine.is_busy(ONE, Lane::Quick));
    assert_eq!(all(&world.idle(ONE, Lane::Session)), ["reserve 1/1 [0]"]);
    assert!(!world.machine.is_busy(ONE, Lane::Session));
    let second = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(second)), ["fetch 1/1 2"]);
    let quick = world.grant(ONE, Lane::Quick);
    assert_eq!(all(&world.granted(quick)), ["open 1/2 9001", "fetch 1/2 3"]);
}

#[test]
fn a_job_comes_with_the_names_of_what_it_asks_for() {
    let mut world = World::assigned(&[ONE]);
    let grant = world.grant(ONE, Lane::Session);
    let effects = world.granted(grant);
    let [_, Effect::Start(_, _, _, table)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let located = table.get(id(0)).expect("assigned");
    assert_eq!((&*located.topic.name, located.index), ("t", 0));
    assert_eq!(table.get(PartitionId::new(0, 2)), None);
}

#[test]
fn a_grant_that_crossed_with_a_new_plan_is_given_back_and_the_new_offer_stands() {
    let mut world = World::assigned(&[ONE, ONE]);
    let old = world.grant(ONE, Lane::Session);
    world.unassign(1);
    assert_eq!(all(&world.granted(old)), ["abandon 1"]);
    let new = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(new)), ["open 1/1 9001", "fetch 1/1 2"]);
}

#[test]
fn i4_a_grant_that_nobody_can_use_is_given_back() {
    // a node that is gone
    let mut world = World::assigned(&[ONE]);
    let grant = world.grant(ONE, Lane::Session);
    world.lead(&[TWO]);
    world.snapshot();
    assert_eq!(all(&world.granted(grant)), ["abandon 1"]);
    // a lane whose offer was taken back
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    let crossed = world.grant(ONE, Lane::Quick);
    world.unavailable(ONE, Lane::Session);
    assert_eq!(all(&world.granted(crossed)), ["abandon 2"]);
    // a second one for a busy lane
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    let second = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(second)), ["abandon 2"]);
}

#[test]
fn a_node_whose_first_lane_cannot_be_used_is_left_alone_on_both() {
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    assert_eq!(
        all(&world.unavailable(ONE, Lane::Session)),
        ["withdraw 1/2"]
    );
    assert!(world.snapshot().is_empty(), "nor by a new snapshot");
    assert_eq!(
        all(&world.idle(ONE, Lane::Session)),
        ["reserve 1/1 [0]", "reserve 1/2 [0]"]
    );
    // lane 1 does without lane 2
    world.busy(ONE, Lane::Quick);
    assert!(world.unavailable(ONE, Lane::Quick).is_empty());
    assert_eq!(all(&world.idle(ONE, Lane::Quick)), ["reserve 1/2 [0]"]);
}

#[test]
fn i8_what_a_closed_lane_said_is_not_taken_for_the_new_ones() {
    // Its failure was under way when the partition moved there and back: the lane that is idle now has not failed.
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    world.lead(&[TWO]);
    world.snapshot();
    world.lead(&[ONE]);
    world.snapshot();
    assert!(world.unavailable(ONE, Lane::Session).is_empty());
    let grant = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(grant)), ["open 1/1 9001", "fetch 1/1 2"]);
    // of a node that is gone nothing is heard
    world.lead(&[TWO]);
    world.snapshot();
    assert!(world.idle(ONE, Lane::Session).is_empty());
    assert!(world.unavailable(ONE, Lane::Session).is_empty());
}

#[test]
fn i4_a_lane_that_ended_unasked_is_opened_again_with_the_next_grant() {
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    let effects = world.run(|machine, _, effects| machine.lost(ONE, Lane::Session, effects));
    assert_eq!(all(&effects), ["reserve 1/1 [0]"]);
    let grant = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(grant)), ["open 1/1 9001", "fetch 1/1 2"]);
    // one that had nothing to do
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    world.idle(ONE, Lane::Session);
    let effects = world.run(|machine, _, effects| machine.lost(ONE, Lane::Session, effects));
    assert!(effects.is_empty(), "its offer stands: {effects:?}");
    assert_eq!(world.machine.poll_timeout(), None, "nothing to touch");
    let grant = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(grant)), ["open 1/1 9001", "fetch 1/1 2"]);
}
