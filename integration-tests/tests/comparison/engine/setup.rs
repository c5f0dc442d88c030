//! What the cases need before they can begin.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchResponse, InitProducerIdRequest};
use kafka_protocol::protocol::Request;
use record_batch::entries;
use test_broker::BatchBuilder;

use super::pair::Pair;
use crate::requests::{Fetch, Produce, create_topic, earliest};

/// The versions in which things are done that the cases are not about.
const PRODUCE: i16 = 9;
const FETCH: i16 = 17;
const LIST_OFFSETS: i16 = 7;
const CREATE_TOPICS: i16 = 7;
const INIT_PRODUCER_ID: i16 = 4;
/// The largest answer that is asked for to copy a log.
const LOG: i32 = 50 << 20;

impl Pair {
    /// A batch of records of [`time`](Self::time) with these values.
    pub(crate) fn batch(&self, values: &[&str]) -> BatchBuilder {
        let empty = BatchBuilder::new().timestamp(self.time);
        values.iter().copied().fold(empty, BatchBuilder::record)
    }

    /// Creates a topic on both and waits until all of Kafka's nodes know it. The leader of each partition is its first replica. The answers are
    /// not compared.
    pub(crate) async fn create(&mut self, topic: &str, replicas: &[&[i32]]) -> Result<()> {
        self.create_with(topic, replicas, &[]).await
    }

    pub(crate) async fn create_with(
        &mut self,
        topic: &str,
        replicas: &[&[i32]],
        configs: &[(&str, &str)],
    ) -> Result<()> {
        let request = create_topic(topic, replicas, configs);
        for side in [&mut self.real, &mut self.ours] {
            let reply = side.ask(1, &request, CREATE_TOPICS).await?;
            let answer = reply.answer.map_err(anyhow::Error::msg)?;
            let created = answer.topics.first().context("no topic in the answer")?;
            ensure!(created.error_code == 0, "create {topic}: {created:?}");
            side.names.set_topic(topic, created.topic_id);
        }
        for (partition, replicas) in (0..).zip(replicas) {
            let leader = replicas.first().copied();
            for node in self.broker.node_ids() {
                self.wait_until_known(node, topic, partition, leader == Some(node))
                    .await?;
            }
        }
        Ok(())
    }

    /// Waits until a real node knows of a partition, and leads it if it `leads`.
    pub(crate) async fn wait_until_known(
        &mut self,
        node: i32,
        topic: &str,
        partition: i32,
        leads: bool,
    ) -> Result<()> {
        let expected = match leads {
            true => 0,
            false => ResponseError::NotLeaderOrFollower.code(),
        };
        let request = earliest(topic, partition);
        self.wait_until(node, &request, LIST_OFFSETS, |answer| {
            let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
            partitions.all(|partition| partition.error_code == expected)
        })
        .await
    }

    /// Waits until a real node has fetched a block of producer ids from its controller, which it begins with the first request for one.
    pub(crate) async fn wait_for_producer_ids(&mut self, node: i32) -> Result<()> {
        let request = InitProducerIdRequest::default().with_transactional_id(None);
        self.wait_until(node, &request, INIT_PRODUCER_ID, |answer| {
            answer.error_code == 0
        })
        .await
    }

    /// Waits until no real node knows of a topic that was deleted.
    pub(crate) async fn wait_until_gone(&mut self, topic: &str) -> Result<()> {
        let unknown = ResponseError::UnknownTopicOrPartition.code();
        for node in self.broker.node_ids() {
            let request = earliest(topic, 0);
            self.wait_until(node, &request, LIST_OFFSETS, |answer| {
                let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
                partitions.all(|partition| partition.error_code == unknown)
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until a real node, leader or follower, has `end` as the high watermark of a partition.
    pub(crate) async fn wait_for_high_watermark(
        &mut self,
        node: i32,
        topic: &str,
        partition: i32,
        end: i64,
    ) -> Result<()> {
        let fetch = Fetch::of([(topic, partition, 0)]).wait(0).max_bytes(1);
        let request = fetch.request(FETCH, &self.real.names);
        self.wait_until(node, &request, FETCH, |answer| {
            only_partition(answer).is_ok_and(|partition| partition.high_watermark == end)
        })
        .await
    }

    pub(super) async fn wait_until<R: Request>(
        &mut self,
        node: i32,
        request: &R,
        version: i16,
        done: impl Fn(&R::Response) -> bool,
    ) -> Result<()>
    where
        R::Response: std::fmt::Debug,
    {
        self.real.wait_until(node, request, version, done).await
    }

    /// Appends a batch on both, by a Produce request to node 1 that is compared as any other.
    pub(crate) async fn append(
        &mut self,
        topic: &str,
        partition: i32,
        batch: &Bytes,
    ) -> Result<()> {
        self.append_at(1, topic, partition, batch).await
    }

    pub(crate) async fn append_at(
        &mut self,
        node: i32,
        topic: &str,
        partition: i32,
        batch: &Bytes,
    ) -> Result<()> {
        let produce = Produce::to(topic, partition, batch);
        let case = format!("append to {topic}-{partition}");
        self.produce_at(node, case, PRODUCE, &produce).await
    }

    /// Appends to the test broker's log what the real leader's has and it has not, as it is; the end offset.
    pub(crate) async fn copy_log(&mut self, node: i32, topic: &str, partition: i32) -> Result<i64> {
        let mut end = self.broker.offsets(topic, partition)?.log_end_offset;
        loop {
            let fetch = Fetch::of([(topic, partition, end)]).wait(0);
            let fetch = fetch.partition_max_bytes(LOG).max_bytes(LOG);
            let request = fetch.request(FETCH, &self.real.names);
            let reply = self.real.ask(node, &request, FETCH).await?;
            let answer = reply.answer.map_err(anyhow::Error::msg)?;
            let found = only_partition(&answer)?;
            ensure!(found.error_code == 0, "copy {topic}-{partition}: {found:?}");
            let records = found.records.clone().unwrap_or_default();
            let mut whole = 0;
            for entry in entries(&records) {
                let entry = entry?;
                whole = entry.range().end;
                end = entry.header().next_offset();
            }
            if whole == 0 {
                return Ok(end);
            }
            let whole = records.slice(..whole);
            self.broker.append_raw(topic, partition, &whole)?;
        }
    }
}

fn only_partition(answer: &FetchResponse) -> Result<&PartitionData> {
    let mut partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    partitions
        .next()
        .with_context(|| format!("no partition in {answer:?}"))
}
