//! Memory: reservations, replies larger than theirs, paused data that gives way (design section 5).

use super::*;

fn small(memory: u64) -> BufferConfig {
    BufferConfig {
        buffer_memory: memory,
        ..config()
    }
}

#[test]
fn b036_a_full_buffer_holds_the_node_back_until_a_quarter_of_its_share_is_free() {
    // share = 4 MiB; two partitions, so that a request wants 2 MiB
    let mut world = World::new(small(8 << 20), 2);
    let mut held = 0;
    let kept = u64::from(6 * MIB);
    world.machine.charge(kept);
    let first = world.reserve(Lane::Session).unwrap();
    assert!(first.max_bytes >= MIB && first.max_bytes < 2 * MIB);
    for ask in first.asks.iter() {
        held += u64::from(ask.max_bytes.unsigned_abs());
    }
    let received = u64::from(first.max_bytes);
    world.done(&first, vec![data(&first.asks[0], 10, first.max_bytes)]);
    assert_eq!(held, u64::from(2 * MIB));
    assert_eq!(world.reserve(Lane::Session), None);
    assert_eq!(world.machine.reason(world.ids[1]), Some(Reason::Budget));
    assert_eq!(
        grants(world.release(1000)),
        [],
        "a sliver is not worth a request"
    );
    assert_eq!(grants(world.release(received)).len(), 1);
    assert!(world.machine.memory_used() <= 8 << 20);
}

#[test]
fn a_reply_larger_than_reserved_waits_for_the_difference() {
    let mut world = World::new(small(8 << 20), 1);
    let first = world.reserve(Lane::Session).unwrap();
    let ticket = first.ticket;
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, ticket, 5 << 20, effects);
    });
    assert_eq!(effects, [Effect::ReadReply(ticket)], "there is room");

    let mut world = World::new(small(1 << 20), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    let second = world.reserve(Lane::Session).unwrap();
    let ticket = second.ticket;
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, ticket, 8 << 20, effects);
    });
    assert_eq!(effects, [], "records are buffered");
    let effects = world.request(Vec::new(), Vec::new(), None);
    assert!(
        !effects.contains(&Effect::ReadReply(ticket)),
        "they are leased"
    );
    let effects = world.request(Vec::new(), Vec::new(), None);
    assert!(
        effects.contains(&Effect::ReadReply(ticket)),
        "drained: the head may overdraw"
    );
    assert_eq!(world.machine.counters().overdrawn_replies, 1);
}

#[test]
fn two_nodes_whose_replies_are_both_too_large_go_one_after_the_other() {
    let mut world = World::new(small(1 << 20), 2);
    let (a, b) = (world.ids[0], world.ids[1]);
    let mut tickets = Vec::new();
    for (node, partition) in [(NodeId(1), a), (NodeId(2), b)] {
        let candidates = [Candidate {
            partition,
            leader_epoch: 0,
        }]
        .into();
        let effects = world.run(|machine, _, effects| {
            machine.reserve(node, Lane::Session, 1, candidates, false, effects);
        });
        tickets.push(grant(effects).unwrap());
    }
    let (first, second) = (tickets[0].ticket, tickets[1].ticket);
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, first, 8 << 20, effects);
        machine.need_more(now, second, 8 << 20, effects);
    });
    assert_eq!(effects, [Effect::ReadReply(first)]);
    let effects = world.done(&tickets[0], vec![data(&tickets[0].asks[0], 1, 8 * MIB)]);
    assert!(!effects.contains(&Effect::ReadReply(second)));
    world.take();
    world.take();
    let effects = world.release(8 << 20);
    assert!(effects.is_empty() || effects.contains(&Effect::ReadReply(second)));
    assert_eq!(world.machine.counters().overdrawn_replies, 2);
}

#[test]
fn a_reply_that_waited_half_the_request_timeout_is_thrown_away() {
    let mut world = World::new(small(1 << 20), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    let second = world.reserve(Lane::Session).unwrap();
    let ticket = second.ticket;
    world.run(|machine, now, effects| machine.need_more(now, ticket, 8 << 20, effects));
    let effects = world.wait_for_deadline(Duration::from_secs(15));
    assert_eq!(effects, [Effect::DiscardReply(ticket)]);
    world.run(|machine, now, effects| {
        machine.done(now, ticket, Outcome::Discarded, 0, effects);
    });
    assert_eq!(world.machine.counters().discarded_replies, 1);
    let again = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&again), [(10, false)], "the position did not move");
}

#[test]
fn no_new_request_leaves_while_a_reply_waits_for_memory() {
    let mut world = World::new(small(4 << 20), 2);
    let (a, b) = (world.ids[0], world.ids[1]);
    let list = |partition| -> crate::Candidates {
        [Candidate {
            partition,
            leader_epoch: 0,
        }]
        .into()
    };
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NodeId(1), Lane::Session, 1, list(a), false, effects);
    });
    let first = grant(effects).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NodeId(1), Lane::Session, 1, list(a), false, effects);
    });
    let waits = grant(effects).unwrap().ticket;
    world.run(|machine, now, effects| machine.need_more(now, waits, 8 << 20, effects));
    let effects = world.run(|machine, _, effects| {
        machine.reserve(NodeId(2), Lane::Session, 1, list(b), false, effects);
    });
    assert_eq!(
        grants(effects),
        [],
        "it would keep the head from ever being drained for"
    );
}

#[test]
fn while_one_node_waits_for_memory_the_second_lane_of_another_takes_none() {
    let config = BufferConfig {
        max_partition_fetch_bytes: MIB / 4,
        ..small(8 << 20)
    };
    let mut world = World::new(config, 9);
    let ids = world.ids.clone();
    let offer = |world: &mut World, node: i32, lane, partitions: &[PartitionId]| {
        let list = partitions.iter().map(|&partition| Candidate {
            partition,
            leader_epoch: 0,
        });
        let list = list.collect();
        grants(world.run(|machine, _, effects| {
            machine.reserve(NodeId(node), lane, 1, list, false, effects);
        }))
    };
    let first = offer(&mut world, 1, Lane::Session, &ids[..8]).remove(0);
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    offer(&mut world, 2, Lane::Session, &ids[8..]).remove(0);
    offer(&mut world, 2, Lane::Quick, &ids[8..]);
    world.machine.charge(7 << 20);
    // half a mebibyte is free: too little for eight partitions, enough for one
    assert_eq!(offer(&mut world, 1, Lane::Session, &ids[..8]), []);
    assert_eq!(world.machine.reason(ids[1]), Some(Reason::Budget));
    let effects = world.run(|machine, now, effects| {
        machine.seek(now, &tp(8), 5, effects).unwrap();
    });
    assert_eq!(grants(effects), [], "what is freed is for the first");
    let granted = grants(world.release(7 << 20));
    let nodes: Vec<_> = granted.iter().map(|grant| grant.node.0).collect();
    assert_eq!(nodes, [1, 2]);
}

#[test]
fn what_is_freed_goes_to_the_node_that_waited_longest() {
    let mut world = World::new(small(6 << 20), 4);
    let ids = world.ids.clone();
    let offer = |world: &mut World, node: i32, partition| {
        let list = [Candidate {
            partition,
            leader_epoch: 0,
        }];
        grants(world.run(|machine, _, effects| {
            machine.reserve(NodeId(node), Lane::Session, 1, list.into(), false, effects);
        }))
    };
    // something is leased, so no node has a last request
    let first = offer(&mut world, 9, ids[3]).remove(0);
    world.done(&first, vec![data(&first.asks[0], 1, 1000)]);
    world.take();
    world.machine.charge(6 << 20);
    for (node, id) in [(2, ids[0]), (3, ids[1]), (1, ids[2])] {
        assert_eq!(offer(&mut world, node, id), []);
    }
    // a share at a time, with its framing and what is leased
    let share = (6 << 20) / 6 + 2000;
    let mut order = Vec::new();
    for _ in 0..3 {
        let granted = grants(world.release(share));
        order.extend(granted.iter().map(|grant| grant.node.0));
    }
    assert_eq!(order, [2, 3, 1]);
}

#[test]
fn half_of_the_budget_in_use_is_no_reason_to_wait() {
    // the share is half of the budget, and the framing of the answer comes on top
    let mut world = World::new(small(64 << 20), 64);
    let first = world.reserve(Lane::Session).unwrap();
    world.fail(&first);
    world.machine.charge(32 << 20);
    let offered = world.reserve(Lane::Session).unwrap();
    assert!(offered.max_bytes > 31 << 20);
    world.done(&offered, vec![data(&offered.asks[0], 1, 100)]);
    assert!(world.reserve(Lane::Session).is_some());
}

#[test]
fn what_the_application_keeps_never_stops_the_last_request_of_a_node() {
    let mut world = World::new(small(1 << 20), 1);
    world.machine.charge(10 << 20);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    assert_eq!(
        world.reserve(Lane::Session),
        None,
        "now something is buffered"
    );
    world.take();
    assert_eq!(grants(world.request(Vec::new(), Vec::new(), None)).len(), 1);
}

#[test]
fn f014_beside_what_the_application_keeps_a_request_takes_what_is_free() {
    let mut world = World::new(small(1 << 20), 1);
    let kept = u64::from(MIB / 2) + 1000;
    world.machine.charge(kept);
    let first = world.reserve(Lane::Session).unwrap();
    assert!(u64::from(first.max_bytes) > u64::from(MIB) - kept - 1000);
    assert!(world.machine.memory_used() <= 1 << 20);
}

#[test]
fn paused_data_gives_way_when_another_partition_starves() {
    let mut world = World::new(small(8 << 20), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, MIB)]);
    let second = world.reserve(Lane::Session).unwrap();
    world.done(&second, vec![data(&second.asks[0], 10, MIB)]);
    world.machine.charge(6 << 20);
    let effects = world.run(|machine, _, effects| {
        machine.pause([&tp(0)], true, effects).unwrap();
    });
    assert_eq!(grants(effects), []);
    // what is dropped makes room at once: its memory is free as soon as it is dropped
    let granted = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&granted), [(0, false)]);
    assert_eq!(world.machine.counters().dropped_paused, 1);
    world.release(u64::from(MIB));
    world.fail(&granted);
    // it goes on where what was dropped began
    world.run(|machine, _, effects| machine.pause([&tp(0)], false, effects).unwrap());
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 10)]);
    world.release(7 << 20);
    let again = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&again), [(10, false), (0, false)]);
}

#[test]
fn paused_data_gives_way_to_a_reply_that_waits_for_a_partition_with_nothing_buffered() {
    let mut world = World::new(small(3 << 20), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, MIB)]);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    let second = world.reserve(Lane::Session).unwrap();
    let ticket = second.ticket;
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, ticket, 2_000_000, effects);
    });
    assert_eq!(effects, [Effect::ReadReply(ticket)]);
    assert_eq!(world.machine.counters().dropped_paused, 1);
    assert_eq!(world.machine.counters().overdrawn_replies, 0);

    // with something of its own to read, it waits for that
    let mut world = World::new(small(3 << 20), 2);
    let first = world.reserve(Lane::Session).unwrap();
    let replies = vec![data(&first.asks[0], 10, MIB), data(&first.asks[1], 1, 100)];
    world.done(&first, replies);
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    let ticket = world.reserve(Lane::Session).unwrap().ticket;
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, ticket, 2 << 20, effects);
    });
    assert_eq!(effects, []);
    assert_eq!(world.machine.counters().dropped_paused, 0);
}

#[test]
fn f013_data_that_gives_way_is_not_free_while_others_share_its_memory() {
    let mut world = World::new(small(8 << 20), 3);
    let alone = world.reserve(Lane::Session).unwrap();
    world.done(&alone, vec![data(&alone.asks[0], 10, 1000)]);
    let shared = world.reserve(Lane::Session).unwrap();
    let replies = shared.asks.iter().map(|ask| data(ask, 10, MIB)).collect();
    world.done(&shared, replies);
    let paused = [tp(0), tp(1)];
    world.run(|machine, _, effects| machine.pause(&paused, true, effects).unwrap());
    // the reader is done with the third's part of it, and the application keeps that
    let items = world.take();
    assert_eq!(spans(&world, &items), [(2, 0, 10)]);
    world.take();
    world.machine.charge(5 << 20);
    assert_eq!(world.reserve(Lane::Session), None);
    assert_eq!(world.machine.counters().dropped_paused, 2);
    assert_eq!(world.machine.reason(world.ids[2]), Some(Reason::Budget));
    // all of it is free when the last of it is dropped
    let granted = grants(world.release(u64::from(3 * MIB)));
    assert_eq!(offsets(&granted[0]), [(10, false)]);
    assert!(world.machine.memory_used() <= 8 << 20);
    assert_eq!(world.machine.counters().dropped_paused, 2);
}

#[test]
fn f013_all_that_is_paused_of_a_reply_gives_way_at_once() {
    let mut world = World::new(small(8 << 20), 3);
    world.run(|machine, _, effects| machine.pause([&tp(2)], true, effects).unwrap());
    let first = world.reserve(Lane::Session).unwrap();
    let replies = first.asks.iter().map(|ask| data(ask, 10, MIB)).collect();
    world.done(&first, replies);
    let others = [tp(0), tp(1)];
    world.run(|machine, _, effects| machine.pause(&others, true, effects).unwrap());
    world.machine.charge(6 << 20);
    world.run(|machine, _, effects| machine.pause([&tp(2)], false, effects).unwrap());
    let granted = world.reserve(Lane::Session).unwrap();
    assert_eq!(offsets(&granted), [(0, false)]);
    assert_eq!(world.machine.counters().dropped_paused, 2);
}

#[test]
fn f015_a_batch_that_cannot_be_read_is_no_lease_that_others_wait_for() {
    let mut world = World::new(small(1 << 20), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 1000)]);
    assert_eq!(world.take().len(), 1);
    let (bad, epoch) = (world.ids[0], first.asks[0].epoch);
    world.run(|machine, _, effects| machine.block(bad, epoch, effects));
    let second = world.reserve(Lane::Session).unwrap();
    let ticket = second.ticket;
    let effects = world.run(|machine, now, effects| {
        machine.need_more(now, ticket, 8 << 20, effects);
    });
    assert_eq!(effects, [Effect::ReadReply(ticket)]);
    // the reader holds on to the error
    world.request(vec![bad], Vec::new(), None);
}

#[test]
fn data_that_gives_way_leaves_an_error_pause_as_it_is() {
    let mut world = World::new(small(8 << 20), 2);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, MIB)]);
    let second = world.reserve(Lane::Session).unwrap();
    world.done(&second, vec![error(&second.asks[0], 75)]);
    let pause_ends = world.machine.poll_timeout().unwrap();
    world.run(|machine, _, effects| machine.pause([&tp(0)], true, effects).unwrap());
    world.machine.charge(7 << 20);
    assert!(world.reserve(Lane::Session).is_some());
    assert_eq!(world.machine.counters().dropped_paused, 1);
    world.run(|machine, _, effects| machine.pause([&tp(0)], false, effects).unwrap());
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Backoff));
    assert_eq!(world.machine.poll_timeout(), Some(pause_ends));
}

#[test]
fn bytes_come_back_whole_after_every_way_in_which_a_request_ends() {
    let mut world = World::new(config(), 2);
    let first = world.reserve(Lane::Session).unwrap();
    assert_eq!(world.machine.memory_used(), first.reserved);
    world.fail(&first);
    assert_eq!(world.machine.memory_used(), 0);
    let second = world.reserve(Lane::Session).unwrap();
    world.done(&second, vec![data(&second.asks[0], 3, 300)]);
    assert_eq!(world.machine.memory_used(), 300);
    world.take();
    world.release(300);
    assert_eq!(world.machine.memory_used(), 0);
}
