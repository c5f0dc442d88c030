//! Fetch requests, of any version and for either broker.

use kafka_protocol::messages::fetch_request::{
    FetchPartition, FetchTopic, ForgottenTopic, ReplicaState,
};
use kafka_protocol::messages::{BrokerId, FetchRequest, TopicName};
use uuid::Uuid;

use super::{text, topic_name};
use crate::engine::Names;

/// The first versions with a field.
const SESSIONS: i16 = 7;
const LEADER_EPOCH: i16 = 9;
const RACK: i16 = 11;
const LAST_FETCHED_EPOCH: i16 = 12;
const TOPIC_IDS: i16 = 13;
const REPLICA_STATE: i16 = 15;

/// Max wait of a fetch that is expected to be answered at once, in ms: longer than that takes on any machine.
pub(crate) const AT_ONCE_MS: i32 = 5_000;

/// What to fetch. Fields that a version does not have are left out.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    partitions: Vec<Wanted>,
    forgotten: Vec<(String, i32)>,
    max_wait_ms: i32,
    min_bytes: i32,
    max_bytes: i32,
    isolation_level: i8,
    session: Option<String>,
    epoch: i32,
    rack: String,
    replica: i32,
}

#[derive(Clone, Debug)]
struct Wanted {
    topic: String,
    fields: FetchPartition,
}

impl Fetch {
    /// Topics, partitions and offsets, in this order; without a session, 1 MiB per partition and 10 MiB in all, and data is expected at once:
    /// max wait is 5 s.
    pub(crate) fn of<'a>(partitions: impl IntoIterator<Item = (&'a str, i32, i64)>) -> Self {
        let partitions = partitions
            .into_iter()
            .map(|(topic, partition, offset)| Wanted {
                topic: topic.to_owned(),
                fields: FetchPartition::default()
                    .with_partition(partition)
                    .with_fetch_offset(offset)
                    .with_partition_max_bytes(1 << 20)
                    .with_current_leader_epoch(-1)
                    .with_last_fetched_epoch(-1)
                    .with_log_start_offset(-1),
            });
        Self {
            partitions: partitions.collect(),
            forgotten: Vec::new(),
            max_wait_ms: AT_ONCE_MS,
            min_bytes: 1,
            max_bytes: 10 << 20,
            isolation_level: 0,
            session: None,
            epoch: -1,
            rack: String::new(),
            replica: -1,
        }
    }

    /// The next request of a session, with nothing to tell.
    pub(crate) fn next(session: &str, epoch: i32) -> Self {
        Self::of([]).in_session(session, epoch)
    }

    /// Max wait in ms, where the answer is not expected at once.
    pub(crate) fn wait(mut self, ms: i32) -> Self {
        self.max_wait_ms = ms;
        self
    }

    pub(crate) fn min_bytes(mut self, bytes: i32) -> Self {
        self.min_bytes = bytes;
        self
    }

    pub(crate) fn max_bytes(mut self, bytes: i32) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// For all partitions.
    pub(crate) fn partition_max_bytes(mut self, bytes: i32) -> Self {
        for wanted in &mut self.partitions {
            wanted.fields.partition_max_bytes = bytes;
        }
        self
    }

    /// For the partition that was named last.
    pub(crate) fn last_max_bytes(mut self, bytes: i32) -> Self {
        if let Some(wanted) = self.partitions.last_mut() {
            wanted.fields.partition_max_bytes = bytes;
        }
        self
    }

    /// For all partitions; from version 9 on.
    pub(crate) fn leader_epoch(mut self, epoch: i32) -> Self {
        for wanted in &mut self.partitions {
            wanted.fields.current_leader_epoch = epoch;
        }
        self
    }

    /// For all partitions; from version 12 on.
    pub(crate) fn last_fetched_epoch(mut self, epoch: i32) -> Self {
        for wanted in &mut self.partitions {
            wanted.fields.last_fetched_epoch = epoch;
        }
        self
    }

    pub(crate) fn isolation(mut self, level: i8) -> Self {
        self.isolation_level = level;
        self
    }

    pub(crate) fn in_session(mut self, session: &str, epoch: i32) -> Self {
        self.session = Some(session.to_owned());
        self.with_epoch(epoch)
    }

    pub(crate) fn with_epoch(mut self, epoch: i32) -> Self {
        self.epoch = epoch;
        self
    }

    pub(crate) fn forget(mut self, topic: &str, partition: i32) -> Self {
        self.forgotten.push((topic.to_owned(), partition));
        self
    }

    /// From version 11 on.
    pub(crate) fn rack(mut self, rack: &str) -> Self {
        rack.clone_into(&mut self.rack);
        self
    }

    /// As the follower on this node.
    pub(crate) fn replica(mut self, node: i32) -> Self {
        self.replica = node;
        self
    }

    pub(crate) fn request(&self, version: i16, names: &Names) -> FetchRequest {
        let mut request = FetchRequest::default()
            .with_max_wait_ms(self.max_wait_ms)
            .with_min_bytes(self.min_bytes)
            .with_max_bytes(self.max_bytes)
            .with_isolation_level(self.isolation_level)
            .with_topics(self.topics(version, names));
        if version >= SESSIONS {
            request.session_epoch = self.epoch;
            let session = self.session.as_deref();
            request.session_id = session.map_or(0, |session| names.session(session));
            request.forgotten_topics_data = self.forgotten_topics(version, names);
        }
        if version >= RACK {
            request.rack_id = text(&self.rack);
        }
        if version < REPLICA_STATE {
            request.replica_id = BrokerId(self.replica);
        } else if self.replica >= 0 {
            request.replica_state = ReplicaState::default().with_replica_id(BrokerId(self.replica));
        }
        request
    }

    /// Partitions of a topic that are named in succession stand under one entry.
    fn topics(&self, version: i16, names: &Names) -> Vec<FetchTopic> {
        let mut topics: Vec<FetchTopic> = Vec::new();
        for wanted in &self.partitions {
            let mut fields = wanted.fields.clone();
            if version < LEADER_EPOCH {
                fields.current_leader_epoch = -1;
            }
            if version < LAST_FETCHED_EPOCH {
                fields.last_fetched_epoch = -1;
            }
            let (name, id) = topic(&wanted.topic, version, names);
            match topics.last_mut() {
                Some(last) if last.topic == name && last.topic_id == id => {
                    last.partitions.push(fields);
                }
                _ => topics.push(
                    FetchTopic::default()
                        .with_topic(name)
                        .with_topic_id(id)
                        .with_partitions(vec![fields]),
                ),
            }
        }
        topics
    }

    fn forgotten_topics(&self, version: i16, names: &Names) -> Vec<ForgottenTopic> {
        let forgotten = self.forgotten.iter();
        forgotten
            .map(|(name, partition)| {
                let (name, id) = topic(name, version, names);
                ForgottenTopic::default()
                    .with_topic(name)
                    .with_topic_id(id)
                    .with_partitions(vec![*partition])
            })
            .collect()
    }
}

/// By name or by id, as the version has it.
fn topic(name: &str, version: i16, names: &Names) -> (TopicName, Uuid) {
    if version >= TOPIC_IDS {
        (TopicName::default(), names.topic(name))
    } else {
        (topic_name(name), Uuid::nil())
    }
}
