//! The flow against all assignments there are, of groups that are small enough for that.

use fastrand::Rng;
use record_batch::TopicPartition;

use super::balance;
use crate::assign::owners::{Claims, Owner, Owners};
use crate::assign::subscribers::Subscribers;
use crate::assign::{Member, PartitionMetadata, Subscription, TopicsMetadata};

/// Sum of squares of the loads, partitions far from their member, partitions that move.
type Cost = (usize, usize, usize);

/// A partition as it counts here: for each member whether it may have it and, if so, whether it is far and whether it owned it.
type Choices = Vec<Option<(bool, bool)>>;

fn cost(choices: &[Choices], taken: &[usize], members: usize) -> Cost {
    let mut loads = vec![0; members];
    let (mut far, mut moved) = (0, 0);
    for (choice, &rank) in choices.iter().zip(taken) {
        let (is_far, owned) = choice[rank].expect("to a subscriber");
        loads[rank] += 1;
        far += usize::from(is_far);
        moved += usize::from(!owned);
    }
    (loads.iter().map(|load| load * load).sum(), far, moved)
}

fn cheapest(choices: &[Choices], members: usize) -> Cost {
    fn search(
        choices: &[Choices],
        taken: &mut Vec<usize>,
        members: usize,
        best: &mut Option<Cost>,
    ) {
        let Some(choice) = choices.get(taken.len()) else {
            let cost = cost(choices, taken, members);
            *best = Some(best.map_or(cost, |best| best.min(cost)));
            return;
        };
        for rank in (0..members).filter(|rank| choice[*rank].is_some()) {
            taken.push(rank);
            search(choices, taken, members, best);
            taken.pop();
        }
    }
    let mut best = None;
    search(choices, &mut Vec::new(), members, &mut best);
    best.expect("every partition has a subscriber")
}

#[test]
fn f022_b148_no_assignment_is_better() {
    let racks = ["a", "b", "c"];
    let (mut moved, mut far, mut uneven) = (0, 0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::with_seed(seed);
        let members = rng.usize(1..=4);
        let mut cluster = TopicsMetadata::default();
        let mut left = 7;
        for topic in ["t0", "t1", "t2"] {
            let partitions = rng.usize(0..=4.min(left));
            left -= partitions;
            let on = |rng: &mut Rng| PartitionMetadata::on_racks([racks[rng.usize(..2)]]);
            cluster.insert(topic, (0..partitions).map(|_| on(&mut rng)).collect());
        }
        let (equal, with_racks) = (rng.bool(), rng.bool());
        let group: Vec<Member> = (0..members)
            .map(|number| {
                let topics = ["t0", "t1", "t2"]
                    .into_iter()
                    .filter(|_| equal || rng.bool());
                let mut subscription = Subscription::new(topics.collect::<Vec<_>>());
                if with_racks && rng.u8(..4) > 0 {
                    subscription.rack_id = Some(racks[rng.usize(..3)].to_owned());
                }
                Member::new(number.to_string(), subscription)
            })
            .collect();
        let mut claims = vec![Claims::default(); members];
        for (topic, partitions) in cluster.iter() {
            for number in (0..).take(partitions.len()) {
                for _ in 0..rng.usize(..3) {
                    let owner = &mut claims[if rng.bool() { 0 } else { rng.usize(..members) }];
                    owner.generation = rng.i32(0..3);
                    owner
                        .partitions
                        .push(TopicPartition::new(topic.as_ref(), number));
                }
            }
        }

        let subscribers = Subscribers::new(&cluster, &group);
        let owners = Owners::new(&claims);
        let all = subscribers.topics.iter().flat_map(|topic| topic.partitions);
        let everywhere = racks.map(|rack| {
            all.clone()
                .any(|one| one.racks.iter().any(|on| **on == *rack))
        });
        let racks_matter = everywhere.iter().filter(|on| **on).count() > 1
            && group.iter().any(|member| {
                let rack = member.subscription.rack_id.as_deref();
                racks
                    .iter()
                    .zip(everywhere)
                    .any(|(one, on)| on && rack == Some(*one))
            });

        let assigned = balance(&subscribers, &owners);
        let (mut choices, mut taken) = (Vec::new(), Vec::new());
        for topic in &subscribers.topics {
            for (index, metadata) in topic.partitions.iter().enumerate() {
                let partition = topic.partition(index);
                let choice = |rank: usize| {
                    let rack = group[rank].subscription.rack_id.as_deref();
                    let near =
                        rack.is_none_or(|rack| metadata.racks.iter().any(|on| **on == *rack));
                    let owned = owners.of(&partition) == Some(Owner::Member(rank));
                    topic
                        .subscribers
                        .contains(&rank)
                        .then_some((racks_matter && !near, owned))
                };
                choices.push((0..members).map(choice).collect::<Choices>());
                let takers: Vec<usize> = (0..members)
                    .filter(|rank| assigned[*rank].contains(&partition))
                    .collect();
                assert_eq!(
                    takers.len(),
                    1,
                    "seed {seed}: {partition} goes to {takers:?}"
                );
                taken.push(takers[0]);
            }
        }
        assert_eq!(
            assigned.iter().map(Vec::len).sum::<usize>(),
            choices.len(),
            "seed {seed}"
        );
        let ours = cost(&choices, &taken, members);
        let best = cheapest(&choices, members);
        assert_eq!(ours, best, "seed {seed}: {group:?} {claims:?} {assigned:?}");
        moved += usize::from(best.2 > 0);
        far += usize::from(best.1 > 0);
        uneven += usize::from(!equal);
    }
    // the groups are of all kinds
    assert!(
        moved > 500 && far > 100 && uneven > 500,
        "{moved} {far} {uneven}"
    );
}
