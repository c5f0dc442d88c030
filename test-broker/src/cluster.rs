//! The state of the whole cluster: nodes, topics, leaders. One lock guards it; every change is synchronous.

mod node;
mod partition;
mod purgatory;
mod topics;

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use record_batch::{DecodeOptions, Decoder};
use uuid::Uuid;

pub(crate) use node::Node;
pub(crate) use partition::Partition;
pub(crate) use purgatory::{PartitionId, Purgatory, Waiter};
pub(crate) use topics::{NewTopic, Topic, TopicError, Topics, check_name};

use crate::fault::Faults;
use crate::groups::Groups;
use crate::request_log::RequestLog;
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) settings: Settings,
    pub(crate) id: String,
    pub(crate) nodes: BTreeMap<i32, Node>,
    pub(crate) topics: Topics,
    pub(crate) groups: Groups,
    pub(crate) purgatory: Purgatory,
    pub(crate) faults: Faults,
    pub(crate) requests: RequestLog,
    pub(crate) decoder: Decoder,
    next_producer_id: i64,
    rng: Rng,
}

impl Cluster {
    pub(crate) fn new(settings: Settings) -> Self {
        let mut rng = Rng::with_seed(settings.seed);
        let ids: Vec<i32> = settings.nodes.keys().copied().collect();
        let nodes = settings.nodes.iter().map(|(id, spec)| {
            let node = Node::new(*id, spec.clone(), &settings.session_cache, rng.fork());
            (*id, node)
        });
        Self {
            nodes: nodes.collect(),
            id: Uuid::from_bytes(rng.u128(..).to_be_bytes())
                .simple()
                .to_string(),
            topics: Topics::default(),
            groups: Groups::new(&ids, settings.groups.clone(), rng.fork()),
            purgatory: Purgatory::default(),
            faults: Faults::default(),
            requests: RequestLog::new(settings.request_log_capacity),
            decoder: Decoder::new(DecodeOptions::default()),
            next_producer_id: 0,
            rng,
            settings,
        }
    }

    /// The controller, as far as clients know: with KRaft any live broker passes requests on to it.
    pub(crate) fn controller(&self) -> i32 {
        let mut live = self.live_nodes();
        live.next().map_or(-1, |node| node.id)
    }

    pub(crate) fn live_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| node.alive)
    }

    pub(crate) fn new_producer_id(&mut self) -> i64 {
        let id = self.next_producer_id;
        self.next_producer_id += 1;
        id
    }

    pub(crate) fn new_topic_id(&mut self) -> Uuid {
        topics::new_id(&mut self.rng)
    }

    pub(crate) fn create_topic(&mut self, topic: NewTopic) -> Result<&Topic, TopicError> {
        let live: Vec<i32> = self.live_nodes().map(|node| node.id).collect();
        self.topics.create(topic, &live, &mut self.rng)
    }

    /// Deletes a topic, and what groups have committed for it; fetches that wait on it are answered.
    pub(crate) fn delete_topic(&mut self, name: &str) -> Option<Topic> {
        let topic = self.topics.remove(name)?;
        self.groups.forget_topic(name);
        for partition in 0..topic.partitions.len() {
            self.purgatory.wake((topic.id, partition as i32));
        }
        Some(topic)
    }

    /// The partition, and what is needed to change its log; whoever changes it must wake its waiters.
    pub(crate) fn partition_mut(
        &mut self,
        topic: &str,
        partition: i32,
    ) -> Option<(&mut Partition, &mut Decoder, PartitionId)> {
        let topic = self.topics.get_mut(topic)?;
        let id = (topic.id, partition);
        let partition = topic.partition_mut(partition)?;
        Some((partition, &mut self.decoder, id))
    }

    /// A node is gone: its partitions go to another in-sync replica, or have no leader, and its groups to another node.
    pub(crate) fn node_died(&mut self, id: i32, now: Duration) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        node.alive = false;
        node.forget_sessions(&self.settings.session_cache, self.rng.fork());
        let live: Vec<i32> = self.live_nodes().map(|node| node.id).collect();
        self.groups.node_died(id, &live, now);
        self.each_partition(|partition| partition.node_died(id, &live));
    }

    /// A node is back: it leads what it alone can lead, and follows what others lead.
    pub(crate) fn node_returned(&mut self, id: i32, now: Duration) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.alive = true;
            self.groups.node_returned(id, now);
            self.each_partition(|partition| partition.node_returned(id));
        }
    }

    fn each_partition(&mut self, mut change: impl FnMut(&mut Partition) -> bool) {
        for topic in self.topics.iter_mut() {
            for (index, partition) in topic.partitions.iter_mut().enumerate() {
                if change(partition) {
                    self.purgatory.wake((topic.id, index as i32));
                }
            }
        }
    }
}
