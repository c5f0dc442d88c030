//! Subscriptions by pattern follow topics that come later, and partitions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};
use tokio::task::{self, JoinHandle};

use super::member::{LIMIT, PROTOCOLS, builder, poll_until};

async fn owns(consumer: &mut Consumer, count: usize) -> Result<()> {
    poll_until(
        consumer,
        |_, _| (),
        |consumer| consumer.assignment().len() == count,
    )
    .await
}

#[tokio::test]
async fn b153_a_pattern_finds_topics_that_come_later() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    for protocol in PROTOCOLS {
        let topic = |name: &str| format!("{protocol}-{name}");
        kafka.create_topic(&topic("orders-1"), 2, 1, &[])?;
        kafka.create_topic(&topic("other"), 2, 1, &[])?;
        let settings = [
            ("group.protocol", protocol),
            ("metadata.max.age.ms", "1000"),
        ];
        let mut consumer = builder(&kafka, &topic("group"), &settings).build().await?;
        consumer
            .subscribe_pattern(&format!("{protocol}-orders-.*"))
            .await?;
        owns(&mut consumer, 2).await?;
        kafka.create_topic(&topic("orders-2"), 3, 1, &[])?;
        owns(&mut consumer, 5).await?;
        kafka.create_partitions(&topic("orders-1"), 4)?;
        owns(&mut consumer, 7).await?;
        kafka.delete_topic(&topic("orders-2"))?;
        owns(&mut consumer, 4).await?;
        let prefix = topic("orders-1");
        ensure!(consumer.assignment().iter().all(|p| *p.topic() == *prefix));
        consumer.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}

const TOPICS: usize = 300;
/// Of the topic that grows, before and after.
const BEFORE: i32 = 4;
const AFTER: i32 = BEFORE + 200;

/// Works at the cluster while the consumer polls.
fn meanwhile<T: Send + 'static>(
    kafka: &Arc<Cluster>,
    work: impl FnOnce(&Cluster) -> Result<T> + Send + 'static,
) -> JoinHandle<Result<T>> {
    let kafka = Arc::clone(kafka);
    task::spawn_blocking(move || work(&kafka))
}

fn records(topic: &str, records: u64) -> ProduceSpec {
    ProduceSpec {
        topic: topic.into(),
        records,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    }
}

/// What was given, each offset the one after the last.
#[derive(Default)]
struct Given {
    next: BTreeMap<TopicPartition, i64>,
    records: u64,
}

impl Given {
    /// Polls until `done`.
    async fn poll_until(
        &mut self,
        consumer: &mut Consumer,
        what: &str,
        mut done: impl FnMut(&Consumer, u64) -> bool,
    ) -> Result<()> {
        let begin = Instant::now();
        while !done(consumer, self.records) {
            ensure!(
                begin.elapsed() < LIMIT,
                "{what}: not within {LIMIT:?}; {} records, {} partitions",
                self.records,
                consumer.assignment().len()
            );
            for record in &consumer.poll(Duration::from_millis(200)).await? {
                let next = self
                    .next
                    .entry(record.topic_partition().clone())
                    .or_default();
                ensure!(
                    record.offset() == *next,
                    "{}: {} in place of {next}",
                    record.topic_partition(),
                    record.offset()
                );
                *next += 1;
                self.records += 1;
            }
        }
        Ok(())
    }
}

/// Metadata requests that the broker answered, of whomever.
fn metadata_requests(kafka: &Cluster) -> Result<f64> {
    let bean = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Metadata,version=*";
    Ok(kafka.metric_sum(1, bean, "Count")?)
}

/// Each record comes once, also of partitions that come while the others are read, and metadata is asked for by the clock, not by the
/// partition or the topic.
#[tokio::test]
async fn b032_b153_a_pattern_over_300_topics_of_which_one_grows_by_200_partitions() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    let growing = PROTOCOLS.map(|protocol| format!("many-growing-{protocol}"));
    for topic in &growing {
        kafka.create_topic(topic, BEFORE, 1, &[])?;
    }
    let others: Vec<String> = (growing.len()..TOPICS)
        .map(|number| format!("many-{number}"))
        .collect();
    thread::scope(|scope| {
        let create = |names: &[String]| {
            let mut names = names.iter();
            names.try_for_each(|topic| kafka.create_topic(topic, 1, 1, &[]))
        };
        let parts: Vec<_> = others
            .chunks(TOPICS / 6)
            .map(|names| scope.spawn(move || create(names)))
            .collect();
        let mut created = parts.into_iter();
        created.try_for_each(|part| {
            part.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    // some of the others have records, too
    let mut expected = 0;
    for topic in others.iter().step_by(60) {
        expected += kafka.produce(records(topic, 100))?.all.records;
    }
    let kafka = Arc::new(kafka);
    let mut partitions = others.len() + growing.len() * BEFORE as usize;
    for (protocol, topic) in PROTOCOLS.into_iter().zip(growing) {
        let settings = [
            ("group.protocol", protocol),
            ("metadata.max.age.ms", "1000"),
            // an eager rebalance takes all away, and gives it back where it was committed
            ("enable.auto.commit", "true"),
        ];
        let mut consumer = builder(&kafka, protocol, &settings).build().await?;
        consumer.subscribe_pattern("many-.*").await?;
        let mut given = Given::default();
        let all = |consumer: &Consumer, records| {
            records == expected && consumer.assignment().len() == partitions
        };
        given
            .poll_until(&mut consumer, "what is there", all)
            .await?;

        let (begun, before) = (Instant::now(), metadata_requests(&kafka)?);
        let second = begun + Duration::from_secs(5);
        let rest = |_: &Consumer, _| Instant::now() > second;
        given.poll_until(&mut consumer, "a rest", rest).await?;
        let (rested, asked) = (begun.elapsed(), metadata_requests(&kafka)? - before);
        println!("{protocol}: {asked} metadata requests in {rested:?} of rest");
        ensure!(asked <= rested.as_secs_f64() + 5.0, "{asked} at rest");

        let (begun, before) = (Instant::now(), metadata_requests(&kafka)?);
        let spec = records(&topic, 20_000);
        let early = meanwhile(&kafka, move |kafka| Ok(kafka.produce(spec)?));
        let spec = records(&topic, 20_400);
        let late = meanwhile(&kafka, move |kafka| {
            kafka.create_partitions(&spec.topic, AFTER)?;
            Ok(kafka.produce(spec)?)
        });
        expected += 40_400;
        partitions += 200;
        let all = |consumer: &Consumer, records| {
            records == expected && consumer.assignment().len() == partitions
        };
        given
            .poll_until(&mut consumer, "what is there now", all)
            .await?;
        let mut written = BTreeMap::new();
        for produced in [early.await??, late.await??] {
            for (partition, produced) in produced.partitions {
                let end: &mut i64 = written.entry(partition).or_default();
                *end = (*end).max(produced.last_offset + 1);
            }
        }
        ensure!(
            written.len() == AFTER as usize,
            "{} partitions",
            written.len()
        );
        for (partition, end) in written {
            let partition = TopicPartition::new(topic.as_str(), partition);
            let next = given.next.get(&partition).context("a new partition")?;
            ensure!(*next == end, "{partition}: {next} of {end}");
        }
        let (grown, asked) = (begun.elapsed(), metadata_requests(&kafka)? - before);
        println!(
            "{protocol}: {} records of {} partitions; {asked} metadata requests in {grown:?} of growing",
            given.records, partitions
        );
        // two producers, whoever waits for the new leaders, and ours once a second
        ensure!(asked <= grown.as_secs_f64() + 40.0, "{asked} while growing");
        consumer.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
