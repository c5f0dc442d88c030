use super::*;

const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn b136_b198_a_dynamic_member_commits_and_leaves_a_static_one_stays() {
    for is_static in [false, true] {
        let config = rarely(silent(eager()));
        let config = if is_static { fixed(config) } else { config };
        let mut world = World::new(config);
        world.cluster(&["t"]);
        world.subscribe(&["t"]);
        world.find();
        world.join(1, &["t-0"]);
        world.processed = offsets(&[("t-0", 5)]);
        world.close(LeaveOption::Default, TIMEOUT);
        assert!(!world.is_in_flight("LeaveGroup"));
        assert_eq!(world.closed, 0);
        assert_eq!(world.commit_ok(), offsets(&[("t-0", 5)]));
        if !is_static {
            world.refuse("LeaveGroup", ErrorCode::NONE);
        }
        assert_eq!(world.closed, 1);
        assert_eq!(world.count("LeaveGroup"), usize::from(!is_static));
    }
}

#[test]
fn b198_a_manual_assignment_is_committed_and_nothing_is_left() {
    let mut world = World::new(rarely(eager()));
    world.processed = offsets(&[("t-0", 5)]);
    world.close(LeaveOption::Default, TIMEOUT);
    assert_eq!(world.closed, 0, "it is not committed yet");
    world.find();
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 5)]));
    assert_eq!(world.closed, 1);
    assert_eq!(world.count("LeaveGroup"), 0);
}

#[test]
fn b198_b200_nothing_lasts_longer_than_the_timeout() {
    for config in [
        eager(),
        rarely(cooperative()),
        consumer(),
        rarely(consumer()),
    ] {
        for step in ["unfound", "joining", "member", "lost", "handing over"] {
            let mut world = if matches!(step, "unfound" | "joining") {
                World::new(config.clone())
            } else {
                World::member(config.clone(), &["t-0"])
            };
            world.processed = offsets(&[("t-0", 5)]);
            match step {
                "unfound" => world.subscribe(&["t"]),
                "joining" => {
                    world.subscribe(&["t"]);
                    world.find();
                }
                "lost" => {
                    world.commit(&[("t-0", 1)]);
                    world.lose("OffsetCommit");
                }
                "handing over" => world.subscribe(&["u"]),
                _ => {}
            }
            world.close(LeaveOption::Default, TIMEOUT);
            world.pass(TIMEOUT);
            assert_eq!(world.closed, 1, "{step}: {world:?}");
        }
    }
}

#[test]
fn b199_a_close_without_time_does_not_wait() {
    let mut world = World::member(eager(), &["t-0"]);
    let until = world.now;
    world.machine.polled(LastPoll::Now);
    let mut effects = Vec::new();
    world
        .machine
        .close(until, LeaveOption::Default, until, &mut effects);
    assert_eq!(world.machine.poll_timeout(until), Some(until));
    world.run(CoordinatorMachine::timeout);
    assert_eq!(world.closed, 1);
}

#[test]
fn b199_a_close_waits_for_commits_on_their_way() {
    let mut world = World::member(silent(eager()), &["t-0"]);
    let first = world.commit(&[("t-0", 1)]);
    let second = world.commit(&[("t-0", 2)]);
    world.close(LeaveOption::Default, TIMEOUT);
    assert_eq!(world.count("LeaveGroup"), 0);
    world.commit_ok();
    world.commit_ok();
    assert!(world.committed[&first].is_ok() && world.committed[&second].is_ok());
    world.refuse("LeaveGroup", ErrorCode::NONE);
    assert_eq!(world.closed, 1);
    // whoever closes again hears that it is done
    world.close(LeaveOption::Default, TIMEOUT);
    assert_eq!(world.closed, 2);
}

#[test]
fn b200_whoever_joins_leaves_on_another_connection() {
    let mut world = World::member(cooperative(), &["t-0"]);
    world.rebalance();
    assert!(world.is_in_flight("JoinGroup"));
    world.close(LeaveOption::Default, TIMEOUT);
    world.confirm();
    assert!(!world.is_in_flight("JoinGroup"));
    world.find();
    world.refuse("LeaveGroup", ErrorCode::NONE);
    assert_eq!(world.closed, 1);
}

/// Who commits, by generation.
fn committer(world: &World) -> i32 {
    match world.last("OffsetCommit") {
        Request::OffsetCommit {
            identity: Some(identity),
            ..
        } => identity.epoch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn b136_b198_a_close_in_a_join_commits_in_the_generation_that_comes_of_it() {
    for state in ["joining", "syncing"] {
        let mut world = World::member(rarely(silent(cooperative())), &["t-0"]);
        world.rebalance();
        if state == "syncing" {
            let Answer::JoinGroup(Ok(mut answer)) = joined(2) else {
                unreachable!("it is one");
            };
            answer.protocol = "cooperative-sticky".into();
            world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
        }
        world.processed = offsets(&[("t-0", 5)]);
        world.close(LeaveOption::Default, TIMEOUT);
        // the broker would refuse what it gets between the generations
        assert_eq!(world.count("OffsetCommit"), 0, "{state}");
        assert_eq!(world.disconnects, 0, "{state}");
        if state == "syncing" {
            world.reply("SyncGroup", synced(&["t-0"]));
        } else {
            world.join(2, &["t-0"]);
        }
        assert_eq!(committer(&world), 2, "{state}");
        assert_eq!(world.commit_ok(), offsets(&[("t-0", 5)]), "{state}");
        assert_eq!(world.assigned, BTreeSet::new(), "{state}");
        world.refuse("LeaveGroup", ErrorCode::NONE);
        assert_eq!(world.closed, 1, "{state}");
    }
}

#[test]
fn b136_b200_a_join_that_does_not_end_is_not_waited_for() {
    let mut world = World::member(rarely(silent(cooperative())), &["t-0"]);
    world.rebalance();
    world.processed = offsets(&[("t-0", 5)]);
    world.close(LeaveOption::Default, TIMEOUT);
    world.pass(2 * HEARTBEAT);
    assert_eq!(world.disconnects, 1);
    world.find();
    // it is good until all members have joined
    assert_eq!(committer(&world), 1);
    world.commit_ok();
    world.refuse("LeaveGroup", ErrorCode::NONE);
    assert_eq!(world.closed, 1);
}

#[test]
fn b200_a_join_is_not_waited_for_when_there_is_nothing_to_commit() {
    let mut world = World::member(rarely(silent(cooperative())), &["t-0"]);
    world.rebalance();
    world.close(LeaveOption::Default, TIMEOUT);
    assert_eq!(world.disconnects, 1);
}

#[test]
fn whoever_subscribes_again_while_a_join_is_waited_for_joins_anew() {
    let mut world = World::member(rarely(silent(cooperative())), &["t-0"]);
    world.rebalance();
    world.processed = offsets(&[("t-0", 5)]);
    world.unsubscribe();
    assert_eq!(world.disconnects, 0);
    world.subscribe(&["t"]);
    assert_eq!(world.disconnects, 1);
    world.find();
    world.commit_ok();
    assert!(!world.join_request().member_id.is_empty());
    world.join(3, &["t-0"]);
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
}

/// With no member's id a commit would be accepted of a group that is empty, whatever was committed meanwhile.
#[test]
fn f018_who_is_not_a_member_any_more_commits_nothing_of_what_it_had() {
    for config in [eager(), cooperative(), consumer()] {
        let heartbeat = match config.protocol {
            GroupProtocol::Classic { .. } => "Heartbeat",
            GroupProtocol::Consumer { .. } => "ConsumerHeartbeat",
        };
        let mut world = World::member(config, &["t-0"]);
        world.unsubscribe();
        world.pass(Duration::from_secs(5));
        world.refuse(heartbeat, ErrorCode::UNKNOWN_MEMBER_ID);
        let call = world.commit(&[("t-0", 3)]);
        assert_eq!(world.count("OffsetCommit"), 0, "{heartbeat}");
        let result = &world.committed[&call];
        assert!(
            matches!(result, Err(GroupError::CommitFailed { .. })),
            "{result:?}"
        );
    }
}
