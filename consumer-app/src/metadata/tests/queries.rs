//! Offsets that the application asks for.

use super::super::lookups::Asked;
use super::super::queries::{Listed, OffsetsUnknown, QueryId};
use super::super::troubles::REPORT_AFTER;
use super::*;
use crate::offsets::OffsetSpec;

impl World {
    fn list(&mut self, partitions: &[i32]) -> Vec<Effect> {
        self.list_as(QueryId(1), partitions)
    }

    fn list_as(&mut self, query: QueryId, partitions: &[i32]) -> Vec<Effect> {
        let wanted = partitions.iter();
        let wanted = wanted.map(|partition| (tp(*partition), OffsetSpec::Latest));
        let wanted = wanted.collect();
        self.run(|machine, now, effects| machine.list_offsets(now, query, wanted, effects))
    }

    fn tell(&mut self, asked: &[Asked], answers: Vec<Offset>) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.offsets(now, asked, Ok(answers), effects))
    }

    /// Has `answer` see to all effects, and lets time pass, until the question is answered; and how long that took.
    fn until_listed(
        &mut self,
        mut effects: Vec<Effect>,
        mut answer: impl FnMut(&mut Self, &Effect) -> Vec<Effect>,
    ) -> (Duration, Result<Listed, OffsetsUnknown>) {
        let begin = self.now;
        loop {
            while let Some(effect) = effects.pop() {
                if let Effect::Listed(_, result) = effect {
                    return (self.now - begin, result);
                }
                effects.extend(answer(self, &effect));
            }
            effects = self.wait(Duration::from_secs(60));
        }
    }
}

fn questions(effects: Vec<Effect>) -> Vec<Vec<Asked>> {
    let asked = effects.into_iter().filter_map(|effect| match effect {
        Effect::AskOffsets { asked, .. } => Some(asked),
        _ => None,
    });
    asked.collect()
}

fn listed(effects: Vec<Effect>) -> Option<Result<Listed, OffsetsUnknown>> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Listed(_, result) => Some(result),
        _ => None,
    })
}

fn offsets(listed: Listed) -> Vec<(i32, Option<i64>)> {
    let offsets = listed.into_iter();
    offsets
        .map(|(name, found)| (name.partition(), found.map(|found| found.offset)))
        .collect()
}

#[test]
fn leaders_are_asked_side_by_side_and_the_answer_is_whole() {
    let mut world = World::new();
    // nothing is assigned: the topic is looked for first
    assert_eq!(asked(&world.list(&[0, 1, 2])), [91]);
    let effects = world.answer(view(&[(1, 0), (2, 0), (1, 0)]));
    assert_eq!(offsets_asked(&effects), [(1, vec![0, 2]), (2, vec![1])]);
    let questions = questions(effects);
    assert!(listed(world.tell(&questions[0], vec![at(5), Ok(None)])).is_none());
    let whole = listed(world.tell(&questions[1], vec![at(6)]));
    let whole = whole.unwrap().unwrap();
    assert_eq!(offsets(whole), [(0, Some(5)), (1, Some(6)), (2, None)]);
    // nothing is left of it
    assert_eq!(world.machine.poll_timeout(), None);
}

#[test]
fn two_questions_and_a_position_of_one_partition_do_not_disturb_each_other() {
    let mut world = World::new();
    world.assign(1);
    world.answer(view(&[(1, 0)]));
    let first = questions(world.list_as(QueryId(1), &[0]));
    let second = questions(world.list_as(QueryId(2), &[0]));
    let position = questions(world.look_up(0, 1));
    assert!(matches!(
        &world.tell(&position[0], vec![at(4)])[..],
        [Effect::Found(found)] if *found == [(id(0), FetchEpoch(1), 4)]
    ));
    for (asked, query) in [(second, 2), (first, 1)] {
        let effects = world.tell(&asked[0], vec![at(9)]);
        assert!(matches!(&effects[..], [Effect::Listed(QueryId(id), Ok(_))] if *id == query));
    }
}

#[test]
fn a_leader_that_moves_is_followed() {
    let mut world = World::new();
    world.list(&[0]);
    let effects = world.answer(view(&[(1, 0)]));
    let mut asked = Vec::new();
    let (_, result) = world.until_listed(effects, |world, effect| match effect {
        Effect::AskOffsets { peer, asked: of } => {
            asked.push(peer.address.port());
            let is_moved = peer.address.port() == 2;
            world.tell(
                of,
                vec![if is_moved {
                    at(3)
                } else {
                    Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
                }],
            )
        }
        Effect::AskMetadata { .. } => world.answer(view(&[(2, 1)])),
        _ => Vec::new(),
    });
    // the former leader perhaps again, before metadata was asked
    asked.dedup();
    assert_eq!(asked, [1, 2]);
    assert_eq!(offsets(result.unwrap()), [(0, Some(3))]);
}

/// What waiting does not help against ends the question at once, what may pass at the deadline.
#[test]
fn b102_each_refusal_has_its_time() {
    let (at_once, soon, deadline) = (0, REPORT_AFTER.as_secs(), 60);
    for (error, seconds) in [
        (ErrorCode::TOPIC_AUTHORIZATION_FAILED, at_once),
        (ErrorCode::UNSUPPORTED_VERSION, at_once),
        (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, soon),
        (ErrorCode::OFFSET_NOT_AVAILABLE, deadline),
        (ErrorCode::NOT_LEADER_OR_FOLLOWER, deadline),
    ] {
        let mut world = World::new();
        world.list(&[0]);
        let effects = world.answer(view(&[(1, 0)]));
        let mut requests = 0;
        let (waited, result) = world.until_listed(effects, |world, effect| match effect {
            Effect::AskOffsets { asked, .. } => {
                requests += 1;
                world.tell(asked, vec![Err(error)])
            }
            Effect::AskMetadata { .. } => world.answer(view(&[(1, 0)])),
            _ => Vec::new(),
        });
        assert_eq!(waited, Duration::from_secs(seconds), "{error}");
        // at growing intervals
        assert!(requests <= 2 * seconds + 1, "{error}: {requests}");
        let Err(OffsetsUnknown::Refused(partitions, told)) = result else {
            panic!("{result:?}");
        };
        assert_eq!((partitions, told), (vec![tp(0)], error));
    }
}

#[test]
fn a_topic_or_partition_that_is_not_there_is_told_soon() {
    for partition in [0, 3, -1] {
        let answer = move || match partition {
            0 => failed_view(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            _ => view(&[(1, 0)]),
        };
        let mut world = World::new();
        let effects = world.list(&[partition]);
        let mut requests = 0;
        let (waited, result) = world.until_listed(effects, |world, effect| {
            if matches!(effect, Effect::AskMetadata { .. }) {
                requests += 1;
                return world.answer(answer());
            }
            Vec::new()
        });
        assert_eq!(waited, REPORT_AFTER);
        // asked for again at the pace of the backoff, not as fast as a broker answers
        assert!((2..20).contains(&requests), "{requests} requests");
        let Err(OffsetsUnknown::Refused(partitions, error)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(partitions, [tp(partition)]);
        assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
}

#[test]
fn b102_with_all_brokers_away_it_ends_at_the_deadline() {
    let mut world = World::new();
    let effects = world.list(&[0]);
    let (waited, result) = world.until_listed(effects, |world, effect| match effect {
        Effect::AskMetadata { peer, .. } => world.fail(lost(peer.address.port())),
        _ => Vec::new(),
    });
    assert_eq!(waited, Duration::from_secs(60));
    assert!(
        matches!(result, Err(OffsetsUnknown::Unreachable(_))),
        "{result:?}"
    );
}

/// A list that was asked for before may be of before.
#[test]
fn a_question_for_all_topics_is_answered_by_a_list_that_was_asked_for_after_it() {
    let mut world = World::new();
    let list = |world: &mut World, id| {
        world.run(|machine, now, effects| machine.list_topics(now, QueryId(id), effects))
    };
    let topics = |effects: &[Effect]| -> Vec<(Vec<u64>, usize)> {
        let listed = effects.iter().filter_map(|effect| match effect {
            Effect::Topics(askers, list) => {
                let askers = askers.iter().map(|asker| asker.0).collect();
                Some((askers, list.as_ref().unwrap().len()))
            }
            _ => None,
        });
        listed.collect()
    };
    assert_eq!(asked(&list(&mut world, 1)), [91]);
    assert!(asked(&list(&mut world, 2)).is_empty());
    assert!(asked(&list(&mut world, 3)).is_empty());
    let effects = world.answer(view(&[(1, 0)]));
    assert_eq!(topics(&effects), [(vec![1], 1)]);
    // nothing of it is kept: nobody else wants to know the topic
    assert!(world.machine.snapshot().topics.is_empty());
    let effects = world.wait(Duration::from_secs(1));
    assert_eq!(asked(&effects).len(), 1);
    assert_eq!(topics(&world.answer(view(&[(1, 0)]))), [(vec![2, 3], 1)]);
}

#[test]
fn a_question_for_all_topics_ends_at_the_deadline() {
    let mut world = World::new();
    let mut effects =
        world.run(|machine, now, effects| machine.list_topics(now, QueryId(1), effects));
    let begin = world.now;
    let ended = loop {
        let ended = effects.iter().find_map(|effect| match effect {
            Effect::Topics(_, list) => Some(list.clone()),
            _ => None,
        });
        if let Some(ended) = ended {
            break ended;
        }
        effects = match asked(&effects).first() {
            Some(port) => world.fail(lost(*port)),
            None => world.wait(Duration::from_secs(60)),
        };
    };
    assert_eq!(world.now - begin, Duration::from_secs(60));
    assert!(matches!(ended, Err(Some(_))), "{ended:?}");
}
