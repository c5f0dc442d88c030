//! Scripts: what happens to a lane, and what it makes of it.

use super::*;
use buffer_actor::{Ask, Derived, FetchEpoch, Lane, MaxWait, NodeId};
use uuid::Uuid;

use crate::cluster::{Located, Topic};

type Effects = Vec<Effect<u32>>;

struct World {
    machine: SessionMachine,
    table: Arc<PartitionTable>,
    now: Instant,
}

const PARTITION: PartitionId = PartitionId::new(0, 1);

#[expect(
    clippy::disallowed_methods,
    reason = "a test needs some moment to begin with"
)]
fn start() -> Instant {
    Instant::now()
}

impl World {
    fn new() -> Self {
        let mut table = PartitionTable::default();
        table.insert(Located {
            partition: PARTITION,
            topic: Arc::new(Topic {
                name: "t".into(),
                id: Uuid::from_u128(1),
            }),
            index: 0,
        });
        let config = SessionConfig {
            fetch_max_wait: Duration::from_millis(500),
            request_timeout: Duration::from_secs(30),
            reconnect: Backoff {
                base: Duration::from_millis(50),
                max: Duration::from_secs(1),
            },
            max_idle: Some(Duration::from_secs(540)),
        };
        Self {
            machine: SessionMachine::new(config, FetchSession::incremental(), 3),
            table: Arc::new(table),
            now: start(),
        }
    }

    fn run(&mut self, event: impl FnOnce(&mut SessionMachine, Instant, &mut Effects)) -> Effects {
        let mut effects = Vec::new();
        event(&mut self.machine, self.now, &mut effects);
        effects
    }

    fn start(&mut self, job: Job) -> Effects {
        let table = Arc::clone(&self.table);
        self.run(|machine, now, effects| machine.start(now, job, table, effects))
    }

    /// Connected and in the middle of a request.
    fn busy() -> Self {
        let mut world = Self::new();
        assert_eq!(world.start(Job::Fetch(grant(1))), [Effect::Connect]);
        let sent = world.run(|machine, now, effects| machine.connected(now, true, effects));
        assert!(
            matches!(&sent[..], [Effect::Send(request)] if request.max_wait.as_millis() == 500)
        );
        world
    }

    /// Answers the request with one record's worth of data.
    fn answered(&mut self) -> Effects {
        assert_eq!(self.length(100), [Effect::Read]);
        self.run(|machine, now, effects| machine.answer(now, answer(9, 0), 100, effects))
    }

    fn length(&mut self, length: u64) -> Effects {
        self.run(|machine, now, effects| machine.length(now, length, effects))
    }

    fn fail(&mut self) -> Effects {
        self.run(|machine, now, effects| machine.failed(now, "gone", effects))
    }

    fn wait(&mut self) -> Effects {
        self.now = self.machine.poll_timeout().expect("a deadline");
        self.run(|machine, now, effects| machine.timeout(now, effects))
    }
}

fn grant(ticket: u64) -> Grant {
    Grant {
        ticket: TicketId(ticket),
        node: NodeId(1),
        lane: Lane::Session,
        plan: 1,
        max_wait: MaxWait::Full,
        max_bytes: 1000,
        reserved: 1200,
        asks: Arc::new(vec![Ask {
            partition: PARTITION,
            epoch: FetchEpoch(4),
            offset: 0,
            leader_epoch: 2,
            max_bytes: 500,
            parked: false,
            served: 0,
        }]),
        changes: Derived::default(),
    }
}

fn answer(session_id: i32, throttle_ms: u64) -> Answer<u32> {
    Answer {
        error_code: 0,
        session_id,
        throttle: Duration::from_millis(throttle_ms),
        partitions: vec![AnswerPartition {
            partition: Some(PARTITION),
            error_code: 0,
            high_watermark: 5,
            last_stable_offset: 5,
            log_start_offset: 0,
            preferred_replica: None,
            diverging: None,
            fetched: None,
        }],
        leaders: Vec::new(),
    }
}

const IDLE: Effect<u32> = Effect::Idle(SessionState::Live);

#[test]
fn i7_the_buffer_hears_of_an_answer_before_the_planner_hears_of_the_idle_lane() {
    let mut world = World::busy();
    let effects = world.answered();
    let [Effect::Done(ticket, Outcome::Reply(replies), 100), idle] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!((*ticket, idle), (TicketId(1), &IDLE));
    assert_eq!(replies[0].epoch, FetchEpoch(4));
    assert_eq!(replies[0].high_watermark, 5);
    // the connection stays: the next request is an increment
    let effects = world.start(Job::Fetch(grant(2)));
    let [Effect::Send(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (request.plan.session_id, request.plan.session_epoch),
        (9, 1)
    );
}

#[test]
fn after_a_seek_the_buffer_is_told_of_watermarks_that_the_broker_does_not_repeat() {
    let mut world = World::busy();
    world.answered();
    let mut sought = grant(2);
    Arc::make_mut(&mut sought.asks)[0].epoch = FetchEpoch(9);
    world.start(Job::Fetch(sought));
    world.length(50);
    let nothing = Answer {
        partitions: Vec::new(),
        ..answer(9, 0)
    };
    let effects = world.run(|machine, now, effects| machine.answer(now, nothing, 0, effects));
    let [Effect::Done(_, Outcome::Reply(replies), 0), _] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(replies.len(), 1);
    assert_eq!(
        (replies[0].epoch, replies[0].high_watermark),
        (FetchEpoch(9), 5)
    );
}

#[test]
fn b002_after_a_failure_the_lane_rests_for_the_reconnect_backoff() {
    let mut world = World::new();
    world.start(Job::Fetch(grant(1)));
    for (attempt, pause) in [(1, 50), (2, 100), (3, 200)] {
        let effects = world.fail();
        assert_eq!(
            effects,
            [
                Effect::Done(TicketId(attempt), Outcome::Failed, 0),
                Effect::RefreshMetadata,
                Effect::Unavailable
            ]
        );
        let rested = world.machine.poll_timeout().expect("a pause") - world.now;
        assert!(
            rested >= Duration::from_millis(pause * 8 / 10),
            "{rested:?}"
        );
        assert!(
            rested <= Duration::from_millis(pause * 12 / 10),
            "{rested:?}"
        );
        assert_eq!(world.wait(), [Effect::Idle(SessionState::None)]);
        assert_eq!(
            world.start(Job::Fetch(grant(attempt + 1))),
            [Effect::Connect]
        );
    }
}

#[test]
fn f042_a_connection_closed_while_idle_is_opened_again_without_pause_and_the_session_goes_on() {
    let mut world = World::busy();
    world.answered();
    assert_eq!(world.fail(), [Effect::Disconnect]);
    assert_eq!(world.start(Job::Fetch(grant(2))), [Effect::Connect]);
    let effects = world.run(|machine, now, effects| machine.connected(now, true, effects));
    let [Effect::Send(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (request.plan.session_id, request.plan.session_epoch),
        (9, 1)
    );
}

#[test]
fn f042_b195_an_idle_connection_is_closed_before_others_cut_it_and_the_session_goes_on() {
    let mut world = World::busy();
    world.answered();
    let begin = world.now;
    assert_eq!(world.wait(), [Effect::Disconnect]);
    assert_eq!(world.now - begin, Duration::from_secs(540));
    assert_eq!(world.machine.poll_timeout(), None);
    assert_eq!(world.machine.session().id(), Some(9));
    assert_eq!(world.start(Job::Fetch(grant(2))), [Effect::Connect]);
}

#[test]
fn b044_a_connection_lost_in_flight_frees_custody_and_starts_the_session_over() {
    let mut world = World::busy();
    world.answered();
    world.start(Job::Fetch(grant(2)));
    let effects = world.fail();
    assert_eq!(effects[0], Effect::Disconnect);
    assert!(effects.contains(&Effect::Done(TicketId(2), Outcome::Failed, 0)));
    assert_eq!(world.wait(), [Effect::Idle(SessionState::None)]);
    world.start(Job::Fetch(grant(3)));
    let effects = world.run(|machine, now, effects| machine.connected(now, true, effects));
    let [Effect::Send(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (request.plan.session_id, request.plan.session_epoch),
        (9, 0)
    );
}

#[test]
fn f038_no_answer_in_time_is_a_failure() {
    let mut world = World::busy();
    let begin = world.now;
    // late by a second, and by another one: somebody else may lead the partitions by now, or by then
    for late in 0..29 {
        assert_eq!(world.wait(), [Effect::RefreshMetadata]);
        assert_eq!(world.now - begin, Duration::from_millis(1500 + 1000 * late));
    }
    let effects = world.wait();
    assert_eq!(world.now - begin, Duration::from_secs(30));
    assert!(effects.contains(&Effect::Unavailable));

    // a body has a deadline of its own
    let mut world = World::busy();
    world.now += Duration::from_secs(29);
    world.length(100);
    let begin = world.now;
    // and is late after five seconds: its broker may have stopped in the middle of it
    for late in 1..6 {
        assert_eq!(world.wait(), [Effect::RefreshMetadata]);
        assert_eq!(world.now - begin, Duration::from_secs(5 * late));
    }
    assert!(world.wait().contains(&Effect::Unavailable));
    assert_eq!(world.now - begin, Duration::from_secs(30));
}

#[test]
fn answers_that_cannot_be_used_in_a_row_make_the_lane_rest() {
    let mut world = World::busy();
    let refused = |world: &mut World, ticket| {
        if world.machine.state == State::Idle {
            world.start(Job::Fetch(grant(ticket)));
        }
        world.length(50);
        let answer = Answer {
            error_code: 70,
            ..answer(0, 0)
        };
        world.run(|machine, now, effects| machine.answer(now, answer, 0, effects))
    };
    for _ in 0..2 {
        // an evicted session is begun anew at once
        let effects = refused(&mut world, 1);
        assert_eq!(effects.last(), Some(&Effect::Idle(SessionState::None)));
        for pause in [50, 100, 200] {
            let effects = refused(&mut world, 2);
            let done = Effect::Done(TicketId(2), Outcome::Failed, 0);
            assert_eq!(effects.last(), Some(&done), "{effects:?}");
            let begin = world.now;
            assert_eq!(world.wait(), [Effect::Idle(SessionState::None)]);
            let pause = Duration::from_millis(pause);
            let rested = world.now - begin;
            assert!(rested >= pause * 8 / 10 && rested <= pause * 12 / 10);
        }
        world.start(Job::Fetch(grant(3)));
        assert_eq!(world.answered().last(), Some(&IDLE));
    }
}

#[test]
fn an_answer_larger_than_reserved_waits_without_a_deadline_of_its_own() {
    let mut world = World::busy();
    assert_eq!(world.length(1500), [Effect::NeedMore(TicketId(1), 300)]);
    assert_eq!(world.machine.poll_timeout(), None);
    let other = world.run(|machine, now, effects| machine.memory(now, TicketId(7), true, effects));
    assert_eq!(other, []);
    let read = world.run(|machine, now, effects| machine.memory(now, TicketId(1), true, effects));
    assert_eq!(read, [Effect::Read]);

    let mut world = World::busy();
    world.length(1500);
    let skip = world.run(|machine, now, effects| machine.memory(now, TicketId(1), false, effects));
    assert_eq!(skip, [Effect::Skip]);
    let effects = world.run(|machine, now, effects| machine.skipped(now, effects));
    assert_eq!(effects[0], Effect::Done(TicketId(1), Outcome::Discarded, 0));
    // too late, nobody minds
    let late = world.run(|machine, now, effects| machine.memory(now, TicketId(1), true, effects));
    assert_eq!(late, []);
}

#[test]
fn b196_a_throttled_lane_is_left_alone_for_so_long() {
    let mut world = World::busy();
    world.length(100);
    let effects =
        world.run(|machine, now, effects| machine.answer(now, answer(9, 400), 0, effects));
    assert!(matches!(&effects[..], [Effect::Done(..)]), "{effects:?}");
    let begin = world.now;
    assert_eq!(world.wait(), [IDLE]);
    assert_eq!(world.now - begin, Duration::from_millis(400));
}

#[test]
fn a_touch_waits_for_nothing_takes_nothing_and_keeps_the_session() {
    let mut world = World::busy();
    world.answered();
    let effects = world.start(Job::Touch);
    let [Effect::Send(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(request.max_wait, Duration::ZERO);
    assert_eq!(request.plan.named[0].sent.max_bytes, 0);
    assert_eq!(world.length(50), [Effect::Read]);
    let effects = world.run(|machine, now, effects| machine.answer(now, answer(9, 0), 50, effects));
    assert_eq!(effects, [IDLE]);

    // a long answer is not even read, and the session goes on
    world.start(Job::Touch);
    assert_eq!(world.length(1 << 20), [Effect::Skip]);
    let effects = world.run(|machine, now, effects| machine.skipped(now, effects));
    assert_eq!(effects, [IDLE]);
    assert_eq!(world.machine.session().id(), Some(9));
}

#[test]
fn a_touch_without_a_session_does_nothing() {
    let mut world = World::new();
    world.machine.connection = Some(true);
    assert_eq!(world.start(Job::Touch), [Effect::Idle(SessionState::None)]);
}

#[test]
fn b202_closing_ends_the_session_unless_an_answer_is_half_read() {
    let mut world = World::busy();
    world.answered();
    let mut effects = Effects::new();
    let plan = world.machine.close(&mut effects).expect("a session to end");
    assert_eq!((plan.session_id, plan.session_epoch), (9, -1));
    assert_eq!(world.machine.close(&mut effects), None);
    assert_eq!(effects, []);

    let mut world = World::busy();
    world.answered();
    world.start(Job::Fetch(grant(2)));
    world.length(100);
    assert_eq!(world.machine.close(&mut effects), None);
    assert_eq!(effects, [Effect::Done(TicketId(2), Outcome::Failed, 0)]);
}

#[test]
fn an_answer_out_of_turn_costs_the_connection() {
    let mut world = World::busy();
    world.answered();
    assert_eq!(world.length(10), [Effect::Disconnect]);
}

/// How long the broker may wait with what it is asked now.
fn max_wait(effects: &Effects) -> Duration {
    let [Effect::Send(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    request.max_wait
}

fn patient(ticket: u64) -> Grant {
    Grant {
        max_wait: MaxWait::Patient,
        ..grant(ticket)
    }
}

#[test]
fn a_broker_that_refused_a_session_may_wait_until_it_is_asked_for_one_again() {
    let mut world = World::busy();
    let mut waits = Vec::new();
    for ticket in 2..40 {
        // the answer says 0: no session
        world.length(100);
        let idle = world.run(|machine, now, effects| machine.answer(now, answer(0, 0), 0, effects));
        assert_eq!(idle.last(), Some(&Effect::Idle(SessionState::Refused)));
        let wait = max_wait(&world.start(Job::Fetch(patient(ticket))));
        waits.push(wait.as_millis());
        world.now += wait;
    }
    // attempts have the usual wait; the pauses between them grow, and what is asked meanwhile waits as long, but no longer than 10 s
    let expected = [
        1000, 500, 2000, 500, 4000, 500, 8000, 500, 10_000, 6000, 500,
    ];
    assert_eq!(waits[..expected.len()], expected);
    assert!(waits.iter().all(|wait| (500..=10_000).contains(wait)));
    assert_eq!(waits.iter().max(), Some(&10_000));
}

#[test]
fn patience_is_for_requests_without_a_session_and_ends_with_its_grant() {
    let mut world = World::busy();
    world.answered();
    let in_session = world.start(Job::Fetch(patient(2)));
    assert_eq!(max_wait(&in_session).as_millis(), 500);
    world.length(100);
    // the broker ends it, and refuses the next
    for _ in 0..2 {
        world.run(|machine, now, effects| machine.answer(now, answer(0, 0), 0, effects));
        world.start(Job::Fetch(grant(3)));
        world.length(100);
    }
    world.run(|machine, now, effects| machine.answer(now, answer(0, 0), 0, effects));
    assert_eq!(
        max_wait(&world.start(Job::Fetch(grant(4)))).as_millis(),
        500
    );
    world.length(100);
    world.run(|machine, now, effects| machine.answer(now, answer(0, 0), 0, effects));
    let at_once = Grant {
        max_wait: MaxWait::Zero,
        ..grant(5)
    };
    assert_eq!(max_wait(&world.start(Job::Fetch(at_once))), Duration::ZERO);
}
