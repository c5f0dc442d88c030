//! What makes an assignment good, counted from the case alone.

use std::collections::{BTreeMap, BTreeSet};

use record_batch::TopicPartition;

use crate::assignors::cases::Case;

/// The partitions of each member, by id.
pub(crate) type Assigned = BTreeMap<String, Vec<TopicPartition>>;

/// How good an assignment is; the lower the better, the first that differs decides. That is the order in which the sticky assignors value it
/// (KIP-881).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Java's balance score: the differences between the loads of all pairs of members.
    pub(crate) unbalanced: usize,
    /// Partitions without a replica in the rack of their member. 0 where racks do not matter.
    pub(crate) far: usize,
    /// Partitions that do not stay with the member that owned them.
    pub(crate) moved: usize,
}

impl Cost {
    pub(crate) fn of(case: &Case, assigned: &Assigned) -> Self {
        let loads: Vec<usize> = assigned.values().map(Vec::len).collect();
        let pairs = loads
            .iter()
            .enumerate()
            .flat_map(|(place, one)| loads[place + 1..].iter().map(|other| one.abs_diff(*other)));
        let owners = owners(case);
        let racks_matter = racks_matter(case);
        let mut cost = Self {
            unbalanced: pairs.sum(),
            far: 0,
            moved: 0,
        };
        for member in &case.members {
            for partition in &assigned[&member.id] {
                let racks = &case.topics[partition.topic()][index(partition)];
                let far = member
                    .rack
                    .as_ref()
                    .is_some_and(|rack| !racks.contains(rack));
                cost.far += usize::from(racks_matter && far);
                let stays = owners.get(partition) == Some(&Some(member.id.as_str()));
                cost.moved += usize::from(!stays);
            }
        }
        cost
    }
}

/// Who owned each partition that anybody claims: the one whose claim is of the highest generation, `None` if there are several.
pub(crate) fn owners(case: &Case) -> BTreeMap<&TopicPartition, Option<&str>> {
    let claimed: BTreeSet<&TopicPartition> = case
        .members
        .iter()
        .flat_map(|member| &member.owned)
        .collect();
    let owner = |partition| {
        let claims = case
            .members
            .iter()
            .filter(|member| member.owned.contains(partition));
        let newest = claims.clone().map(|member| member.generation).max()?;
        let mut newest = claims.filter(|member| member.generation == newest);
        let first = newest.next()?;
        newest.next().is_none().then_some(first.id.as_str())
    };
    claimed
        .into_iter()
        .map(|partition| (partition, owner(partition)))
        .collect()
}

/// Everything that can be assigned, once, and to somebody who wants it.
pub(crate) fn check_complete(case: &Case, assigned: &Assigned) {
    let mut given = BTreeSet::new();
    for member in &case.members {
        for partition in &assigned[&member.id] {
            assert!(
                member.wants(partition.topic()),
                "{} did not ask for {partition}: {case:?}",
                member.id
            );
            assert!(
                given.insert(partition),
                "{partition} has two owners: {case:?}"
            );
        }
    }
    let wanted: usize = case
        .topics
        .iter()
        .filter(|(topic, _)| case.members.iter().any(|member| member.wants(topic)))
        .map(|(_, partitions)| partitions.len())
        .sum();
    assert_eq!(given.len(), wanted, "partitions without an owner: {case:?}");
}

/// Whether all that is assigned exists, and to somebody who wants it.
pub(crate) fn is_possible(case: &Case, assigned: &Assigned) -> bool {
    case.members.iter().all(|member| {
        let mut partitions = assigned[&member.id].iter();
        partitions.all(|partition| case.has(partition) && member.wants(partition.topic()))
    })
}

/// Java's `isBalanced`: nobody could have a partition of somebody who has more than one more.
pub(crate) fn check_balanced(case: &Case, assigned: &Assigned) {
    for member in &case.members {
        for other in &case.members {
            let could = assigned[&other.id]
                .iter()
                .any(|partition| member.wants(partition.topic()));
            let (less, more) = (assigned[&member.id].len(), assigned[&other.id].len());
            assert!(
                !could || less + 1 >= more,
                "{} has {less} and could have one of the {more} of {}: {case:?}",
                member.id,
                other.id
            );
        }
    }
}

fn index(partition: &TopicPartition) -> usize {
    usize::try_from(partition.partition()).expect("it was assigned")
}

/// Whether racks make a difference (KIP-881): somebody is near some partition, and not all partitions are in all racks.
fn racks_matter(case: &Case) -> bool {
    let subscribed = case
        .topics
        .iter()
        .filter(|(topic, _)| case.members.iter().any(|member| member.wants(topic)));
    let partitions: Vec<BTreeSet<&String>> = subscribed
        .flat_map(|(_, partitions)| partitions)
        .map(|racks| racks.iter().collect())
        .collect();
    let all: BTreeSet<&String> = partitions.iter().flatten().copied().collect();
    let near = case
        .members
        .iter()
        .filter_map(|member| member.rack.as_ref())
        .any(|rack| all.contains(rack));
    near && partitions.iter().any(|racks| *racks != all)
}
