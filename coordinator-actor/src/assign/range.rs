//! `range`, with racks (KIP-881).

use std::collections::{BTreeSet, HashMap};

use record_batch::TopicPartition;

use super::racks::{self, Rack, Racks};
use super::subscribers::{SubscribedTopic, Subscribers};
use super::{Assignor, Member, TopicsMetadata};

/// `range`: each topic by itself is cut into consecutive ranges, one per subscriber, the first ones one longer where it does not come out even.
/// Topics with as many partitions and the same subscribers are cut alike, so a member has the same partition of each (*co-partitioning*).
///
/// Where members have a `client.rack`, a partition goes to a member in the rack of one of its replicas as far as the lengths allow it, and
/// topics cut alike stay so (KIP-881).
///
/// Not even over many topics: the first members get the longer range of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range;

impl Assignor for Range {
    fn name(&self) -> &str {
        "range"
    }

    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        let group = Subscribers::new(cluster, group);
        let mut racks = Racks::default();
        let member_racks: Vec<_> = group
            .members
            .iter()
            .map(|member| racks.of_member(member))
            .collect();
        let mut topics: Vec<Cut> = group
            .topics
            .iter()
            .map(|topic| Cut::new(topic, &member_racks, &mut racks))
            .collect();
        if topics.iter().any(|topic| topic.racks_matter) {
            assign_near(&mut topics);
        }
        let mut assigned = vec![Vec::new(); group.members.len()];
        for topic in &mut topics {
            topic.assign_ranges(|_, _, _| true);
            for (index, owner) in topic.owners.iter().enumerate() {
                let rank = owner.and_then(|subscriber| topic.topic.subscribers.get(subscriber));
                if let Some(partitions) = rank.and_then(|rank| assigned.get_mut(*rank)) {
                    partitions.push(topic.topic.partition(index));
                }
            }
        }
        group.in_place(assigned)
    }
}

/// Gives partitions to members near them, topics with the same subscribers and number of partitions together.
fn assign_near(topics: &mut [Cut<'_>]) {
    let mut alike: HashMap<(&[usize], usize), Vec<usize>> = HashMap::new();
    for (place, cut) in topics.iter().enumerate() {
        // where no subscriber has a rack, nothing is near or far
        if !cut.partition_racks.is_empty() {
            let key = (&*cut.topic.subscribers, cut.partition_racks.len());
            alike.entry(key).or_default().push(place);
        }
    }
    for places in alike.values() {
        if let [place] = places[..] {
            let cut = &mut topics[place];
            if cut.racks_matter {
                cut.assign_ranges(Cut::is_near);
            }
        } else {
            assign_alike(topics, places);
        }
    }
}

/// Gives the same partition of all topics to a member that is near all of them and can take one more of each.
fn assign_alike(topics: &mut [Cut<'_>], places: &[usize]) {
    let Some(&first) = places.first() else { return };
    let mut remaining: Vec<usize> = (0..topics[first].counts.len()).collect();
    for partition in 0..topics[first].owners.len() {
        let taker = remaining.iter().position(|&subscriber| {
            places.iter().all(|&place| {
                topics[place].room(subscriber) > 0 && topics[place].is_near(subscriber, partition)
            })
        });
        let Some(taker) = taker else { continue };
        let subscriber = remaining[taker];
        for &place in places {
            topics[place].give(subscriber, partition);
        }
        if places
            .iter()
            .all(|&place| topics[place].room(subscriber) == 0)
        {
            remaining.remove(taker);
        }
    }
}

/// A topic while it is cut. Subscribers and partitions are named by their place in it.
#[derive(Debug)]
struct Cut<'a> {
    topic: &'a SubscribedTopic<'a>,
    /// By partition.
    owners: Vec<Option<usize>>,
    /// How many partitions each subscriber has.
    counts: Vec<usize>,
    /// The length of the shorter ranges.
    length: usize,
    /// How many of the longer ranges, by one, are left.
    longer: usize,
    /// By subscriber.
    subscriber_racks: Vec<Option<Rack>>,
    /// By partition; empty if no subscriber has a rack.
    partition_racks: Vec<BTreeSet<Rack>>,
    racks_matter: bool,
}

impl<'a> Cut<'a> {
    fn new(
        topic: &'a SubscribedTopic<'a>,
        member_racks: &[Option<Rack>],
        racks: &mut Racks<'a>,
    ) -> Self {
        let (partitions, subscribers) = (topic.partitions.len(), topic.subscribers.len());
        let subscriber_racks: Vec<_> = topic
            .subscribers
            .iter()
            .map(|rank| member_racks[*rank])
            .collect();
        let mut partition_racks = Vec::new();
        if subscriber_racks.iter().any(Option::is_some) {
            partition_racks.extend(topic.partitions.iter().map(|one| racks.of_partition(one)));
        }
        let racks_matter = racks::matter(subscriber_racks.iter().copied(), partition_racks.iter());
        Self {
            topic,
            owners: vec![None; partitions],
            counts: vec![0; subscribers],
            length: partitions / subscribers,
            longer: partitions % subscribers,
            subscriber_racks,
            partition_racks,
            racks_matter,
        }
    }

    /// How many more partitions a subscriber may have.
    fn room(&self, subscriber: usize) -> usize {
        let most = self.length + usize::from(self.longer > 0);
        most.saturating_sub(self.counts[subscriber])
    }

    fn is_near(&self, subscriber: usize, partition: usize) -> bool {
        !racks::mismatch(
            self.subscriber_racks[subscriber],
            &self.partition_racks[partition],
        )
    }

    fn give(&mut self, subscriber: usize, partition: usize) {
        self.owners[partition] = Some(subscriber);
        self.counts[subscriber] += 1;
        if self.counts[subscriber] > self.length {
            self.longer -= 1;
        }
    }

    /// Gives each subscriber in turn as many of the first partitions that nobody has and that it may have as there is room for.
    fn assign_ranges(&mut self, may_have: impl Fn(&Self, usize, usize) -> bool) {
        let mut free: Vec<usize> = (0..self.owners.len())
            .filter(|partition| self.owners[*partition].is_none())
            .collect();
        for subscriber in 0..self.counts.len() {
            if free.is_empty() {
                break;
            }
            let mut room = self.room(subscriber);
            free.retain(|&partition| {
                let taken = room > 0 && may_have(self, subscriber, partition);
                if taken {
                    room -= 1;
                    self.give(subscriber, partition);
                }
                !taken
            });
        }
    }
}
