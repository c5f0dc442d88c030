//! A topic as the Java consumer reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cluster::Cluster;
use super::error::Result;
use super::helper::LONG;
use crate::Tally;

/// What to read: a topic's name, or more.
///
/// ```no_run
/// # use integration_tests::kafka::{Cluster, ConsumeSpec, Isolation};
/// # let kafka = Cluster::builder().start()?;
/// let all = kafka.java_consume("orders")?;
/// let committed = kafka.java_consume(ConsumeSpec { isolation: Isolation::ReadCommitted, ..ConsumeSpec::new("orders") })?;
/// # Ok::<(), integration_tests::kafka::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ConsumeSpec {
    /// The topic.
    pub topic: String,
    /// `isolation.level`.
    pub isolation: Isolation,
    /// Any other property of the Java consumer, by its own name.
    pub properties: BTreeMap<String, String>,
}

impl ConsumeSpec {
    /// A whole topic under `read_uncommitted`, Java's default.
    pub fn new(topic: &str) -> Self {
        Self {
            topic: topic.into(),
            isolation: Isolation::ReadUncommitted,
            properties: BTreeMap::new(),
        }
    }
}

impl From<&str> for ConsumeSpec {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// Which records of transactions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// All.
    ReadUncommitted,
    /// Those of committed transactions, up to the last stable offset.
    ReadCommitted,
}

/// What the Java consumer read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Consumed {
    /// Over all partitions.
    pub total: Tally,
    /// By partition, also those without records.
    pub partitions: BTreeMap<i32, Tally>,
}

/// A record as the Java consumer gives it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JavaRecord {
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Whose timestamp it is.
    pub timestamp_type: TimestampType,
    /// The epoch of the leader that wrote the batch, if the batch says so.
    pub leader_epoch: Option<i32>,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// Headers, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

/// Who set a record's timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimestampType {
    /// Nobody: the oldest message format has none.
    NoTimestampType,
    /// The producer.
    CreateTime,
    /// The broker.
    LogAppendTime,
}

/// # Consuming
impl Cluster {
    /// Reads a whole topic with the Java consumer, up to the ends as they are now, and counts.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) with the consumer's exception, or with the positions if it did not get there within 5 minutes.
    pub fn java_consume(&self, what: impl Into<ConsumeSpec>) -> Result<Consumed> {
        let spec = what.into();
        self.helper.call("consume", &spec.topic, json!(spec), LONG)
    }

    /// Reads a whole topic of at most 100,000 records with the Java consumer, per partition in order.
    ///
    /// # Errors
    ///
    /// As [`java_consume`](Self::java_consume); also if there are more records.
    pub fn java_records(&self, what: impl Into<ConsumeSpec>) -> Result<Vec<JavaRecord>> {
        let spec = what.into();
        self.helper.call("records", &spec.topic, json!(spec), LONG)
    }
}
