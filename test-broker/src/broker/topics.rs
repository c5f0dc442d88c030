use uuid::Uuid;

use super::TestBroker;
use crate::cluster::{NewTopic, TopicError};
use crate::error::Error;
use crate::topic_config::TopicConfig;

impl TestBroker {
    /// Creates a topic, with the default replication factor.
    ///
    /// # Errors
    /// [`Error::Topic`] if it exists, or if name or number are not allowed.
    pub fn create_topic(&self, name: &str, partitions: i32) -> Result<(), Error> {
        self.create_topic_with(name, partitions, [])
    }

    /// Creates a topic with configurations, by the names of Kafka. `message.timestamp.type` and `max.message.bytes` have
    /// an effect.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), test_broker::Error> {
    /// # let broker = test_broker::TestBroker::builder().start_in_memory()?;
    /// broker.create_topic_with("audit", 3, [("message.timestamp.type", "LogAppendTime")])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Topic`] if it exists, or if something is not allowed.
    pub fn create_topic_with<'a>(
        &self,
        name: &str,
        partitions: i32,
        configs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        let mut config = TopicConfig::default();
        for (key, value) in configs {
            let set = config.set(key, value);
            set.map_err(|error| topic_error(name, error))?;
        }
        let replication_factor = self.shared().cluster().settings.replication_factor;
        self.create(NewTopic {
            name: name.to_owned(),
            partitions,
            replication_factor,
            assignment: None,
            config,
        })
    }

    pub(crate) fn create(&self, topic: NewTopic) -> Result<(), Error> {
        let name = topic.name.clone();
        let mut cluster = self.shared().cluster();
        let created = cluster.create_topic(topic).map(drop);
        created.map_err(|error| topic_error(&name, error))
    }

    /// Deletes a topic and its data.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`].
    pub fn delete_topic(&self, name: &str) -> Result<(), Error> {
        let deleted = self.shared().cluster().delete_topic(name);
        deleted.map(drop).ok_or_else(|| Error::UnknownTopic {
            topic: name.to_owned(),
        })
    }

    /// Deletes a topic and creates it again: without data, with another topic id, with epochs from 0.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::Topic`].
    pub fn recreate_topic(&self, name: &str) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        let Some(deleted) = cluster.delete_topic(name) else {
            return Err(Error::UnknownTopic {
                topic: name.to_owned(),
            });
        };
        let partitions = deleted.partitions.iter();
        let assignment = partitions.map(|partition| partition.replicas.clone());
        let again = NewTopic {
            name: name.to_owned(),
            partitions: -1,
            replication_factor: -1,
            assignment: Some(assignment.collect()),
            config: deleted.config,
        };
        let created = cluster.create_topic(again).map(drop);
        created.map_err(|error| topic_error(name, error))
    }

    /// Gives a topic more partitions.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`]; [`Error::Topic`] if it has as many already.
    pub fn add_partitions(&self, name: &str, total: i32) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        if cluster.topics.get(name).is_none() {
            return Err(Error::UnknownTopic {
                topic: name.to_owned(),
            });
        }
        let live: Vec<i32> = cluster.live_nodes().map(|node| node.id).collect();
        let grown = cluster.topics.grow(name, total, &live);
        grown.map_err(|error| topic_error(name, error))
    }

    /// The topic's id (KIP-516).
    ///
    /// # Errors
    /// [`Error::UnknownTopic`].
    pub fn topic_id(&self, name: &str) -> Result<Uuid, Error> {
        let cluster = self.shared().cluster();
        let topic = cluster.topics.get(name);
        topic
            .map(|topic| topic.id)
            .ok_or_else(|| Error::UnknownTopic {
                topic: name.to_owned(),
            })
    }
}

fn topic_error(topic: &str, error: TopicError) -> Error {
    Error::Topic {
        topic: topic.to_owned(),
        reason: error.message,
    }
}
