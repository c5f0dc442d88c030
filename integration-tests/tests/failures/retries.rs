//! A partition that cannot be read costs its node little, and the others nothing.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{Consumer, Error, PartitionError, TopicPartition};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec};

/// `fetch.max.wait.ms`, in seconds: long, so that a long poll that is cut short is noticed.
const LONG_POLL: u64 = 5;
/// How long requests are counted.
const WINDOW: Duration = Duration::from_secs(12);

#[tokio::test]
async fn b109_an_offset_out_of_range_costs_its_node_little() -> Result<()> {
    let kafka = with_two_quiet_partitions()?;
    kafka.create_topic("other", 1, 1, &[])?;
    let lost = TopicPartition::new("other", 0);
    let mut consumer = consumer(&kafka, "none").await?;
    consumer
        .assign_at([
            (TopicPartition::new("quiet", 0), 10),
            (TopicPartition::new("quiet", 1), 10),
            (lost.clone(), 1_000_000),
        ])
        .await?;
    let cost = count(&kafka, &mut consumer, |error| {
        matches!(error, Error::Partition(PartitionError::OffsetOutOfRange { partition, offset: 1_000_000 }) if *partition == lost)
    })
    .await?;
    cost.check("out of range")?;
    // each answer with the error is told: what is left are the long polls of the others
    let long_polls = cost.fetches.saturating_sub(cost.errors);
    ensure!(
        long_polls <= WINDOW.as_secs() / LONG_POLL + 3,
        "{long_polls} long polls"
    );
    the_others_go_on(&kafka, &mut consumer).await
}

#[tokio::test]
async fn b120_a_deleted_topic_costs_its_node_little() -> Result<()> {
    let kafka = with_two_quiet_partitions()?;
    kafka.create_topic("doomed", 1, 1, &[])?;
    let doomed = TopicPartition::new("doomed", 0);
    let mut consumer = consumer(&kafka, "earliest").await?;
    consumer
        .assign([
            TopicPartition::new("quiet", 0),
            TopicPartition::new("quiet", 1),
            doomed.clone(),
        ])
        .await?;
    consumer.await_position(&doomed).await?;
    let mut read = 0;
    while read < 20 {
        read += consumer.poll(Duration::from_secs(10)).await?.len();
    }
    kafka.delete_topic("doomed")?;
    let cost = count(&kafka, &mut consumer, |error| {
        matches!(error, Error::Partition(PartitionError::UnknownPartition { partition }) if *partition == doomed)
    })
    .await?;
    cost.check("deleted topic")?;
    ensure!(cost.errors > 0, "the application is not told");
    the_others_go_on(&kafka, &mut consumer).await
}

fn with_two_quiet_partitions() -> Result<Cluster> {
    let kafka = Cluster::builder().start()?;
    kafka.create_topic("quiet", 2, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "quiet".into(),
        records: 20,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    Ok(kafka)
}

async fn consumer(kafka: &Cluster, reset: &str) -> Result<Consumer> {
    let consumer = Consumer::builder()
        .bootstrap_servers(kafka.bootstrap_servers())
        .set("auto.offset.reset", reset)
        .set("fetch.max.wait.ms", &(LONG_POLL * 1000).to_string());
    Ok(consumer.build().await?)
}

/// What a window of time cost.
struct Cost {
    seconds: f64,
    /// `retry.backoff.max.ms`, in seconds.
    pause: f64,
    /// Fetch requests, by our counters and by the broker's.
    fetches: u64,
    seen_by_broker: u64,
    /// All other requests that the broker saw.
    others: u64,
    errors: u64,
}

impl Cost {
    fn check(&self, what: &str) -> Result<()> {
        println!(
            "{what}: in {:.1} s {} fetch requests (the broker saw {}), {} other requests, {} errors told",
            self.seconds, self.fetches, self.seen_by_broker, self.others, self.errors
        );
        // one may be on its way at either end of the window
        ensure!(self.fetches.abs_diff(self.seen_by_broker) <= 2);
        let long_polls = self.seconds / LONG_POLL as f64 + 1.0;
        let allowed = 2.0 * self.seconds / self.pause + long_polls;
        let requests = self.fetches + self.others;
        ensure!(
            requests as f64 <= allowed,
            "{what}: {requests} requests, {allowed} are allowed"
        );
        Ok(())
    }
}

/// Polls for the window, which begins when the first error was told; every error must be `expected`, and no record comes.
async fn count(
    kafka: &Cluster,
    consumer: &mut Consumer,
    expected: impl Fn(&Error) -> bool,
) -> Result<Cost> {
    while consumer.poll(Duration::from_secs(1)).await.is_ok() {}
    // the broker's counters are read at both ends, and reading them takes a request of another kind
    let (fetches, others) = requests(kafka)?;
    let before = consumer.metrics().await?.fetch_requests;
    let begin = Instant::now();
    let mut errors = 0;
    while begin.elapsed() < WINDOW {
        match consumer.poll(Duration::from_millis(250)).await {
            Ok(records) => ensure!(records.is_empty(), "{records:?}"),
            Err(error) if expected(&error) => errors += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let after = consumer.metrics().await?.fetch_requests;
    let (fetches_after, others_after) = requests(kafka)?;
    Ok(Cost {
        seconds,
        pause: consumer.config().retry_backoff_max().as_secs_f64(),
        fetches: after - before,
        seen_by_broker: (fetches_after - fetches) as u64,
        others: (others_after - others) as u64,
        errors,
    })
}

/// How many requests of consumers the broker has seen: fetches, and others.
fn requests(kafka: &Cluster) -> Result<(f64, f64)> {
    let count = |request| {
        let pattern = format!(
            "kafka.network:type=RequestMetrics,name=RequestsPerSec,request={request},version=*"
        );
        kafka.metric_sum(1, &pattern, "Count")
    };
    let mut others = 0.0;
    for request in [
        "Metadata",
        "ListOffsets",
        "OffsetForLeaderEpoch",
        "ApiVersions",
    ] {
        others += count(request)?;
    }
    Ok((count("Fetch")?, others))
}

async fn the_others_go_on(kafka: &Cluster, consumer: &mut Consumer) -> Result<()> {
    kafka.produce(ProduceSpec {
        topic: "quiet".into(),
        records: 2,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    let mut read = 0;
    while read < 2 {
        // the error of the one that cannot be read comes in between
        if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
            read += records.len();
        }
    }
    Ok(consumer.close(Duration::from_secs(5)).await?)
}
