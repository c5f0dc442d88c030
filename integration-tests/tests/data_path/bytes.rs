//! Bytes that are received for each byte of the log: no more than the batches explain that a broker cuts at the limits of a request.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use consumer_app::{Consumer, ConsumerBuilder, TopicPartition};
use integration_tests::kafka::{Partitioning, ProduceSpec, Value};
use integration_tests::{Reading, read_to};

use super::shared::{KAFKA, consumer};

/// `max.partition.fetch.bytes` if it is not set.
const PARTITION_LIMIT: u64 = 1 << 20;

/// Header of a response, and what it says of a partition beside the records.
const FRAME: u64 = 128;

/// Writes so many records of 1,000 bytes, in batches of about so many bytes, and tells how long the batches of each partition are.
fn fill(topic: &str, partitions: i32, records: u64, batch_size: u32) -> Result<Vec<Vec<u64>>> {
    let limit = [("max.message.bytes", "4000000")];
    KAFKA.create_topic(topic, partitions, 1, &limit)?;
    let max_request = [("max.request.size", "4000000")];
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records,
        values: vec![Value::Random(1_000)],
        partitioning: Partitioning::RoundRobin,
        batch_size,
        linger_ms: 200,
        properties: max_request
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
        ..ProduceSpec::default()
    })?;
    (0..partitions)
        .map(|partition| batches(topic, partition))
        .collect()
}

/// Lengths of the batches in a partition's log, out of its only segment: base offset, length of the rest, the rest.
fn batches(topic: &str, partition: i32) -> Result<Vec<u64>> {
    let folder = KAFKA.data(1)?.join(format!("{topic}-{partition}"));
    let log = fs::read(folder.join("00000000000000000000.log"))?;
    let mut rest = log.as_slice();
    let mut lengths = Vec::new();
    while let Some((head, body)) = rest.split_first_chunk::<12>() {
        let length = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
        rest = body.get(length as usize..).context("a whole batch")?;
        lengths.push(12 + u64::from(length));
    }
    ensure!(rest.is_empty(), "the log ends in half a batch");
    Ok(lengths)
}

/// What a broker sends of these batches if each request begins behind the last whole batch of the one before: up to the limit, the
/// last batch in part, but never less than the first.
fn sent(batches: &[u64], limit: u64) -> u64 {
    let mut sent = 0;
    let mut rest = batches;
    while let Some(first) = rest.first() {
        let most = limit.max(*first);
        let (mut whole, mut count) = (0, 0);
        while let Some(next) = rest.get(count)
            && whole + next <= most
        {
            whole += next;
            count += 1;
        }
        rest = &rest[count..];
        sent += if rest.is_empty() { whole } else { most };
    }
    sent
}

#[test]
fn what_a_broker_sends() {
    assert_eq!(sent(&[], 100), 0);
    assert_eq!(sent(&[40, 40], 100), 80);
    // 40 + 40 and 20 of the third, which comes again
    assert_eq!(sent(&[40, 40, 40], 100), 100 + 40);
    assert_eq!(sent(&[300, 40], 100), 300 + 40);
}

/// Reads all of a topic, and holds what was received against what the batches explain.
async fn check(
    what: &str,
    topic: &str,
    logs: &[Vec<u64>],
    consumer: ConsumerBuilder,
    application: impl FnMut(&Consumer),
) -> Result<f64> {
    let (mut consumer, mut application) = (consumer.build().await?, application);
    let ends = KAFKA.end_offsets(topic)?;
    let Reading { total, metrics, .. } = read_to(&mut consumer, topic, &ends, |consumer, _| {
        application(consumer)
    })
    .await?;
    ensure!(total.records == ends.values().sum::<i64>() as u64);
    let log: u64 = logs.iter().flatten().sum();
    let largest = logs.iter().flatten().copied().max().unwrap_or(0);
    let by_partition: u64 = logs.iter().map(|log| sent(log, PARTITION_LIMIT)).sum();
    // where partitions share a response its own limit cuts one batch more
    let by_response = match logs.len() {
        1 => 0,
        _ => metrics.data_bearing_responses * largest,
    };
    let frames = metrics.fetch_responses * FRAME * (1 + logs.len() as u64);
    let explained = by_partition + by_response + frames;
    let ratio = metrics.bytes_received as f64 / log as f64;
    println!(
        "bytes, {what}: {} received for {log} in the log ({ratio:.4}), {:.4} explained; batches of {} on average, {} of {} responses bore data",
        metrics.bytes_received,
        explained as f64 / log as f64,
        log / logs.iter().map(Vec::len).sum::<usize>() as u64,
        metrics.data_bearing_responses,
        metrics.fetch_responses,
    );
    ensure!(metrics.bytes_received >= log, "{what}: {metrics:?}");
    ensure!(
        metrics.bytes_received <= explained,
        "{what}: {} received, {explained} explained: {metrics:?}",
        metrics.bytes_received
    );
    ensure!(metrics.sessions_lost == 0);
    Ok(ratio)
}

/// 105 MB in batches of 64 KiB, by one application that is quick, one that is slow, four that take one record at a time.
#[tokio::test]
async fn batches_of_64_kib_cost_at_most_3_percent() -> Result<()> {
    let topic = "bytes-64-kib";
    let logs = fill(topic, 1, 105_000, 65_536)?;
    ensure!(logs.iter().flatten().sum::<u64>() > 100_000_000);
    let quick = check("64 KiB", topic, &logs, consumer(), |_| ()).await?;
    let slow = |_: &Consumer| thread::sleep(Duration::from_millis(5));
    let slow = check("64 KiB, slow", topic, &logs, consumer(), slow).await?;
    let single = || {
        let single = consumer().set("max.poll.records", "1");
        check("64 KiB, max.poll.records=1", topic, &logs, single, |_| ())
    };
    let (a, b, c, d) = tokio::try_join!(single(), single(), single(), single())?;
    for ratio in [quick, slow, a, b, c, d] {
        ensure!(ratio <= 1.03, "{ratio}");
    }
    Ok(())
}

#[tokio::test]
async fn smaller_and_larger_batches_cost_what_is_cut_of_them() -> Result<()> {
    for (what, records, batch_size) in [
        ("16 KiB", 30_000, 16_384),
        ("500 KB", 60_000, 500_000),
        ("larger than a partition's limit", 30_000, 2_500_000),
    ] {
        let topic = format!("bytes-{batch_size}");
        let logs = fill(&topic, 1, records, batch_size)?;
        check(what, &topic, &logs, consumer(), |_| ()).await?;
    }
    Ok(())
}

/// An application that is slow and pauses half of the partitions now and then: what was fetched of them is kept.
#[tokio::test]
async fn several_partitions_and_pauses_cost_what_is_cut() -> Result<()> {
    let topic = "bytes-partitions";
    let logs = fill(topic, 6, 60_000, 65_536)?;
    check("6 partitions", topic, &logs, consumer(), |_| ()).await?;
    let half: Vec<_> = (0..3)
        .map(|index| TopicPartition::new(topic, index))
        .collect();
    let mut polls = 0;
    let pausing = |consumer: &Consumer| {
        polls += 1;
        match polls % 20 {
            5 => drop(consumer.pause(&half)),
            10 => drop(consumer.resume(&half)),
            _ => {}
        }
        thread::sleep(Duration::from_millis(3));
    };
    check("6 partitions, pauses", topic, &logs, consumer(), pausing).await?;
    Ok(())
}
