//! What an error of one partition does, to it and to the others.

use super::*;

#[test]
fn an_error_that_metadata_found_is_told_at_once() {
    let mut world = World::new(config(), 2);
    let waits = Some(Duration::from_secs(60));
    assert_eq!(answer(world.request(Vec::new(), Vec::new(), waits)), None);
    let missing = PartitionError::UnknownPartition { partition: tp(1) };
    let told = world.run(|machine, now, effects| {
        machine.report_error(now, &tp(1), missing.clone(), effects);
    });
    assert_eq!(answer(told), Some(vec![Item::Error(missing)]));
}

#[test]
fn b185_b186_b188_each_code_has_its_consequences() {
    // code, metadata refreshed, told to the application, longest pause in ms
    let table = [
        (6, true, false, 120),
        (9, true, false, 120),
        (56, true, false, 120),
        (74, true, false, 120),
        (78, true, false, 120),
        (3, true, false, 1200),
        (100, true, false, 1200),
        (103, true, false, 1200),
        (75, false, false, 120),
        (-1, false, false, 120),
        (29, false, true, 1200),
        (2, false, true, 1200),
        (4242, false, true, 1200),
    ];
    for (code, refresh, told, pause) in table {
        let mut world = World::new(config(), 2);
        let first = world.reserve(Lane::Session).unwrap();
        let replies = vec![error(&first.asks[0], code), data(&first.asks[1], 3, 30)];
        let effects = world.done(&first, replies);
        let refreshed = effects
            .iter()
            .any(|effect| matches!(effect, Effect::RefreshMetadata(_)));
        assert_eq!(refreshed, refresh, "{code}");
        let items = world.take();
        assert_eq!(errors(&items).len(), usize::from(told), "{code}");
        assert_eq!(
            items.len(),
            1 + usize::from(told),
            "the other partition's records"
        );
        // not asked for meanwhile, and its node's long poll is the others'
        let second = world.reserve(Lane::Session).unwrap();
        assert_eq!(second.asks.len(), 1, "{code}");
        world.reserve(Lane::Quick);
        // then asked for again at the same offset, apart from the others
        let retried = grant(world.wait_for_deadline(Duration::from_millis(pause))).unwrap();
        assert_eq!(
            (retried.lane, retried.max_wait),
            (Lane::Quick, MaxWait::Zero)
        );
        assert_eq!(offsets(&retried), [(0, false)]);
        // an answer without an error brings it back into the session
        world.done(&retried, vec![data(&retried.asks[0], 0, 0)]);
        world.done(&second, Vec::new());
        assert_eq!(
            world.reserve(Lane::Session).unwrap().asks.len(),
            2,
            "{code}"
        );
    }
}

#[test]
fn b109_out_of_range_with_a_policy_resets_without_it_is_an_error_that_repeats() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![error(&first.asks[0], 1)]);
    let lookup = world.lookups.pop().unwrap();
    assert_eq!(lookup.sought, Sought::End(ResetTo::Earliest));
    assert_eq!(world.take(), []);
    let found = [(lookup.partition, lookup.epoch, 40)];
    world.reserve(Lane::Session);
    let effects = world.run(|machine, _, effects| machine.position_found(found, effects));
    assert_eq!(offsets(&grant(effects).unwrap()), [(40, false)]);

    let none = BufferConfig {
        reset: ResetPolicy::None,
        ..config()
    };
    let mut world = World::new(none, 1);
    let mut asked = world.reserve(Lane::Session).unwrap();
    for _ in 0..3 {
        world.done(&asked, vec![error(&asked.asks[0], 1)]);
        let expected = PartitionError::OffsetOutOfRange {
            partition: tp(0),
            offset: 0,
        };
        assert_eq!(errors(&world.take()), [&expected]);
        assert_eq!(world.take(), []);
        world.reserve(Lane::Session);
        world.reserve(Lane::Quick);
        let begin = world.now;
        // lane 1 has nothing to do: a partition on trial goes out on lane 2 all the same
        let effects = world.wait_for_deadline(Duration::from_millis(1200));
        assert!(world.now - begin >= Duration::from_millis(800));
        asked = grant(effects).expect("asked again after the pause");
    }
}

#[test]
fn f041_a_reset_that_leads_out_of_range_again_is_not_repeated_at_full_speed() {
    let mut world = World::new(config(), 1);
    let mut asked = world.reserve(Lane::Session).unwrap();
    for attempt in 0..5_u32 {
        world.done(&asked, vec![error(&asked.asks[0], 1)]);
        let lookup = world.lookups.pop().unwrap();
        let found = [(lookup.partition, lookup.epoch, 40)];
        world.reserve(Lane::Session);
        world.reserve(Lane::Quick);
        let mut effects = world.run(|machine, _, effects| machine.position_found(found, effects));
        let begin = world.now;
        asked = loop {
            if let Some(grant) = grant(effects) {
                break grant;
            }
            effects = world.wait_for_deadline(Duration::from_millis(1200));
        };
        // the first at once, then 0.2, 0.4, 0.8, 1 s, give or take a fifth
        let least = [0, 160, 320, 640, 800][attempt as usize];
        assert!(
            world.now - begin >= Duration::from_millis(least),
            "{attempt}"
        );
        assert_eq!(offsets(&asked), [(40, false)]);
    }
    // a reply without an error ends it
    let asked = grant(world.done(&asked, vec![data(&asked.asks[0], 50, 100)])).unwrap();
    world.take();
    world.done(&asked, vec![error(&asked.asks[0], 1)]);
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn b098_a_seek_wins_over_a_reset_in_flight() {
    let mut world = World::empty(config());
    world.run(|machine, now, effects| machine.assign(now, [(tp(0), Start::Reset)], effects));
    let lookup = world.lookups.pop().unwrap();
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 237, effects).unwrap());
    let found = [(lookup.partition, lookup.epoch, 5)];
    world.run(|machine, _, effects| machine.position_found(found, effects));
    assert_eq!(
        offsets(&world.reserve(Lane::Session).unwrap()),
        [(237, false)]
    );
}

#[test]
fn b108_without_position_and_policy_the_application_is_told_which_partition() {
    let mut world = World::empty(BufferConfig {
        reset: ResetPolicy::None,
        ..config()
    });
    world.run(|machine, now, effects| machine.assign(now, [(tp(0), Start::Reset)], effects));
    let expected = PartitionError::NoOffsetForPartition { partition: tp(0) };
    assert_eq!(errors(&world.take()), [&expected]);
    assert_eq!(world.take(), []);
    world.wait_for_deadline(Duration::from_millis(1200));
    assert_eq!(errors(&world.take()), [&expected]);
    // a seek ends it
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 1, effects).unwrap());
    assert_eq!(
        offsets(&world.reserve(Lane::Session).unwrap()),
        [(1, false)]
    );
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn b190_data_error_data_come_in_the_order_in_which_they_arrived() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 3, 30)]);
    let second = world.reserve(Lane::Session).unwrap();
    world.done(&second, vec![error(&second.asks[0], 29)]);
    world.reserve(Lane::Session);
    world.reserve(Lane::Quick);
    let third = grant(world.wait_for_deadline(Duration::from_millis(1200))).unwrap();
    world.done(&third, vec![data(&third.asks[0], 5, 50)]);
    let first = world.take();
    assert_eq!(spans(&world, &first), [(0, 0, 3)]);
    assert_eq!(errors(&world.take()).len(), 1);
    let last = world.take();
    assert_eq!(spans(&world, &last), [(0, 3, 8)]);
}

/// What three answers in a row lead to that bring bytes of a batch whose length field claims `needed` bytes, 0 for none.
fn error_after_three_cut_answers(needed: u64) -> PartitionError {
    let mut world = World::new(config(), 2);
    let cut = |ask: &Ask| {
        let mut reply = data(ask, 0, 100);
        if let Some(fetched) = &mut reply.fetched {
            fetched.flaw = Flaw::NoWholeBatch { needed };
        }
        reply
    };
    let first = world.reserve(Lane::Session).unwrap();
    let mut effects = world.done(&first, vec![cut(&first.asks[0])]);
    world.reserve(Lane::Session).unwrap();
    for _ in 0..2 {
        assert_eq!(world.take(), []);
        world.reserve(Lane::Quick);
        let retried = grant(world.wait_for_deadline(Duration::from_millis(500))).unwrap();
        // alone, so that the first-batch rule can bring it whole
        assert_eq!(retried.asks.len(), 1);
        effects = world.done(&retried, vec![cut(&retried.asks[0])]);
    }
    assert!(effects.contains(&Effect::Changed));
    errors(&world.take())[0].clone()
}

#[test]
fn f015_b073_bytes_without_a_whole_batch_are_an_error_after_three_tries() {
    let expected = PartitionError::RecordTooLarge {
        partition: tp(0),
        offset: 0,
        needed: 5_000_000,
        allowed: 1 << 20,
    };
    assert_eq!(error_after_three_cut_answers(5_000_000), expected);
}

#[test]
fn b039_b073_bytes_that_do_not_say_how_much_is_missing_are_not_called_too_large() {
    let expected = PartitionError::NoProgress {
        partition: tp(0),
        offset: 0,
    };
    assert_eq!(error_after_three_cut_answers(0), expected);
}

#[test]
fn nothing_is_fetched_behind_a_corrupt_batch_until_the_application_seeks() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let mut reply = data(&first.asks[0], 3, 300);
    if let Some(fetched) = &mut reply.fetched {
        fetched.flaw = Flaw::Corrupt;
    }
    world.done(&first, vec![reply]);
    assert_eq!(world.reserve(Lane::Session), None);
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Blocked));
    // the good records before it are given
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 3)]);
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 4, effects).unwrap();
    });
    assert_eq!(offsets(&grant(effects).unwrap()), [(4, false)]);
}

#[test]
fn the_reader_blocks_a_partition_whose_batch_it_cannot_decode() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 3, 300)]);
    world.take();
    let second = world.reserve(Lane::Session).unwrap();
    world.done(&second, vec![data(&second.asks[0], 3, 300)]);
    let id = world.ids[0];
    let epoch = first.asks[0].epoch;
    world.run(|machine, _, effects| machine.block(id, epoch, effects));
    assert_eq!(world.take(), [], "what is behind it is dropped");
    assert_eq!(world.reserve(Lane::Session), None);
    // a block that comes after a seek is of the past
    world.run(|machine, now, effects| machine.seek(now, &tp(0), 9, effects).unwrap());
    world.run(|machine, _, effects| machine.block(id, epoch, effects));
    assert_ne!(world.machine.reason(id), Some(Reason::Blocked));
}

#[test]
fn what_is_in_flight_when_a_batch_turns_out_to_be_unreadable_is_void() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 3, 30)]);
    let Item::Data(bad) = world.take().remove(0) else {
        panic!("records")
    };
    let behind = world.reserve(Lane::Session).unwrap();
    world.run(|machine, _, effects| machine.block(bad.partition, bad.epoch, effects));
    world.done(&behind, vec![data(&behind.asks[0], 3, 30)]);
    assert_eq!(world.machine.reason(bad.partition), Some(Reason::Blocked));
    assert_eq!(world.take(), []);
    assert_eq!(world.machine.counters().stale_replies, 1);
    assert_eq!(world.reserve(Lane::Session), None);
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 3, effects).unwrap();
    });
    assert_eq!(offsets(&grant(effects).unwrap()), [(3, false)]);
}
