//! Who leads what, and what is offered to the buffer.

use super::*;

#[test]
fn an_idle_lane_is_offered_with_all_that_its_node_leads_and_opened_by_nobody() {
    let mut world = World::new(&[ONE, TWO, ONE]);
    assert!(world.snapshot().is_empty(), "nothing is assigned");
    let effects = world.assign([0, 1, 2]);
    assert_eq!(
        all(&effects),
        [
            "reserve 1/1 [0, 2]",
            "reserve 1/2 [0, 2]",
            "reserve 2/1 [1]",
            "reserve 2/2 [1]"
        ]
    );
    let Effect::Reserve { candidates, .. } = &effects[0] else {
        panic!("{effects:?}");
    };
    assert_eq!(candidates[0].leader_epoch, 5);
    // nothing new, nothing said
    assert!(world.snapshot().is_empty());
}

#[test]
fn what_is_assigned_before_the_cluster_is_known_waits_for_it() {
    let mut world = World::new(&[ONE]);
    assert_eq!(all(&world.assign([0])), ["refresh"]);
    assert_eq!(
        all(&world.snapshot()),
        ["reserve 1/1 [0]", "reserve 1/2 [0]"]
    );
}

#[test]
fn a_policy_with_one_lane_has_one_lane() {
    let mut world = World::new(&[ONE]);
    world.machine = PlannerMachine::new(false);
    world.snapshot();
    assert_eq!(all(&world.assign([0])), ["reserve 1/1 [0]"]);
    world.busy(ONE, Lane::Session);
    assert_eq!(all(&world.idle(ONE, Lane::Session)), ["reserve 1/1 [0]"]);
}

#[test]
fn each_change_of_what_a_node_leads_is_a_new_plan_for_its_idle_lanes() {
    let mut world = World::assigned(&[ONE, ONE]);
    world.busy(ONE, Lane::Session);
    let effects = world.unassign(0);
    assert_eq!(
        all(&effects),
        ["reserve 1/2 [1]"],
        "lane 1 is busy: it hears of it when it is idle"
    );
    assert_eq!(all(&world.idle(ONE, Lane::Session)), ["reserve 1/1 [1]"]);
    // a partition that comes back is another one
    let again = (PartitionId::new(0, 2), tp(0));
    let added = vec![again.clone()];
    let effects = world.run(|machine, now, effects| {
        machine.assignment(now, added, &[], effects);
    });
    let [Effect::Reserve { candidates, .. }, _] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert!(candidates.iter().any(|one| one.partition == again.0));
}

#[test]
fn i3_a_leader_move_is_told_before_the_new_leader_is_offered() {
    let mut world = World::assigned(&[ONE, ONE]);
    world.lead(&[TWO, ONE]);
    assert_eq!(
        all(&world.snapshot()),
        [
            "moved [0]",
            "reserve 1/1 [1]",
            "reserve 1/2 [1]",
            "reserve 2/1 [0]",
            "reserve 2/2 [0]"
        ]
    );
}

#[test]
fn a_new_epoch_of_the_same_leader_voids_nothing_and_is_sent_from_now_on() {
    let mut world = World::assigned(&[ONE]);
    world.lead_since(&[(Some(ONE), 6)]);
    let effects = world.snapshot();
    assert_eq!(all(&effects), ["reserve 1/1 [0]", "reserve 1/2 [0]"]);
    let Effect::Reserve { candidates, .. } = &effects[0] else {
        panic!("{effects:?}");
    };
    assert_eq!(candidates[0].leader_epoch, 6);
}

#[test]
fn a_node_that_leads_nothing_any_more_is_closed() {
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    world.busy(ONE, Lane::Quick);
    world.idle(ONE, Lane::Quick);
    world.lead(&[TWO]);
    assert_eq!(
        all(&world.snapshot()),
        [
            "moved [0]",
            "close 1/1",
            "withdraw 1/2",
            "close 1/2",
            "reserve 2/1 [0]",
            "reserve 2/2 [0]"
        ]
    );
    assert_eq!(all(&world.unassign(0)), ["withdraw 2/1", "withdraw 2/2"]);
    assert!(world.machine.nodes.is_empty());
}

#[test]
fn during_an_election_the_last_leader_is_asked_on() {
    let mut world = World::assigned(&[ONE]);
    world.lead_since(&[(None, -1)]);
    assert_eq!(all(&world.snapshot()), ["refresh"]);
    // back at the same: nothing was lost
    world.lead(&[ONE]);
    assert!(world.snapshot().is_empty());
    // elected elsewhere: moved
    world.lead_since(&[(None, -1)]);
    world.snapshot();
    world.lead(&[TWO]);
    assert_eq!(all(&world.snapshot())[0], "moved [0]");
}

#[test]
fn a_topic_that_metadata_knows_no_more_is_not_asked_for() {
    // a request could not name it, and one without partitions comes back at once, for ever
    let mut world = World::assigned(&[ONE]);
    world.cluster.topics.clear();
    assert_eq!(
        all(&world.snapshot()),
        ["withdraw 1/1", "withdraw 1/2", "refresh"]
    );
    world.lead(&[TWO]);
    assert_eq!(
        all(&world.snapshot()),
        ["moved [0]", "reserve 2/1 [0]", "reserve 2/2 [0]"]
    );
}

#[test]
fn a_leader_without_an_address_is_offered_once_it_has_one() {
    let mut world = World::new(&[ONE]);
    world.cluster.brokers.remove(&ONE);
    world.snapshot();
    assert_eq!(all(&world.assign([0])), ["refresh"]);
    world.cluster.brokers.insert(ONE, address(9001));
    assert_eq!(
        all(&world.snapshot()),
        ["reserve 1/1 [0]", "reserve 1/2 [0]"]
    );
    // a snapshot that does not mention it takes nothing back
    world.cluster.brokers.remove(&ONE);
    assert!(world.snapshot().is_empty());
}

#[test]
fn a_node_that_moved_to_another_address_is_opened_anew() {
    let mut world = World::assigned(&[ONE]);
    world.busy(ONE, Lane::Session);
    world.cluster.brokers.insert(ONE, address(9101));
    assert_eq!(
        all(&world.snapshot()),
        [
            "close 1/1",
            "withdraw 1/2",
            "reserve 1/1 [0]",
            "reserve 1/2 [0]"
        ]
    );
    let grant = world.grant(ONE, Lane::Session);
    assert_eq!(all(&world.granted(grant))[0], "open 1/1 9101");
}

#[test]
fn the_buffer_is_told_that_a_node_has_refused_a_session_and_when_that_is_over() {
    let mut world = World::assigned(&[ONE]);
    for (session, expected) in [
        (SessionState::Refused, true),
        (SessionState::Refused, true),
        (SessionState::Live, false),
        (SessionState::None, false),
        (SessionState::Refused, true),
    ] {
        world.busy(ONE, Lane::Session);
        let effects = world.idle_in(ONE, Lane::Session, session);
        assert!(
            matches!(effects[..], [Effect::Reserve { refused, .. }] if refused == expected),
            "{effects:?}"
        );
    }
    // a lane that fails says nothing of a session
    world.busy(ONE, Lane::Session);
    world.run(|machine, _, effects| machine.lost(ONE, Lane::Session, effects));
    let effects = world.idle_in(ONE, Lane::Session, SessionState::None);
    assert!(effects.is_empty(), "its offer stands");
}
