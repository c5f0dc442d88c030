//! What tests do to logs, as clients see it.

use bytes::Bytes;
use test_broker::{BatchBuilder, TestBroker};

use crate::client::{Fetch, batches, client};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().topic("t", 1).start_in_memory();
    broker.expect("started")
}

#[tokio::test]
async fn b069_an_empty_batch_is_given_like_any_other() {
    let broker = broker();
    let empty = BatchBuilder::new()
        .base_offset(37)
        .last_offset_delta(17)
        .leader_epoch(0);
    broker.append_raw("t", 0, &empty.build()).expect("appended");
    let read = client(&broker, 1)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!((batches(&read), read.high_watermark), (vec![(37, 54)], 55));
    let header = record_batch::BatchHeader::parse(&read.records.expect("records"));
    assert_eq!(header.expect("a batch").record_count(), Some(0));
}

#[tokio::test]
async fn b070_a_compacted_log_has_gaps() {
    let broker = broker();
    for round in 0..3 {
        let value = format!("round {round}");
        broker
            .produce("t", 0, [("a", value.as_str()), ("b", value.as_str())])
            .expect("produced");
    }
    broker.produce("t", 0, [("a", "last")]).expect("produced");
    assert_eq!(broker.compact("t", 0).expect("compacted"), 5);
    let read = client(&broker, 1)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(
        batches(&read),
        [(4, 5), (6, 6)],
        "whole batches are gone, the offsets are not"
    );
}

#[tokio::test]
async fn removed_batches_and_deleted_records_are_gone() {
    let broker = broker();
    for value in ["a", "b", "c", "d"] {
        broker.produce("t", 0, [value]).expect("produced");
    }
    assert_eq!(broker.remove_batches("t", 0, &[1]).expect("removed"), 1);
    let mut client = client(&broker, 1);
    let read = client.fetch_one(&Fetch::at(&broker, "t", 0, 1)).await;
    assert_eq!(batches(&read), [(2, 2), (3, 3)]);
    broker.delete_records("t", 0, 3).expect("deleted");
    let read = client.fetch_one(&Fetch::at(&broker, "t", 0, 3)).await;
    assert_eq!((batches(&read), read.log_start_offset), (vec![(3, 3)], 3));
    assert!(broker.delete_records("t", 0, 5).is_err());
    broker.truncate("t", 0, 3).expect("truncated");
    let offsets = broker.offsets("t", 0).expect("a partition");
    assert_eq!((offsets.log_start_offset, offsets.log_end_offset), (3, 3));
}

#[tokio::test]
async fn b079_a_batch_with_a_wrong_crc_can_stand_in_a_log() {
    let broker = broker();
    let mut corrupt = BatchBuilder::new().record("v").build().to_vec();
    corrupt[64] ^= 0xff;
    let corrupt = Bytes::from(corrupt);
    assert!(
        broker.append("t", 0, &corrupt).is_err(),
        "not by a producer"
    );
    broker.append_raw("t", 0, &corrupt).expect("appended");
    let read = client(&broker, 1)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(read.records.as_deref(), Some(&corrupt[..]));
}

#[tokio::test]
async fn what_is_appended_raw_must_be_whole_entries_with_rising_offsets() {
    let broker = broker();
    broker.produce("t", 0, ["a", "b"]).expect("produced");
    let back = BatchBuilder::new().base_offset(1).record("v").build();
    let error = broker.append_raw("t", 0, &back).expect_err("refused");
    assert!(error.to_string().starts_with("t-0: "), "{error}");
    let cut = BatchBuilder::new().base_offset(2).record("v").build();
    assert!(
        broker
            .append_raw("t", 0, &cut.slice(..cut.len() - 1))
            .is_err()
    );
}
