//! A coordinator that moves, or is down for 30 s: what a member holds is read on, and commits come through afterwards.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::Consumer;
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

use super::member::{LIMIT, PROTOCOLS, builder, poll_until};

const OFFSETS: &str = "__consumer_offsets";
const DOWN: Duration = Duration::from_secs(30);

fn produce(kafka: &Cluster) -> Result<usize> {
    let records = 400;
    kafka.produce(ProduceSpec {
        topic: "t".into(),
        records,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    Ok(usize::try_from(records)?)
}

/// Reads as many records as were produced, each once.
async fn read(consumer: &mut Consumer, count: usize) -> Result<()> {
    let mut read = 0;
    let begin = Instant::now();
    while read < count {
        ensure!(begin.elapsed() < LIMIT, "{read} of {count}");
        read += consumer.poll(Duration::from_millis(100)).await?.len();
    }
    ensure!(read == count, "{read} of {count}");
    Ok(())
}

#[tokio::test]
async fn b154_b129_the_coordinator_moves_and_is_down_for_30_s() -> Result<()> {
    // the topic is led by node 1, the group by node 2
    let kafka = Cluster::builder()
        .nodes(2)
        .property("group.initial.rebalance.delay.ms", "0")
        .property("offsets.topic.num.partitions", "1")
        .property("offsets.topic.replication.factor", "1")
        .property("group.consumer.session.timeout.ms", "45000")
        .start()?;
    kafka.create_topic_on("t", &[&[1], &[1]], &[])?;
    let mut members = Vec::new();
    for protocol in PROTOCOLS {
        let settings = [("group.protocol", protocol)];
        let mut consumer = builder(&kafka, &format!("away-{protocol}"), &settings)
            .build()
            .await?;
        consumer.subscribe(["t"]).await?;
        poll_until(
            &mut consumer,
            |_, _| (),
            |consumer| consumer.assignment().len() == 2,
        )
        .await?;
        members.push((protocol, consumer));
    }
    let mut generations = Vec::new();
    for (_, consumer) in &members {
        generations.push(consumer.group_metadata().await?);
    }
    for to in [2, 1, 2] {
        kafka.move_leader(OFFSETS, 0, to)?;
        let produced = produce(&kafka)?;
        for (_, consumer) in &mut members {
            read(consumer, produced).await?;
            consumer.commit().await?;
        }
    }
    let down = Instant::now();
    kafka.kill(2)?;
    let mut rounds = 0;
    while down.elapsed() < DOWN {
        let produced = produce(&kafka)?;
        for (_, consumer) in &mut members {
            read(consumer, produced).await?;
        }
        rounds += 1;
    }
    let commits: Vec<_> = members
        .iter()
        .map(|(_, consumer)| consumer.commit())
        .collect();
    kafka.start_node(2)?;
    let back = Instant::now();
    for commit in commits {
        commit.await?;
    }
    println!(
        "{rounds} rounds were read in {DOWN:?}; committed {:?} after the return",
        back.elapsed()
    );
    let ends = kafka.end_offsets("t")?;
    for ((protocol, mut consumer), before) in members.into_iter().zip(generations) {
        let committed = kafka.committed(&format!("away-{protocol}"))?;
        for committed in committed {
            ensure!(
                ends.get(&committed.partition) == Some(&committed.offset),
                "{protocol}: {committed:?}"
            );
        }
        let after = consumer.group_metadata().await?;
        println!("{protocol}: {before:?} {after:?}");
        ensure!(after == before, "{protocol}: the membership was lost");
        consumer.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
