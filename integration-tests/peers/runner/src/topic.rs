//! The topics that are read, and their records.

use anyhow::{Context, Result};
use integration_tests::kafka::{Cluster, Codec, Key, Partitioning, ProduceSpec, Value};

pub(crate) const PARTITIONS: i32 = 4;
/// The log's size, of all partitions of a topic.
const LOG_SIZE: &str = "kafka.log:type=Log,name=Size";

/// A topic. Its records have keys of 10 bytes and values that look like JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// Bytes of each value.
    value: u32,
    codec: Codec,
    records: u64,
    /// Records of a short run.
    short: u64,
    pub(crate) batches: Batches,
}

/// How the records lie in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batches {
    /// In batches of 64 KiB, before compression.
    Large,
    /// Each in a batch of its own, and fetched one by one: what a fetch costs is what matters.
    Single,
}

impl Topic {
    const fn large(name: &'static str, value: u32, codec: Codec, records: u64, short: u64) -> Self {
        Self {
            name,
            value,
            codec,
            records,
            short,
            batches: Batches::Large,
        }
    }
}

pub(crate) const TOPICS: [Topic; 9] = [
    Topic::large("100B-none", 100, Codec::None, 6_000_000, 400_000),
    Topic::large("100B-lz4", 100, Codec::Lz4, 6_000_000, 400_000),
    Topic::large("100B-zstd", 100, Codec::Zstd, 6_000_000, 400_000),
    Topic::large("100B-gzip", 100, Codec::Gzip, 1_500_000, 200_000),
    Topic::large("100B-snappy", 100, Codec::Snappy, 1_500_000, 200_000),
    Topic::large("1KiB-none", 1024, Codec::None, 1_200_000, 80_000),
    Topic::large("1KiB-lz4", 1024, Codec::Lz4, 1_200_000, 80_000),
    Topic::large("1KiB-zstd", 1024, Codec::Zstd, 1_200_000, 80_000),
    Topic {
        name: SINGLE,
        value: 100,
        codec: Codec::None,
        records: 20_000,
        short: 4_000,
        batches: Batches::Single,
    },
];
pub(crate) const SINGLE: &str = "single";

/// A topic that is filled.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) topic: Topic,
    pub(crate) records: u64,
    /// Of what the broker acknowledged.
    pub(crate) checksum: u64,
    /// Bytes of its log.
    pub(crate) log: f64,
}

impl Topic {
    /// Creates it and writes its records.
    pub(crate) fn fill(self, kafka: &Cluster, short: bool) -> Result<Filled> {
        let records = if short { self.short } else { self.records };
        kafka.create_topic(self.name, PARTITIONS, 1, &[("retention.ms", "-1")])?;
        let (batch_size, linger_ms) = match self.batches {
            Batches::Large => (65_536, 50),
            Batches::Single => (0, 0),
        };
        let produced = kafka
            .produce(ProduceSpec {
                topic: self.name.to_owned(),
                records,
                keys: vec![Key::Numbered {
                    distinct: records,
                    size: 10,
                }],
                values: vec![Value::Text(self.value)],
                partitioning: Partitioning::RoundRobin,
                codec: self.codec,
                batch_size,
                linger_ms,
                ..ProduceSpec::default()
            })
            .with_context(|| format!("topic {}", self.name))?;
        let of_topic = format!("{LOG_SIZE},topic={},partition=*", self.name);
        Ok(Filled {
            topic: self,
            records,
            checksum: produced.all.checksum(),
            log: kafka.metric_sum(1, &of_topic, "Value")?,
        })
    }
}
