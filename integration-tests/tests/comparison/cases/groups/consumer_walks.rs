//! Members of a group of KIP-848 that do one thing after another, chosen by chance but the same in every run.

use anyhow::Result;
use fastrand::Rng;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::Consumers;
use crate::engine::{Names, Pair};
use crate::requests::{beat, full_beat, owned, text};

const TOPIC: &str = "consumer-walks";
const PARTITIONS: i32 = 7;
const OTHER: &str = "consumer-walks-other";
const OTHER_PARTITIONS: i32 = 3;
const SUBSCRIPTIONS: [&[&str]; 5] = [&[TOPIC], &[TOPIC, OTHER], &[OTHER], &[TOPIC], &[]];
/// Names, and the instance ids of static members.
const MEMBERS: [(&str, Option<&str>); 4] =
    [("a", None), ("b", None), ("c", Some("i")), ("d", Some("j"))];
const VERSION: i16 = 1;
/// The other one gives to members in the order of a hash table of Kafka's.
const ASSIGNOR: &str = "range";
const WALKS: u64 = 24;
const STEPS: usize = 60;
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;

/// What a member knows of itself.
#[derive(Clone, Debug)]
struct Member {
    name: &'static str,
    instance: Option<&'static str>,
    /// A static member that comes back has another id.
    lives: usize,
    /// 0 if it is not in.
    epoch: i32,
    topics: &'static [&'static str],
    /// What it was told last, of [`TOPIC`] and of [`OTHER`].
    assigned: [Vec<i32>; 2],
}

/// What it does next.
#[derive(Clone, Copy, Debug)]
enum Action {
    Join,
    Subscribe(&'static [&'static str]),
    /// Says everything, as after a lost answer.
    Full,
    Owns,
    Nothing,
    OldEpoch,
    Leave,
    LeaveStatic,
}

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for (topic, partitions) in [(TOPIC, PARTITIONS), (OTHER, OTHER_PARTITIONS)] {
        let replicas: Vec<&[i32]> = (0..partitions).map(|_| &[1] as &[i32]).collect();
        pair.create(topic, &replicas).await?;
    }
    for walk in 0..WALKS {
        one(pair, walk).await?;
    }
    Ok(())
}

async fn one(pair: &mut Pair, walk: u64) -> Result<()> {
    let group = Consumers::new(pair, "consumer-walks", TOPIC, VERSION).await?;
    let mut rng = Rng::with_seed(walk);
    let mut members = MEMBERS.map(|(name, instance)| Member {
        name,
        instance,
        lives: 0,
        epoch: 0,
        topics: &[TOPIC],
        assigned: [Vec::new(), Vec::new()],
    });
    for step in 0..STEPS {
        let Some(member) = rng.choice(&mut members) else {
            continue;
        };
        let action = member.next(&mut rng);
        let case = format!("walk {walk}, step {step}: {} {action:?}", member.name);
        let before = (member.id(), member.epoch);
        let request = |names: &Names| member.request(&group.id, action, names);
        let answers = pair.compare(&case, VERSION, request).await?;
        if let Some(answer) = answers.real {
            member.learn(action, &answer, &pair.real.names);
        }
        for partition in [0, PARTITIONS - 1] {
            let (id, epoch) = (&before.0, before.1);
            group.commit(pair, &case, (id, epoch), partition).await?;
        }
        group.describe(pair, &case).await?;
    }
    Ok(())
}

impl Member {
    fn id(&self) -> String {
        format!("{}{}", self.name, self.lives)
    }

    fn next(&self, rng: &mut Rng) -> Action {
        if self.epoch == 0 {
            return Action::Join;
        }
        match rng.u8(..20) {
            0 => Action::Join,
            1 => Action::Leave,
            2 if self.instance.is_some() => Action::LeaveStatic,
            2 | 3 => Action::OldEpoch,
            4 | 5 => Action::Subscribe(rng.choice(SUBSCRIPTIONS).unwrap_or_default()),
            6 | 7 => Action::Full,
            8..12 => Action::Nothing,
            _ => Action::Owns,
        }
    }

    fn request(&self, group: &str, action: Action, names: &Names) -> ConsumerGroupHeartbeatRequest {
        let own = || {
            let topics = [TOPIC, OTHER].into_iter().zip(&self.assigned);
            let topics = topics.filter(|(_, partitions)| !partitions.is_empty());
            let topics = topics.map(|(topic, own)| owned(names.topic(topic), own));
            topics.collect::<Vec<_>>()
        };
        let id = || text(&self.id());
        let simple = |epoch| beat(group, id(), epoch);
        let full = |epoch, topics: &[&str], own| {
            full_beat(group, id(), epoch, topics, own).with_server_assignor(Some(text(ASSIGNOR)))
        };
        let request = match action {
            Action::Join => full(0, self.topics, Vec::new()),
            Action::Subscribe(topics) => full(self.epoch, topics, own()),
            Action::Full => full(self.epoch, self.topics, own()),
            Action::Owns => simple(self.epoch).with_topic_partitions(Some(own())),
            Action::Nothing => simple(self.epoch),
            Action::OldEpoch => simple(self.epoch - 1).with_topic_partitions(Some(own())),
            Action::Leave => simple(LEAVE),
            Action::LeaveStatic => simple(LEAVE_STATIC),
        };
        request.with_instance_id(self.instance.map(text))
    }

    /// Does as the answer says. One that is refused joins again.
    fn learn(&mut self, action: Action, answer: &ConsumerGroupHeartbeatResponse, names: &Names) {
        if answer.error_code != 0 {
            if !matches!(action, Action::OldEpoch) {
                self.is_out();
            }
            return;
        }
        match action {
            Action::Leave => return self.is_out(),
            Action::LeaveStatic => {
                self.lives += 1;
                return self.is_out();
            }
            Action::Subscribe(topics) => self.topics = topics,
            _ => {}
        }
        self.epoch = answer.member_epoch;
        if let Some(assignment) = &answer.assignment {
            let topics = &assignment.topic_partitions;
            self.assigned = [TOPIC, OTHER].map(|name| {
                let id = names.topic(name);
                let own = topics.iter().filter(|topic| topic.topic_id == id);
                own.flat_map(|topic| topic.partitions.clone()).collect()
            });
        }
    }

    fn is_out(&mut self) {
        self.epoch = 0;
        if self.topics.is_empty() {
            // Kafka may assign something to one that joins with nothing, as if it subscribed to what all others do
            self.topics = &[TOPIC];
        }
        self.assigned = [Vec::new(), Vec::new()];
    }
}
