//! Tables for the machine.

mod broker;
mod epochs;
mod lookups;
mod queries;
mod rebootstrap;
mod watch;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use buffer_actor::{
    Backoff, FetchEpoch, Lookup, NodeId, PartitionError, PartitionId, ResetTo, Sought,
};
use record_batch::TopicPartition;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};
use uuid::Uuid;

use super::machine::{Effect, MetadataConfig, MetadataMachine, Offset, PartitionsUnknown};
use super::view::{PartitionView, TopicView, View};
use crate::offsets::ListedOffset;

struct World {
    machine: MetadataMachine,
    now: Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test needs some moment to begin with"
)]
fn start() -> Instant {
    Instant::now()
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn id(partition: i32) -> PartitionId {
    PartitionId::new(partition.unsigned_abs(), 1)
}

fn address(port: u16) -> Address {
    Address::new("host", port)
}

fn lost(port: u16) -> WireError {
    WireError::Closed {
        peer: Peer {
            node: None,
            address: address(port),
        },
    }
}

/// Nodes 1 and 2 at ports 1 and 2; partition i led by `leaders[i]` (0: nobody).
fn view(leaders: &[(i32, i32)]) -> View {
    let partitions = leaders
        .iter()
        .enumerate()
        .map(|(index, &(leader, leader_epoch))| PartitionView {
            index: i32::try_from(index).unwrap(),
            leader: (leader > 0).then_some(NodeId(leader)),
            leader_epoch,
            replicas: Vec::new(),
            in_sync: Vec::new(),
            offline: Vec::new(),
        })
        .collect();
    View {
        brokers: vec![(NodeId(1), address(1)), (NodeId(2), address(2))],
        racks: BTreeMap::new(),
        topics: vec![TopicView {
            name: "t".to_owned(),
            id: Uuid::from_u128(7),
            error: ErrorCode::NONE,
            internal: false,
            partitions,
        }],
    }
}

fn failed_view(error: ErrorCode) -> View {
    let mut view = view(&[]);
    view.topics[0].error = error;
    view
}

fn lookup(partition: i32, epoch: u64) -> Lookup {
    Lookup {
        partition: id(partition),
        name: tp(partition),
        epoch: FetchEpoch(epoch),
        sought: Sought::End(ResetTo::Earliest),
    }
}

impl World {
    /// One partition assigned; bootstrap servers at ports 91 and 92.
    fn new() -> Self {
        let config = MetadataConfig {
            bootstrap: vec![address(91), address(92)],
            rebootstrap: Some(Duration::from_secs(300)),
            retry: Backoff {
                base: Duration::from_millis(100),
                max: Duration::from_secs(1),
            },
            reconnect: Backoff {
                base: Duration::from_millis(50),
                max: Duration::from_secs(1),
            },
            request_timeout: Duration::from_secs(30),
            api_timeout: Duration::from_secs(60),
            max_age: Duration::from_secs(300),
        };
        Self {
            machine: MetadataMachine::new(config, 0),
            now: start(),
        }
    }

    fn run(
        &mut self,
        event: impl FnOnce(&mut MetadataMachine, Instant, &mut Vec<Effect>),
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        event(&mut self.machine, self.now, &mut effects);
        effects
    }

    fn assign(&mut self, partitions: i32) -> Vec<Effect> {
        let added = (0..partitions)
            .map(|partition| (id(partition), tp(partition)))
            .collect();
        self.run(|machine, now, effects| machine.assignment(now, added, &[], effects))
    }

    fn answer(&mut self, view: View) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.refreshed(now, Ok(view), effects))
    }

    fn fail(&mut self, error: WireError) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.refreshed(now, Err(error), effects))
    }

    fn stale(&mut self) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.stale(now, effects))
    }

    fn look_up(&mut self, partition: i32, epoch: u64) -> Vec<Effect> {
        let lookup = lookup(partition, epoch);
        self.run(|machine, now, effects| machine.look_up(now, vec![lookup], effects))
    }

    fn wait(&mut self, limit: Duration) -> Vec<Effect> {
        let at = self.machine.poll_timeout().expect("a deadline");
        assert!(at <= self.now + limit, "{:?}", at - self.now);
        self.now = self.now.max(at);
        self.run(|machine, now, effects| machine.timeout(now, effects))
    }
}

/// Ports that were asked for metadata.
fn asked(effects: &[Effect]) -> Vec<u16> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::AskMetadata { peer, .. } => Some(peer.address.port()),
            _ => None,
        })
        .collect()
}

/// Ports that were asked for offsets, with the partitions.
fn offsets_asked(effects: &[Effect]) -> Vec<(u16, Vec<i32>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::AskOffsets { peer, asked } => {
                let partitions = asked.iter().map(|asked| asked.name.partition());
                Some((peer.address.port(), partitions.collect()))
            }
            _ => None,
        })
        .collect()
}

/// An offset as a broker tells it.
fn at(offset: i64) -> Offset {
    Ok(Some(ListedOffset {
        offset,
        timestamp: None,
        leader_epoch: None,
    }))
}

fn published(effects: &[Effect]) -> Option<&session_actor::ClusterSnapshot> {
    effects.iter().find_map(|effect| match effect {
        Effect::Publish(snapshot) => Some(&**snapshot),
        _ => None,
    })
}

#[test]
fn nothing_is_asked_before_something_is_assigned() {
    let world = World::new();
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn bootstrap_servers_are_tried_in_turn_and_then_after_a_pause() {
    let mut world = World::new();
    assert_eq!(asked(&world.assign(1)), [91]);
    assert_eq!(asked(&world.fail(lost(91))), [92]);
    assert!(asked(&world.fail(lost(92))).is_empty());
    let before = world.now;
    assert_eq!(asked(&world.wait(Duration::from_millis(60))), [91]);
    assert!(world.now - before >= Duration::from_millis(40));
}

#[test]
fn f043_a_refresh_goes_to_known_brokers_and_from_a_dead_one_to_the_next_then_to_the_bootstrap() {
    let mut world = World::new();
    world.assign(1);
    let effects = world.answer(view(&[(1, 5)]));
    assert_eq!(
        published(&effects).unwrap().leader("t", 0),
        Some((NodeId(1), 5))
    );
    // somebody meets a sign of change: asked after the pause that follows an answer
    assert!(asked(&world.stale()).is_empty());
    let first = asked(&world.wait(Duration::from_millis(120)));
    assert_eq!(first.len(), 1);
    let second = asked(&world.fail(lost(first[0])));
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    assert!(first[0] <= 2 && second[0] <= 2);
    assert_eq!(asked(&world.fail(lost(second[0]))), [91]);
}

#[test]
fn f043_a_node_that_may_not_answer_is_asked_last() {
    for doubted in [1, 2] {
        let mut world = World::new();
        world.assign(1);
        world.answer(view(&[(1, 5)]));
        for _ in 0..3 {
            world.run(|machine, now, effects| machine.stale_at(now, NodeId(doubted), effects));
            let other = if doubted == 1 { 2 } else { 1 };
            assert_eq!(asked(&world.wait(Duration::from_millis(120))), [other]);
            world.answer(view(&[(1, 5)]));
        }
        // without another sign it has its turn again
        world.stale();
        let next = asked(&world.wait(Duration::from_millis(120)));
        world.answer(view(&[(1, 5)]));
        world.stale();
        assert_ne!(asked(&world.wait(Duration::from_millis(120))), next);
    }
}

#[test]
fn a_try_gets_two_seconds_and_each_further_one_twice_as_long() {
    let mut world = World::new();
    let limit = |effects: Vec<Effect>| match &effects[..] {
        [Effect::AskMetadata { limit, .. }] => *limit,
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(world.assign(1)), Duration::from_secs(2));
    assert_eq!(limit(world.fail(lost(91))), Duration::from_secs(4));
}

#[test]
fn b031_a_leader_epoch_that_goes_backwards_is_ignored_unless_the_topic_is_new() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 5)]));
    world.stale();
    world.wait(Duration::from_millis(120));
    assert!(published(&world.answer(view(&[(2, 4)]))).is_none());
    world.stale();
    world.wait(Duration::from_millis(120));
    let mut recreated = view(&[(2, 0)]);
    recreated.topics[0].id = Uuid::from_u128(8);
    let effects = world.answer(recreated);
    assert_eq!(
        published(&effects).unwrap().leader("t", 0),
        Some((NodeId(2), 0))
    );
}

#[test]
fn f025_a_passing_error_of_a_topic_keeps_what_was_known_of_it() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 5)]));
    world.stale();
    world.wait(Duration::from_millis(120));
    let effects = world.answer(failed_view(ErrorCode::LEADER_NOT_AVAILABLE));
    assert!(published(&effects).is_none());
    // and it is asked for again
    assert_eq!(asked(&world.wait(Duration::from_millis(120))).len(), 1);
}

#[test]
fn f012_b120_who_reads_a_topic_hears_that_it_was_made_anew_before_anybody_asks_for_it() {
    let mut world = World::new();
    world.assign(2);
    world.answer(view(&[(1, 5), (1, 5)]));
    let answer = |world: &mut World, id| {
        world.stale();
        world.wait(Duration::from_secs(2));
        let mut view = view(&[(1, 0), (1, 0)]);
        view.topics[0].id = Uuid::from_u128(id);
        world.answer(view)
    };
    let effects = answer(&mut world, 8);
    let [
        Effect::Recreated(topic, partitions),
        Effect::Publish(snapshot),
        ..,
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!((&**topic, &partitions[..]), ("t", &[id(0), id(1)][..]));
    assert_eq!(snapshot.leader("t", 0), Some((NodeId(1), 0)));
    // a broker that has not heard of it changes nothing
    assert!(published(&answer(&mut world, 7)).is_none());
    assert!(published(&answer(&mut world, 8)).is_none());
}

#[test]
fn b120_a_topic_that_stays_unknown_is_not_fetched_any_more() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 5)]));
    world.stale();
    let begin = world.now;
    let mut gone = None;
    while gone.is_none() {
        for effect in world.wait(Duration::from_secs(2)) {
            match effect {
                Effect::Publish(snapshot) => {
                    assert!(snapshot.topics.is_empty());
                    gone = Some(world.now - begin);
                }
                Effect::AskMetadata { .. } => {
                    world.answer(failed_view(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
                }
                _ => {}
            }
        }
    }
    // an error that passes (F025) is shorter
    assert!(gone >= Some(Duration::from_secs(4)), "{gone:?}");
    world.wait(Duration::from_secs(2));
    let effects = world.answer(view(&[(2, 0)]));
    let leader = published(&effects).unwrap().leader("t", 0);
    assert_eq!(leader, Some((NodeId(2), 0)));
}

#[test]
fn a_missing_topic_is_reported_after_four_seconds_and_again_while_it_lasts() {
    let mut world = World::new();
    world.assign(1);
    let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let effects = world.answer(failed_view(missing));
    let said = |effect: &Effect| matches!(effect, Effect::Missing(_, error) if *error == missing);
    assert!(effects.iter().any(said));
    let begin = world.now;
    let mut reports = Vec::new();
    while world.now < begin + Duration::from_secs(10) {
        for effect in world.wait(Duration::from_secs(2)) {
            match effect {
                Effect::Report(name, PartitionError::UnknownPartition { .. }) => {
                    reports.push((name, (world.now - begin).as_secs()));
                }
                Effect::AskMetadata { .. } => {
                    assert!(asked(&world.answer(failed_view(missing))).is_empty());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(reports, [(tp(0), 4), (tp(0), 8)]);
    // there at last
    world.wait(Duration::from_secs(2));
    world.answer(view(&[(1, 0)]));
    let next = world.machine.poll_timeout().unwrap();
    assert!(
        next > world.now + Duration::from_secs(200),
        "only its age is left"
    );
}

#[test]
fn b041_partitions_beyond_the_topic_are_reported_too() {
    let mut world = World::new();
    world.assign(2);
    let effects = world.answer(view(&[(1, 0)]));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Missing(..)))
    );
}

#[test]
fn nobody_reachable_for_default_api_timeout_ms_is_told_and_told_again() {
    let mut world = World::new();
    world.assign(1);
    let begin = world.now;
    let mut told = Vec::new();
    let mut tries = 0;
    world.fail(lost(91));
    world.fail(lost(92));
    while world.now < begin + Duration::from_secs(130) {
        for effect in world.wait(Duration::from_secs(2)) {
            match effect {
                Effect::AskMetadata { .. } => {
                    tries += 1;
                    world.fail(lost(91));
                    world.fail(lost(92));
                }
                Effect::Unreachable(_) => told.push((world.now - begin).as_secs()),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(told, [60, 120]);
    // F041: growing pauses, no flood
    assert!(tries < 200, "{tries}");
}

#[test]
fn b193_what_is_no_broker_is_told_after_one_round() {
    let mut world = World::new();
    world.assign(1);
    let http = |port| WireError::HttpServer {
        peer: Peer {
            node: None,
            address: address(port),
        },
    };
    assert_eq!(asked(&world.fail(http(91))), [92]);
    let effects = world.fail(http(92));
    assert!(matches!(
        &effects[..],
        [Effect::Unreachable(WireError::HttpServer { .. })]
    ));
}

#[test]
fn an_answer_with_nonsense_indices_sizes_nothing() {
    let mut world = World::new();
    world.assign(1);
    let mut nonsense = view(&[(1, 0), (1, 0)]);
    nonsense.topics[0].partitions[1].index = i32::MAX;
    nonsense.topics[0].partitions.push(PartitionView {
        index: -4,
        leader: None,
        leader_epoch: 0,
        replicas: Vec::new(),
        in_sync: Vec::new(),
        offline: Vec::new(),
    });
    let effects = world.answer(nonsense);
    let snapshot = published(&effects).unwrap();
    assert!(snapshot.topics["t"].partitions.len() <= 3);
    assert_eq!(snapshot.leader("t", 0), Some((NodeId(1), 0)));
}

#[test]
fn metadata_is_renewed_when_it_is_old() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 0)]));
    let begin = world.now;
    assert_eq!(asked(&world.wait(Duration::from_secs(300))).len(), 1);
    assert_eq!(world.now - begin, Duration::from_secs(300));
}

#[test]
fn a_question_about_a_topic_is_answered_when_it_is_known_or_known_to_be_missing() {
    let mut world = World::new();
    let ask = |world: &mut World| {
        world.run(|machine, now, effects| machine.ask_partitions(now, "t".into(), effects))
    };
    assert_eq!(asked(&ask(&mut world)), [91]);
    let effects = world.answer(view(&[(1, 0), (1, 0)]));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Partitions(_, Ok(2))))
    );
    // known already
    assert!(matches!(
        &ask(&mut world)[..],
        [Effect::Partitions(_, Ok(2))]
    ));

    let mut world = World::new();
    ask(&mut world);
    let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    world.answer(failed_view(missing));
    let begin = world.now;
    let mut answer = None;
    while answer.is_none() {
        for effect in world.wait(Duration::from_secs(5)) {
            match effect {
                Effect::AskMetadata { .. } => {
                    world.answer(failed_view(missing));
                }
                Effect::Partitions(_, result) => answer = Some(result),
                other => panic!("{other:?}"),
            }
        }
    }
    let refused =
        |answer| matches!(answer, Some(Err(PartitionsUnknown::Refused(code))) if code == missing);
    assert!(refused(answer));
    assert_eq!(world.now - begin, Duration::from_secs(4));
}

#[test]
fn f077_who_asked_about_a_topic_is_told_when_there_is_no_broker_to_ask() {
    let http = |port| WireError::HttpServer {
        peer: Peer {
            node: None,
            address: address(port),
        },
    };
    let mut world = World::new();
    world.run(|machine, now, effects| machine.ask_partitions(now, "t".into(), effects));
    world.run(|machine, now, effects| machine.ask_partitions(now, "u".into(), effects));
    assert_eq!(asked(&world.fail(http(91))), [92]);
    // waiting does not help
    let effects = world.fail(http(92));
    let told: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Partitions(
                topic,
                Err(PartitionsUnknown::Unreachable(WireError::HttpServer { .. })),
            ) => Some(topic.as_ref()),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["t", "u"]);

    // waiting did not help for default.api.timeout.ms
    let mut world = World::new();
    world.run(|machine, now, effects| machine.ask_partitions(now, "t".into(), effects));
    let begin = world.now;
    world.fail(lost(91));
    world.fail(lost(92));
    let told = loop {
        let effects = world.wait(Duration::from_secs(2));
        if let Some(told) = effects
            .into_iter()
            .find(|effect| matches!(effect, Effect::Partitions(..)))
        {
            break told;
        }
        world.fail(lost(91));
        world.fail(lost(92));
    };
    assert!(matches!(
        told,
        Effect::Partitions(
            _,
            Err(PartitionsUnknown::Unreachable(WireError::Closed { .. }))
        )
    ));
    assert_eq!(world.now - begin, Duration::from_secs(60));
}
