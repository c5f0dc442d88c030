//! The assignment of the sticky assignors: even, near, and what stays stays, in this order.
//!
//! Partitions of a topic with replicas in the same racks are alike, so what is looked for is how many of each such [`Class`] a member gets: a
//! flow from classes to members. Its cost is lexicographic: the sum of the squares of the members' loads (least where they are as even as they
//! can be), the partitions far from their member, the partitions that move. [`seed`] makes a good flow, [`improve`] the cheapest one.

mod improve;
mod seed;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use record_batch::TopicPartition;

use super::owners::{Owner, Owners};
use super::racks::{self, Rack, Racks};
use super::subscribers::Subscribers;

/// The partitions of each member, by rank.
pub(super) fn balance(group: &Subscribers<'_>, owners: &Owners<'_>) -> Vec<Vec<TopicPartition>> {
    let mut flow = Flow::new(group, owners);
    seed::seed(&mut flow);
    if flow.racks_matter || !flow.all_subscriptions_equal() {
        improve::improve(&mut flow);
    }
    flow.into_assignment(group)
}

/// Partitions of a topic that are alike.
#[derive(Debug)]
struct Class<'a> {
    /// Its topic's place in the group.
    topic: usize,
    subscribers: &'a [usize],
    racks: BTreeSet<Rack>,
    /// By number: the index in the topic, and the subscriber that owned it.
    partitions: Vec<(usize, Option<usize>)>,
    /// Those that own some or owned some, by rank.
    shares: Vec<Share>,
}

/// How much a member has of a class.
#[derive(Debug, Clone, Copy)]
struct Share {
    rank: usize,
    /// What it owned before.
    owned: usize,
    /// What it gets.
    count: usize,
}

impl Class<'_> {
    fn share(&self, rank: usize) -> Option<&Share> {
        let place = self.place(rank).ok()?;
        self.shares.get(place)
    }

    fn share_mut(&mut self, rank: usize) -> &mut Share {
        let place = self.place(rank).unwrap_or_else(|place| {
            let share = Share {
                rank,
                owned: 0,
                count: 0,
            };
            self.shares.insert(place, share);
            place
        });
        &mut self.shares[place]
    }

    fn place(&self, rank: usize) -> Result<usize, usize> {
        self.shares.binary_search_by_key(&rank, |share| share.rank)
    }

    /// How many partitions nobody has yet.
    fn free(&self) -> usize {
        let given: usize = self.shares.iter().map(|share| share.count).sum();
        self.partitions.len().saturating_sub(given)
    }
}

/// How many partitions of each class go to each member.
#[derive(Debug)]
struct Flow<'a> {
    classes: Vec<Class<'a>>,
    /// How many partitions each member gets, by rank.
    loads: Vec<usize>,
    /// The classes of which a member gets any, by rank.
    held: Vec<BTreeSet<usize>>,
    /// By rank; all `None` where racks do not matter.
    racks: Vec<Option<Rack>>,
    racks_matter: bool,
}

impl<'a> Flow<'a> {
    /// Nobody has anything yet.
    fn new(group: &'a Subscribers<'a>, owners: &Owners<'_>) -> Self {
        let mut numbers = Racks::default();
        let mut racks: Vec<Option<Rack>> = group
            .members
            .iter()
            .map(|member| numbers.of_member(member))
            .collect();
        let mut partition_racks: Vec<Vec<BTreeSet<Rack>>> = Vec::new();
        if racks.iter().any(Option::is_some) {
            partition_racks.extend(group.topics.iter().map(|topic| {
                let partitions = topic.partitions.iter();
                partitions.map(|one| numbers.of_partition(one)).collect()
            }));
        }
        let racks_matter = racks::matter(racks.iter().copied(), partition_racks.iter().flatten());
        if !racks_matter {
            partition_racks.clear();
            racks.fill(None);
        }

        let mut classes = Vec::with_capacity(group.topics.len());
        for (place, topic) in group.topics.iter().enumerate() {
            let mut alike: BTreeMap<BTreeSet<Rack>, Class> = BTreeMap::new();
            for index in 0..topic.partitions.len() {
                let racks = partition_racks
                    .get(place)
                    .and_then(|topic| topic.get(index).cloned())
                    .unwrap_or_default();
                let class = alike.entry(racks).or_insert_with_key(|racks| Class {
                    topic: place,
                    subscribers: &topic.subscribers,
                    racks: racks.clone(),
                    partitions: Vec::new(),
                    shares: Vec::new(),
                });
                let owner = match owners.of(&topic.partition(index)) {
                    Some(Owner::Member(rank)) => Some(rank),
                    Some(Owner::Contested) | None => None,
                };
                let owner = owner.filter(|rank| topic.subscribers.binary_search(rank).is_ok());
                if let Some(rank) = owner {
                    class.share_mut(rank).owned += 1;
                }
                class.partitions.push((index, owner));
            }
            classes.extend(alike.into_values());
        }
        let members = group.members.len();
        Self {
            classes,
            loads: vec![0; members],
            held: vec![BTreeSet::new(); members],
            racks,
            racks_matter,
        }
    }

    /// Whether all members that get anything can get everything.
    fn all_subscriptions_equal(&self) -> bool {
        self.classes
            .windows(2)
            .all(|pair| pair[0].subscribers == pair[1].subscribers)
    }

    fn is_far(&self, class: usize, rank: usize) -> bool {
        racks::mismatch(self.racks[rank], &self.classes[class].racks)
    }

    fn give(&mut self, class: usize, rank: usize) {
        self.classes[class].share_mut(rank).count += 1;
        self.loads[rank] += 1;
        self.held[rank].insert(class);
    }

    fn take(&mut self, class: usize, rank: usize) {
        let share = self.classes[class].share_mut(rank);
        share.count -= 1;
        if share.count == 0 {
            self.held[rank].remove(&class);
        }
        self.loads[rank] -= 1;
    }

    /// Names the partitions: of those that a member owned it keeps the first ones, and the others go to those that get more than they owned.
    fn into_assignment(self, group: &Subscribers<'_>) -> Vec<Vec<TopicPartition>> {
        let mut assigned = vec![Vec::new(); self.loads.len()];
        for mut class in self.classes {
            let topic = &group.topics[class.topic];
            let mut others = Vec::new();
            for (index, owner) in std::mem::take(&mut class.partitions) {
                match owner.map(|rank| class.share_mut(rank)) {
                    Some(share) if share.count > 0 => {
                        share.count -= 1;
                        assigned[share.rank].push(topic.partition(index));
                    }
                    _ => others.push(index),
                }
            }
            let takers = class
                .shares
                .iter()
                .flat_map(|share| std::iter::repeat_n(share.rank, share.count));
            for (rank, index) in takers.zip(others) {
                assigned[rank].push(topic.partition(index));
            }
        }
        assigned
    }
}
