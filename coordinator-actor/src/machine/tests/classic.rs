use super::*;
use crate::assign::Subscription as Told;

fn synced_with_negatives() -> Answer {
    let twice_and_negative = vec![part("t-0"), part("t-0"), TopicPartition::new("t", -1)];
    let assignment = Assignment::new(twice_and_negative).encode(Assignment::VERSION);
    Answer::SyncGroup(Ok(assignment.unwrap()))
}

fn told(world: &World) -> Told {
    Told::decode(&world.join_request().protocols[0].1).unwrap()
}

#[test]
fn b140_an_id_that_is_required_is_used_without_a_backoff() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    world.find();
    world.refuse("JoinGroup", ErrorCode::MEMBER_ID_REQUIRED);
    assert!(world.is_in_flight("JoinGroup"));
    assert_eq!(&*world.join_request().member_id, "m-given");
    // but who has one is not given another, as fast as it can ask
    world.refuse("JoinGroup", ErrorCode::MEMBER_ID_REQUIRED);
    assert!(!world.is_in_flight("JoinGroup"));
    world.pass(Duration::from_millis(120));
    assert!(world.is_in_flight("JoinGroup"));
}

#[test]
fn b141_a_join_waits_for_all_members() {
    for (max_poll, request_timeout, limit) in
        [(300, 30, 305), (10, 30, 30), (2_147_483, 30, 2_147_488)]
    {
        let config = GroupConfig {
            max_poll_interval: Duration::from_secs(max_poll),
            request_timeout: Duration::from_secs(request_timeout),
            ..eager()
        };
        let mut world = World::new(config);
        world.subscribe(&["t"]);
        let (id, _) = world.take("FindCoordinator");
        let mut effects = Vec::new();
        let found = Ok(Answer::Coordinator(Ok(coordinator())));
        world.machine.answered(world.now, id, found, &mut effects);
        let limits = effects.iter().filter_map(|effect| match effect {
            Effect::Ask { request, limit, .. } => Some((kind(request), *limit)),
            _ => None,
        });
        let expected = ("JoinGroup", Duration::from_secs(limit));
        assert_eq!(limits.collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn b142_a_refused_assignment_is_joined_for_again() {
    for (code, member_id) in [
        (ErrorCode::REBALANCE_IN_PROGRESS, MEMBER),
        (ErrorCode::ILLEGAL_GENERATION, MEMBER),
        (ErrorCode::UNKNOWN_MEMBER_ID, ""),
    ] {
        let mut world = World::new(eager());
        world.subscribe(&["t"]);
        world.find();
        world.reply("JoinGroup", joined(1));
        world.refuse("SyncGroup", code);
        assert_eq!(&*world.join_request().member_id, member_id, "{code}");
        assert_eq!(world.count("JoinGroup"), 2, "{code}");
        // again and again, but not as fast as can be
        world.reply("JoinGroup", joined(2));
        world.refuse("SyncGroup", code);
        assert!(!world.is_in_flight("JoinGroup"), "{code}");
        world.pass(Duration::from_millis(240));
        assert!(world.is_in_flight("JoinGroup"), "{code}");
    }
}

#[test]
fn b145_f024_who_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    let mut world = World::member(eager(), &["t-0"]);
    world.last_poll = LastPoll::At(world.now);
    let mut beats = 0;
    while !world.is_in_flight("LeaveGroup") {
        world.pass(HEARTBEAT);
        if world.is_in_flight("Heartbeat") {
            world.refuse("Heartbeat", ErrorCode::NONE);
            beats += 1;
        }
        assert!(beats <= 100, "{world:?}");
    }
    assert!(beats >= 99, "{beats} heartbeats in five minutes");
    world.refuse("LeaveGroup", ErrorCode::NONE);
    assert_eq!(world.events[1].1, RebalanceEvent::Lost(parts(&["t-0"])));
    world.pass(MAX_POLL);
    assert_eq!(world.count("LeaveGroup"), 1);
    assert_eq!(world.count("JoinGroup"), 1);
    world.last_poll = LastPoll::Now;
    world.confirm();
    assert_eq!(&*world.join_request().member_id, "");
    assert_eq!(world.count("JoinGroup"), 2);
}

#[test]
fn f024_who_waits_in_a_poll_polls() {
    let mut world = World::member(eager(), &["t-0"]);
    for _ in 0..300 {
        world.pass(HEARTBEAT);
        world.refuse("Heartbeat", ErrorCode::NONE);
    }
    assert_eq!(world.count("LeaveGroup"), 0);
}

#[test]
fn b146_after_a_silent_session_the_coordinator_is_looked_for() {
    let mut world = World::member(eager(), &["t-0"]);
    world.pass(SESSION);
    assert!(world.is_in_flight("FindCoordinator"));
    assert_eq!(world.disconnects, 1);
    world.find();
    assert!(world.is_in_flight("Heartbeat"));
    world.refuse("Heartbeat", ErrorCode::UNKNOWN_MEMBER_ID);
    let call = world.commit(&[("t-0", 5)]);
    assert!(matches!(
        world.committed[&call],
        Err(GroupError::CommitFailed { .. } | GroupError::RebalanceInProgress { .. })
    ));
}

#[test]
fn b147_a_cooperative_member_keeps_what_it_reads_on() {
    let mut world = World::member(cooperative(), &["t-0", "u-0"]);
    world.subscribe(&["t"]);
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Revoked(parts(&["u-0"])))
    );
    assert!(!world.is_in_flight("JoinGroup"), "u-0 is not let go yet");
    world.confirm();
    assert_eq!(told(&world).owned_partitions, parts(&["t-0"]));
    assert_eq!(told(&world).generation_id, Some(1));
    world.join(2, &["t-0"]);
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Assigned(Vec::new()))
    );
    assert_eq!(world.count("JoinGroup"), 2);
}

#[test]
fn b147_what_moves_is_let_go_before_the_next_join() {
    let mut world = World::member(cooperative(), &["t-0", "t-1"]);
    world.rebalance();
    assert_eq!(told(&world).owned_partitions, parts(&["t-0", "t-1"]));
    world.join(2, &["t-1", "t-2"]);
    assert_eq!(world.assigned, parts(&["t-1"]).into_iter().collect());
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Revoked(parts(&["t-0"])))
    );
    // the listener takes its time, the member lives
    world.pass(HEARTBEAT);
    world.refuse("Heartbeat", ErrorCode::NONE);
    assert_eq!(world.count("JoinGroup"), 2);
    world.confirm();
    assert_eq!(told(&world).owned_partitions, parts(&["t-1", "t-2"]));
}

#[test]
fn what_was_to_be_given_is_not_when_the_generation_is_lost_meanwhile() {
    let mut world = World::member(cooperative(), &["t-0"]);
    world.rebalance();
    world.join(2, &["t-1"]);
    // t-0 is being let go, and t-1 comes after it
    world.pass(HEARTBEAT);
    world.refuse("Heartbeat", ErrorCode::UNKNOWN_MEMBER_ID);
    world.confirm();
    assert!(
        world.assigned.is_empty() && world.told.is_empty(),
        "{world:?}"
    );
}

#[test]
fn an_eager_member_joins_with_nothing_even_if_it_was_given_late() {
    let mut world = World::member(eager(), &["t-0"]);
    world.rebalance();
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Revoked(parts(&["t-0"])))
    );
    assert!(!world.is_in_flight("JoinGroup"));
    world.confirm();
    assert!(told(&world).owned_partitions.is_empty());
    world.join(2, &["t-0"]);
    world.rebalance();
    world.confirm();
    assert!(told(&world).owned_partitions.is_empty());
    assert_eq!(world.count("JoinGroup"), 3);
}

#[test]
fn b149_the_last_subscription_counts() {
    let mut world = World::new(cooperative());
    world.cluster(&["t", "u", "v"]);
    world.subscribe(&["t"]);
    world.find();
    world.subscribe(&["u"]);
    world.subscribe(&["v"]);
    world.join(1, &["t-0"]);
    assert!(world.assigned.is_empty(), "not read any more");
    assert_eq!(told(&world).topics, [Arc::from("v")]);
    world.join(2, &["v-0"]);
    assert_eq!(world.assigned, parts(&["v-0"]).into_iter().collect());
}

#[test]
fn b152_f023_a_static_member_that_was_replaced_is_out() {
    for request in ["Heartbeat", "JoinGroup", "SyncGroup", "OffsetCommit"] {
        let mut world = World::member(fixed(cooperative()), &["t-0"]);
        match request {
            "Heartbeat" => world.pass(HEARTBEAT),
            "OffsetCommit" => drop(world.commit(&[("t-0", 1)])),
            _ => world.rebalance(),
        }
        if request == "SyncGroup" {
            let Answer::JoinGroup(Ok(mut answer)) = joined(2) else {
                unreachable!("it is one");
            };
            answer.protocol = "cooperative-sticky".into();
            world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
        }
        let asked = world.count("JoinGroup");
        world.refuse(request, ErrorCode::FENCED_INSTANCE_ID);
        assert!(
            matches!(world.failures[..], [GroupError::Fenced { .. }]),
            "{request}"
        );
        assert!(world.assigned.is_empty(), "{request}");
        world.confirm();
        world.pass(MAX_POLL);
        assert_eq!(world.count("JoinGroup"), asked, "{request}");
        assert_eq!(world.count("LeaveGroup"), 0, "{request}");
        // it is the application's turn
        world.subscribe(&["t", "u"]);
        assert!(world.is_in_flight("JoinGroup") || world.is_in_flight("FindCoordinator"));
    }
}

#[test]
fn b153_a_pattern_finds_topics_that_come_later_and_no_internal_ones() {
    let mut world = World::new(cooperative());
    world.cluster(&["t"]);
    let pattern = Subscription::Pattern("t.*".into());
    world
        .run(|machine, now, effects| machine.subscribe(now, pattern, effects))
        .unwrap();
    assert!(world.watched.all);
    world.find();
    assert_eq!(told(&world).topics, [Arc::from("t")]);
    world.join(1, &["t-0"]);
    world.confirm();
    world.cluster(&["t", "t2", "other-t"]);
    assert_eq!(told(&world).topics, [Arc::from("t"), Arc::from("t2")]);
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    let mut world = World::new(eager());
    let pattern = Subscription::Pattern("t(".into());
    let result = world.run(|machine, now, effects| machine.subscribe(now, pattern, effects));
    assert!(matches!(result, Err(GroupError::InvalidPattern { .. })));
}

#[test]
fn b154_a_coordinator_that_is_none_is_not_asked_as_fast_as_can_be() {
    for code in [
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ] {
        let mut world = World::new(eager());
        world.subscribe(&["t"]);
        for _ in 0..100 {
            if world.is_in_flight("FindCoordinator") {
                world.find();
            } else if world.is_in_flight("JoinGroup") {
                world.refuse("JoinGroup", code);
            }
        }
        assert!(world.count("FindCoordinator") <= 3, "{code}: {world:?}");
    }
}

#[test]
fn f021_whoever_is_unknown_joins_anew_within_one_backoff() {
    for (code, member_id) in [
        (ErrorCode::UNKNOWN_MEMBER_ID, ""),
        (ErrorCode::ILLEGAL_GENERATION, MEMBER),
    ] {
        for request in ["Heartbeat", "OffsetCommit"] {
            let mut world = World::member(cooperative(), &["t-0"]);
            if request == "Heartbeat" {
                world.pass(HEARTBEAT);
            } else {
                world.commit(&[("t-0", 1)]);
            }
            world.refuse(request, code);
            assert!(world.assigned.is_empty());
            assert_eq!(
                world.told_last(),
                Some(&RebalanceEvent::Lost(parts(&["t-0"])))
            );
            world.confirm();
            world.pass(Duration::from_millis(120));
            assert_eq!(
                &*world.join_request().member_id,
                member_id,
                "{request} {code}"
            );
            assert_eq!(world.count("JoinGroup"), 2);
        }
    }
}

#[test]
fn f022_the_leader_survives_what_other_members_write() {
    let mut world = World::new(eager());
    world.cluster(&["t"]);
    world.subscribe(&["t"]);
    world.find();
    let own = world.join_request().protocols[0].1.clone();
    let Answer::JoinGroup(Ok(mut answer)) = joined(1) else {
        unreachable!("it is one");
    };
    answer.is_leader = true;
    answer.members = vec![
        (MEMBER.into(), None, own),
        (
            "garbage".into(),
            None,
            Bytes::from_static(b"\0\x03\x7f\xff\xff\xff"),
        ),
        ("empty".into(), None, Bytes::new()),
    ];
    world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
    let Request::SyncGroup(sync) = world.last("SyncGroup") else {
        panic!("{world:?}");
    };
    let given: Vec<usize> = sync
        .assignments
        .iter()
        .map(|(_, bytes)| Assignment::decode(bytes).unwrap().partitions.len())
        .collect();
    assert_eq!(given, [4, 0, 0]);
}

#[test]
fn f025_the_leader_waits_for_metadata_and_rejoins_only_when_partitions_change() {
    let mut world = World::new(cooperative());
    world.cluster(&["t"]);
    world.subscribe(&["t"]);
    world.find();
    let own = world.join_request().protocols[0].1.clone();
    let other = Told::new(["w"]).encode(Told::VERSION).unwrap();
    let Answer::JoinGroup(Ok(mut answer)) = joined(1) else {
        unreachable!("it is one");
    };
    answer.protocol = "cooperative-sticky".into();
    answer.is_leader = true;
    answer.members = vec![(MEMBER.into(), None, own), ("m-2".into(), None, other)];
    world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
    assert!(world.watched.names.contains("w"));
    assert!(!world.is_in_flight("SyncGroup"), "w is not known yet");
    world.cluster(&["t", "w"]);
    world.reply("SyncGroup", synced(&["t-0", "t-1", "t-2", "t-3"]));
    world.confirm();
    for _ in 0..6 {
        world.cluster(&["t", "w", "unread"]);
    }
    assert_eq!(world.count("JoinGroup"), 1);
    world.cluster(&["t"]);
    assert_eq!(world.count("JoinGroup"), 2);
}

#[test]
fn the_leader_does_not_wait_for_ever_for_metadata() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    world.find();
    let own = world.join_request().protocols[0].1.clone();
    let Answer::JoinGroup(Ok(mut answer)) = joined(1) else {
        unreachable!("it is one");
    };
    answer.is_leader = true;
    answer.members = vec![(MEMBER.into(), None, own)];
    world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
    for _ in 0..7 {
        world.pass(HEARTBEAT);
        world.refuse("Heartbeat", ErrorCode::NONE);
    }
    assert!(!world.is_in_flight("SyncGroup"));
    world.pass(HEARTBEAT);
    assert!(world.is_in_flight("SyncGroup"));
}

#[test]
fn an_answer_of_a_generation_that_is_over_means_nothing() {
    let mut world = World::member(cooperative(), &["t-0"]);
    world.commit(&[("t-0", 1)]);
    let (commit, request) = world.take("OffsetCommit");
    world.rebalance();
    world.join(2, &["t-0"]);
    world.answer(commit, Ok(error(&request, ErrorCode::ILLEGAL_GENERATION)));
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
    assert_eq!(world.count("JoinGroup"), 2);
}

#[test]
fn hostile_generations_and_partitions_are_not_taken() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    world.find();
    world.reply("JoinGroup", joined(-5));
    assert_eq!(world.count("SyncGroup"), 0);
    world.pass(Duration::from_millis(120));
    world.reply("JoinGroup", joined(i32::MAX));
    world.reply("SyncGroup", synced_with_negatives());
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
}

#[test]
fn an_assignment_that_cannot_be_read_is_told() {
    let mut world = World::new(eager());
    world.subscribe(&["t"]);
    world.find();
    world.reply("JoinGroup", joined(1));
    let garbage = Bytes::from_static(b"\0\0\x7f\xff\xff\xff");
    world.reply("SyncGroup", Answer::SyncGroup(Ok(garbage)));
    assert!(matches!(
        world.failures[..],
        [GroupError::ConsumerProtocol { .. }]
    ));
    // the same subscription again is a new attempt
    world.subscribe(&["t"]);
    assert!(world.is_in_flight("JoinGroup"));
}

#[test]
fn who_subscribes_while_it_leaves_is_a_new_member() {
    let mut world = World::member(eager(), &["t-0"]);
    world.unsubscribe();
    world.confirm();
    assert!(world.is_in_flight("LeaveGroup"));
    world.subscribe(&["t"]);
    assert_eq!(&*world.join_request().member_id, "");
    world.refuse("LeaveGroup", ErrorCode::NONE);
    world.join(2, &["t-0"]);
    assert_eq!(world.identity.as_ref().unwrap().generation_id, 2);
}

#[test]
fn who_leaves_lives_until_it_has_let_go() {
    let mut world = World::member(eager(), &["t-0"]);
    world.unsubscribe();
    for _ in 0..5 {
        world.pass(HEARTBEAT);
        world.refuse("Heartbeat", ErrorCode::NONE);
    }
    assert_eq!(world.count("LeaveGroup"), 0);
    world.confirm();
    world.refuse("LeaveGroup", ErrorCode::NONE);
    world.pass(SESSION);
    assert!(world.in_flight.is_empty(), "{world:?}");
}
