//! The pattern of KAFKA-17182: an application that takes few records a poll, and responses that land while the next request is
//! being made. Over thousands of responses no partition may leave its session, and no session may end.

use std::rc::Rc;
use std::time::Duration;

use buffer_actor::{Lane, Policy};

use crate::events::{Allowances, Event};
use crate::lane::lane_index;
use crate::notes::{Notes, Seen};
use crate::scenario::{Scenario, named};
use crate::world::World;

const RESPONSES: u64 = 3_000;

/// Lets everybody do something in an order that differs from turn to turn. One partition is busy, though never so busy that
/// read-ahead ends, the other has a batch now and then.
fn run(policy: Policy, leaders: [usize; 2]) -> World {
    let scenario = Scenario {
        policy,
        leaders,
        sizes: [[100_000; 2]; 2],
        allowances: Allowances::ALL,
        ..named("seek and pause")
    };
    let mut world = World::new(scenario, None, Rc::new(Notes::default()));
    let mut random = 1_u64;
    while world.responses() < RESPONSES {
        let mut events = Vec::new();
        world.steps(&mut events);
        world.timers(&mut events);
        if world.reader.poll.is_none() {
            events.push(Event::Poll);
        }
        let soon = world.now + Duration::from_millis(10);
        if world.next_deadline().is_some_and(|at| at < soon) {
            events.push(Event::Time);
        }
        for lane in [0, 2] {
            if world.pending(lane).is_some() {
                events.push(Event::Expire(lane));
            }
        }
        for (p, now_and_then) in [(0, true), (1, random >> 60 == 0)] {
            let given = world.table.entries[p].and_then(|entry| entry.given);
            if now_and_then && given.is_some_and(|given| world.logs.end(p) - given < 12) {
                events.push(Event::Produce(p));
            }
        }
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let event = events[(random >> 33) as usize % events.len()];
        world.step(event);
        world.left = Allowances::ALL;
    }
    world
}

#[test]
fn f011_b056_no_partition_leaves_its_session_while_the_application_is_slow() {
    for leaders in [[0, 0], [0, 1]] {
        let world = run(Policy::ReadAhead, leaders);
        world.check().unwrap_or_else(|text| panic!("{text}"));
        assert_eq!(world.notes.times(Seen::Forgotten), 0);
        for node in leaders {
            assert_eq!(world.brokers[node].begun, 1, "one session for all of it");
            let quick = lane_index(node, Lane::Quick);
            assert!(world.lanes[quick].is_none(), "nothing was in a hurry");
        }
        let ahead = world.notes.times(Seen::Ahead);
        assert!(ahead > RESPONSES / 2, "only {ahead} requests ran ahead");
    }
}

#[test]
fn omitting_buffered_partitions_as_java_did_makes_them_leave() {
    let world = run(Policy::OmitBuffered, [0, 0]);
    let left = world.notes.times(Seen::Forgotten);
    assert!(left > RESPONSES / 4, "only {left} times");
}
