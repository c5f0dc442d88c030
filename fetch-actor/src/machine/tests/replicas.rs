//! Partitions that are read from followers (KIP-392).

use super::*;

const THREE: NodeId = NodeId(3);

impl World {
    fn read_from(&mut self, partition: i32, replica: Option<NodeId>) -> Vec<Effect> {
        self.run(|machine, now, effects| {
            machine.read_from(now, &[(id(partition), replica)], effects)
        })
    }
}

#[test]
fn b025_a_preferred_replica_is_offered_the_partition_in_place_of_its_leader() {
    let mut world = World::assigned(&[ONE, ONE]);
    let effects = world.read_from(0, Some(TWO));
    assert_eq!(
        all(&effects),
        [
            "reserve 1/1 [1]",
            "reserve 1/2 [1]",
            "reserve 2/1 [0]",
            "reserve 2/2 [0]"
        ]
    );
    let effects = world.read_from(0, None);
    assert_eq!(
        all(&effects),
        [
            "withdraw 2/1",
            "withdraw 2/2",
            "reserve 1/1 [0, 1]",
            "reserve 1/2 [0, 1]"
        ]
    );
}

/// The buffer asks nobody until it is offered the partition anew, so it is, whatever comes of it.
#[test]
fn b025_an_unknown_replica_leaves_the_partition_with_its_leader_and_metadata_is_asked_for() {
    let mut world = World::assigned(&[ONE, ONE]);
    let effects = world.read_from(0, Some(THREE));
    let offered = ["reserve 1/1 [0, 1]", "reserve 1/2 [0, 1]"];
    assert_eq!(all(&effects)[..2], offered);
    assert_eq!(all(&effects)[2], "refresh");
    // it is known a moment later
    world.cluster.brokers.insert(THREE, address(9003));
    let effects = world.snapshot();
    assert!(
        all(&effects).contains(&"reserve 3/1 [0]".to_owned()),
        "{effects:?}"
    );
    // and told once more, it is offered once more
    let effects = world.read_from(0, Some(THREE));
    assert_eq!(all(&effects), ["reserve 3/1 [0]", "reserve 3/2 [0]"]);
}

/// One answer of a broker may name a follower for each of its partitions.
#[test]
fn b025_partitions_that_are_redirected_together_are_offered_once() {
    let mut world = World::assigned(&[ONE; 100]);
    let redirected: Vec<_> = (0..100)
        .map(|partition| (id(partition), Some(TWO)))
        .collect();
    let effects = world.run(|machine, now, effects| machine.read_from(now, &redirected, effects));
    let everything = format!("{:?}", (0..100).collect::<Vec<_>>());
    assert_eq!(
        all(&effects),
        [
            "withdraw 1/1".to_owned(),
            "withdraw 1/2".to_owned(),
            format!("reserve 2/1 {everything}"),
            format!("reserve 2/2 {everything}"),
        ]
    );
}

#[test]
fn a_replica_that_metadata_has_no_more_and_a_leader_that_moves_end_it() {
    let mut world = World::assigned(&[ONE]);
    world.read_from(0, Some(TWO));
    world.cluster.brokers.remove(&TWO);
    let effects = all(&world.snapshot());
    assert_eq!(effects[..2], ["withdraw 2/1", "withdraw 2/2"]);
    assert!(
        effects.contains(&"reserve 1/1 [0]".to_owned()),
        "{effects:?}"
    );

    let mut world = World::assigned(&[ONE]);
    world.cluster.brokers.insert(THREE, address(9003));
    world.read_from(0, Some(TWO));
    world.lead_since(&[(Some(THREE), 6)]);
    let effects = all(&world.snapshot());
    assert_eq!(effects[0], "moved [0]");
    assert!(
        effects.contains(&"reserve 3/1 [0]".to_owned()),
        "{effects:?}"
    );
}

#[test]
fn of_a_partition_that_is_gone_nothing_is_offered() {
    let mut world = World::assigned(&[ONE]);
    world.unassign(0);
    assert_eq!(world.read_from(0, Some(TWO)), []);
}
