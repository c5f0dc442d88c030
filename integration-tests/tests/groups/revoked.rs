//! A revocation costs what is revoked, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

use super::member::{CommitOnRevoke, LIMIT, PROTOCOLS, builder, poll_until};

const PARTITIONS: i32 = 500;

fn settings(protocol: &str) -> Vec<(&str, &str)> {
    let mut settings = vec![("group.protocol", protocol)];
    if protocol == "classic" {
        settings.push(("partition.assignment.strategy", "cooperative-sticky"));
        settings.push(("heartbeat.interval.ms", "300"));
    }
    settings
}

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
        let settings = settings(protocol);
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

/// A member comes that has so much of its own that one partition is all it takes. Records are produced all the while: those of the
/// 499 that stay go on without a gap, and nothing is fetched twice.
#[tokio::test]
async fn one_of_500_goes_and_the_others_notice_nothing() -> Result<()> {
    let kafka = Arc::new(
        Cluster::builder()
            .property("group.initial.rebalance.delay.ms", "0")
            .start()?,
    );
    kafka.create_topic("t", PARTITIONS, 1, &[])?;
    kafka.create_topic("u", PARTITIONS - 2, 1, &[])?;
    for protocol in PROTOCOLS {
        let group = format!("one-{protocol}");
        let listener = CommitOnRevoke::default();
        let member =
            || builder(&kafka, &group, &settings(protocol)).rebalance_listener(listener.clone());
        let mut first = member().build().await?;
        first.subscribe(["t"]).await?;
        let all = usize::try_from(PARTITIONS)?;
        poll_until(
            &mut first,
            |_, _| (),
            |first| first.assignment().len() == all,
        )
        .await?;
        // what was there before
        while !first.poll(Duration::from_secs(2)).await?.is_empty() {}
        first.commit().await?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (cluster, over) = (Arc::clone(&kafka), Arc::clone(&is_over));
        let producer = tokio::task::spawn_blocking(move || -> Result<usize> {
            let mut produced = 0;
            while !over.load(Ordering::Relaxed) {
                cluster.produce(ProduceSpec {
                    topic: "t".into(),
                    records: 5_000,
                    partitioning: Partitioning::RoundRobin,
                    ..ProduceSpec::default()
                })?;
                produced += 5_000;
            }
            Ok(produced)
        });
        let mut came: BTreeMap<(i32, i64), u32> = BTreeMap::new();
        let before = first.metrics().await?;
        let mut second = member().build().await?;
        second.subscribe(["t", "u"]).await?;
        let (end, mut ending) = tokio::sync::watch::channel(());
        let others = tokio::spawn(async move {
            let mut came = Vec::new();
            while !ending.has_changed()? {
                for record in &second.poll(Duration::from_millis(50)).await? {
                    came.push((record.partition(), record.offset()));
                }
            }
            ending.mark_unchanged();
            anyhow::Ok((second, came))
        });
        let begin = Instant::now();
        let (mut last, mut longest, mut settled) = (Instant::now(), Duration::ZERO, None);
        // for a second after the partition is gone
        while settled.is_none_or(|at: Instant| at.elapsed() < Duration::from_secs(1)) {
            ensure!(begin.elapsed() < LIMIT, "{protocol}: nothing is revoked");
            let records = first.poll(Duration::from_millis(50)).await?;
            if !records.is_empty() {
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
            for record in &records {
                *came
                    .entry((record.partition(), record.offset()))
                    .or_default() += 1;
            }
            if first.assignment().len() == all - 1 {
                settled.get_or_insert_with(Instant::now);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let produced = producer.await??;
        end.send(())?;
        let (mut second, others) = others.await??;
        for record in others {
            *came.entry(record).or_default() += 1;
        }
        let begin = Instant::now();
        while came.len() < produced {
            ensure!(
                begin.elapsed() < LIMIT,
                "{protocol}: {} of {produced}",
                came.len()
            );
            for consumer in [&mut first, &mut second] {
                for record in &consumer.poll(Duration::from_millis(50)).await? {
                    *came
                        .entry((record.partition(), record.offset()))
                        .or_default() += 1;
                }
            }
        }
        let after = first.metrics().await?;
        let twice = came.values().filter(|count| **count > 1).count();
        println!(
            "{protocol}: 1 of {PARTITIONS} went, {produced} records meanwhile, {twice} twice, longest time without any {longest:?}, {} sessions lost",
            after.sessions_lost - before.sessions_lost
        );
        ensure!(first.assignment().len() == all - 1);
        ensure!(twice == 0 && came.len() == produced);
        ensure!(after.sessions_lost == before.sessions_lost);
        listener.check()?;
        first.close(Duration::from_secs(5)).await?;
        second.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
