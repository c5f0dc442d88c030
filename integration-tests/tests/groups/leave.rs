//! From a leave in order to the first record at the new owner.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

use super::member::{LIMIT, PROTOCOLS, builder};

const PARTITIONS: i32 = 12;
const HEARTBEAT: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;

async fn start(kafka: &Cluster, group: &str, protocol: &str) -> Result<Consumer> {
    let mut settings = vec![("group.protocol", protocol), ("max.poll.records", "50")];
    if protocol == "classic" {
        settings.push(("partition.assignment.strategy", "cooperative-sticky"));
        settings.push(("heartbeat.interval.ms", "1000"));
    }
    let consumer = builder(kafka, group, &settings).build().await?;
    consumer.subscribe(["t"]).await?;
    Ok(consumer)
}

/// One leaves, over and over; the other polls every 50 ms. Printed: how long what the one had was read by nobody.
#[tokio::test]
async fn the_time_from_a_leave_to_the_first_record_at_the_new_owner() -> Result<()> {
    let kafka = Arc::new(
        Cluster::builder()
            .property("group.initial.rebalance.delay.ms", "0")
            .property("group.consumer.min.heartbeat.interval.ms", "1000")
            .property("group.consumer.heartbeat.interval.ms", "1000")
            .start()?,
    );
    kafka.create_topic("t", PARTITIONS, 1, &[])?;
    let is_over = Arc::new(AtomicBool::new(false));
    let (cluster, over) = (Arc::clone(&kafka), Arc::clone(&is_over));
    let producer = tokio::task::spawn_blocking(move || -> Result<()> {
        while !over.load(Ordering::Relaxed) {
            cluster.produce(ProduceSpec {
                topic: "t".into(),
                records: 240,
                partitioning: Partitioning::RoundRobin,
                ..ProduceSpec::default()
            })?;
        }
        Ok(())
    });
    for protocol in PROTOCOLS {
        let mut times = Vec::new();
        for round in 0..ROUNDS {
            let group = format!("leave-{protocol}-{round}");
            let half = |consumer: &Consumer| consumer.assignment().len() == 6;
            let mut stays = start(&kafka, &group, protocol).await?;
            let mut leaves = start(&kafka, &group, protocol).await?;
            let begin = Instant::now();
            while !(half(&stays) && half(&leaves)) {
                ensure!(begin.elapsed() < LIMIT, "{protocol}: not divided");
                stays.poll(Duration::from_millis(50)).await?;
                leaves.poll(Duration::from_millis(50)).await?;
            }
            leaves.poll(Duration::from_millis(50)).await?;
            leaves.commit().await?;
            let moves: BTreeSet<TopicPartition> = leaves.assignment().into_iter().collect();
            let closing = tokio::spawn(async move { leaves.close(Duration::from_secs(5)).await });
            let begin = Instant::now();
            loop {
                ensure!(
                    begin.elapsed() < LIMIT,
                    "{protocol}: nothing of {moves:?} comes"
                );
                let records = stays.poll(Duration::from_millis(50)).await?;
                if records
                    .iter()
                    .any(|record| moves.contains(record.topic_partition()))
                {
                    break;
                }
            }
            times.push(begin.elapsed());
            closing.await??;
            stays.close(Duration::from_secs(5)).await?;
        }
        times.sort();
        println!("{protocol}: heartbeats each {HEARTBEAT:?}, read again after {times:?}");
    }
    is_over.store(true, Ordering::Relaxed);
    producer.await?
}
