//! Which lane asks for what, and when (design section 3, "Lanes").

use super::*;

/// Fills partition 0 to its credit (2 MiB) in two replies, with partition 1 quiet. Returns with lane 1's reservation standing.
pub(super) fn hot_at_credit(world: &mut World) {
    let first = world.reserve(Lane::Session).unwrap();
    world.done(
        &first,
        vec![data(&first.asks[0], 10, MIB), data(&first.asks[1], 0, 0)],
    );
    let second = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&second), [(10, false), (0, false)]);
    world.done(&second, vec![data(&second.asks[0], 10, MIB)]);
    assert_eq!(world.reserve(Lane::Session), None);
}

#[test]
fn while_a_hot_partition_is_at_its_credit_lane_2_polls_for_the_others() {
    let mut world = World::new(config(), 2);
    hot_at_credit(&mut world);
    let quiet = world.reserve(Lane::Quick).unwrap();
    assert_eq!(quiet.max_wait, MaxWait::Full);
    assert_eq!(offsets(&quiet), [(0, false)]);
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Credit));
    assert_eq!(world.machine.reason(world.ids[1]), Some(Reason::InFlight));

    // the application takes some: lane 1 goes on with the hot one and parks the quiet one at its high watermark
    let effects = world.request(Vec::new(), Vec::new(), None);
    let resumed = grant(effects).unwrap();
    assert_eq!(resumed.lane, Lane::Session);
    assert_eq!(offsets(&resumed), [(20, false), (0, true)]);
    assert_eq!(resumed.asks[1].max_bytes, 0);

    // what a reply says of a parked partition is nobody's
    let stray = data(&resumed.asks[1], 5, 50);
    world.done(&resumed, vec![stray]);
    assert_eq!(world.machine.reason(world.ids[1]), Some(Reason::InFlight));
}

/// The application may never take anything: lane 2 polls on and on, and nothing of it is kept for lane 1.
#[test]
fn a_wait_for_credit_keeps_nothing_of_what_lane_2_does() {
    let mut world = World::new(config(), 2);
    let candidates = world.candidates();
    let offer = |world: &mut World, lane| {
        let candidates = crate::Candidates::clone(&candidates);
        grant(world.run(|machine, _, effects| {
            machine.reserve(NODE, lane, 1, candidates, false, effects);
        }))
    };
    for _ in 0..2 {
        let granted = offer(&mut world, Lane::Session).unwrap();
        let replies = granted.asks.iter().zip([MIB, 0]);
        let replies = replies.map(|(ask, bytes)| data(ask, 10, bytes));
        world.done(&granted, replies.collect());
    }
    assert_eq!(offer(&mut world, Lane::Session), None);
    let poll = |world: &mut World, times| {
        for _ in 0..times {
            let quiet = offer(world, Lane::Quick).unwrap();
            world.done(&quiet, vec![data(&quiet.asks[0], 0, 0)]);
        }
        format!("{:?}", world.machine).len()
    };
    let (first, last) = (poll(&mut world, 1000), poll(&mut world, 8000));
    // counters have a digit more
    assert!(last < first + 100, "{first} {last}");
}

#[test]
fn lane_1_never_leaves_a_partition_at_its_credit_out() {
    let mut world = World::new(config(), 2);
    hot_at_credit(&mut world);
    // without lane 2 nothing is asked: left out, the hot partition would be fetched again from its old offset (I5)
    assert_eq!(world.machine.reason(world.ids[1]), Some(Reason::Credit));
}

#[test]
fn a_pause_of_the_partition_at_its_credit_lets_its_node_go_on() {
    let mut world = World::new(config(), 2);
    hot_at_credit(&mut world);
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(0)], true, effects).unwrap();
    });
    let granted = grant(effects).unwrap();
    assert_eq!(granted.lane, Lane::Session);
    assert_eq!(offsets(&granted), [(0, false)]);
}

#[test]
fn b178_paused_nothing_is_asked_resumed_once() {
    let mut world = World::new(config(), 1);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    assert_eq!(world.reserve(Lane::Session), None);
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(0)], false, effects).unwrap();
    });
    assert_eq!(grants(effects).len(), 1);
}

#[test]
fn f028_b181_resuming_what_is_not_paused_does_nothing() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(0)], false, effects).unwrap();
    });
    assert_eq!(effects, []);
    world.done(&first, vec![data(&first.asks[0], 3, 3)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 3)]);
}

#[test]
fn what_becomes_fetchable_during_a_long_poll_goes_out_on_lane_2_until_lane_1_takes_it() {
    let mut world = World::new(config(), 2);
    world.run(|machine, _, effects| machine.pause([&tp(1)], true, effects).unwrap());
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(world.reserve(Lane::Quick), None);
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(1)], false, effects).unwrap();
    });
    let quick = grant(effects).unwrap();
    assert_eq!((quick.lane, quick.max_wait), (Lane::Quick, MaxWait::Zero));
    // an empty answer: it has no part in lane 1's long poll, so lane 2 polls for it, for a moment
    world.done(&quick, vec![data(&quick.asks[0], 0, 0)]);
    let polls = world.reserve(Lane::Quick).unwrap();
    assert_eq!(polls.max_wait, MaxWait::Short);
    // lane 1's long poll ends: the next one does not begin without it
    world.done(&first, Vec::new());
    let second = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&second), [(0, false), (0, true)]);
    assert_eq!(second.max_wait, MaxWait::Short);
    world.done(&polls, vec![data(&polls.asks[0], 0, 0)]);
    assert_eq!(world.reserve(Lane::Quick), None);
    assert_eq!(
        world.machine.reason(world.ids[1]),
        Some(Reason::NextRequest)
    );
    world.done(&second, Vec::new());
    let third = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&third), [(0, false), (0, false)]);
    assert_eq!(third.max_wait, MaxWait::Full);
    assert_eq!(world.machine.reason(world.ids[1]), Some(Reason::InFlight));
}

#[test]
fn what_lane_2_polls_for_does_not_keep_a_newcomer_waiting_for_longer_than_a_moment() {
    let mut world = World::new(config(), 3);
    world.run(|machine, _, effects| machine.pause([&tp(1), &tp(2)], true, effects).unwrap());
    world.reserve(Lane::Session).unwrap();
    world.reserve(Lane::Quick);
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(1)], false, effects).unwrap();
    });
    let first = grant(effects).unwrap();
    world.done(&first, vec![data(&first.asks[0], 0, 0)]);
    let polls = world.reserve(Lane::Quick).unwrap();
    assert_eq!(polls.max_wait, MaxWait::Short);
    world.run(|machine, _, effects| machine.pause([&tp(2)], false, effects).unwrap());
    world.done(&polls, vec![data(&polls.asks[0], 0, 0)]);
    // with a newcomer among them, at once
    let both = world.reserve(Lane::Quick).unwrap();
    assert_eq!((both.asks.len(), both.max_wait), (2, MaxWait::Zero));
}

#[test]
fn a_newcomer_beside_a_hot_partition_at_its_credit_is_asked_for_without_a_wait_before_it_is_polled_for()
 {
    let mut world = World::new(config(), 3);
    world.run(|machine, _, effects| machine.pause([&tp(2)], true, effects).unwrap());
    hot_at_credit(&mut world);
    world.run(|machine, _, effects| machine.pause([&tp(2)], false, effects).unwrap());
    // its high watermark is not known, so lane 1 cannot park it: it must not have to wait for a long poll
    let first = world.reserve(Lane::Quick).unwrap();
    assert_eq!((first.asks.len(), first.max_wait), (2, MaxWait::Zero));
    let replies = first.asks.iter().map(|ask| data(ask, 0, 0)).collect();
    world.done(&first, replies);
    let second = world.reserve(Lane::Quick).unwrap();
    assert_eq!((second.asks.len(), second.max_wait), (2, MaxWait::Full));
}

/// Lane 1 is in a long poll, and partition 0 was sought: lane 2's grant.
fn sought(world: &mut World) -> Grant {
    world.reserve(Lane::Session).unwrap();
    assert_eq!(world.reserve(Lane::Quick), None);
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 50, effects).unwrap();
    });
    grant(effects).unwrap()
}

#[test]
fn an_event_is_not_used_up_by_a_grant_that_is_given_back_or_whose_reply_is_thrown_away() {
    for (outcome, asked_again) in [
        (Outcome::Abandoned, true),
        (Outcome::Discarded, true),
        // a second connection that does not work must not be tried on and on: lane 1 takes the partition
        (Outcome::Failed, false),
    ] {
        let mut world = World::new(config(), 1);
        let quick = sought(&mut world);
        world.run(|machine, now, effects| {
            machine.done(now, quick.ticket, outcome.clone(), 0, effects);
        });
        assert_eq!(
            world.reserve(Lane::Quick).is_some(),
            asked_again,
            "{outcome:?}"
        );
    }
}

#[test]
fn i8_a_partition_on_trial_is_asked_for_again_however_its_request_ends() {
    for (outcome, lane) in [
        (Outcome::Abandoned, Lane::Quick),
        (Outcome::Discarded, Lane::Quick),
        (Outcome::Failed, Lane::Session),
    ] {
        let mut world = World::new(config(), 1);
        let first = world.reserve(Lane::Session).unwrap();
        world.done(&first, vec![error(&first.asks[0], 6)]);
        world.wait_for_deadline(Duration::from_secs(1));
        assert_eq!(world.reserve(Lane::Session), None);
        let trial = world.reserve(Lane::Quick).unwrap();
        let effects = world.run(|machine, now, effects| {
            machine.done(now, trial.ticket, outcome.clone(), 0, effects);
        });
        let again = grant(effects).or(world.reserve(Lane::Quick));
        assert_eq!(again.map(|grant| grant.lane), Some(lane), "{outcome:?}");
    }
}

#[test]
fn the_reason_is_that_of_the_lane_that_the_partition_waits_for() {
    // partition 0 was resumed while lane 1 is out: lane 2 would take it, if there were memory
    let mut world = World::new(
        BufferConfig {
            buffer_memory: 3 << 20,
            ..config()
        },
        2,
    );
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    let first = world.reserve(Lane::Session).unwrap();
    world.reserve(Lane::Quick);
    world.machine.charge(3 << 20);
    world.run(|machine, _, effects| machine.pause([&tp(0)], false, effects).unwrap());
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Budget));
    world.run(|machine, _, effects| machine.withdraw(NODE, Lane::Quick, effects));
    assert_eq!(
        world.machine.reason(world.ids[0]),
        Some(Reason::NextRequest)
    );

    // partition 0 is on trial, so it waits for lane 2 alone
    world.release(3 << 20);
    world.done(&first, Vec::new());
    let second = world.reserve(Lane::Session).unwrap();
    let replies = vec![error(&second.asks[0], 6), data(&second.asks[1], 1, 100)];
    world.done(&second, replies);
    world.wait_for_deadline(Duration::from_secs(1));
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::NoNode));
    world.machine.charge(3 << 20);
    assert_eq!(world.reserve(Lane::Quick), None);
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Budget));
}

#[test]
fn what_gave_data_on_lane_2_is_asked_for_again_there() {
    let mut world = World::new(config(), 1);
    world.reserve(Lane::Session).unwrap();
    world.reserve(Lane::Quick);
    let sought = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 50, effects).unwrap();
    });
    let quick = grant(sought).unwrap();
    world.done(&quick, vec![data(&quick.asks[0], 10, 100)]);
    let again = world.reserve(Lane::Quick).unwrap();
    assert_eq!(offsets(&again), [(60, false)]);
}

#[test]
fn lane_1_waits_for_lane_2_rather_than_park_at_an_unknown_watermark() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.reserve(Lane::Quick);
    let sought = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 50, effects).unwrap();
    });
    let quick = grant(sought).unwrap();
    world.done(&first, Vec::new());
    assert_eq!(world.reserve(Lane::Session), None);
    let granted = grant(world.done(&quick, vec![data(&quick.asks[0], 0, 0)])).unwrap();
    assert_eq!(granted.lane, Lane::Session);
    assert_eq!(offsets(&granted), [(50, false), (0, false)]);
}

#[test]
fn lane_2_is_not_used_while_lane_1_can_take_everything() {
    let mut world = World::new(config(), 1);
    assert_eq!(world.reserve(Lane::Quick), None);
    assert!(world.reserve(Lane::Session).is_some());
}

#[test]
fn i2_a_lane_gets_no_second_request_while_one_is_out() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(world.reserve(Lane::Session), None);
    assert!(grant(world.done(&first, Vec::new())).is_some());
}

#[test]
fn a_withdrawn_offer_is_not_taken() {
    let mut world = World::empty(config());
    assert_eq!(world.reserve(Lane::Session), None);
    world.assign(1);
    world.run(|machine, _, effects| machine.withdraw(NODE, Lane::Session, effects));
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 1, effects).unwrap();
    });
    assert_eq!(grants(effects), []);
}

#[test]
fn the_variants_treat_buffered_partitions_as_kafka_17182_weighed_them() {
    // policy, then what lane 1 asks for when partition 0 is buffered: (offset, max bytes) or nothing
    let table: [(Policy, &[(i64, i32)]); 5] = [
        (Policy::ReadAhead, &[(10, 1 << 20), (0, 1 << 20)]),
        (Policy::OmitBuffered, &[(0, 1 << 20)]),
        (Policy::StopWhileBuffered, &[]),
        (Policy::MaxBytesOne, &[(10, 1), (0, 1 << 20)]),
        (Policy::SkipNode, &[]),
    ];
    for (policy, expected) in table {
        let mut world = World::new(BufferConfig { policy, ..config() }, 2);
        let first = world.reserve(Lane::Session).unwrap();
        world.done(
            &first,
            vec![data(&first.asks[0], 10, 100), data(&first.asks[1], 0, 0)],
        );
        let granted = world.reserve(Lane::Session);
        let asked: Vec<_> = granted
            .iter()
            .flat_map(|grant| grant.asks.iter())
            .map(|ask| (ask.offset, ask.max_bytes))
            .collect();
        assert_eq!(asked, expected, "{policy:?}");
        if granted.is_none() {
            // taken, it still counts until the reader has finished it
            let holding = vec![world.ids[0]];
            assert_eq!(grants(world.request(Vec::new(), Vec::new(), None)), []);
            assert_eq!(grants(world.request(holding, Vec::new(), None)), []);
            assert_eq!(grants(world.request(Vec::new(), Vec::new(), None)).len(), 1);
        }
    }
}

/// What lane 1 is granted where the node has refused a session.
#[test]
fn without_a_session_lane_1_may_be_out_for_long_where_nothing_waits_for_it() {
    // fetch.min.bytes, policy, refused; how long the broker may wait
    let table = [
        (1, Policy::ReadAhead, true, MaxWait::Patient),
        (1, Policy::ReadAhead, false, MaxWait::Full),
        // a few bytes would be late
        (2, Policy::ReadAhead, true, MaxWait::Full),
        // there is no lane 2 for what becomes fetchable
        (1, Policy::SkipNode, true, MaxWait::Full),
    ];
    for (fetch_min_bytes, policy, refused, wait) in table {
        let mut world = World::new(
            BufferConfig {
                fetch_min_bytes,
                policy,
                ..config()
            },
            2,
        );
        let granted = world.reserve_of(Lane::Session, refused).unwrap();
        assert_eq!(
            granted.max_wait, wait,
            "{fetch_min_bytes} {policy:?} {refused}"
        );
    }
}

#[test]
fn i8_lane_2_polls_for_what_became_fetchable_while_lane_1_is_out_for_long() {
    let mut world = World::new(config(), 2);
    let first = world.reserve_of(Lane::Session, true).unwrap();
    world.reserve(Lane::Quick);
    let sought = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 50, effects).unwrap();
    });
    let mut quick = grant(sought).unwrap();
    for wait in [MaxWait::Zero, MaxWait::Full, MaxWait::Full] {
        assert_eq!(
            (quick.lane, quick.max_wait, offsets(&quick)),
            (Lane::Quick, wait, vec![(50, false)])
        );
        world.done(&quick, vec![data(&quick.asks[0], 0, 0)]);
        quick = world.reserve(Lane::Quick).unwrap();
    }
    // Lane 1 comes back and goes on with the other, for a moment: what lane 2 has is to come back to it.
    world.done(&first, Vec::new());
    let second = world.reserve_of(Lane::Session, true).unwrap();
    assert_eq!(second.max_wait, MaxWait::Short);
    world.done(&quick, vec![data(&quick.asks[0], 0, 0)]);
    assert_eq!(world.reserve(Lane::Quick), None);
    world.done(&second, Vec::new());
    let whole = world.reserve_of(Lane::Session, true).unwrap();
    assert_eq!(
        (whole.max_wait, offsets(&whole)),
        (MaxWait::Patient, vec![(50, false), (0, false)])
    );
}
