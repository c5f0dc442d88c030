//! The two classic labs: what `max.poll.records` and `max.partition.fetch.bytes` do, in polls and fetches.

use anyhow::Result;
use consumer_app::TopicPartition;
use integration_tests::kafka::{Partitioning, ProduceSpec, Value};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

#[tokio::test]
async fn max_poll_records_divides_polls_and_not_fetches() -> Result<()> {
    let topic = "lab-max-poll-records";
    KAFKA.create_topic(topic, 1, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: 100,
        partitioning: Partitioning::Fixed(0),
        records_per_batch: Some(100),
        ..ProduceSpec::default()
    })?;
    let mut consumer = consumer().set("max.poll.records", "5").build().await?;
    let partition = TopicPartition::new(topic, 0);
    let mut positions = Vec::new();
    let reading = read_to(
        &mut consumer,
        topic,
        &[(0, 100)].into(),
        |consumer, records| {
            assert_eq!(
                records.next_offsets().get(&partition).copied(),
                consumer.position(&partition)
            );
            positions.push((records.len(), consumer.position(&partition)));
        },
    )
    .await?;
    let metrics = &reading.metrics;
    println!(
        "lab 1: polls of {:?}, {} data-bearing fetches of {} requests, {} connections, {} bytes received",
        reading.polls,
        metrics.data_bearing_responses,
        metrics.fetch_requests,
        metrics.fetch_connections,
        metrics.bytes_received,
    );
    let expected: Vec<_> = (1..=20).map(|poll| (5, Some(5 * poll))).collect();
    let given: Vec<_> = positions.into_iter().filter(|(len, _)| *len > 0).collect();
    assert_eq!(given, expected);
    assert!(metrics.data_bearing_responses <= 2);
    assert_eq!(metrics.fetch_connections, 1);
    Ok(())
}

#[tokio::test]
async fn max_partition_fetch_bytes_divides_fetches() -> Result<()> {
    let topic = "lab-max-partition-fetch-bytes";
    KAFKA.create_topic(topic, 1, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: 96,
        values: vec![Value::Random(1000)],
        partitioning: Partitioning::Fixed(0),
        records_per_batch: Some(16),
        ..ProduceSpec::default()
    })?;
    let folder = KAFKA.data(1)?.join(format!("{topic}-0"));
    let log = std::fs::metadata(folder.join("00000000000000000000.log"))?.len();
    assert_eq!(log % 6, 0, "six batches of the same size");
    let just_over_one_batch = log / 6 + 100;

    let mut consumer = consumer()
        .set(
            "max.partition.fetch.bytes",
            &just_over_one_batch.to_string(),
        )
        .build()
        .await?;
    let mut polls = Vec::new();
    let reading = read_to(&mut consumer, topic, &[(0, 96)].into(), |_, records| {
        let bytes: usize = records
            .iter()
            .map(|record| record.value().map_or(0, <[u8]>::len))
            .sum();
        polls.push((records.len(), bytes));
    })
    .await?;
    let metrics = &reading.metrics;
    println!(
        "lab 2: fetch size {just_over_one_batch}, batches of {}: polls of (records, value bytes) {polls:?}, \
         {} data-bearing fetches of {} requests, {} connections, {} bytes received for a log of {log}",
        log / 6,
        metrics.data_bearing_responses,
        metrics.fetch_requests,
        metrics.fetch_connections,
        metrics.bytes_received,
    );
    polls.retain(|(records, _)| *records > 0);
    assert_eq!(polls, vec![(16, 16_000); 6]);
    assert_eq!(metrics.data_bearing_responses, 6);
    Ok(())
}
