//! When something is said about a silence, and what.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Some time; what counts is what passes after it.
fn start() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn view(partition: i32, position: Option<i64>, end: Option<i64>) -> View {
    View {
        name: TopicPartition::new("orders", partition),
        position,
        end,
    }
}

fn at_end() -> Stage {
    Stage::Reading(vec![view(0, Some(17), Some(17))])
}

fn stuck() -> Stage {
    Stage::Reading(vec![view(0, Some(17), Some(20))])
}

#[test]
fn f077_nothing_is_said_before_some_seconds_and_once_after() {
    let start = start();
    let mut silence = Silence::new(start);
    assert_eq!(silence.look(start, at_end), None);
    let early = start + PATIENCE - Duration::from_millis(1);
    assert_eq!(
        silence.look(early, || unreachable!("no stage is looked at before")),
        None
    );
    assert_eq!(silence.next_look(), start + PATIENCE);
    assert_eq!(
        silence.look(start + PATIENCE, at_end).as_deref(),
        Some("waiting at the end: nothing newer in orders-0 at offset 17")
    );
    for second in 1..100 {
        assert_eq!(
            silence.look(start + PATIENCE + second * SECOND, at_end),
            None
        );
    }
}

#[test]
fn f077_what_is_said_comes_within_five_seconds() {
    let start = start();
    let mut silence = Silence::new(start);
    let said = (0..)
        .map(|step| start + step * Duration::from_millis(500))
        .find(|&now| silence.look(now, at_end).is_some());
    assert!(said.unwrap() <= start + 5 * SECOND);
}

#[test]
fn f077_each_cause_is_said_when_it_comes() {
    let topics = || Stage::Topics(vec!["orders".to_owned(), "bills".to_owned()]);
    let unknown = || Stage::Reading(vec![view(0, None, None)]);
    let unanswered = || Stage::Reading(vec![view(0, Some(3), None)]);
    let mut now = start();
    let mut silence = Silence::new(now);
    now += PATIENCE;
    let stages: [(&dyn Fn() -> Stage, &str); 5] = [
        (
            &topics,
            "waiting: no broker has told which partitions there are of orders, bills",
        ),
        (
            &unknown,
            "waiting: no leader has told the position of orders-0",
        ),
        (
            &unanswered,
            "waiting: no leader has answered a fetch of orders-0 at offset 3",
        ),
        (
            &stuck,
            "waiting: there is more, but nothing comes of orders-0 at offset 17 of 20",
        ),
        (
            &at_end,
            "waiting at the end: nothing newer in orders-0 at offset 17",
        ),
    ];
    for (stage, text) in stages {
        assert_eq!(silence.look(now, stage).as_deref(), Some(text));
        now += SECOND;
        assert_eq!(silence.look(now, stage), None);
        now += SECOND;
    }
}

#[test]
fn f077_the_worst_is_said_with_a_few_names() {
    let start = start();
    let mut silence = Silence::new(start);
    let mut views: Vec<_> = (0..10)
        .map(|partition| view(partition, Some(5), Some(5)))
        .collect();
    views[7].end = Some(9);
    let stage = || Stage::Reading(views.clone());
    assert_eq!(
        silence.look(start + PATIENCE, stage).as_deref(),
        Some("waiting: there is more, but nothing comes of orders-7 at offset 5 of 9")
    );
    views[7].end = Some(5);
    let stage = || Stage::Reading(views.clone());
    assert_eq!(
        silence.look(start + PATIENCE + SECOND, stage).as_deref(),
        Some(
            "waiting at the end: nothing newer in orders-0 at offset 5, orders-1 at offset 5, orders-2 at offset 5 and 7 more"
        )
    );
}

#[test]
fn f077_a_topic_with_a_record_now_and_then_is_not_commented_each_time() {
    let mut now = start();
    let mut silence = Silence::new(now);
    let mut said = 0;
    for _ in 0..10 {
        now += 2 * PATIENCE;
        said += usize::from(silence.look(now, at_end).is_some());
        silence.heard(now);
        assert_eq!(silence.look(now + SECOND, at_end), None);
    }
    assert_eq!(said, 1);
    // what is not as it should be is said each time
    for _ in 0..10 {
        now += 2 * PATIENCE;
        said += usize::from(silence.look(now, stuck).is_some());
        silence.heard(now);
    }
    assert_eq!(said, 11);
}

#[test]
fn f077_without_partitions_there_is_nothing_to_say() {
    let start = start();
    let mut silence = Silence::new(start);
    assert_eq!(
        silence.look(start + PATIENCE, || Stage::Reading(Vec::new())),
        None
    );
}
