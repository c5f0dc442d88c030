//! Produce requests, of any version and for either broker.

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, TransactionalId};

use super::{text, topic_name};
use crate::engine::Names;

const TOPIC_IDS: i16 = 13;

/// What to produce, with acks all.
#[derive(Clone, Debug)]
pub(crate) struct Produce {
    partitions: Vec<(String, i32, Bytes)>,
    acks: i16,
    transactional_id: Option<String>,
}

impl Produce {
    pub(crate) fn to(topic: &str, partition: i32, records: &Bytes) -> Self {
        Self {
            partitions: vec![(topic.to_owned(), partition, records.clone())],
            acks: -1,
            transactional_id: None,
        }
    }

    /// A partition more. Partitions of a topic that are named in succession stand under one entry.
    pub(crate) fn and(mut self, topic: &str, partition: i32, records: &Bytes) -> Self {
        let entry = (topic.to_owned(), partition, records.clone());
        self.partitions.push(entry);
        self
    }

    pub(crate) fn acks(mut self, acks: i16) -> Self {
        self.acks = acks;
        self
    }

    pub(crate) fn transactional_id(mut self, id: &str) -> Self {
        self.transactional_id = Some(id.to_owned());
        self
    }

    pub(crate) fn request(&self, version: i16, names: &Names) -> ProduceRequest {
        let mut topics: Vec<TopicProduceData> = Vec::new();
        for (topic, partition, records) in &self.partitions {
            let data = PartitionProduceData::default()
                .with_index(*partition)
                .with_records(Some(records.clone()));
            let mut entry = TopicProduceData::default();
            if version >= TOPIC_IDS {
                entry.topic_id = names.topic(topic);
            } else {
                entry.name = topic_name(topic);
            }
            match topics.last_mut() {
                Some(last) if last.name == entry.name && last.topic_id == entry.topic_id => {
                    last.partition_data.push(data);
                }
                _ => topics.push(entry.with_partition_data(vec![data])),
            }
        }
        let id = self.transactional_id.as_deref();
        ProduceRequest::default()
            .with_acks(self.acks)
            .with_timeout_ms(10_000)
            .with_transactional_id(id.map(|id| TransactionalId(text(id))))
            .with_topic_data(topics)
    }
}
