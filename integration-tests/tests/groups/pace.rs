//! An application that sleeps with a full buffer: below max.poll.interval.ms it stays a member, above it does not.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{Consumer, RebalanceContext, RebalanceListener, TopicPartition};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec, Value};

use super::member::{LIMIT, PROTOCOLS, builder, poll_until};

const RECORDS: u64 = 2_000;

/// What it was told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(&'static str, usize)>>>);

impl Told {
    fn add(&self, what: &'static str, partitions: &[TopicPartition]) {
        if !partitions.is_empty() {
            let mut told = self.0.lock().expect("nobody panics with it");
            told.push((what, partitions.len()));
        }
    }

    fn take(&self) -> Vec<(&'static str, usize)> {
        std::mem::take(&mut self.0.lock().expect("nobody panics with it"))
    }
}

impl RebalanceListener for Told {
    async fn assigned(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.add("assigned", partitions);
    }

    async fn revoked(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.add("revoked", partitions);
    }

    async fn lost(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.add("lost", partitions);
    }
}

fn kafka() -> Result<Cluster> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .property("group.consumer.session.timeout.ms", "6000")
        .property("group.consumer.min.session.timeout.ms", "6000")
        .property("group.consumer.heartbeat.interval.ms", "1000")
        .property("group.consumer.min.heartbeat.interval.ms", "1000")
        .start()?;
    kafka.create_topic("t", 2, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "t".into(),
        records: RECORDS,
        values: vec![Value::Random(10_000)],
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    Ok(kafka)
}

/// A member of a group of its own with one record in hand and a full buffer.
async fn busy(
    kafka: &Cluster,
    protocol: &str,
    max_poll_interval: &str,
    told: &Told,
) -> Result<Consumer> {
    let mut settings = vec![
        ("group.protocol", protocol),
        ("max.poll.interval.ms", max_poll_interval),
        ("max.poll.records", "1"),
        ("buffer.memory", "1048576"),
        ("fetch.max.bytes", "1048576"),
        ("max.partition.fetch.bytes", "1048576"),
    ];
    if protocol == "classic" {
        settings.push(("session.timeout.ms", "6000"));
        settings.push(("heartbeat.interval.ms", "1000"));
    }
    let group = format!("pace-{protocol}-{max_poll_interval}");
    let builder = builder(kafka, &group, &settings).rebalance_listener(told.clone());
    let mut consumer = builder.build().await?;
    consumer.subscribe(["t"]).await?;
    let mut read = 0;
    let begin = Instant::now();
    while read == 0 {
        ensure!(begin.elapsed() < LIMIT);
        read = consumer.poll(Duration::from_millis(100)).await?.len();
    }
    Ok(consumer)
}

async fn sleeps(kafka: &Cluster, protocol: &str) -> Result<()> {
    let told = Told::default();
    let mut consumer = busy(kafka, protocol, "300000", &told).await?;
    let before = consumer.group_metadata().await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = consumer.group_metadata().await?;
    ensure!(before == after, "{protocol}: {before:?} {after:?}");
    consumer.commit().await?;
    // the one it had at first is given already
    let mut read = 1;
    poll_until(
        &mut consumer,
        |_, _| read += 1,
        |consumer| {
            let ends = [0, 1].map(|p| consumer.position(&TopicPartition::new("t", p)));
            ends == [Some(1_000); 2]
        },
    )
    .await?;
    println!(
        "{protocol}: 60 s asleep with a full buffer, {read} records, told {:?}",
        told.take()
    );
    ensure!(read == RECORDS);
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
}

async fn oversleeps(kafka: &Cluster, protocol: &str) -> Result<()> {
    let told = Told::default();
    let mut consumer = busy(kafka, protocol, "7000", &told).await?;
    told.take();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let error = match consumer.commit().await {
        Ok(()) => anyhow::bail!("{protocol}: committed in the name of a member that left"),
        Err(error) => error.to_string(),
    };
    ensure!(
        error.contains("max.poll.interval.ms"),
        "{protocol}: {error}"
    );
    let mut first = None;
    let begin = Instant::now();
    while first.is_none() {
        ensure!(begin.elapsed() < LIMIT, "{protocol}: it does not come back");
        let records = consumer.poll(Duration::from_millis(100)).await?;
        first = records.iter().next().map(|record| record.offset());
    }
    let calls = told.take();
    println!("{protocol}: 12 s asleep, told {calls:?}: {error}");
    ensure!(calls == [("lost", 2), ("assigned", 2)]);
    // nothing was committed: from the start again
    ensure!(first == Some(0), "{protocol}: {first:?}");
    consumer.commit().await?;
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
}

#[tokio::test]
async fn f024_b163_whoever_sleeps_stays_a_member_until_max_poll_interval_ms() -> Result<()> {
    let kafka = kafka()?;
    let [classic, consumer] = PROTOCOLS;
    tokio::try_join!(
        sleeps(&kafka, classic),
        sleeps(&kafka, consumer),
        oversleeps(&kafka, classic),
        oversleeps(&kafka, consumer),
    )?;
    Ok(())
}
