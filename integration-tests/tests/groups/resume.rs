//! A group goes on where it committed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, ProduceSpec};

use super::member::{PROTOCOLS, builder, poll_until};

const RECORDS: u64 = 100_000;

#[tokio::test]
async fn the_next_member_goes_on_where_the_last_one_committed() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    kafka.create_topic("t", 6, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "t".into(),
        records: RECORDS,
        ..ProduceSpec::default()
    })?;
    for protocol in PROTOCOLS {
        let group = format!("resume-{protocol}");
        let mut times: BTreeMap<(i32, i64), u32> = BTreeMap::new();
        let mut next: BTreeMap<i32, i64> = BTreeMap::new();
        for part in 1..=2 {
            let mut consumer = builder(&kafka, &group, &[("group.protocol", protocol)])
                .build()
                .await?;
            consumer.subscribe(["t"]).await?;
            let mut read = 0;
            while read < usize::try_from(RECORDS)? / 2 {
                let records = consumer.poll(Duration::from_secs(10)).await?;
                ensure!(
                    !records.is_empty() || read == 0,
                    "nothing comes after {read}"
                );
                read += records.len();
                for record in &records {
                    *times
                        .entry((record.partition(), record.offset()))
                        .or_default() += 1;
                    next.insert(record.partition(), record.offset() + 1);
                }
            }
            consumer.commit().await?;
            let told = consumer.group_metadata().await?;
            ensure!(told.generation_id > 0, "{told:?}");
            // what the broker says, by the Java client
            let committed = kafka.committed(&group)?;
            let committed: BTreeMap<i32, i64> = committed
                .into_iter()
                .map(|committed| (committed.partition, committed.offset))
                .filter(|(_, offset)| *offset > 0)
                .collect();
            ensure!(committed == next, "part {part}: {committed:?} {next:?}");
            consumer.close(Duration::from_secs(5)).await?;
        }
        println!(
            "{protocol}: {} records, each once, in two halves",
            times.len()
        );
        ensure!(times.len() == usize::try_from(RECORDS)?);
        ensure!(times.values().all(|count| *count == 1));
    }
    Ok(())
}

#[tokio::test]
async fn what_was_processed_is_committed_without_being_asked_for() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    kafka.create_topic("t", 1, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "t".into(),
        records: 100,
        ..ProduceSpec::default()
    })?;
    for protocol in PROTOCOLS {
        let settings = [
            ("group.protocol", protocol),
            ("enable.auto.commit", "true"),
            ("auto.commit.interval.ms", "200"),
            ("max.poll.records", "10"),
        ];
        let group = format!("auto-{protocol}");
        let mut consumer = builder(&kafka, &group, &settings).build().await?;
        consumer.subscribe(["t"]).await?;
        let mut given = 0;
        poll_until(
            &mut consumer,
            |_, _| given += 1,
            |consumer| consumer.position(&consumer_app::TopicPartition::new("t", 0)) == Some(30),
        )
        .await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // the last ten are still in hand
        ensure!(kafka.committed(&group)?[0].offset == 20, "{protocol}");
        consumer.close(Duration::from_secs(5)).await?;
        ensure!(kafka.committed(&group)?[0].offset == 30, "{protocol}");
    }
    Ok(())
}
