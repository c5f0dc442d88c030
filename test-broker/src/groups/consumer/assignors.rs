//! What each member of a group is to have (KIP-848).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::cluster::PartitionId;

/// A member as assignors see it.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: Arc<str>,
    pub(super) instance: Option<Arc<str>>,
    pub(super) topics: BTreeSet<Uuid>,
    /// What it was to have until now.
    pub(super) had: BTreeSet<PartitionId>,
}

/// Partitions by member.
pub(super) type Target = BTreeMap<Arc<str>, BTreeSet<PartitionId>>;

/// The assignors that the broker has, the default one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assignor {
    Uniform,
    Range,
}

impl Assignor {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "range" => Some(Self::Range),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// Assigns every partition of the topics, which come with their numbers of partitions, to a member that is
    /// subscribed to it.
    pub(super) fn assign(self, members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> Target {
        match self {
            Self::Uniform => uniform(members, topics),
            Self::Range => range(members, topics),
        }
    }
}

/// As many partitions for each member as can be, and as few moves as can be.
fn uniform(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> Target {
    let exists =
        |(topic, partition): &PartitionId| topics.get(topic).is_some_and(|count| partition < count);
    let mut taken = BTreeSet::new();
    let mut shares: Vec<Vec<PartitionId>> = Vec::new();
    for member in members {
        let kept = member.had.iter().copied();
        let kept = kept.filter(|own| member.topics.contains(&own.0) && exists(own));
        shares.push(kept.filter(|own| taken.insert(*own)).collect());
    }
    let all = topics.iter();
    let all = all.flat_map(|(topic, count)| (0..*count).map(|partition| (*topic, partition)));
    for free in all.filter(|partition| !taken.contains(partition)) {
        let subscribed = members.iter().zip(&mut shares);
        let subscribed = subscribed.filter(|(member, _)| member.topics.contains(&free.0));
        // the first of those with the fewest
        if let Some((_, share)) = subscribed.min_by_key(|(_, share)| share.len()) {
            share.push(free);
        }
    }
    level(members, &mut shares);
    let shares = members.iter().zip(shares);
    shares
        .map(|(member, share)| (Arc::clone(&member.id), share.into_iter().collect()))
        .collect()
}

/// Moves partitions from members with more to subscribed members with at least two fewer, until there are none.
fn level(members: &[Candidate], shares: &mut [Vec<PartitionId>]) {
    loop {
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|index| shares.get(*index).map_or(0, Vec::len));
        let mut moved = false;
        'search: for from in order.iter().rev() {
            for to in &order {
                let size = |index: usize| shares.get(index).map_or(0, Vec::len);
                if size(*from) < size(*to) + 2 {
                    break;
                }
                let Some(member) = members.get(*to) else {
                    continue;
                };
                let share = shares.get(*from).map(Vec::as_slice).unwrap_or_default();
                // the last one, so that those that were there longest stay
                let Some(at) = share.iter().rposition(|own| member.topics.contains(&own.0)) else {
                    continue;
                };
                let partition = shares.get_mut(*from).map(|share| share.remove(at));
                if let (Some(partition), Some(share)) = (partition, shares.get_mut(*to)) {
                    share.push(partition);
                }
                moved = true;
                break 'search;
            }
        }
        if !moved {
            return;
        }
    }
}

/// Of each topic a run of partitions for each member, so that partitions of the same number of different topics come
/// together. Static members are ordered by their instance ids, before the others, which are ordered by their ids.
fn range(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> Target {
    let mut ordered: Vec<&Candidate> = members.iter().collect();
    ordered.sort_by_key(|member| {
        let name = member.instance.as_ref().unwrap_or(&member.id);
        (member.instance.is_none(), Arc::clone(name))
    });
    let mut target: Target = ordered
        .iter()
        .map(|member| (Arc::clone(&member.id), BTreeSet::new()))
        .collect();
    for (topic, count) in topics {
        let subscribed = ordered
            .iter()
            .filter(|member| member.topics.contains(topic));
        let subscribed: Vec<_> = subscribed.collect();
        let size = i32::try_from(subscribed.len()).unwrap_or(i32::MAX).max(1);
        let (each, extra) = (count / size, count % size);
        let mut next = 0;
        for (index, member) in (0..).zip(subscribed) {
            let end = next + each + i32::from(index < extra);
            if let Some(share) = target.get_mut(&member.id) {
                share.extend((next..end).map(|partition| (*topic, partition)));
            }
            next = end;
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    fn member(id: &str, topics: &[Uuid]) -> Candidate {
        Candidate {
            id: Arc::from(id),
            instance: None,
            topics: topics.iter().copied().collect(),
            had: BTreeSet::new(),
        }
    }

    fn sizes(target: &Target) -> Vec<usize> {
        target.values().map(BTreeSet::len).collect()
    }

    #[test]
    fn uniform_gives_each_as_many_and_moves_as_few_as_can_be() {
        let topics = BTreeMap::from([(A, 5), (B, 4)]);
        let mut members = vec![member("1", &[A, B]), member("2", &[A, B])];
        let first = Assignor::Uniform.assign(&members, &topics);
        assert_eq!(sizes(&first), [5, 4]);
        for member in &mut members {
            member.had.clone_from(&first[&member.id]);
        }
        members.push(member("3", &[A, B]));
        let second = Assignor::Uniform.assign(&members, &topics);
        assert_eq!(sizes(&second), [3, 3, 3]);
        for old in &members[..2] {
            assert!(
                second[&old.id].is_subset(&old.had),
                "nothing goes from old to old"
            );
        }
    }

    #[test]
    fn b150_uniform_gives_partitions_to_subscribed_members_only() {
        let topics = BTreeMap::from([(A, 6), (B, 2)]);
        let members = [member("1", &[A]), member("2", &[A, B]), member("3", &[B])];
        let target = Assignor::Uniform.assign(&members, &topics);
        assert_eq!(target.values().map(BTreeSet::len).sum::<usize>(), 8);
        for member in &members {
            let mut own = target[&member.id].iter();
            assert!(own.all(|(topic, _)| member.topics.contains(topic)));
        }
        assert_eq!(sizes(&target), [3, 3, 2]);
    }

    #[test]
    fn b150_range_gives_runs_by_the_order_of_ids() {
        let topics = BTreeMap::from([(A, 3), (B, 3)]);
        let mut fixed = member("z", &[A, B]);
        fixed.instance = Some(Arc::from("instance"));
        let members = [member("b", &[A, B]), fixed];
        let target = Assignor::Range.assign(&members, &topics);
        let of = |id: &str| target[id].iter().copied().collect::<Vec<_>>();
        assert_eq!(of("z"), [(A, 0), (A, 1), (B, 0), (B, 1)]);
        assert_eq!(of("b"), [(A, 2), (B, 2)]);
    }
}
