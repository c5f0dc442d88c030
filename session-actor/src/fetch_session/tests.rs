//! What the Java client's `FetchSessionHandlerTest` checks, and what ours adds: parked partitions, touches, slots reused.

mod changes;

use std::collections::BTreeSet;

use buffer_actor::{Changes, Derived, Grant, Lane, MaxWait, NodeId, TicketId};

use super::*;

const T: [u8; 16] = [7; 16];

struct World {
    session: FetchSession,
    table: Arc<PartitionTable>,
    grants: u64,
    now: Instant,
}

fn id(partition: i32) -> PartitionId {
    PartitionId::new(partition as u32, 1)
}

fn topic(byte: u8) -> Arc<Topic> {
    Arc::new(Topic {
        name: "t".into(),
        id: Uuid::from_bytes([byte; 16]),
    })
}

fn ask(partition: i32, offset: i64) -> Ask {
    Ask {
        partition: id(partition),
        epoch: FetchEpoch(1),
        offset,
        leader_epoch: 0,
        max_bytes: 100,
        parked: false,
        served: 0,
    }
}

const fn head(session_id: i32) -> AnswerHead {
    AnswerHead {
        error_code: 0,
        session_id,
        throttled: false,
    }
}

const fn failed(error_code: i16) -> AnswerHead {
    AnswerHead {
        error_code,
        session_id: 0,
        throttled: false,
    }
}

impl World {
    fn new(session: FetchSession) -> Self {
        let mut world = Self {
            session,
            table: Arc::default(),
            grants: 0,
            now: start(),
        };
        for partition in 0..3 {
            world.locate(id(partition), T[0], partition);
        }
        world
    }

    /// With a live session 123 of partitions 0..n at offset 0.
    fn live(partitions: i32) -> Self {
        let mut world = Self::new(FetchSession::incremental());
        let asks: Vec<Ask> = (0..partitions).map(|partition| ask(partition, 0)).collect();
        world.build(&asks);
        assert_eq!(world.full_answer(123, partitions), Verdict::Accepted);
        world
    }

    fn locate(&mut self, partition: PartitionId, topic_id: u8, index: i32) {
        Arc::make_mut(&mut self.table).insert(Located {
            partition,
            topic: topic(topic_id),
            index,
        });
    }

    fn build(&mut self, asks: &[Ask]) -> Plan {
        let grant = self.grant(asks, None);
        self.session.build(self.now, &grant, &self.table, true)
    }

    fn grant(&mut self, asks: &[Ask], changes: Option<Changes>) -> Grant {
        self.grants += 1;
        Grant {
            ticket: TicketId(self.grants),
            node: NodeId(1),
            lane: Lane::Session,
            plan: 1,
            max_wait: MaxWait::Full,
            max_bytes: 1000,
            reserved: 1200,
            asks: Arc::new(asks.to_vec()),
            changes: Derived(changes),
        }
    }

    fn answer(&mut self, head: AnswerHead, partitions: &[i32]) -> Verdict {
        let partitions = partitions.iter().map(|&partition| Some(id(partition)));
        self.session.receive(self.now, head, partitions)
    }

    fn full_answer(&mut self, session_id: i32, partitions: i32) -> Verdict {
        let partitions: Vec<i32> = (0..partitions).collect();
        self.answer(head(session_id), &partitions)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test needs some moment to begin with"
)]
fn start() -> Instant {
    Instant::now()
}

use uuid::Uuid;

/// (index, offset) of what is named.
fn named(plan: &Plan) -> Vec<(i32, i64)> {
    plan.named
        .iter()
        .map(|named| (named.index, named.sent.offset))
        .collect()
}

fn forgotten(plan: &Plan) -> Vec<i32> {
    plan.forgotten.iter().map(|gone| gone.index).collect()
}

const fn session(plan: &Plan) -> (i32, i32) {
    (plan.session_id, plan.session_epoch)
}

#[test]
fn b040_a_broker_that_refuses_a_session_is_asked_again_after_a_growing_pause() {
    let mut world = World::new(FetchSession::incremental());
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, 0));
    assert_eq!(world.full_answer(0, 1), Verdict::Accepted);
    // ours: in between every request is full and sessionless, and asks for no slot
    for _ in 0..3 {
        let plan = world.build(&[ask(0, 5)]);
        assert_eq!((session(&plan), named(&plan)), ((0, -1), vec![(0, 5)]));
        assert_eq!(world.full_answer(0, 1), Verdict::Accepted);
    }
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        world.now += Duration::from_secs(pause) - Duration::from_millis(1);
        assert_eq!(session(&world.build(&[ask(0, 5)])), (0, -1));
        world.full_answer(0, 1);
        world.now += Duration::from_millis(1);
        assert_eq!(session(&world.build(&[ask(0, 5)])), (0, 0));
        world.full_answer(0, 1);
    }
}

#[test]
fn b041_b042_b053_an_increment_names_what_changed_new_ones_first() {
    let mut world = World::new(FetchSession::incremental());
    let plan = world.build(&[ask(0, 3), ask(1, 10)]);
    assert_eq!(
        (session(&plan), named(&plan)),
        ((0, 0), vec![(0, 3), (1, 10)])
    );
    world.full_answer(123, 2);
    let plan = world.build(&[ask(0, 4), ask(1, 10), ask(2, 1)]);
    assert_eq!(session(&plan), (123, 1));
    assert_eq!(named(&plan), [(2, 1), (0, 4)]);
    assert!(plan.forgotten.is_empty());
    // an answer that mentions nobody
    assert_eq!(world.answer(head(123), &[]), Verdict::Accepted);
    let plan = world.build(&[ask(0, 6), ask(1, 10), ask(2, 1)]);
    assert_eq!((session(&plan), named(&plan)), ((123, 2), vec![(0, 6)]));
}

#[test]
fn b043_f010_each_top_level_error_leads_to_a_full_request() {
    for (code, closes, refresh) in [(70, 0, false), (71, 123, false), (106, 123, true)] {
        let mut world = World::live(1);
        world.build(&[ask(0, 1)]);
        let verdict = world.answer(failed(code), &[]);
        assert!(
            matches!(verdict, Verdict::Rejected { refresh_metadata, .. } if refresh_metadata == refresh),
            "{code}"
        );
        let plan = world.build(&[ask(0, 1)]);
        assert_eq!(
            (session(&plan), named(&plan)),
            ((closes, 0), vec![(0, 1)]),
            "{code}"
        );
    }
}

#[test]
fn b044_a_lost_answer_leads_to_a_full_request_that_closes_the_session() {
    let mut world = World::live(1);
    world.build(&[ask(0, 1)]);
    world.session.lost();
    assert_eq!(session(&world.build(&[ask(0, 1)])), (123, 0));
    // lost again: still the same session to close
    world.session.lost();
    assert_eq!(session(&world.build(&[ask(0, 1)])), (123, 0));
}

#[test]
fn b045_f008_what_is_not_asked_for_is_forgotten() {
    let mut world = World::live(3);
    let plan = world.build(&[ask(1, 0)]);
    assert_eq!((session(&plan), named(&plan)), ((123, 1), vec![]));
    assert_eq!(forgotten(&plan), [0, 2]);
    // and nobody knows it any more
    assert_eq!(world.session.asked(id(0)), None);
    let key = TopicKey::Id(Uuid::from_bytes(T));
    assert_eq!(
        world.session.topic(key).unwrap().keys().collect::<Vec<_>>(),
        [&1]
    );
}

#[test]
fn b046_all_forgotten_ends_the_session() {
    let mut world = World::live(1);
    let plan = world.build(&[]);
    assert_eq!((session(&plan), forgotten(&plan)), ((123, 1), vec![0]));
    assert_eq!(world.answer(head(0), &[]), Verdict::Accepted);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, 0));
}

#[test]
fn b047_f009_a_new_topic_id_is_sent_and_the_old_one_forgotten_by_its_own() {
    let mut world = World::live(1);
    world.locate(id(0), 9, 0);
    let plan = world.build(&[ask(0, 0)]);
    assert_eq!(session(&plan), (123, 1));
    assert_eq!(plan.named[0].topic.id, Uuid::from_bytes([9; 16]));
    assert_eq!(plan.forgotten[0].topic.id, Uuid::from_bytes(T));
    assert!(
        world
            .session
            .topic(TopicKey::Id(Uuid::from_bytes(T)))
            .is_none()
    );

    // a partition that leaves is forgotten by the id it was named by, whatever the table says now
    let mut world = World::live(1);
    world.locate(PartitionId::new(0, 2), 0, 0);
    let plan = world.build(&[ask(1, 0)]);
    assert_eq!(plan.forgotten[0].topic.id, Uuid::from_bytes(T));
}

#[test]
fn b048_a_change_between_ids_and_names_starts_over() {
    let mut world = World::live(1);
    world.locate(id(1), 0, 1);
    let plan = world.build(&[ask(0, 0), ask(1, 0)]);
    assert_eq!((session(&plan), forgotten(&plan)), ((123, 0), vec![]));
    assert!(!plan.topic_ids);
    assert!(world.session.topic(TopicKey::Name(b"t")).is_some());
    assert_eq!(world.full_answer(124, 2), Verdict::Accepted);
    world.locate(id(1), T[0], 1);
    let plan = world.build(&[ask(0, 0), ask(1, 0)]);
    assert_eq!((session(&plan), plan.topic_ids), ((124, 0), true));
}

#[test]
fn b049_answers_about_other_partitions_are_rejected() {
    let mut world = World::new(FetchSession::incremental());
    world.build(&[ask(0, 0), ask(1, 0)]);
    assert_ne!(world.answer(head(123), &[0]), Verdict::Accepted);
    assert_eq!(session(&world.build(&[ask(0, 0), ask(1, 0)])), (0, 0));
    assert_ne!(world.answer(head(123), &[0, 1, 2]), Verdict::Accepted);

    let mut world = World::live(2);
    world.build(&[ask(0, 0), ask(1, 0)]);
    assert_ne!(world.answer(head(123), &[2]), Verdict::Accepted);
    assert_eq!(session(&world.build(&[ask(0, 0), ask(1, 0)])), (123, 0));
    // twice the same counts once (hostile, but harmless)
    assert_eq!(world.answer(head(5), &[0, 1, 1]), Verdict::Accepted);
}

#[test]
fn b050_an_empty_answer_of_a_muted_channel_is_rejected_quietly() {
    let mut world = World::new(FetchSession::incremental());
    world.build(&[ask(0, 0)]);
    let throttled = AnswerHead {
        throttled: true,
        ..head(0)
    };
    assert_ne!(world.answer(throttled, &[]), Verdict::Accepted);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, 0));
}

#[test]
fn b051_b202_closing_names_the_session_once() {
    let mut world = World::live(1);
    let plan = world.session.close().unwrap();
    assert_eq!((session(&plan), named(&plan)), ((123, -1), vec![]));
    assert_eq!(world.session.close(), None);
    assert_eq!(FetchSession::sessionless().close(), None);
}

#[test]
fn b052_the_epoch_rises_by_one_and_wraps_to_one() {
    let mut world = World::live(1);
    for epoch in 1..=1000 {
        assert_eq!(session(&world.build(&[ask(0, 0)])), (123, epoch));
        world.answer(head(123), &[]);
    }
    world.session.next = Next::Incremental {
        id: 123,
        epoch: i32::MAX,
    };
    world.build(&[ask(0, 0)]);
    world.answer(head(123), &[]);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (123, 1));
}

#[test]
fn b054_forgotten_and_added_again_it_is_named_again() {
    let mut world = World::live(2);
    world.build(&[ask(0, 0)]);
    world.answer(head(123), &[]);
    let plan = world.build(&[ask(0, 0), ask(1, 0)]);
    assert_eq!((session(&plan), named(&plan)), ((123, 2), vec![(1, 0)]));
}

#[test]
fn f011_b056_a_slow_application_changes_nothing_about_the_session() {
    let mut world = World::live(3);
    for request in 1..=1000 {
        let asks: Vec<Ask> = (0..3)
            .map(|partition| ask(partition, i64::from(request)))
            .collect();
        let plan = world.build(&asks);
        assert_eq!((session(&plan), plan.named.len()), ((123, request), 3));
        assert!(plan.forgotten.is_empty());
        world.answer(head(123), &[0, 1, 2]);
    }
}

#[test]
fn a_parked_partition_stays_in_the_session_and_nobody_asks_for_it() {
    let mut world = World::live(2);
    let parked = Ask {
        offset: 50,
        max_bytes: 0,
        parked: true,
        ..ask(1, 0)
    };
    let plan = world.build(&[ask(0, 0), parked]);
    assert_eq!((named(&plan), forgotten(&plan)), (vec![(1, 50)], vec![]));
    assert_eq!(plan.named[0].sent.max_bytes, 0);
    assert_eq!(world.session.asked(id(1)), None);
    assert_eq!(world.session.asked(id(0)), Some(FetchEpoch(1)));
}

#[test]
fn a_parked_partition_is_named_at_the_newest_high_watermark_that_an_answer_told() {
    let mut world = World::live(2);
    let parked = Ask {
        offset: 50,
        max_bytes: 0,
        parked: true,
        ..ask(1, 0)
    };
    world.build(&[ask(0, 0), parked]);
    // records came, and their first batch was sent with this answer: at 50 the next one would come back at once, with it again
    world.session.observe(id(1), told(60));
    world.answer(head(123), &[1]);
    let plan = world.build(&[ask(0, 0), parked]);
    assert_eq!(named(&plan), [(1, 60)]);
    let later = Ask {
        offset: 70,
        ..parked
    };
    assert_eq!(named(&world.build(&[ask(0, 0), later])), [(1, 70)]);
}

fn told(high: i64) -> Watermarks {
    Watermarks {
        high,
        last_stable: high,
        log_start: 0,
    }
}

#[test]
fn what_a_broker_does_not_repeat_is_told_again_under_a_new_epoch() {
    let mut world = World::live(2);
    world.session.observe(id(0), told(30));
    world.session.observe(id(1), told(60));
    world.build(&[ask(0, 10), ask(1, 10)]);
    world.answer(head(123), &[]);
    assert_eq!(world.session.untold(), []);
    // a seek: the answer leaves both out, and told of partition 0 only under the epoch that is over
    let sought = |partition| Ask {
        epoch: FetchEpoch(9),
        ..ask(partition, 20)
    };
    world.build(&[sought(0), ask(1, 10)]);
    world.answer(head(123), &[]);
    assert_eq!(world.session.untold(), [(id(0), FetchEpoch(9), told(30))]);
    world.build(&[sought(0), ask(1, 10)]);
    world.answer(head(123), &[]);
    assert_eq!(world.session.untold(), []);
    // what the answer mentions is not told twice
    world.build(&[sought(0), sought(1)]);
    world.answer(head(123), &[1]);
    assert_eq!(world.session.untold(), []);
}

#[test]
fn lane_2_takes_no_session_from_a_broker_that_gives_one_unasked() {
    let mut world = World::new(FetchSession::sessionless());
    world.build(&[ask(0, 0)]);
    assert_eq!(world.full_answer(9, 1), Verdict::Accepted);
    assert_eq!(world.session.id(), None);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, -1));

    // nor does lane 1 while it waits to ask again
    let mut world = World::new(FetchSession::incremental());
    world.build(&[ask(0, 0)]);
    world.full_answer(0, 1);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, -1));
    world.full_answer(9, 1);
    assert_eq!(session(&world.build(&[ask(0, 0)])), (0, -1));
}

#[test]
fn a_touch_parks_everything_and_the_next_request_names_everything_again() {
    let mut world = World::live(2);
    world.session.observe(id(0), told(30));
    let plan = world.session.touch().unwrap();
    assert_eq!(
        (session(&plan), named(&plan)),
        ((123, 1), vec![(0, 30), (1, 0)])
    );
    assert!(plan.named.iter().all(|named| named.sent.max_bytes == 0));
    assert_eq!(world.session.asked(id(0)), None);
    world.answer(head(123), &[]);
    let plan = world.build(&[ask(0, 0), ask(1, 0)]);
    assert_eq!(
        (session(&plan), named(&plan)),
        ((123, 2), vec![(0, 0), (1, 0)])
    );
    assert_eq!(FetchSession::incremental().touch(), None);
}

#[test]
fn an_answer_thrown_away_unread_counts_as_received() {
    let mut world = World::live(1);
    world.build(&[ask(0, 0)]);
    world.session.skipped();
    assert_eq!(session(&world.build(&[ask(0, 0)])), (123, 2));
    let mut fresh = World::new(FetchSession::incremental());
    fresh.build(&[ask(0, 0)]);
    fresh.session.skipped();
    assert_eq!(session(&fresh.build(&[ask(0, 0)])), (0, 0));
}

#[test]
fn a_partition_that_comes_back_under_another_id_is_not_forgotten() {
    let mut world = World::live(1);
    // unassigned, its slot taken by partition 5, assigned again in another slot
    let (other, back) = (PartitionId::new(0, 2), PartitionId::new(1, 2));
    world.locate(other, T[0], 5);
    world.locate(back, T[0], 0);
    let at = |partition, offset| Ask {
        partition,
        ..ask(0, offset)
    };
    let plan = world.build(&[at(other, 7), at(back, 9)]);
    assert_eq!(named(&plan), [(5, 7), (0, 9)]);
    assert!(plan.forgotten.is_empty());
    let topic = world
        .session
        .topic(TopicKey::Id(Uuid::from_bytes(T)))
        .unwrap();
    assert_eq!(topic.get(&0), Some(&back));
    assert_eq!(topic.get(&5), Some(&other));
}

#[test]
fn lane_2_asks_without_a_session_the_one_served_longest_ago_first() {
    let mut world = World::new(FetchSession::sessionless());
    let served = |partition, served| Ask {
        served,
        ..ask(partition, 0)
    };
    let plan = world.build(&[served(0, 9), served(1, 2), served(2, 5)]);
    assert_eq!(session(&plan), (0, -1));
    assert_eq!(named(&plan), [(1, 0), (2, 0), (0, 0)]);
    assert_eq!(world.full_answer(0, 3), Verdict::Accepted);
    world.now += Duration::from_secs(600);
    assert_eq!(session(&world.build(&[ask(0, 1)])), (0, -1));
}

/// A lane that rests is touched time and again while producers go on.
#[test]
fn what_touches_are_told_does_not_pile_up() {
    let mut world = World::live(1);
    for high in 1..100 {
        world.session.touch().unwrap();
        world.answer(head(123), &[0]);
        world.session.observe(id(0), told(high));
    }
    assert!(world.session.misparked.len() <= 1);
}
