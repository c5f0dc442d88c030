//! Sessions that rest are touched before a broker may give their slots away (KIP-227).

use super::*;

/// With a session that was used a moment ago and is idle.
fn rested() -> World {
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    world.idle(ONE, Lane::Session);
    world
}

#[test]
fn a_session_that_was_not_used_for_a_minute_is_touched() {
    let mut world = rested();
    let begin = world.now;
    assert_eq!(all(&world.wait()), ["touch 1/1"]);
    assert_eq!(world.now - begin, Duration::from_secs(60));
    assert!(world.machine.is_busy(ONE, Lane::Session));
    assert_eq!(world.machine.poll_timeout(), None, "one at a time");
    assert!(
        world.idle(ONE, Lane::Session).is_empty(),
        "its offer stands"
    );
    assert_eq!(all(&world.wait()), ["touch 1/1"]);
    assert_eq!(world.now - begin, Duration::from_secs(120));
}

#[test]
fn what_is_not_idle_or_has_no_session_is_not_touched() {
    let mut world = World::assigned(&[ONE]);
    assert_eq!(world.machine.poll_timeout(), None, "no session yet");
    world.busy(ONE, Lane::Session);
    assert_eq!(world.machine.poll_timeout(), None, "in use");
    world.idle_in(ONE, Lane::Session, SessionState::Refused);
    assert_eq!(world.machine.poll_timeout(), None, "the broker gave none");
    // lane 2 has none of its own
    world.busy(ONE, Lane::Quick);
    world.idle(ONE, Lane::Quick);
    assert_eq!(world.machine.poll_timeout(), None);
    world.busy(ONE, Lane::Session);
    world.idle(ONE, Lane::Session);
    assert!(world.machine.poll_timeout().is_some());
    // a session that was lost
    world.busy(ONE, Lane::Session);
    world.unavailable(ONE, Lane::Session);
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn a_timer_that_fires_early_does_nothing() {
    let mut world = rested();
    world.now += Duration::from_secs(59);
    let effects = world.run(|machine, now, effects| machine.timeout(now, effects));
    assert!(effects.is_empty());
}

#[test]
fn a_grant_that_comes_during_a_touch_is_kept_for_its_end() {
    let mut world = rested();
    world.wait();
    let grant = world.grant(ONE, Lane::Session);
    assert!(world.granted(grant).is_empty());
    // no second one meanwhile
    let second = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(second)), ["abandon 3"]);
    assert_eq!(all(&world.idle(ONE, Lane::Session)), ["fetch 1/1 2"]);
    assert_eq!(all(&world.idle(ONE, Lane::Session)), ["reserve 1/1 [0]"]);
}

#[test]
fn i4_a_grant_kept_for_the_end_of_a_touch_is_given_back_if_it_cannot_be_used() {
    let kept = || {
        let mut world = rested();
        world.wait();
        let grant = world.grant(ONE, Lane::Session);
        world.granted(grant);
        world
    };
    // the touch fails
    let mut world = kept();
    assert_eq!(
        all(&world.unavailable(ONE, Lane::Session)),
        ["abandon 2", "withdraw 1/2"]
    );
    // its lane ends
    let mut world = kept();
    let effects = world.run(|machine, _, effects| machine.lost(ONE, Lane::Session, effects));
    assert_eq!(all(&effects), ["abandon 2", "reserve 1/1 [0]"]);
    // its node goes
    let mut world = kept();
    assert_eq!(
        all(&world.unassign(0)),
        ["abandon 2", "close 1/1", "withdraw 1/2"]
    );
    // its plan is not the newest any more
    let mut world = kept();
    world.lead_since(&[(Some(ONE), 6)]);
    assert_eq!(all(&world.snapshot()), ["reserve 1/2 [0]"]);
    assert_eq!(
        all(&world.idle(ONE, Lane::Session)),
        ["abandon 2", "reserve 1/1 [0]"]
    );
}
