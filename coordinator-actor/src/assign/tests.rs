//! Assignments checked by hand. Random ones are held against the Java client's in `integration-tests`.

use std::sync::Arc;

use bytes::Bytes;
use record_batch::TopicPartition;

use super::{
    AssignError, Assignor, CooperativeSticky, Member, PartitionMetadata, Range, RebalanceProtocol,
    RoundRobin, Sticky, Subscription, TopicsMetadata, common_protocol, verified,
};

fn cluster<const N: usize>(topics: [(&str, usize); N]) -> TopicsMetadata {
    let mut cluster = TopicsMetadata::default();
    for (topic, partitions) in topics {
        cluster.insert(topic, vec![PartitionMetadata::default(); partitions]);
    }
    cluster
}

fn member(id: &str, topics: &[&str]) -> Member {
    Member::new(id, Subscription::new(topics.iter().copied()))
}

fn near(id: &str, rack: &str, topics: &[&str]) -> Member {
    let mut member = member(id, topics);
    member.subscription.rack_id = Some(rack.to_owned());
    member
}

/// `"t-0 t-1"` as partitions.
fn partitions(names: &str) -> Vec<TopicPartition> {
    let partition = |name: &str| {
        let (topic, number) = name.rsplit_once('-').unwrap();
        TopicPartition::new(topic, number.parse().unwrap())
    };
    names.split_whitespace().map(partition).collect()
}

/// A member of a cooperative group.
fn owner(id: &str, generation: i32, owned: &str, topics: &[&str]) -> Member {
    let mut member = member(id, topics);
    member.subscription.owned_partitions = partitions(owned);
    member.subscription.generation_id = Some(generation);
    member
}

/// A member of an eager group, which has given up what it owned.
fn former_owner(id: &str, generation: i32, owned: &str, topics: &[&str]) -> Member {
    let mut member = member(id, topics);
    member.subscription.user_data = Sticky.user_data(&partitions(owned), generation, &[]);
    member
}

/// What each member gets, as text, in the order of `group`.
fn assigned(assignor: &dyn Assignor, cluster: &TopicsMetadata, group: &[Member]) -> Vec<String> {
    let text = |partitions: Vec<TopicPartition>| {
        let names: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        names.join(" ")
    };
    assignor
        .assign(cluster, group)
        .into_iter()
        .map(text)
        .collect()
}

#[test]
fn range_cuts_each_topic_and_gives_the_first_members_more() {
    let cluster = cluster([("t", 3), ("u", 3)]);
    let group = [member("b", &["t", "u"]), member("a", &["u", "t"])];
    assert_eq!(
        assigned(&Range, &cluster, &group),
        ["t-2 u-2", "t-0 t-1 u-0 u-1"]
    );
}

#[test]
fn b150_range_counts_only_those_who_subscribe() {
    let cluster = cluster([("t", 3), ("u", 2)]);
    let group = [
        member("a", &["t"]),
        member("b", &["t", "u"]),
        member("c", &["u", "gone"]),
    ];
    assert_eq!(
        assigned(&Range, &cluster, &group),
        ["t-0 t-1", "t-2 u-0", "u-1"]
    );
}

#[test]
fn range_gives_partitions_to_members_in_their_rack() {
    let mut cluster = TopicsMetadata::default();
    let racks = ["x", "y", "x", "y"].map(|rack| PartitionMetadata::on_racks([rack]));
    cluster.insert("t", racks.to_vec());
    let group = [near("a", "y", &["t"]), near("b", "x", &["t"])];
    assert_eq!(assigned(&Range, &cluster, &group), ["t-1 t-3", "t-0 t-2"]);
    // an empty rack is none
    let group = [near("a", "", &["t"]), member("b", &["t"])];
    assert_eq!(assigned(&Range, &cluster, &group), ["t-0 t-1", "t-2 t-3"]);
}

/// Of t, partition 0 is near a and 1 near b; of u both are near b. Cut by itself, u would give b its first one.
#[test]
fn range_keeps_topics_alike_together_rather_than_near() {
    let mut cluster = TopicsMetadata::default();
    let on = |racks: [&str; 2]| {
        racks
            .map(|rack| PartitionMetadata::on_racks([rack]))
            .to_vec()
    };
    cluster.insert("t", on(["x", "y"]));
    cluster.insert("u", on(["y", "y"]));
    let group = [near("a", "x", &["t", "u"]), near("b", "y", &["t", "u"])];
    assert_eq!(assigned(&Range, &cluster, &group), ["t-0 u-0", "t-1 u-1"]);
}

#[test]
fn roundrobin_deals_over_topics() {
    let cluster = cluster([("t", 3), ("u", 3)]);
    let group = [member("a", &["t", "u"]), member("b", &["t", "u"])];
    assert_eq!(
        assigned(&RoundRobin, &cluster, &group),
        ["t-0 t-2 u-1", "t-1 u-0 u-2"]
    );
}

#[test]
fn b150_roundrobin_passes_over_those_who_do_not_subscribe() {
    let cluster = cluster([("t", 1), ("u", 2), ("v", 3)]);
    let group = [
        member("a", &["t"]),
        member("b", &["t", "u"]),
        member("c", &["t", "u", "v"]),
    ];
    assert_eq!(
        assigned(&RoundRobin, &cluster, &group),
        ["t-0", "u-0", "u-1 v-0 v-1 v-2"]
    );
}

/// KIP-345: a static member comes back under a new member id and has what it had.
#[test]
fn b152_static_members_are_ordered_by_instance_id_and_come_first() {
    let cluster = cluster([("t", 3)]);
    for ids in [["a", "b"], ["b", "a"]] {
        let [first, second] = ids.map(|id| member(id, &["t"]));
        let group = [
            member("0", &["t"]),
            first.with_instance_id("j"),
            second.with_instance_id("i"),
        ];
        for assignor in [&Range as &dyn Assignor, &RoundRobin] {
            assert_eq!(assigned(assignor, &cluster, &group), ["t-2", "t-1", "t-0"]);
        }
    }
}

#[test]
fn f022_odd_groups_are_assigned_too() {
    let cluster = cluster([("t", 2), ("empty", 0)]);
    for assignor in [
        &Range as &dyn Assignor,
        &RoundRobin,
        &Sticky,
        &CooperativeSticky,
    ] {
        assert_eq!(assigned(assignor, &cluster, &[]), [""; 0], "nobody");
        let group = [member("a", &[])];
        assert_eq!(assigned(assignor, &cluster, &group), [""], "no topics");
        let group = [member("a", &["gone", "empty"]), member("b", &["t", "t"])];
        assert_eq!(
            assigned(assignor, &cluster, &group),
            ["", "t-0 t-1"],
            "a topic named twice"
        );
        let group = [member("a", &["t"]), member("a", &["t"])];
        assert_eq!(
            assigned(assignor, &cluster, &group),
            ["t-0", "t-1"],
            "two of one id"
        );
    }
}

#[test]
fn sticky_moves_no_more_than_it_must() {
    let cluster = cluster([("t", 4)]);
    let group = [
        former_owner("a", 1, "t-0 t-1 t-2 t-3", &["t"]),
        member("b", &["t"]),
    ];
    assert_eq!(assigned(&Sticky, &cluster, &group), ["t-0 t-1", "t-2 t-3"]);
    let group = [
        member("a", &["t"]),
        former_owner("b", 1, "t-0", &["t"]),
        former_owner("c", 1, "t-1 t-3", &["t"]),
    ];
    assert_eq!(
        assigned(&Sticky, &cluster, &group),
        ["t-2", "t-0", "t-1 t-3"]
    );
}

/// c can have u only, so a gives one of u to it, and b keeps t, of which a could take one.
#[test]
fn b150_sticky_is_even_where_subscriptions_differ() {
    let cluster = cluster([("t", 2), ("u", 2)]);
    let group = [
        former_owner("a", 1, "u-0 u-1", &["t", "u"]),
        former_owner("b", 1, "t-0 t-1", &["t"]),
        member("c", &["u"]),
    ];
    assert_eq!(
        assigned(&Sticky, &cluster, &group),
        ["u-0", "t-0 t-1", "u-1"]
    );
}

#[test]
fn f022_the_newest_claim_counts_and_of_two_none() {
    let cluster = cluster([("t", 4)]);
    let group = [
        former_owner("a", 4, "t-2 t-3", &["t"]),
        former_owner("b", 5, "t-2 t-3", &["t"]),
    ];
    assert_eq!(assigned(&Sticky, &cluster, &group), ["t-0 t-1", "t-2 t-3"]);
    // both claim t-2 and t-3 of the same generation: only what one claims alone stays
    let group = [
        former_owner("a", 5, "t-2 t-3", &["t"]),
        former_owner("b", 5, "t-0 t-2 t-3 t-3", &["t"]),
    ];
    let now = Sticky.assign(&cluster, &group);
    assert_eq!(now.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    assert!(now[1].contains(&TopicPartition::new("t", 0)));
}

#[test]
fn f022_claims_of_what_is_not_there_count_for_nothing() {
    let cluster = cluster([("t", 2), ("u", 2)]);
    let group = [
        former_owner("a", 1, "t-7 gone-0 u-0 u-1", &["t"]),
        former_owner("b", 1, "", &["t", "u"]),
    ];
    assert_eq!(assigned(&Sticky, &cluster, &group), ["t-0 t-1", "u-0 u-1"]);
    let mut garbage = member("a", &["t"]);
    garbage.subscription.user_data = Some(Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 1]));
    assert_eq!(assigned(&Sticky, &cluster, &[garbage]), ["t-0 t-1"]);
    let mut negative = member("a", &["t"]);
    negative.subscription.owned_partitions = vec![TopicPartition::new("t", -1)];
    assert_eq!(
        assigned(&CooperativeSticky, &cluster, &[negative]),
        ["t-0 t-1"]
    );
}

/// KIP-429: b has to wait until a has given up what is to be b's.
#[test]
fn b148_cooperative_sticky_takes_two_rebalances() {
    let cluster = cluster([("t", 4)]);
    let group = [
        owner("a", 1, "t-0 t-1 t-2 t-3", &["t"]),
        member("b", &["t"]),
    ];
    assert_eq!(
        assigned(&CooperativeSticky, &cluster, &group),
        ["t-0 t-1", ""]
    );
    let group = [owner("a", 2, "t-0 t-1", &["t"]), owner("b", 2, "", &["t"])];
    assert_eq!(
        assigned(&CooperativeSticky, &cluster, &group),
        ["t-0 t-1", "t-2 t-3"]
    );
}

#[test]
fn f022_cooperative_sticky_gives_a_contested_partition_to_nobody_first() {
    let cluster = cluster([("t", 2)]);
    let group = [
        owner("a", 3, "t-0 t-1", &["t"]),
        owner("b", 3, "t-1", &["t"]),
    ];
    assert_eq!(assigned(&CooperativeSticky, &cluster, &group), ["t-0", ""]);
    // one that missed a rebalance does not take it from its owner
    let group = [
        owner("a", 3, "t-0", &["t"]),
        owner("b", 2, "t-0 t-1", &["t"]),
    ];
    assert_eq!(
        assigned(&CooperativeSticky, &cluster, &group),
        ["t-0", "t-1"]
    );
}

/// Before version 2 of the subscription the generation is in the user data.
#[test]
fn f022_cooperative_sticky_reads_the_generation_of_older_clients() {
    let cluster = cluster([("t", 2)]);
    let old = |id, generation| {
        let mut member = owner(id, generation, "t-0", &["t"]);
        let topics = member.subscription.topics.clone();
        member.subscription.user_data = CooperativeSticky.user_data(&[], generation, &topics);
        member.subscription.generation_id = None;
        member
    };
    let group = [old("a", 4), old("b", 5)];
    assert_eq!(
        assigned(&CooperativeSticky, &cluster, &group),
        ["t-1", "t-0"]
    );
}

#[test]
fn the_user_data_is_that_of_java() {
    let owned = partitions("t-0");
    assert_eq!(Range.user_data(&owned, 3, &[]), None);
    assert_eq!(RoundRobin.user_data(&owned, 3, &[]), None);
    assert_eq!(
        Sticky.user_data(&[], -1, &[]),
        None,
        "before the first assignment"
    );
    assert!(
        Sticky.user_data(&[], 3, &[]).is_some(),
        "an assignment of nothing"
    );
    let generation = CooperativeSticky.user_data(&owned, 3, &[]);
    assert_eq!(generation, Some(Bytes::from_static(&[0, 0, 0, 3])));
}

#[test]
fn the_order_of_members_does_not_matter() {
    let cluster = cluster([("t", 7), ("u", 5)]);
    let group = [
        owner("c", 1, "t-0 t-1 t-2 t-3", &["t", "u"]),
        owner("a", 1, "u-0 u-1", &["u"]),
        member("b", &["t"]),
    ];
    for assignor in [
        &Range as &dyn Assignor,
        &RoundRobin,
        &Sticky,
        &CooperativeSticky,
    ] {
        let mut expected = assigned(assignor, &cluster, &group);
        let mut turned = group.clone();
        for _ in 0..group.len() {
            turned.rotate_left(1);
            expected.rotate_left(1);
            assert_eq!(
                assigned(assignor, &cluster, &turned),
                expected,
                "{}",
                assignor.name()
            );
        }
    }
}

/// An assignor of somebody's own that can only be used cooperatively.
#[derive(Debug)]
struct Mine;

impl Assignor for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn supported_protocols(&self) -> &[RebalanceProtocol] {
        &[RebalanceProtocol::Cooperative]
    }

    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        CooperativeSticky.assign(cluster, group)
    }
}

#[test]
fn b155_a_group_rebalances_as_all_its_assignors_can() {
    let protocol = |assignors: &[Arc<dyn Assignor>]| common_protocol(assignors);
    use RebalanceProtocol::{Cooperative, Eager};
    assert_eq!(
        protocol(&[Arc::new(Range), Arc::new(CooperativeSticky)]),
        Ok(Eager)
    );
    assert_eq!(protocol(&[Arc::new(CooperativeSticky)]), Ok(Cooperative));
    assert_eq!(
        protocol(&[Arc::new(CooperativeSticky), Arc::new(Mine)]),
        Ok(Cooperative)
    );
    for eager in [
        Arc::new(Range) as Arc<dyn Assignor>,
        Arc::new(RoundRobin),
        Arc::new(Sticky),
    ] {
        assert_eq!(protocol(&[eager]), Ok(Eager));
    }
    let refused = protocol(&[Arc::new(Sticky), Arc::new(Mine)]).unwrap_err();
    assert!(
        refused.to_string().contains(r#"["sticky", "mine"]"#),
        "{refused}"
    );
    let none = AssignError::NoCommonProtocol { assignors: vec![] };
    assert_eq!(protocol(&[]), Err(none));
}

/// Returns what it was told to, or panics.
#[derive(Debug)]
struct Returns(Option<Vec<Vec<TopicPartition>>>);

impl Assignor for Returns {
    fn name(&self) -> &str {
        "mine"
    }

    fn assign(&self, _: &TopicsMetadata, _: &[Member]) -> Vec<Vec<TopicPartition>> {
        self.0.clone().expect("nothing to return")
    }
}

#[test]
fn an_assignor_that_returns_nonsense_is_named() {
    let mut cluster = TopicsMetadata::default();
    for topic in ["t", "u"] {
        cluster.insert(topic, vec![PartitionMetadata::default(); 2]);
    }
    let mut owner = Member::new("a", Subscription::new(["t"]));
    owner.subscription.owned_partitions = vec![TopicPartition::new("t", 0)];
    let group = [owner, Member::new("b", Subscription::new(["t", "u"]))];
    let tp = |index| TopicPartition::new("t", index);
    let eager = |returned| {
        let assignor = Returns(returned);
        verified::assign(&assignor, RebalanceProtocol::Eager, &cluster, &group)
    };
    for (returned, expected) in [
        (None, "it panicked"),
        (Some(vec![]), "to 0 members where the group has 2"),
        (Some(vec![vec![]; 3]), "to 3 members where the group has 2"),
        (Some(vec![vec![tp(2)], vec![]]), "t-2, and the topic has 2"),
        (
            Some(vec![vec![tp(-1)], vec![]]),
            "t--1, and the topic has 2",
        ),
        (
            Some(vec![vec![TopicPartition::new("v", 0)], vec![]]),
            "v-0, and the topic has 0",
        ),
        (
            Some(vec![vec![TopicPartition::new("u", 0)], vec![]]),
            "u-0 to a, which does not subscribe",
        ),
        (Some(vec![vec![tp(0)], vec![tp(0)]]), "t-0 twice"),
        (Some(vec![vec![tp(1), tp(1)], vec![]]), "t-1 twice"),
    ] {
        let error = eager(returned).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("mine") && told.contains(expected), "{told}");
    }
    // to leave a partition out is an assignor's right
    assert!(eager(Some(vec![vec![], vec![tp(0)]])).is_ok());
    let stolen = Returns(Some(vec![vec![], vec![tp(0)]]));
    let error = verified::assign(&stolen, RebalanceProtocol::Cooperative, &cluster, &group);
    let told = error.unwrap_err().to_string();
    assert!(
        told.contains("t-0 to b while another member owns it"),
        "{told}"
    );
}

/// How long it takes is printed: the leader's other work waits for it.
#[expect(clippy::disallowed_methods, reason = "a time that is printed")]
#[test]
fn an_assignment_of_1000_partitions_to_200_members() {
    let cluster = cluster([("t", 1000)]);
    let mut group: Vec<Member> = (0..200)
        .map(|n| member(&format!("m{n:03}"), &["t"]))
        .collect();
    let assignors: [&dyn Assignor; 4] = [&Range, &RoundRobin, &Sticky, &CooperativeSticky];
    for assignor in assignors {
        // at first, and again when one is gone
        for left in [200, 199] {
            let group = &mut group[..left];
            let begin = std::time::Instant::now();
            let assigned = assignor.assign(&cluster, group);
            println!("{}, {left} members: {:?}", assignor.name(), begin.elapsed());
            let given = assigned.iter().map(Vec::len).sum::<usize>();
            // what moves is given to nobody yet by a cooperative one
            let moves = if assignor.name() == "cooperative-sticky" {
                5
            } else {
                0
            };
            assert!((1000 - moves..=1000).contains(&given), "{given}");
            for (member, owned) in group.iter_mut().zip(assigned) {
                let topics = [Arc::from("t")];
                member.subscription.user_data = assignor.user_data(&owned, 1, &topics);
                member.subscription.owned_partitions = owned;
                member.subscription.generation_id = Some(1);
            }
        }
    }
}
