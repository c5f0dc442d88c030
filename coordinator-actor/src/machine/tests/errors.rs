//! Every code at every request of a classic member, in every state: it goes on, or the application was told.

use super::*;

#[test]
fn no_error_code_makes_a_member_hang() {
    for code in (-1..=120).chain([999]).map(ErrorCode) {
        for request in [
            "FindCoordinator",
            "JoinGroup",
            "SyncGroup",
            "Heartbeat",
            "OffsetCommit",
        ] {
            for config in [eager(), cooperative(), fixed(eager())] {
                let mut world = World::new(config);
                world.cluster(&["t"]);
                world.subscribe(&["t"]);
                if request == "FindCoordinator" {
                    world.refuse(request, code);
                    after(&mut world, request, code);
                    continue;
                }
                world.find();
                if request == "SyncGroup" {
                    let protocol = world.protocol();
                    let Answer::JoinGroup(Ok(mut answer)) = joined(1) else {
                        unreachable!("it is one");
                    };
                    answer.protocol = protocol.into();
                    world.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
                } else if request != "JoinGroup" {
                    world.join(1, &["t-0"]);
                    world.confirm();
                    world.commit(&[("t-0", 1)]);
                    world.pass(HEARTBEAT);
                }
                if code.is_ok() && matches!(request, "JoinGroup" | "SyncGroup") {
                    continue;
                }
                world.refuse(request, code);
                after(&mut world, request, code);
            }
        }
    }
}

/// What was refused once, goes well the next time.
fn after(world: &mut World, request: &str, code: ErrorCode) {
    let what = format!("{request}, {code}");
    world.assert_alive(&what);
    let mut generation = 1;
    for _ in 0..12 {
        world.confirm();
        world.pass(Duration::from_secs(1));
        for _ in 0..4 {
            if world.is_in_flight("FindCoordinator") {
                world.find();
            }
            if world.is_in_flight("JoinGroup") {
                generation += 1;
                world.join(generation, &["t-0"]);
            }
            if world.is_in_flight("Heartbeat") {
                world.refuse("Heartbeat", ErrorCode::NONE);
            }
        }
    }
    let is_member = world
        .identity
        .as_ref()
        .is_some_and(|identity| identity.generation_id > 0);
    assert_eq!(is_member, world.failures.is_empty(), "{what}: {world:?}");
    if !is_member {
        assert!(world.assigned.is_empty(), "{what}");
    }
}

/// Nothing of it will ever be assigned: who named it is told, once, and again when it asks again.
#[test]
fn a_topic_of_the_subscription_that_may_not_be_read_is_named() {
    let refused = [
        (ErrorCode::TOPIC_AUTHORIZATION_FAILED, 1),
        (ErrorCode::INVALID_TOPIC_EXCEPTION, 1),
        // may come
        (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, 0),
        (ErrorCode::LEADER_NOT_AVAILABLE, 0),
    ];
    for config in [eager(), cooperative(), consumer()] {
        for (code, told) in refused {
            let mut world = World::new(config.clone());
            world.subscribe(&["t", "hidden"]);
            for others in [0, 1] {
                let mut cluster = ClusterSnapshot::clone(&cluster(&["t"]));
                cluster.missing.insert("hidden".into(), code);
                if others > 0 {
                    cluster.missing.insert("of another member".into(), code);
                }
                let cluster = Arc::new(cluster);
                world.run(|machine, now, effects| machine.cluster_changed(now, cluster, effects));
                assert_eq!(world.complaints.len(), told, "{code}: {world:?}");
            }
            world.subscribe(&["t", "hidden"]);
            assert_eq!(world.complaints.len(), 2 * told, "{code}");
            let complaint = world.complaints.pop().map(|error| error.to_string());
            assert!(complaint.is_none_or(|text| text.contains("hidden")));
            world.subscribe(&["t"]);
            assert_eq!(world.complaints.len(), (2 * told).saturating_sub(1));
        }
    }
}
