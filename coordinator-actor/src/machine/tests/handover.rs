use super::*;

#[test]
fn f019_what_was_processed_is_committed_before_partitions_move() {
    for is_silent in [false, true] {
        let config = rarely(cooperative());
        let config = if is_silent { silent(config) } else { config };
        let mut world = World::member(config, &["t-0", "t-1"]);
        world.processed = offsets(&[("t-0", 1), ("t-1", 1)]);
        world.rebalance();
        world.join(2, &["t-1"]);
        assert_eq!(world.told_last(), Some(&RebalanceEvent::Checkpoint));
        assert_eq!(world.count("OffsetCommit"), 0);
        // the poll that goes on makes more count as processed
        world.processed = offsets(&[("t-0", 9), ("t-1", 9)]);
        world.confirm();
        assert_eq!(world.count("JoinGroup"), 2);
        assert_eq!(world.commit_ok(), offsets(&[("t-0", 9)]));
        world.confirm();
        assert_eq!(world.count("JoinGroup"), 3);
    }
}

#[test]
fn f019_a_commit_that_fails_blocks_nothing() {
    for code in [
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::OFFSET_METADATA_TOO_LARGE,
    ] {
        let mut world = World::member(rarely(cooperative()), &["t-0"]);
        world.processed = offsets(&[("t-0", 1)]);
        world.rebalance();
        world.join(2, &[]);
        world.confirm();
        world.refuse("OffsetCommit", code);
        assert_eq!(
            world.told_last(),
            Some(&RebalanceEvent::Revoked(parts(&["t-0"])))
        );
        world.confirm();
        assert_eq!(world.count("JoinGroup"), 3, "{code}");
    }
}

#[test]
fn without_listener_and_automatic_commits_nobody_is_waited_for() {
    let mut world = World::member(silent(eager()), &["t-0"]);
    world.rebalance();
    assert!(world.is_in_flight("JoinGroup"));
    assert!(world.events.is_empty());
}

#[test]
fn b174_who_unsubscribes_is_told_of_a_revocation_and_who_was_lost_of_a_loss() {
    let mut world = World::member(eager(), &["t-0"]);
    world.unsubscribe();
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Revoked(parts(&["t-0"])))
    );
    let mut world = World::member(eager(), &["t-0"]);
    world.pass(HEARTBEAT);
    world.refuse("Heartbeat", ErrorCode::UNKNOWN_MEMBER_ID);
    world.unsubscribe();
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Lost(parts(&["t-0"])))
    );
    assert_eq!(world.events.len(), 2);
}

#[test]
fn b175_a_listener_that_blocks_holds_others_up_no_longer_than_a_poll_may_take() {
    for config in [cooperative(), rarely(cooperative())] {
        let mut world = World::member(config, &["t-0"]);
        world.rebalance();
        world.join(2, &[]);
        assert!(
            world.assigned.is_empty(),
            "no record of it is given any more"
        );
        for _ in 0..99 {
            world.pass(HEARTBEAT);
            world.refuse("Heartbeat", ErrorCode::NONE);
        }
        assert_eq!(world.count("JoinGroup"), 2);
        world.pass(HEARTBEAT);
        assert_eq!(world.count("JoinGroup"), 3);
        assert!(
            !world.told.contains(&part("t-0")),
            "it is told all the same"
        );
    }
}

#[test]
fn b176_only_the_assigned_callback_is_called_for_nothing() {
    let mut world = World::member(eager(), &[]);
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Assigned(Vec::new()))
    );
    world.rebalance();
    world.join(2, &[]);
    world.pass(HEARTBEAT);
    world.refuse("Heartbeat", ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(world.events.len(), 2);
}

#[test]
fn b177_the_revoked_callback_may_commit() {
    let mut world = World::member(eager(), &["t-0"]);
    world.rebalance();
    let call = world.commit(&[("t-0", 3)]);
    world.commit_ok();
    assert!(world.committed[&call].is_ok());
}

#[test]
fn who_unsubscribes_twice_in_the_middle_of_a_handover_commits_without_a_poll() {
    let mut world = World::member(rarely(cooperative()), &["t-0", "u-0"]);
    world.processed = offsets(&[("t-0", 1), ("u-0", 2)]);
    world.subscribe(&["t"]);
    world.unsubscribe();
    world.unsubscribe();
    assert_eq!(world.commit_ok(), offsets(&[("u-0", 2)]));
    world.confirm();
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 1)]));
    world.confirm();
    world.refuse("LeaveGroup", ErrorCode::NONE);
}
