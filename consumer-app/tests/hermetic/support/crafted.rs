//! Answers that a sound broker does not give, for [`Fault::answer_body`](test_broker::Fault::answer_body).

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, FetchableTopicResponse, PartitionData,
};
use kafka_protocol::messages::{FetchResponse, ProducerId, TopicName};
use kafka_protocol::protocol::{Encodable, StrBytes};
use test_broker::BatchBuilder;

/// The newest Fetch in which topics go by name: what brokers are capped at that give crafted answers.
pub(crate) const FETCH_BY_NAME: i16 = 12;

/// The body of an answer.
pub(crate) fn body(answer: &impl Encodable, version: i16) -> Bytes {
    let mut body = BytesMut::new();
    answer.encode(&mut body, version).expect("an answer");
    body.freeze()
}

/// A Fetch answer about partitions of topic `t`.
pub(crate) fn fetch_answer(session_id: i32, partitions: Vec<PartitionData>) -> FetchResponse {
    let topic = FetchableTopicResponse::default()
        .with_topic(topic_name("t"))
        .with_partitions(partitions);
    FetchResponse::default()
        .with_session_id(session_id)
        .with_responses(vec![topic])
}

/// What a Fetch answer says of a partition, without records.
pub(crate) fn partition_data(partition: i32, high_watermark: i64) -> PartitionData {
    PartitionData::default()
        .with_partition_index(partition)
        .with_high_watermark(high_watermark)
        .with_last_stable_offset(high_watermark)
        .with_log_start_offset(0)
        .with_records(Some(Bytes::new()))
}

/// An entry of the list of aborted transactions.
pub(crate) fn aborted(producer_id: i64, first_offset: i64) -> AbortedTransaction {
    AbortedTransaction::default()
        .with_producer_id(ProducerId(producer_id))
        .with_first_offset(first_offset)
}

/// A topic's name as the messages want it.
pub(crate) fn topic_name(name: &'static str) -> TopicName {
    TopicName(StrBytes::from_static_str(name))
}

/// Adds one record at an offset.
pub(crate) fn with_record(partition: PartitionData, offset: i64, value: &str) -> PartitionData {
    let batch = BatchBuilder::new().base_offset(offset).record(value);
    partition.with_records(Some(batch.build()))
}
