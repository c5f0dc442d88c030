//! Records of an exact shape, written with the Java producer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cluster::Cluster;
use super::error::Result;
use super::helper::{LONG, QUICK};
use crate::Tally;

/// What to produce. Begin with [`ProduceSpec::default`] and give what matters; the same specification makes the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct ProduceSpec {
    /// The topic, which must exist.
    pub topic: String,
    /// Number of records.
    pub records: u64,
    /// Patterns of keys: record `i` has the key of pattern `i % len`. At least one.
    pub keys: Vec<Key>,
    /// Patterns of values, as those of keys. At least one.
    pub values: Vec<Value>,
    /// Headers of every record, in this order; a name may come twice, a value may be null or empty.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Which partition each record goes to.
    pub partitioning: Partitioning,
    /// Compression.
    pub codec: Codec,
    /// `batch.size` in bytes; 0 makes every record a batch of its own. Not used with `records_per_batch`.
    pub batch_size: u32,
    /// `linger.ms`. Not used with `records_per_batch`.
    pub linger_ms: u32,
    /// Exactly this many records in each batch (the last one of each partition or transaction may have fewer). A batch larger than the topic's
    /// `max.message.bytes` is an error.
    pub records_per_batch: Option<u32>,
    /// The timestamp of the first record, in milliseconds since 1970; the producer's clock if not given.
    pub first_timestamp: Option<i64>,
    /// How much later than the one before it each record is; may be negative.
    pub timestamp_step: i64,
    /// Whether and how in transactions.
    pub transactions: Option<Transactions>,
    /// Any other property of the Java producer, by its own name.
    pub properties: BTreeMap<String, String>,
}

impl Default for ProduceSpec {
    /// No records; null keys, 100 bytes of text as values, the default partitioner, no compression, batches of 16 KiB without linger.
    fn default() -> Self {
        Self {
            topic: String::new(),
            records: 0,
            keys: vec![Key::Null],
            values: vec![Value::Text(100)],
            headers: Vec::new(),
            partitioning: Partitioning::Default,
            codec: Codec::None,
            batch_size: 16_384,
            linger_ms: 0,
            records_per_batch: None,
            first_timestamp: None,
            timestamp_step: 1,
            transactions: None,
            properties: BTreeMap::new(),
        }
    }
}

/// A pattern of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// No key.
    Null,
    /// A key of no bytes.
    Empty,
    /// The record's number modulo `distinct`, in decimal digits, filled up with zeros to `size` bytes.
    Numbered {
        /// Number of different keys.
        distinct: u64,
        /// Length in bytes; must hold the digits.
        size: u32,
    },
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A pattern of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// No value: a tombstone.
    Null,
    /// A value of no bytes.
    Empty,
    /// So many bytes that look like JSON and compress as such.
    Text(u32),
    /// So many random bytes.
    Random(u32),
    /// Random bytes, from the first to the second number of them, both included.
    RandomBetween(u32, u32),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Which partition a record goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Partitioning {
    /// Java's: by the hash of the key; without a key whichever partition has room.
    Default,
    /// Record `i` goes to partition `i % partitions`.
    RoundRobin,
    /// All go to this partition.
    Fixed(i32),
}

/// A compression codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// Not compressed.
    None,
    /// gzip.
    Gzip,
    /// Snappy, in the framing of the Java library.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// Every codec that Kafka knows.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];
}

/// How records are put into transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transactions {
    /// `transactional.id`.
    pub id: String,
    /// Records in each transaction; the last one may have fewer.
    pub records_each: u64,
    /// How transaction `i` ends: outcome `i % len`. Aborted records are in the log, with the marker after them. At least one.
    pub outcomes: Vec<Outcome>,
    /// Leaves the last transaction open, so that the last stable offset stays before it, until [`Cluster::end_transaction`] or the
    /// transaction's timeout (60 s).
    pub leave_open: bool,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its records are read under `read_committed`.
    Commit,
    /// They are not.
    Abort,
}

/// What was produced, as the brokers acknowledged it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Produced {
    /// All records: what is read under `read_uncommitted`.
    pub all: Tally,
    /// Those of no transaction or a committed one: what is read under `read_committed`.
    pub committed: Tally,
    /// By partition, those that got records.
    pub partitions: BTreeMap<i32, ProducedPartition>,
}

/// What was produced to one partition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProducedPartition {
    /// All records.
    pub all: Tally,
    /// Those of no transaction or a committed one.
    pub committed: Tally,
    /// The offset of the first record.
    pub first_offset: i64,
    /// The offset of the last record.
    pub last_offset: i64,
}

/// A record given in full, for [`Cluster::produce_records`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExplicitRecord {
    /// The partition; the default partitioner's choice if not given.
    pub partition: Option<i32>,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// Headers, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since 1970; the producer's clock if not given. Not negative: the Java producer refuses that.
    pub timestamp: Option<i64>,
}

/// Where a record was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Place {
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The timestamp: the broker's on a topic with LogAppendTime.
    pub timestamp: i64,
}

/// # Producing
impl Cluster {
    /// Produces records of a shape and waits until all are acknowledged.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) with the first failure of the producer.
    pub fn produce(&self, spec: ProduceSpec) -> Result<Produced> {
        let subject = format!("{} records to {}", spec.records, spec.topic);
        self.helper.call("produce", &subject, json!(spec), LONG)
    }

    /// Ends a transaction that was left open.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) if there is none of this id, or the broker has aborted it.
    pub fn end_transaction(&self, transactional_id: &str, outcome: Outcome) -> Result<()> {
        let arguments = json!({"id": transactional_id, "outcome": outcome});
        self.helper
            .call("end_transaction", transactional_id, arguments, QUICK)
    }

    /// Produces the given records, those of one partition in one batch, and answers where each is.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) with the first failure of the producer.
    pub fn produce_records(
        &self,
        topic: &str,
        codec: Codec,
        records: &[ExplicitRecord],
    ) -> Result<Vec<Place>> {
        let subject = format!("{} records to {topic}", records.len());
        let arguments = json!({"topic": topic, "codec": codec, "records": records});
        self.helper
            .call("produce_records", &subject, arguments, LONG)
    }
}
