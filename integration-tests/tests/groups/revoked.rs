//! A revocation costs what is revoked, and nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

use super::member::{PROTOCOLS, builder, poll_until};

const PARTITIONS: i32 = 500;

#[tokio::test]
async fn partitions_that_stay_are_not_fetched_again() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    kafka.create_topic("t", PARTITIONS, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "t".into(),
        records: 50_000,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    for protocol in PROTOCOLS {
        let group = format!("stay-{protocol}");
        let mut settings = vec![("group.protocol", protocol)];
        if protocol == "classic" {
            settings.push(("partition.assignment.strategy", "cooperative-sticky"));
            settings.push(("heartbeat.interval.ms", "300"));
        }
        let mut first = builder(&kafka, &group, &settings).build().await?;
        first.subscribe(["t"]).await?;
        let mut read = 0;
        let mut reads = 0;
        let there = kafka.end_offsets("t")?.values().sum::<i64>();
        while reads < usize::try_from(there)? {
            reads += first.poll(Duration::from_secs(10)).await?.len();
        }
        first.commit().await?;
        let before = first.metrics().await?;
        let mut second = builder(&kafka, &group, &settings).build().await?;
        second.subscribe(["t"]).await?;
        let half = usize::try_from(PARTITIONS / 2)?;
        let polling = tokio::spawn(async move {
            poll_until(
                &mut second,
                |_, _| (),
                |second| second.assignment().len() == half,
            )
            .await?;
            anyhow::Ok(second)
        });
        poll_until(
            &mut first,
            |_, _| read += 1,
            |first| first.assignment().len() == half && polling.is_finished(),
        )
        .await?;
        let mut second = polling.await??;
        let after = first.metrics().await?;
        let bytes = after.bytes_received - before.bytes_received;
        let requests = after.fetch_requests - before.fetch_requests;
        println!(
            "{protocol}: {half} of {PARTITIONS} stayed, {read} records came again, {bytes} bytes in {requests} answers, {} sessions lost",
            after.sessions_lost - before.sessions_lost
        );
        ensure!(read == 0);
        ensure!(after.sessions_lost == before.sessions_lost);
        ensure!(after.data_bearing_responses == before.data_bearing_responses);
        // and both go on, each with what it has
        kafka.produce(ProduceSpec {
            topic: "t".into(),
            records: 5_000,
            partitioning: Partitioning::RoundRobin,
            ..ProduceSpec::default()
        })?;
        let mut came = BTreeMap::new();
        for consumer in [&mut first, &mut second] {
            let mut read = 0;
            while read < 2_500 {
                let records = consumer.poll(Duration::from_secs(10)).await?;
                ensure!(
                    !records.is_empty(),
                    "{protocol}: nothing comes after {read}"
                );
                read += records.len();
                for record in &records {
                    *came
                        .entry((record.partition(), record.offset()))
                        .or_insert(0) += 1;
                }
            }
            consumer.commit().await?;
        }
        ensure!(came.len() == 5_000 && came.values().all(|count| *count == 1));
        first.close(Duration::from_secs(5)).await?;
        second.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
