//! Reading from followers (KIP-392).

use std::sync::Arc;

use super::*;

const FOLLOWER: NodeId = NodeId(7);
const OFFSET_OUT_OF_RANGE: i16 = 1;

/// Where a partition is to be read from, as the planner is told.
fn told(effects: &[Effect<u32>]) -> Vec<Option<NodeId>> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::ReadFrom(_, replica) => Some(*replica),
            _ => None,
        })
        .collect()
}

fn redirect(ask: &Ask, to: NodeId) -> PartitionReply<u32> {
    PartitionReply {
        preferred_replica: Some(to),
        ..data(ask, 0, 0)
    }
}

/// The leader has named a follower, and the planner has offered it; the request to it.
fn following() -> (World, Grant) {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![data(&first.asks[0], 10, 100)]);
    world.take();
    let second = world.reserve(Lane::Session).unwrap();
    let effects = world.done(&second, vec![redirect(&second.asks[0], FOLLOWER)]);
    assert_eq!(told(&effects), [Some(FOLLOWER)]);
    let grant = grant(world.reserve_at(FOLLOWER, 5)).unwrap();
    (world, grant)
}

#[test]
fn b025_the_next_fetch_goes_to_the_preferred_replica_and_the_position_stays() {
    let (_, grant) = following();
    assert_eq!((grant.node, offsets(&grant)), (FOLLOWER, vec![(10, false)]));
}

/// Between the answer and the planner's next offer the leader is not asked again.
#[test]
fn nobody_is_asked_until_the_follower_is_offered() {
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    // the lane's next offer is of the same list
    let candidates = world.candidates();
    world.run(|machine, _, effects| {
        machine.reserve(
            NODE,
            Lane::Quick,
            1,
            Arc::clone(&candidates),
            false,
            effects,
        );
    });
    world.done(&first, vec![redirect(&first.asks[0], FOLLOWER)]);
    let effects = world.run(|machine, _, effects| {
        machine.reserve(
            NODE,
            Lane::Session,
            1,
            Arc::clone(&candidates),
            false,
            effects,
        );
    });
    assert_eq!(grant(effects), None);
    assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::NoNode));
}

#[test]
fn b026_the_lease_ends_after_metadata_max_age_and_the_same_id_does_not_extend_it() {
    let max_age = Duration::from_millis(10);
    let mut config = config();
    config.metadata_max_age = max_age;
    let mut world = World::new(config, 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![redirect(&first.asks[0], FOLLOWER)]);
    let mut granted = grant(world.reserve_at(FOLLOWER, 5)).unwrap();
    let begun = world.now;
    for _ in 0..2 {
        world.now += max_age / 2;
        world.run(|machine, now, effects| machine.timeout(now, effects));
        world.done(&granted, vec![redirect(&granted.asks[0], FOLLOWER)]);
        granted = grant(world.reserve_at(FOLLOWER, 5)).expect("still read from the follower");
    }
    assert_eq!(world.now, begun + max_age);
    let effects = world.wait_for_deadline(Duration::from_millis(1));
    assert_eq!(world.now, begun + max_age + Duration::from_millis(1));
    assert_eq!(told(&effects), [None]);
    // what the follower answers still counts
    world.done(&granted, vec![data(&granted.asks[0], 3, 30)]);
    let items = world.take();
    assert_eq!(spans(&world, &items), [(0, 0, 3)]);
    assert_eq!(
        offsets(&grant(world.reserve_at(NODE, 5)).unwrap()),
        [(3, false)]
    );
}

/// B027, F033: only the leader's word on what is out of range counts.
#[test]
fn b027_f033_out_of_range_at_a_follower_asks_the_leader_for_the_same_offset() {
    let (mut world, granted) = following();
    let out_of_range = vec![error(&granted.asks[0], OFFSET_OUT_OF_RANGE)];
    let effects = world.done(&granted, out_of_range);
    assert_eq!(told(&effects), [None]);
    assert_eq!(world.lookups, []);
    assert!(errors(&world.take()).is_empty());
    let again = grant(world.reserve_at(NODE, 5)).unwrap();
    assert_eq!(offsets(&again), [(10, false)]);
    // and of the leader it is one
    world.done(&again, vec![error(&again.asks[0], OFFSET_OUT_OF_RANGE)]);
    assert_eq!(world.lookups.len(), 1);
}

/// Its lease ends while it is asked: what it answers is a follower's answer all the same.
#[test]
fn b026_f033_out_of_range_at_a_follower_whose_lease_has_ended_resets_nothing() {
    let (mut world, granted) = following();
    world.now += config().metadata_max_age + Duration::from_millis(1);
    let effects = world.run(|machine, now, effects| machine.timeout(now, effects));
    assert_eq!(told(&effects), [None]);
    world.done(&granted, vec![error(&granted.asks[0], OFFSET_OUT_OF_RANGE)]);
    assert_eq!(world.lookups, []);
    let again = grant(world.reserve_at(NODE, 5)).or_else(|| world.reserve(Lane::Quick));
    assert_eq!(offsets(&again.expect("the leader is asked")), [(10, false)]);
}

/// The leader names it again and again, and it never has the offset: each time the leader is asked next, not nobody.
#[test]
fn f033_a_follower_that_is_out_of_range_again_and_again_is_left_for_the_leader() {
    let (mut world, mut granted) = following();
    for round in 0..3 {
        let out_of_range = vec![error(&granted.asks[0], OFFSET_OUT_OF_RANGE)];
        let effects = world.done(&granted, out_of_range);
        assert_eq!(told(&effects), [None]);
        let again = grant(world.reserve_at(NODE, 5)).or_else(|| world.reserve(Lane::Quick));
        let again = again.unwrap_or_else(|| panic!("nobody is asked in round {round}"));
        assert_eq!((again.node, offsets(&again)), (NODE, vec![(10, false)]));
        world.done(&again, vec![redirect(&again.asks[0], FOLLOWER)]);
        world.wait_for_deadline(Duration::from_millis(1200));
        world.reserve_at(FOLLOWER, 5);
        let candidates = world.candidates();
        let effects = world.run(|machine, _, effects| {
            machine.reserve(FOLLOWER, Lane::Quick, 2, candidates, false, effects);
        });
        granted = grant(effects).unwrap();
    }
}

#[test]
fn b027_errors_and_failures_of_a_follower_lead_back_to_the_leader() {
    const OFFSET_NOT_AVAILABLE: i16 = 78;
    const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    const UNKNOWN_TOPIC_ID: i16 = 100;
    for code in [
        OFFSET_NOT_AVAILABLE,
        NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_ID,
    ] {
        let (mut world, granted) = following();
        let effects = world.done(&granted, vec![error(&granted.asks[0], code)]);
        assert_eq!(told(&effects), [None], "{code}");
    }
    let (mut world, granted) = following();
    assert_eq!(told(&world.fail(&granted)), [None]);
    // a request that was not even sent says nothing of the node
    let (mut world, granted) = following();
    let ticket = granted.ticket;
    let effects = world.run(|machine, now, effects| {
        machine.done(now, ticket, Outcome::Abandoned, 0, effects);
    });
    assert_eq!(told(&effects), []);
}

#[test]
fn a_leader_that_moves_or_is_elected_again_ends_the_lease() {
    let (mut world, _) = following();
    assert_eq!(told(&world.move_leaders()), [None]);
    let (mut world, _) = following();
    assert_eq!(told(&world.reserve_at(FOLLOWER, 6)), [None]);
    assert_eq!(world.machine.poll_timeout(), None, "no lease is left");
    let (mut world, _) = following();
    world.assign(0);
    assert_eq!(world.machine.poll_timeout(), None, "no lease is left");
}

/// A leader that sends the consumer away again and again, to a node that is of no use or that nobody knows, is asked with pauses.
#[test]
fn b025_redirections_that_lead_nowhere_are_followed_with_growing_pauses() {
    // the planner does not know the node, and offers the leader again
    let mut world = World::new(config(), 1);
    let first = world.reserve(Lane::Session).unwrap();
    world.done(&first, vec![redirect(&first.asks[0], FOLLOWER)]);
    for _ in 0..3 {
        let again = grant(world.reserve_at(NODE, 5)).or_else(|| {
            world.wait_for_deadline(Duration::from_millis(1200));
            world.reserve(Lane::Quick)
        });
        let again = again.unwrap();
        let effects = world.done(&again, vec![redirect(&again.asks[0], FOLLOWER)]);
        assert_eq!(told(&effects), []);
        assert!(effects.contains(&Effect::RefreshMetadata(tp(0))));
        assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Backoff));
    }

    // the follower does not answer, and the leader does not notice
    let (mut world, mut granted) = following();
    for _ in 0..3 {
        world.fail(&granted);
        let again = grant(world.reserve_at(NODE, 5)).or_else(|| world.reserve(Lane::Quick));
        let again = again.unwrap();
        world.done(&again, vec![redirect(&again.asks[0], FOLLOWER)]);
        assert_eq!(world.machine.reason(world.ids[0]), Some(Reason::Backoff));
        world.wait_for_deadline(Duration::from_millis(1200));
        world.reserve_at(FOLLOWER, 5);
        let candidates = world.candidates();
        let effects = world.run(|machine, _, effects| {
            machine.reserve(FOLLOWER, Lane::Quick, 2, candidates, false, effects);
        });
        granted = grant(effects).unwrap();
    }
}
