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
    partitions: Vec<(String, i32, Option<Bytes>)>,
    acks: i16,
    transactional_id: Option<String>,
}

impl Produce {
    pub(crate) fn to(topic: &str, partition: i32, records: &Bytes) -> Self {
        Self {
            partitions: vec![(topic.to_owned(), partition, Some(records.clone()))],
            acks: -1,
            transactional_id: None,
        }
    }

    /// A partition more.
    pub(crate) fn and(mut self, topic: &str, partition: i32, records: Option<&Bytes>) -> Self {
        let entry = (topic.to_owned(), partition, records.cloned());
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
        let topics = self.partitions.iter().map(|(topic, partition, records)| {
            let data = PartitionProduceData::default()
                .with_index(*partition)
                .with_records(records.clone());
            let entry = TopicProduceData::default().with_partition_data(vec![data]);
            if version >= TOPIC_IDS {
                entry.with_topic_id(names.topic(topic))
            } else {
                entry.with_name(topic_name(topic))
            }
        });
        let id = self.transactional_id.as_deref();
        ProduceRequest::default()
            .with_acks(self.acks)
            .with_timeout_ms(10_000)
            .with_transactional_id(id.map(|id| TransactionalId(text(id))))
            .with_topic_data(topics.collect())
    }
}
