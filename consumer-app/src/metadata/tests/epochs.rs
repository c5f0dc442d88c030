//! Ends of epochs (KIP-320), and leaders that brokers tell of (KIP-951).

use buffer_actor::{EpochAnswer, EpochEnd};
use session_actor::NewLeader;

use super::super::lookups::Asked;
use super::super::machine::End;
use super::*;

fn validate(world: &mut World, partition: i32, epoch: u64, leader_epoch: i32) -> Vec<Effect> {
    let lookup = Lookup {
        partition: id(partition),
        name: tp(partition),
        epoch: FetchEpoch(epoch),
        sought: Sought::EpochEnd(leader_epoch),
    };
    world.run(|machine, now, effects| machine.look_up(now, vec![lookup], effects))
}

/// (node, partitions, the epoch of each leader as it is known) of each OffsetForLeaderEpoch request.
fn epochs_asked(effects: &[Effect]) -> Vec<(i32, Vec<i32>, Vec<i32>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::AskEpochs { peer, asked } => {
                let slots = asked.iter().map(|one| one.name.partition());
                let epochs = asked.iter().map(|one| one.leader_epoch);
                Some((peer.node?, slots.collect(), epochs.collect()))
            }
            _ => None,
        })
        .collect()
}

fn asked_in(effects: Vec<Effect>) -> Vec<Asked> {
    let mut all = effects.into_iter();
    let asked = all.find_map(|effect| match effect {
        Effect::AskEpochs { asked, .. } => Some(asked),
        _ => None,
    });
    asked.expect("a request")
}

fn answered(world: &mut World, asked: &[Asked], answers: Vec<End>) -> Vec<Effect> {
    world.run(|machine, now, effects| machine.epochs(now, asked, Ok(answers), effects))
}

const fn ends(leader_epoch: i32, offset: i64) -> EpochAnswer {
    EpochAnswer::Ends(EpochEnd {
        leader_epoch,
        offset,
    })
}

#[test]
fn b118_leaders_are_asked_once_for_all_their_partitions_and_apart_from_offsets() {
    let mut world = World::new();
    world.assign(4);
    for partition in [0, 1, 2] {
        validate(&mut world, partition, 1, 3);
    }
    world.look_up(3, 1);
    let effects = world.answer(view(&[(1, 4), (2, 5), (1, 6), (1, 7)]));
    assert_eq!(
        epochs_asked(&effects),
        [(1, vec![0, 2], vec![4, 6]), (2, vec![1], vec![5])]
    );
    assert_eq!(offsets_asked(&effects), [(1, vec![3])]);
    let effects = answered(
        &mut world,
        &asked_in(effects),
        vec![Ok(ends(3, 9)), Ok(EpochAnswer::Undefined)],
    );
    let expected = vec![
        (id(0), FetchEpoch(1), ends(3, 9)),
        (id(2), FetchEpoch(1), EpochAnswer::Undefined),
    ];
    assert!(matches!(&effects[..], [Effect::EpochsEnd(found)] if *found == expected));
}

/// Neither a fenced nor a permanent error is an answer: the position is neither valid nor reset.
#[test]
fn b117_errors_are_asked_again_after_a_refresh_and_refusals_are_told() {
    for (code, told) in [
        (ErrorCode::FENCED_LEADER_EPOCH, false),
        (ErrorCode::UNKNOWN_LEADER_EPOCH, false),
        (ErrorCode::NOT_LEADER_OR_FOLLOWER, false),
        (ErrorCode::UNKNOWN_SERVER_ERROR, false),
        (ErrorCode::TOPIC_AUTHORIZATION_FAILED, true),
    ] {
        let mut world = World::new();
        world.assign(1);
        world.answer(view(&[(1, 4)]));
        let asked = asked_in(validate(&mut world, 0, 1, 3));
        let effects = answered(&mut world, &asked, vec![Err(code)]);
        assert!(
            !effects
                .iter()
                .any(|effect| matches!(effect, Effect::EpochsEnd(_)))
        );
        let reported = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Report(..)));
        assert_eq!(reported, told, "{code}");
        // metadata is asked before the partition's new leader is
        let mut effects = Vec::new();
        for _ in 0..3 {
            effects.extend(world.wait(Duration::from_millis(300)));
            if effects
                .iter()
                .any(|effect| matches!(effect, Effect::AskMetadata { .. }))
            {
                break;
            }
        }
        effects.extend(world.answer(view(&[(2, 5)])));
        for _ in 0..3 {
            if epochs_asked(&effects).is_empty() {
                effects.extend(world.wait(Duration::from_millis(300)));
            }
        }
        let asked = epochs_asked(&effects);
        assert!(!asked.is_empty(), "{code}: asked again");
    }
}

fn told(partition: i32, node: i32, epoch: i32, port: Option<u16>) -> NewLeader {
    NewLeader {
        partition: id(partition),
        node: NodeId(node),
        epoch,
        address: port.map(address),
    }
}

#[test]
fn b029_a_leader_that_a_broker_names_is_used_at_once_if_it_is_newer_and_can_be_found() {
    // node, epoch, port, then: whether it is used
    let table = [
        (999, 104, Some(999), true),
        // it is known already where node 2 listens
        (2, 104, None, true),
        (2, 104, Some(77), true),
        (999, 104, None, false),
        (2, 4, None, false),
        (2, 3, Some(77), false),
    ];
    for (node, epoch, port, used) in table {
        let mut world = World::new();
        world.assign(2);
        world.answer(view(&[(1, 4), (1, 4)]));
        let leaders = vec![told(0, node, epoch, port)];
        let effects = world.run(|machine, now, effects| {
            machine.leaders_told(now, leaders, effects);
        });
        let case = format!("{node} {epoch} {port:?}");
        // without a round trip
        assert!(
            !effects
                .iter()
                .any(|e| matches!(e, Effect::AskMetadata { .. })),
            "{case}"
        );
        let snapshot = published(&effects);
        assert_eq!(snapshot.is_some(), used, "{case}");
        let Some(snapshot) = snapshot else {
            continue;
        };
        assert_eq!(
            snapshot.leader("t", 0),
            Some((NodeId(node), epoch)),
            "{case}"
        );
        assert_eq!(snapshot.leader("t", 1), Some((NodeId(1), 4)), "{case}");
        let listens = snapshot.brokers.get(&NodeId(node)).cloned();
        assert_eq!(listens, Some(address(port.unwrap_or(2))), "{case}");
        // metadata from a broker that lags behind does not undo it
        world.stale();
        world.answer(view(&[(1, 4), (1, 4)]));
        assert_eq!(
            world.machine.snapshot().leader("t", 0),
            Some((NodeId(node), epoch))
        );
    }
}

#[test]
fn leaders_of_what_is_not_assigned_or_not_there_mean_nothing() {
    let mut world = World::new();
    world.assign(2);
    world.answer(view(&[(1, 4)]));
    let leaders = vec![told(1, 2, 9, None), told(7, 2, 9, None)];
    let effects = world.run(|machine, now, effects| machine.leaders_told(now, leaders, effects));
    assert!(published(&effects).is_none(), "{effects:?}");
}
