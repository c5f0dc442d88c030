use super::*;

#[test]
fn b123_a_commit_waits_for_the_coordinator_and_not_for_ever() {
    let mut world = World::new(eager());
    let first = world.commit(&[("t-0", 1)]);
    assert_eq!(world.count("OffsetCommit"), 0);
    world.find();
    world.commit_ok();
    assert!(world.committed[&first].is_ok());
    let late = world.commit(&[("t-0", 2)]);
    world.lose("OffsetCommit");
    world.pass(Duration::from_secs(60));
    assert!(matches!(
        world.committed[&late],
        Err(GroupError::TimedOut { last: Some(_), .. })
    ));
}

#[test]
fn b124_an_interval_that_passed_meanwhile_commits_as_soon_as_it_can() {
    let mut world = World::member(auto_commit(eager()), &["t-0"]);
    world.processed = offsets(&[("t-0", 1)]);
    world.pass(Duration::from_secs(5));
    world.processed = offsets(&[("t-0", 3)]);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.count("OffsetCommit"), 1);
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 1)]));
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 3)]));
    assert_eq!(world.count("OffsetCommit"), 2);
}

#[test]
fn b125_an_automatic_commit_that_failed_for_now_is_made_anew() {
    let mut world = World::member(auto_commit(eager()), &["t-0"]);
    world.processed = offsets(&[("t-0", 100)]);
    world.pass(Duration::from_secs(5));
    world.refuse("OffsetCommit", ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    world.processed = offsets(&[("t-0", 200)]);
    world.pass(Duration::from_millis(79));
    assert_eq!(world.count("OffsetCommit"), 1);
    world.pass(Duration::from_millis(41));
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 200)]));
}

#[test]
fn b126_nothing_processed_is_nothing_to_commit() {
    let mut world = World::member(auto_commit(eager()), &["t-0"]);
    world.pass(Duration::from_secs(60));
    assert!(world.collects > 5);
    assert_eq!(world.count("OffsetCommit"), 0);
}

#[test]
fn b127_b128_what_each_error_does_to_a_commit() {
    use ErrorCode as E;
    let retried = [
        E::COORDINATOR_LOAD_IN_PROGRESS,
        E::UNKNOWN_TOPIC_OR_PARTITION,
        E::COORDINATOR_NOT_AVAILABLE,
        E::NOT_COORDINATOR,
        E::REQUEST_TIMED_OUT,
    ];
    for code in retried {
        let mut world = World::member(eager(), &["t-0"]);
        let call = world.commit(&[("t-0", 1)]);
        world.refuse("OffsetCommit", code);
        if world.is_in_flight("FindCoordinator") {
            world.find();
        }
        world.pass(Duration::from_millis(79));
        assert_eq!(world.count("OffsetCommit"), 1, "{code}");
        world.pass(Duration::from_millis(41));
        world.commit_ok();
        assert!(world.committed[&call].is_ok(), "{code}");
    }
    type Check = fn(&GroupError) -> bool;
    let fatal: [(E, Check); 9] = [
        (E::GROUP_AUTHORIZATION_FAILED, |e| {
            matches!(e, GroupError::Refused { .. })
        }),
        (E::OFFSET_METADATA_TOO_LARGE, |e| {
            matches!(e, GroupError::OffsetRefused { .. })
        }),
        (E::INVALID_COMMIT_OFFSET_SIZE, |e| {
            matches!(e, GroupError::OffsetRefused { .. })
        }),
        (E::TOPIC_AUTHORIZATION_FAILED, |e| {
            matches!(e, GroupError::OffsetRefused { .. })
        }),
        (E::UNKNOWN_SERVER_ERROR, |e| {
            matches!(e, GroupError::OffsetRefused { .. })
        }),
        (E::FENCED_INSTANCE_ID, |e| {
            matches!(e, GroupError::Fenced { .. })
        }),
        (E::REBALANCE_IN_PROGRESS, |e| {
            matches!(e, GroupError::RebalanceInProgress { .. })
        }),
        (E::UNKNOWN_MEMBER_ID, |e| {
            matches!(e, GroupError::CommitFailed { .. })
        }),
        (E::ILLEGAL_GENERATION, |e| {
            matches!(e, GroupError::CommitFailed { .. })
        }),
    ];
    for (code, check) in fatal {
        let mut world = World::member(eager(), &["t-0"]);
        let call = world.commit(&[("t-0", 1)]);
        world.refuse("OffsetCommit", code);
        let error = world.committed[&call].as_ref().unwrap_err();
        assert!(check(error), "{code}: {error:?}");
    }
}

#[test]
fn b129_b130_when_the_coordinator_is_lost_every_commit_is_made_again() {
    let mut world = World::member(eager(), &["t-0"]);
    let calls: Vec<CallId> = (0..1000).map(|at| world.commit(&[("t-0", at)])).collect();
    assert_eq!(world.count("OffsetCommit"), 1, "the rest waits together");
    world.lose("OffsetCommit");
    world.find();
    world.pass(Duration::from_millis(120));
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 999)]));
    for call in calls {
        assert!(world.committed[&call].is_ok());
    }
}

#[test]
fn b131_b167_a_stale_epoch_is_replaced_by_the_fresh_one() {
    let mut world = World::member(consumer(), &["t-0"]);
    let call = world.commit(&[("t-0", 1)]);
    world.pass(Duration::from_secs(5));
    world.reply("ConsumerHeartbeat", beaten(8, None));
    world.refuse("OffsetCommit", ErrorCode::STALE_MEMBER_EPOCH);
    world.pass(Duration::from_millis(120));
    let Request::OffsetCommit { identity, .. } = world.last("OffsetCommit") else {
        panic!("{world:?}");
    };
    assert_eq!(identity.as_ref().unwrap().epoch, 8);
    world.commit_ok();
    assert!(world.committed[&call].is_ok());
}

#[test]
fn b131_an_automatic_commit_with_a_stale_epoch_is_dropped() {
    let mut world = World::member(auto_commit(consumer()), &["t-0"]);
    world.processed = offsets(&[("t-0", 1)]);
    world.pass(Duration::from_secs(5));
    world.reply("ConsumerHeartbeat", beaten(8, None));
    world.refuse("OffsetCommit", ErrorCode::STALE_MEMBER_EPOCH);
    world.pass(Duration::from_secs(4));
    assert_eq!(world.count("OffsetCommit"), 1);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.count("OffsetCommit"), 2);
}

#[test]
fn f018_what_was_let_go_is_not_committed_again() {
    let mut world = World::member(cooperative(), &["t-0", "t-1"]);
    let call = world.commit(&[("t-0", 100)]);
    let (commit, _) = world.take("OffsetCommit");
    world.rebalance();
    world.join(2, &["t-1"]);
    world.confirm();
    world.join(3, &["t-0", "t-1"]);
    // meanwhile another owner committed 200
    world.answer(commit, Err(lost()));
    world.find();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.count("OffsetCommit"), 1);
    assert!(world.committed[&call].is_err());
}

#[test]
fn nothing_to_commit_is_committed_also_while_the_group_is_rebalanced() {
    let mut world = World::member(cooperative(), &["t-0"]);
    world.rebalance();
    let call = world.commit(&[]);
    assert!(world.committed[&call].is_ok());
    let call = world.commit(&[("t-0", 1)]);
    assert!(matches!(
        world.committed[&call],
        Err(GroupError::RebalanceInProgress { .. })
    ));
}

#[test]
fn a_partition_that_the_answer_leaves_out_was_not_committed() {
    let mut world = World::new(eager());
    let call = world.commit(&[("t-0", 1)]);
    world.find();
    world.reply("OffsetCommit", Answer::OffsetCommit(BTreeMap::new()));
    assert!(matches!(
        world.committed[&call],
        Err(GroupError::OffsetRefused { .. })
    ));
}

#[test]
fn an_older_commit_is_not_made_again_after_a_newer_one() {
    let mut world = World::new(eager());
    world.commit(&[("t-0", 1), ("t-1", 1)]);
    world.find();
    world.commit(&[("t-0", 2)]);
    world.refuse("OffsetCommit", ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    world.pass(Duration::from_millis(120));
    assert_eq!(world.commit_ok(), offsets(&[("t-0", 2), ("t-1", 1)]));
    assert!(world.committed.values().all(Result::is_ok));
}
