//! Polls that are dropped all the time.

use std::time::Duration;

use anyhow::{Context, Result};
use consumer_app::{Consumer, OffsetReset, TopicPartition};
use integration_tests::kafka::{Cluster, Codec, ProduceSpec, Value};
use integration_tests::{Proxy, Tally};

/// One way; an answer takes twice as long, four times as long as a poll lives.
const DELAY: Duration = Duration::from_millis(20);
const TICK: Duration = Duration::from_millis(10);

#[tokio::test]
async fn b023_f060_progress_does_not_depend_on_the_callers_patience() -> Result<()> {
    let proxy = Proxy::open(DELAY)?;
    let kafka = Cluster::builder()
        .listener("FAR", "PLAINTEXT")
        .advertised(1, "FAR", &proxy.address().to_string())
        .start()?;
    proxy.connect_to(kafka.listener_address(1, "FAR")?.context("it was added")?);
    let topic = "far";
    kafka.create_topic(topic, 3, 1, &[])?;
    let produced = kafka.produce(ProduceSpec {
        topic: topic.into(),
        records: 100_000,
        values: vec![Value::Text(200)],
        codec: Codec::Lz4,
        linger_ms: 5,
        ..ProduceSpec::default()
    })?;

    let mut fetches = Vec::new();
    for impatient in [false, true] {
        let mut consumer = Consumer::builder()
            .bootstrap_servers(&proxy.address().to_string())
            .auto_offset_reset(OffsetReset::Earliest)
            .set("max.partition.fetch.bytes", "100000")
            .build()
            .await?;
        let partitions = (0..3).map(|partition| TopicPartition::new(topic, partition));
        consumer.assign(partitions).await?;
        let (tally, ticks) = read(&mut consumer, produced.all.records, impatient).await?;
        let metrics = consumer.metrics().await?;
        println!(
            "behind {DELAY:?} each way, impatient: {impatient}: {} records, {ticks} polls dropped, {} fetch requests, {} bore data, \
             {} connections, {} messages",
            tally.records,
            metrics.fetch_requests,
            metrics.data_bearing_responses,
            metrics.fetch_connections,
            metrics.messages,
        );
        assert_eq!(tally, produced.all);
        assert_eq!(ticks > 0, impatient);
        fetches.push(metrics.data_bearing_responses);
    }
    // nothing that was fetched is fetched again because a poll was dropped
    assert!(
        fetches[1] <= fetches[0] + fetches[0] / 10 + 1,
        "{fetches:?}"
    );
    Ok(())
}

/// Reads so many records, each poll in a `select!` with a tick; returns how many polls the tick won.
async fn read(consumer: &mut Consumer, records: u64, impatient: bool) -> Result<(Tally, u32)> {
    let mut tally = Tally::default();
    let mut ticks = 0;
    let mut tick = tokio::time::interval(TICK);
    while tally.records < records {
        let polled = tokio::select! {
            polled = consumer.poll(Duration::from_secs(30)) => polled?,
            _ = tick.tick(), if impatient => {
                ticks += 1;
                continue;
            }
        };
        for record in &polled {
            let length = |bytes: Option<&[u8]>| bytes.map(<[u8]>::len);
            tally.add(
                record.offset(),
                length(record.key()),
                length(record.value()),
            );
        }
    }
    Ok((tally, ticks))
}
