//! Partitions of one node get their turns.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use consumer_app::{Consumer, OffsetReset, Records, TopicPartition};
use integration_tests::kafka::{Cluster, Codec, ExplicitRecord, Partitioning, ProduceSpec, Value};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

const PARTITIONS: i32 = 8;

/// What partitions have been given, in units of `unit` records: how far the first is ahead of the last.
fn spread(given: &BTreeMap<i32, u64>, unit: u64) -> u64 {
    let most = given.values().max().copied().unwrap_or(0);
    let least = given.values().min().copied().unwrap_or(0);
    (most - least).div_ceil(unit)
}

/// Records of a batch.
const BATCH: i64 = 16;
/// Batches of a partition.
const BATCHES: i64 = 50;

#[tokio::test]
async fn b012_fetches_go_round() -> Result<()> {
    // the broker tells of each request what it asks for
    let kafka = Cluster::builder()
        .log_level("kafka.request.logger", "debug")
        .start()?;
    let topic = "fair-fetches";
    kafka.create_topic(topic, PARTITIONS, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: topic.into(),
        records: (i64::from(PARTITIONS) * BATCHES * BATCH) as u64,
        values: vec![Value::Random(1000)],
        partitioning: Partitioning::RoundRobin,
        records_per_batch: Some(BATCH as u32),
        ..ProduceSpec::default()
    })?;
    let log = kafka
        .data(1)?
        .join(format!("{topic}-0/00000000000000000000.log"));
    let one_batch = (std::fs::metadata(log)?.len() / BATCHES as u64 + 100).to_string();
    let ends = kafka.end_offsets(topic)?;

    // The request holds one batch. Under the first two limits of a partition it never comes to its read-ahead credit, so its session
    // alone fetches, in the broker's turn; under the last it often does, and the other lane fetches what the session cannot.
    let mebibyte = "1048576";
    for (name, partition_limit, pause) in [
        ("quick", mebibyte, Duration::ZERO),
        ("slow", mebibyte, Duration::from_millis(5)),
        (
            "slow-at-credit",
            one_batch.as_str(),
            Duration::from_millis(5),
        ),
    ] {
        let mut consumer = Consumer::builder()
            .bootstrap_servers(kafka.bootstrap_servers())
            .auto_offset_reset(OffsetReset::Earliest)
            .client_id(name)
            .set("max.partition.fetch.bytes", partition_limit)
            .set("fetch.max.bytes", &one_batch)
            .build()
            .await?;
        let rest = |_: &Consumer, _: &Records| std::thread::sleep(pause);
        let reading = read_to(&mut consumer, topic, &ends, rest).await?;
        consumer.close(Duration::from_secs(5)).await?;
        let requests = requests(&std::fs::read_to_string(kafka.log(1)?)?, name)?;
        let widest = widest_spread(&requests);
        let metrics = &reading.metrics;
        println!(
            "fair fetches, {name}: the first partition is at most {widest} fetches ahead of the last; \
             {} data-bearing fetches of {} requests for {} batches, {} connections",
            metrics.data_bearing_responses,
            metrics.fetch_requests,
            i64::from(PARTITIONS) * BATCHES,
            metrics.fetch_connections,
        );
        assert_eq!(
            metrics.data_bearing_responses,
            (i64::from(PARTITIONS) * BATCHES) as u64
        );
        if partition_limit == mebibyte {
            assert_eq!(metrics.fetch_connections, 1);
            ensure!(widest <= 2, "{name}: {widest} fetches apart");
        }
    }
    Ok(())
}

/// What a client's requests asked for, as the broker logged them in their order: partitions and offsets.
fn requests(log: &str, client: &str) -> Result<Vec<Vec<(i64, i64)>>> {
    let mut requests = Vec::new();
    for line in log.lines() {
        let Some((_, request)) = line.split_once("Completed request:") else {
            continue;
        };
        let request: serde_json::Value = serde_json::from_str(request).context(line.to_owned())?;
        let header = &request["requestHeader"];
        if header["requestApiKeyName"] != "FETCH" || header["clientId"] != client {
            continue;
        }
        let topics = request["request"]["topics"].as_array();
        let partitions = topics.context("no topics")?.iter();
        let partitions = partitions.filter_map(|topic| topic["partitions"].as_array());
        let mut asked = Vec::new();
        for partition in partitions.flatten() {
            let number = |field: &str| partition[field].as_i64().context(partition.to_string());
            // a parked partition is not asked for
            if number("partitionMaxBytes")? > 0 {
                asked.push((number("partition")?, number("fetchOffset")?));
            }
        }
        requests.push(asked);
    }
    ensure!(
        !requests.is_empty(),
        "the broker logged no fetch of {client}"
    );
    Ok(requests)
}

/// By how many fetches any partition was ahead of another one at any time.
fn widest_spread(requests: &[Vec<(i64, i64)>]) -> i64 {
    let mut at: BTreeMap<i64, i64> = BTreeMap::new();
    let mut widest = 0;
    for request in requests {
        at.extend(
            request
                .iter()
                .map(|(partition, offset)| (*partition, offset / BATCH)),
        );
        let most = at.values().max().copied().unwrap_or(0);
        let least = at.values().min().copied().unwrap_or(0);
        widest = widest.max(most - least);
    }
    widest
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
            Codec::None,
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
