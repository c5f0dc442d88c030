//! Transactions as they stand in a log (KIP-98), without a coordinator that would decide when.

use kafka_protocol::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kafka_protocol::messages::{ProducerId, WriteTxnMarkersRequest};

use super::topic_name;

/// What a coordinator sends to the leader of partition 0 of a topic when a transaction ends. Every producer's epoch is 0.
pub(crate) fn end_transaction(topic: &str, producer: i64, commit: bool) -> WriteTxnMarkersRequest {
    let topic = WritableTxnMarkerTopic::default()
        .with_name(topic_name(topic))
        .with_partition_indexes(vec![0]);
    let marker = WritableTxnMarker::default()
        .with_producer_id(ProducerId(producer))
        .with_transaction_result(commit)
        .with_topics(vec![topic]);
    WriteTxnMarkersRequest::default().with_markers(vec![marker])
}
