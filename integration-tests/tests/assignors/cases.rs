//! Random groups, each from a seed.

use std::collections::BTreeMap;
use std::fmt;

use coordinator_actor::assign::{
    Assignor, Member, PartitionMetadata, Subscription, TopicsMetadata,
};
use fastrand::Rng;
use integration_tests::kafka::{AssignCase, CaseMember};
use record_batch::TopicPartition;

/// A group before its leader, and what each member owned before.
#[derive(Clone)]
pub(crate) struct Case {
    seed: u64,
    pub(crate) topics: BTreeMap<String, Vec<Vec<String>>>,
    pub(crate) members: Vec<Joining>,
}

#[derive(Clone, Debug)]
pub(crate) struct Joining {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) topics: Vec<String>,
    pub(crate) rack: Option<String>,
    pub(crate) owned: Vec<TopicPartition>,
    /// -1 for none.
    pub(crate) generation: i32,
}

impl Joining {
    pub(crate) fn wants(&self, topic: &str) -> bool {
        self.topics.iter().any(|wanted| wanted == topic)
    }
}

/// The input as it stands, for whoever has to find out why it fails.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for (topic, partitions) in &self.topics {
            writeln!(f, "  {topic}: {partitions:?}")?;
        }
        for member in &self.members {
            writeln!(f, "  {member:?}")?;
        }
        Ok(())
    }
}

const RACKS: [&str; 4] = ["a", "b", "c", "d"];

impl Case {
    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let topics = topics(&mut rng);
        let members = members(&mut rng, &topics);
        let mut case = Self {
            seed,
            topics,
            members,
        };
        case.give_owners(&mut rng);
        case
    }

    /// Most partitions have one owner of the present generation. Some members missed a rebalance, some claims are of several members, of topics
    /// that are gone or not subscribed to, or of partitions that never were.
    fn give_owners(&mut self, rng: &mut Rng) {
        if rng.u8(..4) == 0 {
            return;
        }
        let present = rng.i32(1..100);
        for member in &mut self.members {
            member.generation = match rng.u8(..10) {
                0 => -1,
                1 => present - 1,
                2 => rng.i32(0..=present),
                _ => present,
            };
        }
        let own_few = rng.bool();
        let unsubscribed = rng.u8(..8) == 0;
        for (topic, partitions) in &self.topics {
            for partition in (0..).take(partitions.len()) {
                let owners = [0, 1, 1, 1, 1, 1, 1, 1, 1, 2][rng.usize(..10)];
                for _ in 0..owners {
                    // where few own all there is much to move
                    let among = if own_few {
                        self.members.len().min(2)
                    } else {
                        self.members.len()
                    };
                    let member = &mut self.members[rng.usize(..among)];
                    if member.wants(topic) || (unsubscribed && rng.u8(..4) == 0) {
                        let claimed = TopicPartition::new(topic.as_str(), partition);
                        if !member.owned.contains(&claimed) {
                            member.owned.push(claimed);
                        }
                    }
                }
            }
        }
        if rng.u8(..12) == 0 {
            let member = rng.usize(..self.members.len());
            let claims = [("t0", 99), ("t1", -1), ("gone", 0)];
            let claims = claims.map(|(topic, partition)| TopicPartition::new(topic, partition));
            self.members[member].owned.extend(claims);
        }
    }

    /// Whether a member claims what is not there or what it does not subscribe to, or subscribes to nothing that is there. Java's sticky assignors
    /// may fail then.
    pub(crate) fn is_odd(&self) -> bool {
        self.members.iter().any(|member| {
            let idle = !member
                .topics
                .iter()
                .any(|topic| self.topics.contains_key(topic));
            let mut claims = member.owned.iter();
            idle || claims.any(|partition| !self.has(partition) || !member.wants(partition.topic()))
        })
    }

    pub(crate) fn has(&self, partition: &TopicPartition) -> bool {
        let partitions = self.topics.get(partition.topic());
        let index = usize::try_from(partition.partition());
        index.is_ok_and(|index| partitions.is_some_and(|partitions| index < partitions.len()))
    }

    pub(crate) fn metadata(&self) -> TopicsMetadata {
        let mut metadata = TopicsMetadata::default();
        for (topic, partitions) in &self.topics {
            let partitions = partitions
                .iter()
                .map(|racks| PartitionMetadata::on_racks(racks.iter().map(String::as_str)));
            metadata.insert(topic.as_str(), partitions.collect());
        }
        metadata
    }

    /// The members as they join with this assignor: an eager one owns nothing any more.
    pub(crate) fn group(&self, assignor: &dyn Assignor) -> Vec<Member> {
        let cooperative = assignor.name() == "cooperative-sticky";
        let join = |joining: &Joining| {
            let mut subscription = Subscription::new(joining.topics.iter().map(String::as_str));
            subscription.user_data =
                assignor.user_data(&joining.owned, joining.generation, &subscription.topics);
            subscription.generation_id = (joining.generation >= 0).then_some(joining.generation);
            subscription.rack_id.clone_from(&joining.rack);
            if cooperative {
                subscription.owned_partitions.clone_from(&joining.owned);
            }
            let member = Member::new(joining.id.as_str(), subscription);
            match &joining.instance_id {
                Some(instance) => member.with_instance_id(instance.as_str()),
                None => member,
            }
        };
        self.members.iter().map(join).collect()
    }

    /// The same for the Java client.
    pub(crate) fn for_java(&self, group: &[Member]) -> AssignCase {
        let members = group.iter().map(|member| {
            let subscription = member.subscription.encode(Subscription::VERSION);
            let joining = CaseMember {
                instance_id: member.instance_id.clone(),
                subscription: subscription.expect("names are short").to_vec(),
            };
            (member.id.clone(), joining)
        });
        AssignCase {
            topics: self.topics.clone(),
            members: members.collect(),
        }
    }
}

fn topics(rng: &mut Rng) -> BTreeMap<String, Vec<Vec<String>>> {
    // co-partitioned ones are as usual as others
    let alike = rng.bool().then(|| rng.usize(1..=12));
    let replicas = if rng.bool() { rng.usize(1..=3) } else { 0 };
    let racks = rng.usize(1..=RACKS.len());
    let partition = |rng: &mut Rng| -> Vec<String> {
        let racks = (0..replicas).map(|_| RACKS[rng.usize(..racks)].to_owned());
        racks.collect()
    };
    (0..rng.usize(1..=8))
        .map(|number| {
            let partitions = alike.unwrap_or_else(|| rng.usize(0..=12));
            let partitions = (0..partitions).map(|_| partition(rng)).collect();
            (format!("t{number}"), partitions)
        })
        .collect()
}

fn members(rng: &mut Rng, topics: &BTreeMap<String, Vec<Vec<String>>>) -> Vec<Joining> {
    let mut names: Vec<String> = topics.keys().cloned().collect();
    if rng.u8(..4) == 0 {
        names.push("unknown".to_owned());
    }
    let equal = rng.bool();
    let (with_racks, with_statics) = (rng.bool(), rng.u8(..3) == 0);
    let everything = names.clone();
    let mut members: Vec<Joining> = (0..rng.usize(1..=12))
        .map(|number| {
            let mut topics = everything.clone();
            if !equal {
                topics.retain(|_| rng.bool());
            }
            rng.shuffle(&mut topics);
            let instance_id = (with_statics && rng.bool()).then(|| format!("i{}", 99 - number));
            let rack =
                (with_racks && rng.u8(..5) > 0).then(|| RACKS[rng.usize(..RACKS.len())].to_owned());
            Joining {
                // in no order, and one that sorts differently in Java than by its bytes
                id: match number {
                    3 => "\u{ffee}-3".to_owned(),
                    4 => "\u{1f600}-4".to_owned(),
                    _ => format!("m{}-{number}", rng.u8(..)),
                },
                instance_id,
                topics,
                rack,
                owned: Vec::new(),
                generation: -1,
            }
        })
        .collect();
    rng.shuffle(&mut members);
    members
}
