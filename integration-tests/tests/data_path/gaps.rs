//! Offsets without a record: compacted logs, transaction markers.

use std::fs;

use anyhow::Result;
use consumer_app::{Metrics, TopicPartition};
use integration_tests::kafka::{Codec, Isolation, Key, Outcome, ProduceSpec, Transactions, Value};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

const KEYS: u64 = 100_000;

#[tokio::test]
async fn f001_f002_b070_a_compacted_log_costs_what_is_in_it() -> Result<()> {
    let topic = "compacted";
    let configs = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "1048576"),
        ("segment.ms", "1000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("max.compaction.lag.ms", "1000"),
        ("file.delete.delay.ms", "0"),
    ];
    KAFKA.create_topic(topic, 1, 1, &configs)?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: 2 * KEYS,
        keys: vec![Key::Numbered {
            distinct: KEYS,
            size: 8,
        }],
        values: vec![Value::Text(100)],
        linger_ms: 5,
        ..ProduceSpec::default()
    })?;
    let left = KAFKA.compact(topic)?;
    // the last of each key, and a filler that closes the newest segment
    assert_eq!(left.total.records, KEYS + 1);
    let ends = KAFKA.end_offsets(topic)?;
    let log = log_bytes(topic)?;

    let mut costs: Vec<Metrics> = Vec::new();
    for max_poll_records in ["1", "500"] {
        let mut consumer = consumer()
            .set("max.poll.records", max_poll_records)
            .build()
            .await?;
        let reading = read_to(&mut consumer, topic, &ends, |_, _| ()).await?;
        let metrics = reading.metrics;
        println!(
            "compacted, max.poll.records={max_poll_records}: {} records in {} polls, {} data-bearing fetches of {} requests, \
             {} bytes received for {log} in the log ({:.3}), {} messages",
            reading.total.records,
            reading.polls.len(),
            metrics.data_bearing_responses,
            metrics.fetch_requests,
            metrics.bytes_received,
            metrics.bytes_received as f64 / log as f64,
            metrics.messages,
        );
        assert_eq!(reading.total, left.total);
        let position = consumer.position(&TopicPartition::new(topic, 0));
        assert_eq!(position, Some(ends[&0]));
        assert!(metrics.bytes_received * 100 <= log * 105, "{metrics:?}");
        costs.push(metrics);
    }
    assert_eq!(log, log_bytes(topic)?, "the log changed meanwhile");
    assert_eq!(
        costs[0].data_bearing_responses,
        costs[1].data_bearing_responses
    );
    Ok(())
}

/// Sizes of the segments of partition 0.
fn log_bytes(topic: &str) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(KAFKA.data(1)?.join(format!("{topic}-0")))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|end| end == "log") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// The last offsets of the log are a marker, or whole aborted transactions with theirs.
#[tokio::test]
async fn b013_b014_f007_the_position_reaches_an_end_without_records() -> Result<()> {
    for outcome in [Outcome::Commit, Outcome::Abort] {
        for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted] {
            let topic = format!("tail-{outcome:?}-{isolation:?}").to_lowercase();
            KAFKA.create_topic(&topic, 1, 1, &[])?;
            let produced = KAFKA.produce(ProduceSpec {
                topic: topic.clone(),
                records: 20_000,
                values: vec![Value::Random(500)],
                codec: Codec::Snappy,
                linger_ms: 5,
                transactions: Some(Transactions {
                    id: topic.clone(),
                    records_each: 10_000,
                    outcomes: vec![Outcome::Commit, outcome],
                    leave_open: false,
                }),
                ..ProduceSpec::default()
            })?;
            let (level, expected) = match isolation {
                Isolation::ReadUncommitted => ("read_uncommitted", produced.all),
                Isolation::ReadCommitted => ("read_committed", produced.committed),
            };
            // the records and two markers, the last of which may be on its way still
            let ends = [(0, 20_002)].into();
            let mut consumer = consumer().set("isolation.level", level).build().await?;
            let reading = read_to(&mut consumer, &topic, &ends, |_, _| ()).await?;
            let position = consumer.position(&TopicPartition::new(topic.as_str(), 0));
            println!(
                "{topic}: {} records, position {position:?}, {} data-bearing fetches of {} requests",
                reading.total.records,
                reading.metrics.data_bearing_responses,
                reading.metrics.fetch_requests
            );
            assert_eq!(reading.total, expected, "{topic}");
            assert_eq!(position, Some(20_002), "{topic}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_log_whose_records_are_deleted_is_read_from_its_start() -> Result<()> {
    let topic = "deleted";
    KAFKA.create_topic(topic, 1, 1, &[])?;
    let spec = ProduceSpec {
        topic: topic.into(),
        records: 1_000,
        ..ProduceSpec::default()
    };
    KAFKA.produce(spec.clone())?;
    assert_eq!(KAFKA.delete_records(topic, 0, 1_000)?, 1_000);
    let mut consumer = consumer().build().await?;
    let reading = read_to(&mut consumer, topic, &[(0, 1_000)].into(), |_, _| ()).await?;
    assert_eq!(reading.total.records, 0);
    let more = KAFKA.produce(spec)?;
    let reading = read_to(&mut consumer, topic, &[(0, 2_000)].into(), |_, _| ()).await?;
    assert_eq!(reading.total, more.all);
    Ok(())
}
