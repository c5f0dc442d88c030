//! Our members and Java's in one group: Kafka's own console consumer, whose lines are read.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

use super::child::{Child, Client};
use super::group::Came;
use super::member::{CommitOnRevoke, LIMIT, builder, poll_until};

const RECORDS: u64 = 6_000;

fn produce(kafka: &Cluster, topic: &str) -> Result<()> {
    kafka.produce(ProduceSpec {
        topic: topic.into(),
        records: RECORDS,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    Ok(())
}

/// Ours leaves in order, comes back, and then Java's does; each time the others go on where it was.
async fn share(
    kafka: &Cluster,
    group: &str,
    ours: &[(&str, &str)],
    java: &[(&str, &str)],
) -> Result<()> {
    kafka.create_topic(group, 6, 1, &[])?;
    let folder = tempfile::tempdir()?;
    let name = "java".to_owned();
    let mut member = Child::start(kafka, group, Client::Java, java, folder.path(), name)?;
    let mut by_java = Vec::new();
    let listener = CommitOnRevoke::default();
    let start = || async {
        let builder = builder(kafka, group, ours).rebalance_listener(listener.clone());
        let consumer = builder.build().await?;
        consumer.subscribe([group]).await?;
        anyhow::Ok(consumer)
    };
    let mut came = Came::default();
    let has_half = |consumer: &Consumer| consumer.assignment().len() == 3;

    let mut consumer = start().await?;
    let mut by_ours = 0;
    poll_until(&mut consumer, |_, _| by_ours += 1, has_half).await?;
    ensure!(by_ours == 0, "nothing was produced yet");
    produce(kafka, group)?;
    let half = usize::try_from(RECORDS / 2)?;
    poll_until(
        &mut consumer,
        |partition, offset| {
            by_ours += 1;
            came.add(Client::Ours, "ours", [(partition, offset)]);
        },
        |_| {
            by_java.extend(member.records().expect("its output is read"));
            by_java.len() == half
        },
    )
    .await?;
    while by_ours < half {
        for record in &consumer.poll(Duration::from_secs(10)).await? {
            by_ours += 1;
            came.add(
                Client::Ours,
                "ours",
                [(record.partition(), record.offset())],
            );
        }
    }
    consumer.close(Duration::from_secs(5)).await?;

    // Java's has all of them now
    produce(kafka, group)?;
    let begin = Instant::now();
    while by_java.len() < half + 2 * half {
        by_java.extend(member.records()?);
        ensure!(
            begin.elapsed() < LIMIT,
            "{group}: {} by Java",
            by_java.len()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    let mut consumer = start().await?;
    let mut add = |partition, offset| came.add(Client::Ours, "ours", [(partition, offset)]);
    poll_until(&mut consumer, &mut add, has_half).await?;
    produce(kafka, group)?;
    member.leave()?;
    let has_all = |consumer: &Consumer| {
        let there = kafka.end_offsets(group).unwrap_or_default();
        let positions = there.iter().map(|(partition, end)| {
            let partition = TopicPartition::new(group, *partition);
            consumer.position(&partition) == Some(*end)
        });
        consumer.assignment().len() == 6 && positions.min() == Some(true)
    };
    poll_until(&mut consumer, &mut add, has_all).await?;
    consumer.close(Duration::from_secs(5)).await?;
    member.left()?;
    came.add(Client::Java, "java", by_java);
    came.add(Client::Java, "java", member.records()?);
    listener.check()?;
    let twice = came.twice();
    println!("{group}: {} records, {twice} twice", came.len());
    ensure!(came.len() == usize::try_from(3 * RECORDS)? && twice == 0);
    Ok(())
}

#[tokio::test]
async fn ours_and_javas_share_a_classic_group() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    for (ours, java) in [
        ("range", "RangeAssignor"),
        ("roundrobin", "RoundRobinAssignor"),
        ("sticky", "StickyAssignor"),
        ("cooperative-sticky", "CooperativeStickyAssignor"),
    ] {
        let java = format!("org.apache.kafka.clients.consumer.{java}");
        let key = "partition.assignment.strategy";
        share(&kafka, ours, &[(key, ours)], &[(key, &java)]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn ours_and_javas_share_a_group_of_the_consumer_protocol() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    for assignor in ["uniform", "range"] {
        let settings = [
            ("group.protocol", "consumer"),
            ("group.remote.assignor", assignor),
        ];
        share(&kafka, &format!("remote-{assignor}"), &settings, &settings).await?;
    }
    Ok(())
}
