//! A million records of each codec.

use std::time::Duration;

use anyhow::{Context, Result};
use consumer_app::Records;
use integration_tests::kafka::{Codec, Key, ProduceSpec, Value};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

const PARTITIONS: i32 = 6;
/// The number of records, unless the environment has another one under [`VARIABLE`].
const RECORDS: u64 = 1_000_000;
const VARIABLE: &str = "REAL_KAFKA_RECORDS";

#[tokio::test]
async fn b018_b076_a_million_records_plain() -> Result<()> {
    every_offset_once_and_in_order(Codec::None).await
}

#[tokio::test]
async fn b018_b076_a_million_records_gzip() -> Result<()> {
    every_offset_once_and_in_order(Codec::Gzip).await
}

#[tokio::test]
async fn b018_b076_a_million_records_snappy() -> Result<()> {
    every_offset_once_and_in_order(Codec::Snappy).await
}

#[tokio::test]
async fn b018_b076_a_million_records_lz4() -> Result<()> {
    every_offset_once_and_in_order(Codec::Lz4).await
}

#[tokio::test]
async fn b018_b076_a_million_records_zstd() -> Result<()> {
    every_offset_once_and_in_order(Codec::Zstd).await
}

async fn every_offset_once_and_in_order(codec: Codec) -> Result<()> {
    let topic = format!("million-{codec:?}").to_lowercase();
    let produced = fill(&topic, codec)?;
    let ends = KAFKA.end_offsets(&topic)?;

    let mut consumer = consumer().build().await?;
    let mut next = [0_i64; PARTITIONS as usize];
    let mut gaps = 0;
    let reading = read_to(&mut consumer, &topic, &ends, |_, records: &Records| {
        for record in records {
            let expected = &mut next[record.partition() as usize];
            gaps += u32::from(record.offset() != *expected);
            *expected = record.offset() + 1;
        }
    })
    .await?;
    consumer.close(Duration::from_secs(5)).await?;

    let java = KAFKA.java_consume(topic.as_str())?;
    let metrics = &reading.metrics;
    println!(
        "{codec:?}: {} records, checksum {}, {} fetch requests of which {} bore data, {} bytes received, \
         {} connections, {} sessions lost, {} messages",
        reading.total.records,
        reading.total.checksum(),
        metrics.fetch_requests,
        metrics.data_bearing_responses,
        metrics.bytes_received,
        metrics.fetch_connections,
        metrics.sessions_lost,
        metrics.messages,
    );
    assert_eq!(gaps, 0, "{codec:?}: an offset was not the one that follows");
    assert_eq!(reading.total, produced, "{codec:?}");
    assert_eq!(reading.total.checksum(), java.total.checksum(), "{codec:?}");
    assert_eq!(reading.partitions, java.partitions, "{codec:?}");
    assert_eq!(metrics.sessions_lost, 0);
    Ok(())
}

fn fill(topic: &str, codec: Codec) -> Result<integration_tests::Tally> {
    let records = match std::env::var(VARIABLE) {
        Ok(number) => number
            .parse()
            .with_context(|| format!("{VARIABLE}={number} is no number of records"))?,
        Err(_) => RECORDS,
    };
    KAFKA.create_topic(topic, PARTITIONS, 1, &[])?;
    let produced = KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records,
        keys: vec![Key::Numbered {
            distinct: 100_000,
            size: 10,
        }],
        values: vec![Value::Text(100)],
        codec,
        batch_size: 65_536,
        linger_ms: 20,
        ..ProduceSpec::default()
    })?;
    assert_eq!(produced.all.records, records);
    Ok(produced.all)
}
