//! Topics, leaders, configurations, offsets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::error::Result;
use super::helper::QUICK;

/// A place in the log of a partition, for [`Cluster::list_offsets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Offset {
    /// The first offset of the log.
    Earliest,
    /// The high watermark: the offset after the last replicated record.
    Latest,
    /// The last stable offset: what `read_committed` reads to.
    LatestStable,
    /// The record with the greatest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record whose timestamp is this or later; milliseconds since 1970.
    Timestamp(i64),
}

/// A topic as the cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TopicDescription {
    /// The topic's id in the base64 form of Kafka. A topic that is deleted and created again has a new one.
    pub id: String,
    /// By partition.
    pub partitions: BTreeMap<i32, PartitionDescription>,
    /// Every setting in force, defaults included.
    pub configs: BTreeMap<String, String>,
}

/// A partition as the cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PartitionDescription {
    /// The leader, if there is one.
    pub leader: Option<i32>,
    /// All replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
}

/// What a group has committed for a partition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Committed {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// The leader epoch of the last record read, if it was committed.
    pub leader_epoch: Option<i32>,
    /// What the member wrote beside it.
    pub metadata: String,
}

/// # Topics
///
/// A refusal of Kafka is [`Error::Command`](super::Error::Command) with the class of the Java exception.
impl Cluster {
    /// Creates a topic and waits until all its partitions have leaders.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn create_topic(
        &self,
        topic: &str,
        partitions: i32,
        replication: i16,
        configs: &[(&str, &str)],
    ) -> Result<()> {
        self.create(
            topic,
            json!({"partitions": partitions, "replication": replication, "replicas": null}),
            configs,
        )
    }

    /// Creates a topic whose replicas are given per partition, the first of each being the leader: `&[&[1, 2], &[2, 1]]` has partition 0 on
    /// node 1.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn create_topic_on(
        &self,
        topic: &str,
        replicas: &[&[i32]],
        configs: &[(&str, &str)],
    ) -> Result<()> {
        self.create(topic, json!({"replicas": replicas}), configs)
    }

    fn create(&self, topic: &str, mut arguments: Value, configs: &[(&str, &str)]) -> Result<()> {
        let configs: BTreeMap<_, _> = configs.iter().copied().collect();
        arguments["topic"] = json!(topic);
        arguments["configs"] = json!(configs);
        self.helper.call("create_topic", topic, arguments, QUICK)
    }

    /// Adds partitions up to a total, and waits until they have leaders.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn create_partitions(&self, topic: &str, total: i32) -> Result<()> {
        self.helper.call(
            "create_partitions",
            topic,
            json!({"topic": topic, "total": total}),
            QUICK,
        )
    }

    /// Deletes a topic and waits until it is gone.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn delete_topic(&self, topic: &str) -> Result<()> {
        self.helper
            .call("delete_topic", topic, json!({"topic": topic}), QUICK)
    }

    /// The topic's id, settings, leaders and replicas.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn describe_topic(&self, topic: &str) -> Result<TopicDescription> {
        self.helper
            .call("describe_topic", topic, json!({"topic": topic}), QUICK)
    }

    /// Makes a broker the leader of a partition and waits until it leads. A broker without a replica gets one, in place of the present leader's.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn move_leader(&self, topic: &str, partition: i32, to: i32) -> Result<()> {
        let arguments = json!({"topic": topic, "partition": partition, "to": to});
        self.helper.call(
            "move_leader",
            &format!("{topic}-{partition} to node {to}"),
            arguments,
            QUICK,
        )
    }

    /// Changes settings of a topic; `None` takes one back to its default.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn alter_topic_configs(&self, topic: &str, configs: &[(&str, Option<&str>)]) -> Result<()> {
        self.alter_configs("TOPIC", topic, configs)
    }

    /// Changes settings of a running node; `None` takes one back to its default. Kafka refuses those that need a restart.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn alter_broker_configs(&self, node: i32, configs: &[(&str, Option<&str>)]) -> Result<()> {
        self.alter_configs("BROKER", &node.to_string(), configs)
    }

    fn alter_configs(
        &self,
        kind: &str,
        name: &str,
        configs: &[(&str, Option<&str>)],
    ) -> Result<()> {
        let configs: BTreeMap<_, _> = configs.iter().copied().collect();
        let arguments = json!({"type": kind, "name": name, "configs": configs});
        self.helper
            .call("alter_configs", &format!("{kind} {name}"), arguments, QUICK)
    }

    /// Deletes a partition's records before an offset and answers the new start of the log.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<i64> {
        let arguments = json!({"topic": topic, "partition": partition, "before": before});
        self.helper.call(
            "delete_records",
            &format!("{topic}-{partition} before {before}"),
            arguments,
            QUICK,
        )
    }

    /// The high watermark of each partition.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn end_offsets(&self, topic: &str) -> Result<BTreeMap<i32, i64>> {
        let offsets = self.list_offsets(topic, Offset::Latest)?;
        Ok(offsets
            .into_iter()
            .filter_map(|(partition, offset)| Some((partition, offset?)))
            .collect())
    }

    /// The offset of a place in the log of each partition; `None` where no record is there (a timestamp after the last record's).
    ///
    /// # Errors
    ///
    /// See above.
    pub fn list_offsets(&self, topic: &str, at: Offset) -> Result<BTreeMap<i32, Option<i64>>> {
        self.helper.call(
            "list_offsets",
            &format!("{topic} {at:?}"),
            json!({"topic": topic, "at": at}),
            QUICK,
        )
    }

    /// All that a group has committed.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn committed(&self, group: &str) -> Result<Vec<Committed>> {
        self.helper
            .call("committed", group, json!({"group": group}), QUICK)
    }
}
