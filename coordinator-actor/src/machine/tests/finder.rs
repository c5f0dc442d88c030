use super::*;

#[test]
fn nobody_looks_for_a_coordinator_that_nobody_needs() {
    let mut world = World::new(auto_commit(eager()));
    world.cluster(&["t"]);
    world.pass(Duration::from_secs(60));
    assert!(world.asked.is_empty());
}

#[test]
fn a_broker_that_does_not_answer_is_asked_again_with_growing_pauses() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    for _ in 0..60 {
        world.lose("FindCoordinator");
        world.pass(Duration::from_secs(2));
    }
    assert_eq!(world.count("FindCoordinator"), 61);
    world.find();
    assert!(world.is_in_flight("JoinGroup"));
}

#[test]
fn a_refusal_ends_all_calls_and_is_told_once() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    let fetch = world.fetch(&["t-0"]);
    world.refuse("FindCoordinator", ErrorCode::GROUP_AUTHORIZATION_FAILED);
    assert!(matches!(
        world.fetched[&fetch],
        Err(GroupError::Refused { .. })
    ));
    assert_eq!(world.failures.len(), 1);
    world.pass(Duration::from_secs(60));
    assert_eq!(world.count("FindCoordinator"), 1);
    world.subscribe(&["t"]);
    world.pass(Duration::from_secs(1));
    assert!(world.is_in_flight("FindCoordinator"));
}

#[test]
fn without_a_subscription_a_refusal_is_no_end() {
    let mut world = World::new(eager());
    let call = world.commit(&[("t-0", 1)]);
    world.refuse("FindCoordinator", ErrorCode::GROUP_AUTHORIZATION_FAILED);
    assert!(matches!(
        world.committed[&call],
        Err(GroupError::Refused { .. })
    ));
    assert!(world.failures.is_empty());
    let call = world.commit(&[("t-0", 1)]);
    world.pass(Duration::from_secs(1));
    world.find();
    world.commit_ok();
    assert!(world.committed[&call].is_ok());
}

#[test]
fn who_cannot_say_goodbye_stops_trying_when_its_session_is_over() {
    let mut world = World::member(eager(), &["t-0"]);
    world.commit(&[("t-0", 1)]);
    world.lose("OffsetCommit");
    // silent for a while, which ends the session before the patience
    world.pass(Duration::from_secs(5));
    world.unsubscribe();
    world.confirm();
    for _ in 0..60 {
        if world.is_in_flight("FindCoordinator") {
            world.lose("FindCoordinator");
        }
        world.pass(Duration::from_secs(2));
    }
    assert!(world.machine.member.has_left(), "{world:?}");
    let asked = world.count("FindCoordinator");
    world.pass(Duration::from_secs(60));
    assert_eq!(world.count("FindCoordinator"), asked);
}
