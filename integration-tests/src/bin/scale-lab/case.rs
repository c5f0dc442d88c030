//! One number of nodes and of partitions, and what is measured of it.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use test_broker::{BatchBuilder, ProducerRecord, TestBroker};
use tokio::runtime::Runtime;

use crate::consumer::{Consumer, Cost};

/// Records of the backlog, in all partitions together.
const BACKLOG: u64 = 1_000_000;

/// Records of a batch: with 100 bytes each, what fits into a producer's default `batch.size` (16 KiB).
const BATCH: u64 = 100;

/// Records that come one at a time, and the pause between two.
const SINGLES: u64 = 1_000;
const PAUSE: Duration = Duration::from_millis(3);

pub(crate) const TOPIC: &str = "scale";

pub(crate) struct Case {
    pub(crate) nodes: i32,
    pub(crate) partitions: i32,
    pub(crate) idle: Duration,
}

pub(crate) struct Measured {
    /// From the start of the process until every partition has been asked for.
    pub(crate) beginning: Cost,
    pub(crate) backlog: Cost,
    pub(crate) one_at_a_time: Cost,
    pub(crate) idle: Cost,
}

impl Case {
    pub(crate) fn measure(&self) -> Result<Measured> {
        let runtime = Runtime::new()?;
        let broker = TestBroker::builder()
            .nodes(self.nodes)
            .topic(TOPIC, self.partitions)
            .request_log(1_000);
        let broker = runtime.block_on(broker.start())?;
        let mut consumer = Consumer::start(&broker.bootstrap_servers(), self.partitions)?;
        let beginning = consumer.begin()?;
        let idle = consumer.idle(self.idle)?;
        let one_at_a_time =
            consumer.read(SINGLES, || runtime.block_on(self.produce_singles(&broker)))?;
        let backlog = consumer.read(BACKLOG, || self.produce_backlog(&broker))?;
        consumer.end()?;
        runtime.block_on(broker.shutdown());
        Ok(Measured {
            beginning,
            backlog,
            one_at_a_time,
            idle,
        })
    }

    /// To partitions all over the topic, so that lanes and nodes take turns.
    async fn produce_singles(&self, broker: &TestBroker) -> Result<()> {
        let batch = batch(1);
        let partitions = self.partitions as u64;
        for n in 0..SINGLES {
            let partition = n * 7919 % partitions;
            broker.append(TOPIC, partition as i32, &batch)?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    fn produce_backlog(&self, broker: &TestBroker) -> Result<()> {
        let batch = batch(BATCH);
        for n in 0..BACKLOG / BATCH {
            let partition = n % self.partitions as u64;
            broker.append(TOPIC, partition as i32, &batch)?;
        }
        Ok(())
    }
}

fn batch(records: u64) -> Bytes {
    let record = ProducerRecord::new(vec![b'x'; 100]);
    let records = (0..records).map(|_| record.clone());
    records
        .fold(BatchBuilder::new(), BatchBuilder::record)
        .build()
}
