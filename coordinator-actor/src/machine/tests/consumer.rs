use super::*;
use crate::model::ConsumerHeartbeat;

fn beat(world: &World) -> &ConsumerHeartbeat {
    match world.last("ConsumerHeartbeat") {
        Request::ConsumerHeartbeat(heartbeat) => heartbeat,
        other => panic!("{other:?}"),
    }
}

fn next(world: &mut World, answer: Answer) {
    world.pass(Duration::from_secs(5));
    world.reply("ConsumerHeartbeat", answer);
}

#[test]
fn b156_the_first_heartbeat_says_all_and_the_next_comes_after_the_interval() {
    let mut world = World::new(consumer());
    world.cluster(&["t"]);
    world.subscribe(&["t"]);
    world.find();
    let expected = ConsumerHeartbeat {
        member_id: MEMBER.into(),
        epoch: 0,
        rebalance_timeout: Some(MAX_POLL),
        topics: Some(vec!["t".into()]),
        regex: None,
        assignor: None,
        owned: Some(Vec::new()),
        is_full: true,
    };
    assert_eq!(*beat(&world), expected);
    world.reply("ConsumerHeartbeat", beaten(1, None));
    world.pass(Duration::from_millis(4999));
    assert_eq!(world.count("ConsumerHeartbeat"), 1);
    world.pass(Duration::from_millis(1));
    let expected = ConsumerHeartbeat {
        member_id: MEMBER.into(),
        epoch: 1,
        ..ConsumerHeartbeat::default()
    };
    assert_eq!(*beat(&world), expected);
    // nobody answers: all is said again, after a backoff
    world.lose("ConsumerHeartbeat");
    world.find();
    assert_eq!(world.count("ConsumerHeartbeat"), 2);
    world.pass(Duration::from_millis(79));
    assert_eq!(world.count("ConsumerHeartbeat"), 2);
    world.pass(Duration::from_millis(41));
    assert!(beat(&world).is_full);
}

#[test]
fn b157_b176_an_empty_assignment_is_told_once() {
    let mut world = World::new(consumer());
    world.cluster(&["t"]);
    world.subscribe(&["t"]);
    world.find();
    world.join(1, &[]);
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Assigned(Vec::new()))
    );
    world.confirm();
    world.reply("ConsumerHeartbeat", beaten(1, Some(&[])));
    next(&mut world, beaten(1, Some(&[])));
    assert_eq!(world.events.len(), 1);
    assert_eq!(world.count("ConsumerHeartbeat"), 3);
}

#[test]
fn b158_what_metadata_knows_is_taken_and_the_rest_when_it_is_known() {
    let mut world = World::new(consumer());
    world.cluster(&["t"]);
    world.subscribe(&["t", "u"]);
    world.find();
    world.join(1, &["t-0", "u-0"]);
    world.confirm();
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
    assert!(world.watched.ids.contains(&id("u")));
    assert_eq!(beat(&world).owned, Some(target(&["t-0"])));
    world.reply("ConsumerHeartbeat", beaten(1, None));
    world.cluster(&["t", "u"]);
    world.confirm();
    assert_eq!(world.assigned, parts(&["t-0", "u-0"]).into_iter().collect());
    assert_eq!(beat(&world).owned, Some(target(&["t-0", "u-0"])));
    // a topic that is gone from the cluster is given up by its id
    world.reply("ConsumerHeartbeat", beaten(1, None));
    world.cluster(&["t"]);
    next(&mut world, beaten(2, Some(&["t-0"])));
    world.confirm();
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
    assert_eq!(beat(&world).owned, Some(target(&["t-0"])));
}

#[test]
fn b159_a_fenced_member_loses_all_and_joins_anew() {
    for code in [ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::UNKNOWN_MEMBER_ID] {
        let mut world = World::member(consumer(), &["t-0"]);
        world.pass(Duration::from_secs(5));
        world.refuse("ConsumerHeartbeat", code);
        assert_eq!(
            world.told_last(),
            Some(&RebalanceEvent::Lost(parts(&["t-0"])))
        );
        assert!(world.assigned.is_empty());
        // what `lost` commits is not to be committed in the name of the new membership
        assert!(!world.is_in_flight("ConsumerHeartbeat"), "{code}");
        world.confirm();
        assert_eq!(
            (beat(&world).epoch, beat(&world).is_full),
            (0, true),
            "{code}"
        );
        assert!(world.is_in_flight("ConsumerHeartbeat"), "at once");
        // but not again and again
        world.refuse("ConsumerHeartbeat", code);
        assert!(!world.is_in_flight("ConsumerHeartbeat"));
    }
}

#[test]
fn b159_who_is_fenced_while_it_leaves_has_left() {
    let mut world = World::member(consumer(), &["t-0"]);
    world.unsubscribe();
    world.pass(Duration::from_secs(5));
    world.refuse("ConsumerHeartbeat", ErrorCode::FENCED_MEMBER_EPOCH);
    world.confirm();
    world.pass(MAX_POLL);
    assert!(world.machine.member.has_left(), "{world:?}");
    assert!(world.failures.is_empty() && world.in_flight.is_empty());
}

#[test]
fn b160_what_was_confirmed_for_a_former_life_is_dropped() {
    let mut world = World::member(consumer(), &["t-0"]);
    next(&mut world, beaten(2, Some(&["t-1"])));
    world.pass(Duration::from_secs(5));
    world.refuse("ConsumerHeartbeat", ErrorCode::FENCED_MEMBER_EPOCH);
    world.confirm();
    assert!(world.assigned.is_empty(), "{world:?}");
    assert_eq!(beat(&world).epoch, 0);
}

#[test]
fn b162_b170_the_last_heartbeat_says_how_a_member_leaves() {
    let cases = [
        (false, LeaveOption::Default, Some(-1)),
        (false, LeaveOption::LeaveGroup, Some(-1)),
        (false, LeaveOption::RemainInGroup, None),
        (true, LeaveOption::Default, Some(-2)),
        (true, LeaveOption::LeaveGroup, Some(-1)),
        (true, LeaveOption::RemainInGroup, Some(-2)),
    ];
    for (is_static, option, epoch) in cases {
        for is_answered in [true, false] {
            let config = if is_static {
                fixed(consumer())
            } else {
                consumer()
            };
            let mut world = World::member(config, &["t-0"]);
            // another heartbeat is in flight
            world.pass(Duration::from_secs(5));
            world.close(option, Duration::from_secs(30));
            world.close(option, Duration::from_secs(30));
            world.confirm();
            let asked = world.count("ConsumerHeartbeat");
            assert_eq!(asked, if epoch.is_some() { 4 } else { 3 });
            if let Some(epoch) = epoch {
                assert_eq!(beat(&world).epoch, epoch, "{is_static} {option:?}");
                if is_answered {
                    world.reply("ConsumerHeartbeat", beaten(epoch, None));
                } else {
                    world.lose("ConsumerHeartbeat");
                }
            }
            assert_eq!(world.closed, 1, "{is_static} {option:?}: {world:?}");
        }
    }
}

#[test]
fn b162_who_has_asked_to_join_says_goodbye() {
    let mut world = World::new(consumer());
    world.subscribe(&["t"]);
    world.find();
    world.close(LeaveOption::Default, Duration::from_secs(30));
    assert_eq!(beat(&world).epoch, -1);
}

#[test]
fn b163_f024_who_does_not_poll_leaves_once_and_comes_back_with_the_next_poll() {
    let mut world = World::member(consumer(), &["t-0"]);
    world.last_poll = LastPoll::At(world.now);
    while beat(&world).epoch != -1 {
        world.pass(Duration::from_secs(5));
        if beat(&world).epoch > 0 && world.is_in_flight("ConsumerHeartbeat") {
            world.reply("ConsumerHeartbeat", beaten(1, None));
        }
    }
    let asked = world.count("ConsumerHeartbeat");
    assert_eq!(asked, 2 + 59 + 1);
    world.reply("ConsumerHeartbeat", beaten(-1, None));
    assert!(world.assigned.is_empty());
    world.pass(MAX_POLL);
    assert_eq!(world.count("ConsumerHeartbeat"), asked);
    world.last_poll = LastPoll::Now;
    world.confirm();
    assert_eq!(beat(&world).epoch, 0);
}

/// However it was lost, and however long the coordinator is unknown then.
#[test]
fn b164_an_acknowledgement_that_was_lost_is_repeated() {
    let refusals = [
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::REBALANCE_IN_PROGRESS,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
    ];
    for refusal in refusals.map(Some).into_iter().chain([None]) {
        let mut world = World::new(consumer());
        world.cluster(&["t"]);
        world.subscribe(&["t"]);
        world.find();
        world.join(1, &["t-0"]);
        world.confirm();
        assert_eq!(beat(&world).owned, Some(target(&["t-0"])));
        match refusal {
            Some(code) => drop(world.refuse("ConsumerHeartbeat", code)),
            None => world.lose("ConsumerHeartbeat"),
        }
        if world.is_in_flight("FindCoordinator") {
            world.find();
        }
        world.pass(Duration::from_secs(5));
        assert_eq!(world.count("ConsumerHeartbeat"), 3, "{refusal:?}");
        assert_eq!(beat(&world).owned, Some(target(&["t-0"])), "{refusal:?}");
    }
}

#[test]
fn b165_b166_every_error_in_five_positions() {
    let fatal = [
        ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::GROUP_MAX_SIZE_REACHED,
        ErrorCode::UNSUPPORTED_ASSIGNOR,
        ErrorCode::UNSUPPORTED_VERSION,
        ErrorCode::UNRELEASED_INSTANCE_ID,
        ErrorCode::FENCED_INSTANCE_ID,
        ErrorCode::INVALID_REGULAR_EXPRESSION,
        ErrorCode::UNKNOWN_SERVER_ERROR,
        ErrorCode(999),
    ];
    let passing = [
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::REQUEST_TIMED_OUT,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ErrorCode::FENCED_MEMBER_EPOCH,
        ErrorCode::UNKNOWN_MEMBER_ID,
        ErrorCode::STALE_MEMBER_EPOCH,
        ErrorCode::REBALANCE_IN_PROGRESS,
    ];
    for position in ["first", "steady", "acknowledging", "revoking", "leaving"] {
        for code in fatal.into_iter().chain(passing) {
            let mut world = World::new(consumer());
            world.cluster(&["t"]);
            world.subscribe(&["t"]);
            world.find();
            if position != "first" {
                world.join(1, &["t-0", "t-1"]);
                world.confirm();
            }
            if position != "first" && position != "acknowledging" {
                world.reply("ConsumerHeartbeat", beaten(1, None));
            }
            if position == "revoking" {
                next(&mut world, beaten(2, Some(&["t-0"])));
            }
            if position == "leaving" {
                world.unsubscribe();
                world.confirm();
            } else if !world.is_in_flight("ConsumerHeartbeat") {
                world.pass(Duration::from_secs(5));
            }
            world.refuse("ConsumerHeartbeat", code);
            let what = format!("{position}, {code}");
            world.assert_alive(&what);
            let is_fatal = fatal.contains(&code) && position != "leaving";
            assert_eq!(world.failures.len(), usize::from(is_fatal), "{what}");
            world.confirm();
            let asked = world.count("ConsumerHeartbeat");
            for _ in 0..5 {
                world.pass(Duration::from_secs(2));
                if world.is_in_flight("FindCoordinator") {
                    world.find();
                }
            }
            let goes_on =
                world.count("ConsumerHeartbeat") > asked || world.is_in_flight("ConsumerHeartbeat");
            assert_eq!(goes_on, !is_fatal && position != "leaving", "{what}");
            if is_fatal {
                assert!(world.assigned.is_empty(), "{what}");
            }
        }
    }
}

#[test]
fn b166_an_interval_that_is_none_is_not_obeyed() {
    let mut world = World::new(consumer());
    world.subscribe(&["t"]);
    world.find();
    let answer = ConsumerHeartbeatAnswer {
        member_id: None,
        epoch: 1,
        interval: Duration::ZERO,
        assignment: None,
    };
    for _ in 0..10 {
        let answer = Answer::ConsumerHeartbeat(Ok(answer.clone()));
        world.reply("ConsumerHeartbeat", answer);
        assert!(!world.is_in_flight("ConsumerHeartbeat"));
        world.pass(Duration::from_millis(100));
    }
    // nor is an epoch of no member
    world.reply("ConsumerHeartbeat", beaten(-7, Some(&["t-0"])));
    assert!(!world.is_in_flight("ConsumerHeartbeat") && world.assigned.is_empty());
    world.assert_alive("an epoch below zero");
}

#[test]
fn b168_a_broker_without_the_api_is_told() {
    let mut world = World::new(consumer());
    world.subscribe(&["t"]);
    world.find();
    let (id, _) = world.take("ConsumerHeartbeat");
    let error = WireError::UnsupportedVersion {
        peer: coordinator(),
        api: kafka_protocol::messages::ApiKey::ConsumerGroupHeartbeat,
        ours: kafka_protocol::protocol::VersionRange { min: 0, max: 1 },
        theirs: None,
    };
    world.answer(id, Err(error));
    assert!(matches!(
        world.failures[..],
        [GroupError::Unsupported { .. }]
    ));
}

#[test]
fn b169_partitions_are_told_as_owned_until_they_are_let_go() {
    let mut world = World::member(rarely(consumer()), &["t-0", "t-1"]);
    world.processed = offsets(&[("t-0", 7), ("t-1", 9)]);
    next(&mut world, beaten(2, Some(&["t-0"])));
    assert_eq!(world.told_last(), Some(&RebalanceEvent::Checkpoint));
    for _ in 0..3 {
        // nothing that changes what it owns
        next(&mut world, beaten(2, None));
        assert_eq!(beat(&world).owned, None);
    }
    world.confirm();
    assert_eq!(world.commit_ok(), offsets(&[("t-1", 9)]));
    assert_eq!(
        world.told_last(),
        Some(&RebalanceEvent::Revoked(parts(&["t-1"])))
    );
    world.confirm();
    assert_eq!(beat(&world).owned, Some(target(&["t-0"])));
}

#[test]
fn b170_who_subscribes_again_at_once_gets_its_partitions_back() {
    let mut world = World::member(consumer(), &["t-0"]);
    world.unsubscribe();
    world.subscribe(&["t", "u"]);
    world.confirm();
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
    // and once it has said goodbye it joins anew
    world.unsubscribe();
    world.confirm();
    assert_eq!(beat(&world).epoch, -1);
    world.subscribe(&["t"]);
    assert_eq!(beat(&world).epoch, 0);
}

#[test]
fn outside_of_the_group_there_is_no_generation() {
    let mut world = World::new(consumer());
    world.subscribe(&["t"]);
    assert!(world.identity.is_none());
    world.find();
    world.join(3, &[]);
    assert_eq!(world.identity.as_ref().unwrap().generation_id, 3);
}

/// The coordinator gave `t-1` back and took it away again before this member got to it. It waits until it hears that it is not owned,
/// and throws the member out when that takes too long.
#[test]
fn what_is_owned_is_said_whenever_something_else_is_wanted() {
    let mut world = World::member(consumer(), &["t-0", "t-1"]);
    next(&mut world, beaten(1, Some(&["t-0"])));
    let revoked = world.unconfirmed.pop().unwrap();
    world.run(|machine, now, effects| machine.confirmed(now, revoked, effects));
    // the application has not heard yet that nothing is new
    assert!(!world.unconfirmed.is_empty());
    next(&mut world, beaten(2, Some(&["t-0", "t-1"])));
    world.confirm();
    world.reply("ConsumerHeartbeat", beaten(2, Some(&["t-0"])));
    assert!(world.is_in_flight("ConsumerHeartbeat"));
    assert_eq!(beat(&world).owned, Some(vec![(id("t"), vec![0])]));
    assert_eq!(world.assigned, parts(&["t-0"]).into_iter().collect());
    // and no more than that
    world.reply("ConsumerHeartbeat", beaten(3, None));
    assert!(!world.is_in_flight("ConsumerHeartbeat"));
}
