use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fastrand::Rng;
use kafka_protocol::ResponseError;
use uuid::Uuid;

use super::Partition;
use crate::topic_config::TopicConfig;

/// Partitions that a topic may have; a request for more is refused rather than served.
const MAX_PARTITIONS: i32 = 100_000;
const MAX_NAME: usize = 249;

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) config: TopicConfig,
    pub(crate) partitions: Vec<Partition>,
}

impl Topic {
    pub(crate) fn partition(&self, partition: i32) -> Option<&Partition> {
        self.partitions.get(usize::try_from(partition).ok()?)
    }

    pub(crate) fn partition_mut(&mut self, partition: i32) -> Option<&mut Partition> {
        self.partitions.get_mut(usize::try_from(partition).ok()?)
    }
}

/// How a topic is to be created.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewTopic {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) replication_factor: i16,
    /// Replicas per partition, in place of the two numbers above.
    pub(crate) assignment: Option<Vec<Vec<i32>>>,
    pub(crate) config: TopicConfig,
}

/// Why a topic cannot be created, as the protocol says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicError {
    pub(crate) error: ResponseError,
    pub(crate) message: String,
}

impl TopicError {
    pub(crate) fn new(error: ResponseError, message: impl Into<String>) -> Self {
        Self {
            error,
            message: message.into(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_name: BTreeMap<Arc<str>, Topic>,
    names: HashMap<Uuid, Arc<str>>,
}

impl Topics {
    pub(crate) fn get(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.by_name.get_mut(name)
    }

    pub(crate) fn name_of(&self, id: Uuid) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Topic> {
        self.by_name.values_mut()
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Topic> {
        let topic = self.by_name.remove(name)?;
        self.names.remove(&topic.id);
        Some(topic)
    }

    /// Checks that the topic could be created on the live nodes, and gives the replicas of its partitions.
    pub(crate) fn plan(&self, topic: &NewTopic, live: &[i32]) -> Result<Vec<Vec<i32>>, TopicError> {
        check_name(&topic.name)?;
        if self.by_name.contains_key(topic.name.as_str()) {
            let message = format!("Topic '{}' exists already.", topic.name);
            return Err(TopicError::new(ResponseError::TopicAlreadyExists, message));
        }
        let collides = |other: &&Arc<str>| other.replace('.', "_") == topic.name.replace('.', "_");
        if let Some(other) = self.by_name.keys().find(collides) {
            let message = format!(
                "Topic '{}' and the existing '{other}' would have the same metric names.",
                topic.name
            );
            return Err(TopicError::new(
                ResponseError::InvalidTopicException,
                message,
            ));
        }
        match &topic.assignment {
            Some(assignment) => check_assignment(assignment, live),
            None => assign(topic, live),
        }
    }

    pub(super) fn create(
        &mut self,
        topic: NewTopic,
        live: &[i32],
        rng: &mut Rng,
    ) -> Result<&Topic, TopicError> {
        let replicas = self.plan(&topic, live)?;
        let name: Arc<str> = Arc::from(topic.name);
        let id = new_id(rng);
        self.names.insert(id, Arc::clone(&name));
        let partitions = replicas.into_iter().map(Partition::new).collect();
        let created = Topic {
            name: Arc::clone(&name),
            id,
            config: topic.config,
            partitions,
        };
        Ok(self.by_name.entry(name).or_insert(created))
    }

    /// Adds partitions to a topic, on the nodes where a topic of so many would have them.
    pub(crate) fn grow(
        &mut self,
        name: &str,
        partitions: i32,
        live: &[i32],
    ) -> Result<(), TopicError> {
        let Some(topic) = self.by_name.get_mut(name) else {
            let message = format!("The topic '{name}' does not exist.");
            return Err(TopicError::new(
                ResponseError::UnknownTopicOrPartition,
                message,
            ));
        };
        let replicas = topic.partitions.first().map_or(1, |p| p.replicas.len());
        let grown = NewTopic {
            partitions,
            replication_factor: i16::try_from(replicas).unwrap_or(1),
            ..NewTopic::default()
        };
        let replicas = assign(&grown, live)?;
        if replicas.len() <= topic.partitions.len() {
            let message = format!("it has {} partitions already", topic.partitions.len());
            return Err(TopicError::new(ResponseError::InvalidPartitions, message));
        }
        let new = replicas.into_iter().skip(topic.partitions.len());
        topic.partitions.extend(new.map(Partition::new));
        Ok(())
    }
}

/// An id that no topic has.
pub(super) fn new_id(rng: &mut Rng) -> Uuid {
    uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes()).into_uuid()
}

/// The rules of `Topic.validate`.
pub(crate) fn check_name(name: &str) -> Result<(), TopicError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let message = match name {
        "" => "it must not be empty".to_owned(),
        "." | ".." => format!("it must not be '{name}'"),
        _ if name.len() > MAX_NAME => {
            format!("it has {} characters, {MAX_NAME} are allowed", name.len())
        }
        _ if !name.chars().all(legal) => {
            format!("'{name}' has other characters than ASCII letters, digits, '.', '_' and '-'")
        }
        _ => return Ok(()),
    };
    Err(TopicError::new(
        ResponseError::InvalidTopicException,
        format!("The name of a topic is wrong: {message}"),
    ))
}

fn check_assignment(assignment: &[Vec<i32>], live: &[i32]) -> Result<Vec<Vec<i32>>, TopicError> {
    for replicas in assignment {
        let known = replicas.iter().all(|replica| live.contains(replica));
        let mut distinct = replicas.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let alike = assignment.first().map(Vec::len) == Some(replicas.len());
        if replicas.is_empty() || !known || !alike || distinct.len() != replicas.len() {
            let message = format!(
                "{replicas:?}: different live brokers are needed, as many for each partition."
            );
            return Err(TopicError::new(
                ResponseError::InvalidReplicaAssignment,
                message,
            ));
        }
    }
    Ok(assignment.to_vec())
}

/// Leaders round robin over the nodes, followers on the nodes behind.
fn assign(topic: &NewTopic, live: &[i32]) -> Result<Vec<Vec<i32>>, TopicError> {
    if !(1..=MAX_PARTITIONS).contains(&topic.partitions) {
        let message = format!("Number of partitions must be 1 to {MAX_PARTITIONS}.");
        return Err(TopicError::new(ResponseError::InvalidPartitions, message));
    }
    let replicas = usize::try_from(topic.replication_factor).unwrap_or(0);
    if replicas == 0 || replicas > live.len() {
        let message = format!(
            "{} replicas per partition are asked for, 1 to {} can be had.",
            topic.replication_factor,
            live.len()
        );
        return Err(TopicError::new(
            ResponseError::InvalidReplicationFactor,
            message,
        ));
    }
    let partitions = 0..topic.partitions as usize;
    Ok(partitions
        .map(|first| {
            let nodes = live.iter().cycle().skip(first % live.len());
            nodes.take(replicas).copied().collect()
        })
        .collect())
}
