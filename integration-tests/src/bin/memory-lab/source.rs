//! The brokers that are read, with their records: Apache Kafka, or the embedded test broker behind real sockets.

use anyhow::Result;
use integration_tests::kafka::{Cluster, Codec, Partitioning, ProduceSpec, Value};
use record_batch::Compression;
use test_broker::TestBroker;
use tokio::runtime::Runtime;

use crate::case::{IDLE, Load, NODES, PARTITIONS};

/// Large enough for every batch.
const LARGEST: &str = "20000000";

pub(crate) enum Source {
    Kafka(Cluster),
    Embedded {
        broker: TestBroker,
        // last: the broker runs in it
        _runtime: Runtime,
    },
}

impl Source {
    pub(crate) fn kafka(loads: &[Load]) -> Result<Self> {
        let kafka = Cluster::builder()
            .nodes(NODES)
            .property("message.max.bytes", LARGEST)
            .start()?;
        kafka.create_topic(IDLE, PARTITIONS, 1, &[])?;
        kafka.produce(ProduceSpec {
            topic: IDLE.to_owned(),
            records: PARTITIONS.unsigned_abs().into(),
            partitioning: Partitioning::RoundRobin,
            codec: Codec::Lz4,
            ..ProduceSpec::default()
        })?;
        for load in loads {
            kafka.create_topic(load.topic, PARTITIONS, 1, &[("max.message.bytes", LARGEST)])?;
            // one partition at a time: a producer has a whole batch of each in memory
            for partition in 0..PARTITIONS {
                kafka.produce(spec(load, partition))?;
            }
        }
        Ok(Self::Kafka(kafka))
    }

    pub(crate) fn embedded(loads: &[Load]) -> Result<Self> {
        let runtime = Runtime::new()?;
        let nodes = i32::try_from(NODES)?;
        let broker = runtime.block_on(TestBroker::builder().nodes(nodes).start())?;
        broker.create_topic(IDLE, PARTITIONS)?;
        for partition in 0..PARTITIONS {
            broker.produce_compressed(IDLE, partition, Compression::Lz4, [vec![0; 100]])?;
        }
        for load in loads {
            broker.create_topic_with(load.topic, PARTITIONS, [("max.message.bytes", LARGEST)])?;
            write(&broker, load)?;
        }
        Ok(Self::Embedded {
            broker,
            _runtime: runtime,
        })
    }

    pub(crate) fn servers(&self) -> String {
        match self {
            Self::Kafka(kafka) => kafka.bootstrap_servers().to_owned(),
            Self::Embedded { broker, .. } => broker.bootstrap_servers(),
        }
    }
}

fn spec(load: &Load, partition: i32) -> ProduceSpec {
    let size = load.record_bytes;
    let values = match load.one_in() {
        Some(one_in) => {
            let zeros = Value::Bytes(vec![0; size as usize]);
            let mut values = vec![zeros; one_in as usize - 1];
            values.push(Value::Random(size));
            values
        }
        None if load.compressed => vec![Value::Text(size)],
        None => vec![Value::Random(size)],
    };
    ProduceSpec {
        topic: load.topic.to_owned(),
        records: u64::from(load.records_of(partition.unsigned_abs())),
        values,
        partitioning: Partitioning::Fixed(partition),
        codec: if load.compressed {
            Codec::Lz4
        } else {
            Codec::None
        },
        // each a batch of its own, or exactly so many
        batch_size: 0,
        records_per_batch: (load.per_batch > 1).then_some(load.per_batch),
        ..ProduceSpec::default()
    }
}

/// The same for the embedded broker.
fn write(broker: &TestBroker, load: &Load) -> Result<()> {
    let codec = if load.compressed {
        Compression::Lz4
    } else {
        Compression::None
    };
    let size = load.record_bytes as usize;
    for partition in 0..PARTITIONS {
        let records = load.records_of(partition.unsigned_abs());
        let mut from = 0;
        while from < records {
            let to = records.min(from + load.per_batch);
            let values = (from..to).map(|index| {
                let mut value = vec![0; size];
                if load.one_in().is_none_or(|one_in| index % one_in == 0) {
                    fastrand::fill(&mut value);
                }
                value
            });
            broker.produce_compressed(load.topic, partition, codec, values)?;
            from = to;
        }
    }
    Ok(())
}
