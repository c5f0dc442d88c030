//! Topics that are to be known although nothing of them is assigned.

use std::sync::Arc;

use buffer_actor::NodeId;
use session_actor::{ClusterSnapshot, WatchTopics};

use super::super::turns::Topics;
use super::*;

const UNKNOWN: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;

fn names<const N: usize>(names: [&str; N]) -> WatchTopics {
    WatchTopics {
        names: names.into_iter().map(Arc::from).collect(),
        ..WatchTopics::default()
    }
}

fn ids<const N: usize>(ids: [u128; N]) -> WatchTopics {
    WatchTopics {
        ids: ids.into_iter().map(Uuid::from_u128).collect(),
        ..WatchTopics::default()
    }
}

fn everything() -> WatchTopics {
    WatchTopics {
        all: true,
        ..WatchTopics::default()
    }
}

/// A topic of one partition; `Err`: what the brokers say instead.
type Answer = (&'static str, Result<u128, ErrorCode>);

fn answer<const N: usize>(topics: [Answer; N]) -> View {
    let mut answer = view(&[(1, 0)]);
    let described = answer.topics.remove(0);
    answer.topics = topics
        .into_iter()
        .map(|(name, found)| TopicView {
            name: name.to_owned(),
            id: Uuid::from_u128(found.unwrap_or_default()),
            error: found.err().unwrap_or_default(),
            ..described.clone()
        })
        .collect();
    answer
}

impl World {
    fn watch(&mut self, topics: WatchTopics) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.watch(now, topics, effects))
    }

    /// What is asked for next, before `limit` is over.
    fn next_question(&mut self, limit: Duration) -> Topics {
        loop {
            let effects = self.wait(limit);
            if let Some(topics) = question(&effects) {
                return topics;
            }
        }
    }

    /// The cluster as it was told of last.
    fn after(&mut self, view: View) -> Arc<ClusterSnapshot> {
        self.answer(view);
        self.machine.snapshot()
    }
}

fn question(effects: &[Effect]) -> Option<Topics> {
    effects.iter().find_map(|effect| match effect {
        Effect::AskMetadata { topics, .. } => Some(topics.clone()),
        _ => None,
    })
}

fn named<const N: usize>(names: [&str; N]) -> Topics {
    Topics::Names(names.into_iter().map(Arc::from).collect())
}

fn with_id(id: u128) -> Topics {
    Topics::Ids(vec![Uuid::from_u128(id)])
}

fn topics(snapshot: &ClusterSnapshot) -> Vec<&str> {
    snapshot.topics.keys().map(|name| &**name).collect()
}

fn missing(snapshot: &ClusterSnapshot) -> Vec<(&str, ErrorCode)> {
    let missing = snapshot.missing.iter();
    missing.map(|(name, code)| (&**name, *code)).collect()
}

const SOON: Duration = Duration::from_millis(1200);
const MAX_AGE: Duration = Duration::from_secs(300);

#[test]
fn watched_topics_are_asked_for_at_once_and_with_every_refresh() {
    let mut world = World::new();
    assert_eq!(
        question(&world.watch(names(["t", "u"]))),
        Some(named(["t", "u"]))
    );
    let snapshot = world.after(answer([("t", Ok(7)), ("u", Ok(8))]));
    assert_eq!(topics(&snapshot), ["t", "u"]);
    assert_eq!(missing(&snapshot), []);
    // the same again, and less, need no question
    assert_eq!(question(&world.watch(names(["u"]))), None);
    assert_eq!(world.next_question(MAX_AGE), named(["u"]));
    world.answer(answer([("u", Ok(8))]));
    // beside what is assigned
    world.assign(1);
    world.stale();
    assert_eq!(world.next_question(SOON), named(["t", "u"]));
    world.answer(answer([("t", Ok(7)), ("u", Ok(8))]));
    // and not when nobody wants them any more
    world.watch(WatchTopics::default());
    world.stale();
    assert_eq!(world.next_question(SOON), named(["t"]));
}

#[test]
fn b041_a_watched_topic_that_is_not_there_is_asked_for_again_and_no_error_is_reported() {
    // what the brokers say, and whether they are asked again soon
    let table = [
        (UNKNOWN, true),
        (ErrorCode::LEADER_NOT_AVAILABLE, true),
        (ErrorCode::TOPIC_AUTHORIZATION_FAILED, false),
        (ErrorCode::INVALID_TOPIC_EXCEPTION, false),
    ];
    for (error, again) in table {
        let mut world = World::new();
        world.watch(names(["t", "u"]));
        let mut effects = world.answer(answer([("t", Ok(7)), ("u", Err(error))]));
        let snapshot = world.machine.snapshot();
        assert_eq!(
            (topics(&snapshot), missing(&snapshot)),
            (vec!["t"], vec![("u", error)])
        );
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Missing(name, _) if &**name == "u")),
            "it is logged"
        );
        let begin = world.now;
        let mut asked = 0;
        while world.now < begin + Duration::from_secs(20) {
            for effect in effects.drain(..) {
                assert!(!matches!(effect, Effect::Report(..)), "{effect:?}");
            }
            effects = world.wait(MAX_AGE);
            if question(&effects).is_some() {
                asked += 1;
                effects.extend(world.answer(answer([("t", Ok(7)), ("u", Err(error))])));
            }
        }
        // growing pauses, up to a second
        let expected = if again { 18..35 } else { 1..2 };
        assert!(expected.contains(&asked), "{error}: {asked}");
        // there at last
        world.stale();
        world.next_question(SOON);
        let snapshot = world.after(answer([("t", Ok(7)), ("u", Ok(8))]));
        assert_eq!(
            (topics(&snapshot), missing(&snapshot)),
            (vec!["t", "u"], vec![])
        );
    }
}

#[test]
fn f025_a_watched_topic_that_was_there_is_missing_only_when_that_lasts() {
    for (error, lasts) in [(UNKNOWN, true), (ErrorCode::LEADER_NOT_AVAILABLE, false)] {
        let mut world = World::new();
        world.watch(names(["t"]));
        world.answer(answer([("t", Ok(7))]));
        world.stale();
        world.next_question(SOON);
        let begin = world.now;
        let mut gone = None;
        let mut snapshot = world.after(answer([("t", Err(error))]));
        while world.now < begin + Duration::from_secs(10) {
            if question(&world.wait(SOON)).is_some() {
                world.answer(answer([("t", Err(error))]));
            }
            snapshot = world.machine.snapshot();
            if snapshot.topics.is_empty() {
                gone.get_or_insert(world.now - begin);
            } else {
                assert_eq!(missing(&snapshot), []);
            }
        }
        assert_eq!(gone, lasts.then_some(Duration::from_secs(4)));
        assert_eq!(
            missing(&snapshot),
            if lasts { vec![("t", error)] } else { vec![] }
        );
        // who stops watching hears no more of it
        world.watch(WatchTopics::default());
        assert_eq!(missing(&world.machine.snapshot()), []);
    }
}

#[test]
fn b158_an_id_without_a_known_name_is_asked_for_by_id_until_the_name_arrives() {
    let mut world = World::new();
    assert_eq!(question(&world.watch(ids([7]))), Some(with_id(7)));
    // the brokers do not know it yet: such an answer has no name
    assert_eq!(topics(&world.after(answer([]))), Vec::<&str>::new());
    assert_eq!(world.next_question(SOON), with_id(7));
    let snapshot = world.after(answer([("t", Ok(7))]));
    let found = snapshot.topic_with_id(Uuid::from_u128(7)).unwrap();
    assert_eq!(&*found.topic.name, "t");
    // from then on by its name, which tells of its partitions
    assert_eq!(world.next_question(MAX_AGE), named(["t"]));
}

#[test]
fn names_and_ids_go_in_requests_of_their_own_and_neither_waits_for_the_other() {
    let mut world = World::new();
    let both = WatchTopics {
        ids: ids([8]).ids,
        ..names(["t"])
    };
    assert_eq!(question(&world.watch(both)), Some(named(["t"])));
    world.answer(answer([("t", Err(UNKNOWN))]));
    let mut asked = Vec::new();
    for _ in 0..4 {
        let question = world.next_question(SOON);
        world.answer(match question {
            Topics::Names(_) => answer([("t", Err(UNKNOWN))]),
            _ => answer([]),
        });
        asked.push(question);
    }
    let turns = [with_id(8), named(["t"]), with_id(8), named(["t"])];
    assert_eq!(asked, turns);
    // a lost request is asked again before the others have their turn
    assert_eq!(world.next_question(SOON), with_id(8));
    assert_eq!(question(&world.fail(lost(1))), Some(with_id(8)));
}

#[test]
fn f012_a_topic_made_anew_is_seen_by_name_and_by_id() {
    let mut world = World::new();
    let watch = |id| WatchTopics {
        ids: ids([id]).ids,
        ..names(["t"])
    };
    world.watch(watch(7));
    world.answer(answer([("t", Ok(7))]));
    // by name
    world.stale();
    world.next_question(SOON);
    let snapshot = world.after(answer([("t", Ok(8))]));
    assert_eq!(snapshot.topics["t"].topic.id, Uuid::from_u128(8));
    assert!(snapshot.topic_with_id(Uuid::from_u128(7)).is_none());
    assert!(snapshot.topic_with_id(Uuid::from_u128(8)).is_some());
    // by id: the group hears of another one before the names are asked for again
    assert_eq!(world.next_question(SOON), with_id(7));
    world.answer(answer([]));
    world.watch(watch(9));
    assert_eq!(world.next_question(SOON), with_id(9));
    let snapshot = world.after(answer([("t", Ok(9))]));
    assert_eq!(snapshot.topics["t"].topic.id, Uuid::from_u128(9));
    assert!(snapshot.topic_with_id(Uuid::from_u128(8)).is_none());
    // nothing is open, and nothing else is asked
    assert_eq!(world.next_question(MAX_AGE), named(["t"]));
    // a broker that has not heard of it changes nothing
    let snapshot = world.after(answer([("t", Ok(8))]));
    assert_eq!(snapshot.topics["t"].topic.id, Uuid::from_u128(9));
}

#[test]
fn b153_all_topics_are_listed_at_once_and_every_metadata_max_age_ms() {
    let mut world = World::new();
    world.assign(1);
    world.answer(answer([("t", Ok(7))]));
    world.watch(everything());
    assert_eq!(world.next_question(SOON), Topics::All);
    let snapshot = world.after(answer([("t", Ok(7)), ("u", Ok(8)), ("v", Ok(9))]));
    assert_eq!(topics(&snapshot), ["t", "u", "v"]);
    // a sign of change is no reason to list all of them
    world.stale();
    assert_eq!(world.next_question(SOON), named(["t"]));
    let snapshot = world.after(answer([("t", Ok(7))]));
    assert_eq!(topics(&snapshot), ["t", "u", "v"]);
    let begin = world.now;
    assert_eq!(world.next_question(MAX_AGE), Topics::All);
    assert_eq!(world.now - begin, MAX_AGE);
    // deleted, created, in an election
    let unled = Err(ErrorCode::LEADER_NOT_AVAILABLE);
    let snapshot = world.after(answer([("t", Ok(7)), ("v", unled), ("w", Ok(10))]));
    assert_eq!(topics(&snapshot), ["t", "v", "w"]);
    // nobody matches patterns any more
    let effects = world.watch(WatchTopics::default());
    assert_eq!(topics(published(&effects).unwrap()), ["t"]);
}

#[test]
fn what_a_list_lacks_and_somebody_needs_is_asked_for_by_name() {
    let mut world = World::new();
    world.watch(WatchTopics {
        all: true,
        ..names(["secret"])
    });
    // topics that may not be seen are not listed
    let snapshot = world.after(answer([("t", Ok(7))]));
    assert_eq!(missing(&snapshot), [("secret", UNKNOWN)]);
    assert_eq!(world.next_question(SOON), named(["secret"]));
    let forbidden = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    let snapshot = world.after(answer([("secret", Err(forbidden))]));
    assert_eq!(missing(&snapshot), [("secret", forbidden)]);
    assert_eq!(topics(&snapshot), ["t"]);
}

#[test]
fn a_list_that_comes_when_nobody_wants_it_any_more_adds_nothing() {
    let mut world = World::new();
    assert_eq!(question(&world.watch(everything())), Some(Topics::All));
    world.watch(names(["t"]));
    let snapshot = world.after(answer([("t", Ok(7)), ("u", Ok(8))]));
    assert_eq!(topics(&snapshot), ["t"]);
}

#[test]
fn b120_an_assigned_topic_that_a_list_lacks_is_not_gone_at_once() {
    let mut world = World::new();
    world.assign(1);
    world.answer(answer([("t", Ok(7))]));
    world.watch(everything());
    world.next_question(SOON);
    let snapshot = world.after(answer([]));
    assert_eq!(topics(&snapshot), ["t"]);
    assert_eq!(world.next_question(SOON), named(["t"]));
}

/// Nobody named it: that it is gone is no error, and no question about it creates it anew.
#[test]
fn b153_a_topic_that_a_pattern_found_and_that_was_deleted_is_gone_without_an_error() {
    for (watched, may_create, reports) in [
        (everything(), false, 0),
        // what the coordinator assigned by a pattern of its own (KIP-848)
        (ids([7]), false, 0),
        (names(["t"]), true, 1),
    ] {
        let mut world = World::new();
        world.assign(1);
        world.answer(answer([("t", Ok(7))]));
        world.watch(watched.clone());
        let mut effects = world.stale();
        let mut told = 0;
        for _ in 0..50 {
            for effect in std::mem::take(&mut effects) {
                match effect {
                    Effect::AskMetadata {
                        topics,
                        may_create: creates,
                        ..
                    } => {
                        let by_name = matches!(topics, Topics::Names(_));
                        assert_eq!(creates, may_create && by_name, "{watched:?}");
                        effects.extend(world.answer(answer([("t", Err(UNKNOWN))])));
                    }
                    Effect::Report(..) => told += 1,
                    _ => {}
                }
            }
            if !world.machine.snapshot().topics.contains_key("t") {
                break;
            }
            effects.extend(world.wait(SOON));
        }
        assert_eq!(told, reports, "{watched:?}");
        assert!(
            !world.machine.snapshot().topics.contains_key("t"),
            "{watched:?}"
        );
    }
}

#[test]
fn racks_and_replicas_are_told_and_news_of_them_is_news() {
    let mut world = World::new();
    world.watch(names(["t"]));
    let described = |replicas: [&[i32]; 2], leader_epoch| {
        let mut view = view(&[(1, leader_epoch), (2, leader_epoch)]);
        view.racks = [(NodeId(1), "a".into())].into();
        for (partition, nodes) in view.topics[0].partitions.iter_mut().zip(replicas) {
            partition.replicas = nodes.iter().copied().map(NodeId).collect();
        }
        view
    };
    let again = |world: &mut World, view: View| {
        let effects = world.answer(view);
        world.stale();
        world.next_question(SOON);
        published(&effects).cloned()
    };
    let first = again(&mut world, described([&[1, 2], &[2]], 5)).unwrap();
    assert_eq!(&*first.racks[&NodeId(1)], "a");
    let replicas = &first.topics["t"].replicas;
    assert_eq!(replicas.of(0), [NodeId(1), NodeId(2)]);
    assert_eq!(replicas.of(1), [NodeId(2)]);
    assert_eq!((replicas.of(2), replicas.of(-1)), (&[][..], &[][..]));
    assert_eq!(again(&mut world, described([&[1, 2], &[2]], 5)), None);
    let moved = again(&mut world, described([&[1, 2], &[1, 2]], 6)).unwrap();
    assert_eq!(moved.topics["t"].replicas.of(1), [NodeId(1), NodeId(2)]);
    // a broker that lags behind brings nothing back
    assert_eq!(again(&mut world, described([&[1, 2], &[2]], 5)), None);
}
