//! A log of transactions, written into Kafka step by step. The test broker's copy of it is made byte by byte: how a coordinator comes to
//! write what it writes is not compared.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::ProduceRequest;
use record_batch::Compression;
use test_broker::BatchBuilder;

use crate::clusters::TRANSACTIONS;
use crate::engine::Pair;
use crate::requests::{Produce, end_transaction};

const PRODUCE: i16 = 9;
const WRITE_TXN_MARKERS: i16 = 1;

/// What is written next. Producers are named by their ids.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Batches of one record of a producer's transaction.
    Data(i64, usize, Compression),
    /// Batches of one record of no producer.
    Plain(usize),
    Commit(i64),
    Abort(i64),
}

/// Partition 0 of a topic on the node that takes transactions as they come.
#[derive(Debug)]
pub(super) struct TransactionLog {
    topic: &'static str,
    /// The next sequence number of each producer.
    sequences: HashMap<i64, i32>,
}

impl TransactionLog {
    pub(super) async fn create(pair: &mut Pair, topic: &'static str) -> Result<Self> {
        pair.create(topic, &[&[TRANSACTIONS]]).await?;
        Ok(Self {
            topic,
            sequences: HashMap::new(),
        })
    }

    /// Writes steps into Kafka's log, and copies it to the test broker's; the end of both.
    pub(super) async fn write(&mut self, pair: &mut Pair, steps: &[Step]) -> Result<i64> {
        for step in steps {
            self.write_real(pair, *step)
                .await
                .with_context(|| format!("{step:?}"))?;
        }
        pair.copy_log(TRANSACTIONS, self.topic, 0).await
    }

    async fn write_real(&mut self, pair: &mut Pair, step: Step) -> Result<()> {
        match step {
            Step::Data(producer, batches, codec) => {
                for _ in 0..batches {
                    let sequence = self.sequences.entry(producer).or_default();
                    let batch = batch(pair)
                        .compression(codec)
                        .producer(producer, 0, *sequence);
                    *sequence += 1;
                    let produce = Produce::to(self.topic, 0, &batch.transactional().build());
                    append(pair, &produce.transactional_id("transactions")).await?;
                }
                Ok(())
            }
            Step::Plain(batches) => {
                for _ in 0..batches {
                    let produce = Produce::to(self.topic, 0, &batch(pair).build());
                    append(pair, &produce).await?;
                }
                Ok(())
            }
            Step::Commit(producer) => self.end(pair, producer, true).await,
            Step::Abort(producer) => self.end(pair, producer, false).await,
        }
    }

    async fn end(&self, pair: &mut Pair, producer: i64, commit: bool) -> Result<()> {
        let request = end_transaction(self.topic, producer, commit);
        let reply = pair
            .real
            .ask(TRANSACTIONS, &request, WRITE_TXN_MARKERS)
            .await?;
        let answer = reply.answer.map_err(anyhow::Error::msg)?;
        let topics = answer.markers.iter().flat_map(|marker| &marker.topics);
        let mut partitions = topics.flat_map(|topic| &topic.partitions);
        ensure!(
            partitions.all(|partition| partition.error_code == 0),
            "{answer:?}"
        );
        Ok(())
    }
}

fn batch(pair: &Pair) -> BatchBuilder {
    pair.batch(&[&"x".repeat(300)])
}

async fn append(pair: &mut Pair, produce: &Produce) -> Result<()> {
    let request: ProduceRequest = produce.request(PRODUCE, &pair.real.names);
    let reply = pair.real.ask(TRANSACTIONS, &request, PRODUCE).await?;
    let answer = reply.answer.map_err(anyhow::Error::msg)?;
    let mut partitions = answer
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses);
    ensure!(
        partitions.all(|partition| partition.error_code == 0),
        "{answer:?}"
    );
    Ok(())
}
