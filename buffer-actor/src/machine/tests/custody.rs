//! I1, I3, I4, I6: who has custody, and what a late reply may do.

use super::*;

#[test]
fn a_grant_takes_custody_and_the_next_request_asks_after_what_is_buffered() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&first), [(0, false), (0, false)]);
    assert_eq!(first.asks[0].leader_epoch, 5);
    // in flight: neither lane gets anything
    assert_eq!(world.reserve(Lane::Session), None);
    assert_eq!(world.reserve(Lane::Quick), None);
    let replies = vec![data(&first.asks[0], 10, 100), data(&first.asks[1], 0, 0)];
    // B003: the request for what follows leaves before the application took anything
    let second = grant(world.done(&first, replies)).unwrap();
    assert_eq!(offsets(&second), [(10, false), (0, false)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 10)]);
}

#[test]
fn b007_b008_data_of_a_partition_that_is_unassigned_is_dropped_and_the_other_is_kept() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    let replies = vec![data(&first.asks[0], 3, 30), data(&first.asks[1], 3, 30)];
    world.done(&first, replies);
    world.run(|machine, now, effects| {
        machine.assign(now, [(tp(1), Start::Offset(99))], effects);
    });
    let items = world.take();
    assert_eq!(spans(&world, &items), [(1, 0, 3)]);
}

#[test]
fn f012_b120_a_topic_made_anew_is_read_from_where_the_reset_policy_says() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    let replies = vec![data(&first.asks[0], 10, 100), data(&first.asks[1], 10, 100)];
    world.done(&first, replies);
    // the first reply is buffered, the second request is in flight
    let second = world.reserve(Lane::Session).unwrap();
    let recreated = world.ids[0];
    world.run(|machine, now, effects| machine.topics_recreated(now, [recreated], effects));
    let replies = vec![data(&second.asks[0], 5, 50), data(&second.asks[1], 5, 50)];
    world.done(&second, replies);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(1, 0, 10)]);
    let lookup = world.lookups.pop().unwrap();
    assert_eq!(
        (lookup.partition, lookup.sought),
        (recreated, Sought::End(ResetTo::Earliest))
    );
    // the other one goes on meanwhile
    assert_eq!(
        offsets(&world.reserve(Lane::Session).unwrap()),
        [(15, false)]
    );
    assert_eq!(world.reserve(Lane::Quick), None);
    let found = [(lookup.partition, lookup.epoch, 3)];
    let effects = world.run(|machine, _, effects| machine.position_found(found, effects));
    assert_eq!(offsets(&grant(effects).unwrap()), [(3, false)]);
}

#[test]
fn b009_a_reply_for_a_partition_that_went_gives_nothing() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.assign(0);
    assert_eq!(world.done(&first, vec![data(&first.asks[0], 3, 30)]), []);
    assert_eq!(world.take(), []);
}

#[test]
fn b010_reassigned_eagerly_its_reply_is_void_reassigned_cooperatively_it_counts() {
    let mut eager = World::new(config(), 1);
    let first = eager.reserve(Lane::Session).unwrap();
    eager.assign(0);
    eager.assign(1);
    eager.done(&first, vec![data(&first.asks[0], 3, 30)]);
    assert_eq!(eager.take(), []);

    let mut cooperative = World::new(config(), 1);
    let first = cooperative.reserve(Lane::Session).unwrap();
    cooperative.assign(2);
    cooperative.done(&first, vec![data(&first.asks[0], 3, 30)]);
    let items = cooperative.take();
    assert_eq!(spans(&cooperative, &items), [(0, 0, 3)]);
}

#[test]
fn after_a_leader_move_what_stands_for_the_old_node_asks_for_the_partition_no_more() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(world.reserve(Lane::Quick), None);
    // lane 2's offer names the partition still: the planner's next word about it is under way
    let moved = world.ids[0];
    let effects = world.run(|machine, _, effects| machine.leaders_changed([moved], effects));
    assert_eq!(grants(effects), [], "the old leader is not asked again");
    let candidates = [Candidate {
        partition: moved,
        leader_epoch: 6,
    }];
    let effects = world.run(|machine, _, effects| {
        machine.reserve(
            NodeId(2),
            Lane::Session,
            2,
            candidates.into(),
            false,
            effects,
        );
    });
    assert_eq!(offsets(&grant(effects).unwrap()), [(0, false)]);
    // and when the old node's request is back, its next one does without it
    world.done(&first, Vec::new());
    let next = world.reserve(Lane::Session).unwrap();
    assert_eq!(next.asks.len(), 1);
}

#[test]
fn i8_custody_that_is_freed_is_offered_to_the_node_that_leads_the_partition_now() {
    // a planner that grants for an old list is caught by its plan, and gives the ticket back
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let candidates = world.candidates();
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NodeId(2), Lane::Session, 2, candidates, false, effects);
    });
    assert_eq!(grants(effects), [], "held by the first node's request");
    assert_eq!(grants(world.fail(&first)).len(), 1);
}

#[test]
fn f026_b182_a_seek_voids_what_is_in_flight_even_back_to_the_same_offset() {
    let mut world = World::new(config(), 1);
    world.reserve(Lane::Quick);
    let first = world.reserve(Lane::Session).unwrap();
    // lane 2 asks for the sought offset at once
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(0), 0, effects).unwrap();
    });
    let second = grant(effects).unwrap();
    assert_eq!((second.lane, second.max_wait), (Lane::Quick, MaxWait::Zero));
    assert_ne!(second.asks[0].epoch, first.asks[0].epoch);
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    assert_eq!(world.take(), []);
    assert_eq!(world.machine.counters().stale_replies, 1);
    world.done(&second, vec![data(&second.asks[0], 5, 50)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 5)]);
}

#[test]
fn f027_a_seek_leaves_the_other_partitions_alone() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    let replies = vec![data(&first.asks[0], 10, 10), data(&first.asks[1], 10, 10)];
    world.done(&first, replies);
    for _ in 0..100 {
        world.run(|machine, now, effects| machine.seek(now, &tp(0), 3, effects).unwrap());
    }
    let items = world.take();
    assert_eq!(spans(&world, &items), [(1, 0, 10)]);
}

#[test]
fn a_leader_move_voids_requests_and_keeps_what_was_read() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    let second = world.reserve(Lane::Session).unwrap();
    let moved = world.ids.clone();
    world.run(|machine, _, effects| machine.leaders_changed(moved, effects));
    // the new leader is asked without waiting for the old one
    let candidates = world.candidates();
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NodeId(2), Lane::Session, 1, candidates, false, effects);
    });
    let third = grant(effects).unwrap();
    assert_eq!(offsets(&third), [(10, false)]);
    world.done(&second, vec![data(&second.asks[0], 10, 100)]);
    world.done(&third, vec![data(&third.asks[0], 5, 50)]);
    let mut read = world.take();
    read.extend(world.take());
    assert_eq!(spans(&world, &read), [(0, 0, 10), (0, 10, 15)]);
}

#[test]
fn a_request_that_failed_frees_custody_and_moves_nothing() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.reserve(Lane::Session);
    let again = grant(world.fail(&first)).unwrap();
    assert_eq!(offsets(&again), [(0, false)]);
    assert_eq!(again.asks[0].epoch, first.asks[0].epoch);
    // a ticket that comes back twice changes nothing
    assert_eq!(world.done(&first, vec![data(&first.asks[0], 3, 30)]), []);
}

#[test]
fn f003_an_answer_without_bytes_moves_no_position() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let mut empty = data(&first.asks[0], 0, 0);
    empty.high_watermark = 1000;
    world.reserve(Lane::Session);
    let second = grant(world.done(&first, vec![empty])).unwrap();
    assert_eq!(offsets(&second), [(0, false)]);
}

#[test]
fn b087_a_reply_that_names_a_partition_twice_or_one_not_asked_for_counts_once() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    let mut unknown = data(&first.asks[0], 3, 30);
    unknown.partition = PartitionId::new(77, 1);
    let replies = vec![
        data(&first.asks[0], 3, 30),
        data(&first.asks[0], 3, 30),
        unknown,
    ];
    world.done(&first, replies);
    let mut items = world.take();
    items.extend(world.take());
    assert_eq!(spans(&world, &items), [(0, 0, 3)]);
}

#[test]
fn a_slot_is_reused_under_a_new_generation() {
    let mut world = World::new(config(), 1);
    let old = world.ids[0];
    world.assign(0);
    world.run(|machine, now, effects| {
        machine.assign(now, [(tp(9), Start::Offset(4))], effects);
    });
    assert_eq!(world.ids[0].slot(), old.slot());
    assert_eq!(world.machine.name(old), None);
    assert_eq!(world.machine.name(world.ids[0]), Some(&tp(9)));
}
