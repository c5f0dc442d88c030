//! Partitions of one node get their turns.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::{ExplicitRecord, Partitioning, ProduceSpec, Value};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

const PARTITIONS: i32 = 8;

/// What partitions have been given, in units of `unit` records: how far the first is ahead of the last.
fn spread(given: &BTreeMap<i32, u64>, unit: u64) -> u64 {
    let most = given.values().max().copied().unwrap_or(0);
    let least = given.values().min().copied().unwrap_or(0);
    (most - least).div_ceil(unit)
}

#[tokio::test]
async fn b012_fetches_go_round() -> Result<()> {
    const BATCH: u64 = 16;
    const BATCHES: u64 = 50;
    let topic = "fair-fetches";
    KAFKA.create_topic(topic, PARTITIONS, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: PARTITIONS as u64 * BATCHES * BATCH,
        values: vec![Value::Random(1000)],
        partitioning: Partitioning::RoundRobin,
        records_per_batch: Some(BATCH as u32),
        ..ProduceSpec::default()
    })?;
    let log = KAFKA.data(1)?.join(format!("{topic}-0/00000000000000000000.log"));
    let one_batch = (std::fs::metadata(log)?.len() / BATCHES + 100).to_string();
    let ends = KAFKA.end_offsets(topic)?;

    // a whole fetch of one partition a poll, and polls that take longer than a fetch or not
    for pause in [Duration::ZERO, Duration::from_millis(2)] {
        let mut consumer = consumer()
            .set("max.partition.fetch.bytes", &one_batch)
            .set("fetch.max.bytes", &one_batch)
            .build()
            .await?;
        let mut given: BTreeMap<i32, u64> = (0..PARTITIONS).map(|index| (index, 0)).collect();
        let mut widest = 0;
        let reading = read_to(&mut consumer, topic, &ends, |_, records| {
            for record in records {
                *given.entry(record.partition()).or_default() += 1;
            }
            widest = widest.max(spread(&given, BATCH));
            std::thread::sleep(pause);
        })
        .await?;
        let metrics = &reading.metrics;
        println!(
            "fair fetches, {pause:?} a poll: the first partition is at most {widest} fetches ahead of the last; \
             {} data-bearing fetches of {} requests for {} batches, {} connections",
            metrics.data_bearing_responses,
            metrics.fetch_requests,
            PARTITIONS as u64 * BATCHES,
            metrics.fetch_connections,
        );
        assert!(widest <= 2);
        assert_eq!(metrics.data_bearing_responses, PARTITIONS as u64 * BATCHES);
    }
    Ok(())
}

#[tokio::test]
async fn polls_go_round() -> Result<()> {
    const POLL: u64 = 10;
    let topic = "fair-polls";
    KAFKA.create_topic(topic, PARTITIONS, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: PARTITIONS as u64 * 200,
        partitioning: Partitioning::RoundRobin,
        records_per_batch: Some(100),
        ..ProduceSpec::default()
    })?;
    let mut consumer = consumer()
        .set("max.poll.records", &POLL.to_string())
        .build()
        .await?;
    let ends = KAFKA.end_offsets(topic)?;
    let mut given: BTreeMap<i32, u64> = (0..PARTITIONS).map(|index| (index, 0)).collect();
    let (mut widest, mut order) = (0, Vec::new());
    let reading = read_to(&mut consumer, topic, &ends, |_, records| {
        for record in records {
            *given.entry(record.partition()).or_default() += 1;
        }
        let mut partitions: Vec<i32> = records.iter().map(|record| record.partition()).collect();
        partitions.dedup();
        order.extend(partitions);
        widest = widest.max(spread(&given, POLL));
    })
    .await?;
    println!(
        "fair polls: at most {widest} polls apart, {} data-bearing fetches, order {:?}...",
        reading.metrics.data_bearing_responses,
        &order[..16.min(order.len())]
    );
    assert_eq!(widest, 1);
    Ok(())
}

#[tokio::test]
async fn b033_a_hot_partition_does_not_hold_up_a_quiet_one() -> Result<()> {
    let topic = "hot-and-quiet";
    KAFKA.create_topic(topic, 4, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: 200_000,
        values: vec![Value::Random(200)],
        partitioning: Partitioning::Fixed(0),
        batch_size: 65_536,
        linger_ms: 5,
        ..ProduceSpec::default()
    })?;
    let mut consumer = consumer()
        .set("max.poll.records", "10")
        // a record that had to wait for a long poll would be noticed
        .set("fetch.max.wait.ms", "20000")
        .build()
        .await?;
    consumer
        .assign((0..4).map(|partition| TopicPartition::new(topic, partition)))
        .await?;
    let (mut polls_taken, mut requests_taken) = (Vec::new(), Vec::new());
    for round in 0..20 {
        let quiet = 1 + round % 3;
        // the hot partition is at its read-ahead credit: nothing comes while nobody polls
        rest(&mut consumer).await?;
        let before = consumer.metrics().await?;
        KAFKA.produce_records(
            topic,
            integration_tests::kafka::Codec::None,
            &[ExplicitRecord {
                partition: Some(quiet),
                value: Some(round.to_string().into_bytes()),
                ..ExplicitRecord::default()
            }],
        )?;
        let arrived = await_response(&consumer, before.data_bearing_responses).await?;
        requests_taken.push(arrived - before.fetch_requests);
        let mut polls = 0;
        loop {
            polls += 1;
            let records = consumer.poll(Duration::from_secs(10)).await?;
            if records.iter().any(|record| record.partition() == quiet) {
                break;
            }
            ensure!(polls < 1000, "the quiet record does not come");
        }
        polls_taken.push(polls);
    }
    let metrics = consumer.metrics().await?;
    println!(
        "hot and quiet: the quiet record came with poll {polls_taken:?} after its response; requests sent meanwhile {requests_taken:?}; \
         {} connections, {} sessions lost",
        metrics.fetch_connections, metrics.sessions_lost
    );
    // the one in progress when it came is over
    assert!(polls_taken.iter().all(|polls| *polls == 1));
    assert!(requests_taken.iter().all(|requests| *requests <= 1));
    Ok(())
}

/// Polls until the consumer has read ahead as far as it may, and sends nothing more.
async fn rest(consumer: &mut Consumer) -> Result<()> {
    consumer.poll(Duration::from_secs(10)).await?;
    let mut former = consumer.metrics().await?.fetch_requests;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = consumer.metrics().await?.fetch_requests;
        if now == former {
            return Ok(());
        }
        former = now;
    }
}

/// Waits for a response with data without polling; returns how many requests had been sent then.
async fn await_response(consumer: &Consumer, responses: u64) -> Result<u64> {
    for _ in 0..1000 {
        let metrics = consumer.metrics().await?;
        if metrics.data_bearing_responses > responses {
            return Ok(metrics.fetch_requests);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    anyhow::bail!("the quiet record was not fetched within 10 s")
}
