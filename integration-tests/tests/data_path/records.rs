//! Records that are not like most: every field as the Java consumer gives it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use consumer_app::{Record, TimestampType as Ours};
use integration_tests::kafka::{
    Codec, ConsumeSpec, ExplicitRecord, Isolation, JavaRecord, Offset, Outcome, ProduceSpec,
    TimestampType as Java, Transactions, Value,
};
use integration_tests::read_to;

use super::shared::{KAFKA, consumer};

#[tokio::test]
async fn b074_b075_f053_null_and_empty_keys_values_and_headers() -> Result<()> {
    for codec in Codec::ALL {
        let topic = format!("odd-{codec:?}").to_lowercase();
        KAFKA.create_topic(&topic, 2, 1, &[])?;
        KAFKA.produce_records(&topic, codec, &odd_records())?;
        assert_equal_to_java(&topic, Isolation::ReadUncommitted, odd_records().len()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn b077_f070_log_append_time() -> Result<()> {
    for codec in Codec::ALL {
        let topic = format!("appended-{codec:?}").to_lowercase();
        KAFKA.create_topic(&topic, 2, 1, &[("message.timestamp.type", "LogAppendTime")])?;
        KAFKA.produce_records(&topic, codec, &odd_records())?;
        assert_equal_to_java(&topic, Isolation::ReadUncommitted, odd_records().len()).await?;
    }
    Ok(())
}

/// Two of each: of what is null or empty, of times, and of headers that repeat names.
fn odd_records() -> Vec<ExplicitRecord> {
    let bytes = [None, Some(Vec::new()), Some(vec![0, 0xff, b'x'])];
    let headers = [
        vec![],
        vec![
            ("h".into(), None),
            ("h".into(), Some(Vec::new())),
            ("h".into(), Some(vec![1, 2, 3])),
            (String::new(), Some(vec![0xff])),
            ("é".into(), None),
        ],
    ];
    let mut records = Vec::new();
    for partition in 0..2 {
        for key in &bytes {
            for value in &bytes {
                for headers in &headers {
                    for timestamp in [Some(0), Some(1_700_000_000_000), None] {
                        records.push(ExplicitRecord {
                            partition: Some(partition),
                            key: key.clone(),
                            value: value.clone(),
                            headers: headers.clone(),
                            timestamp,
                        });
                    }
                }
            }
        }
    }
    records
}

/// Records of the transaction that is left open.
const LEFT_OPEN: u64 = 40;

#[tokio::test]
async fn b088_b089_b096_transactions_under_both_isolation_levels() -> Result<()> {
    KAFKA.create_topic("transacted", 3, 1, &[])?;
    let spec = |id: &str, records, leave_open| ProduceSpec {
        topic: "transacted".into(),
        records,
        values: vec![Value::RandomBetween(0, 300)],
        codec: Codec::Lz4,
        linger_ms: 1,
        transactions: Some(Transactions {
            id: id.into(),
            records_each: LEFT_OPEN,
            outcomes: vec![Outcome::Commit, Outcome::Abort, Outcome::Abort],
            leave_open,
        }),
        ..ProduceSpec::default()
    };
    // one after the other, and the last one holds the last stable offset back
    let closed = KAFKA.produce(spec("closed", 3_000, false))?;
    let open = KAFKA.produce(spec("open", 2_960 + LEFT_OPEN, true))?;
    let expected = closed.all.records + open.all.records;
    assert_equal_to_java("transacted", Isolation::ReadUncommitted, expected as usize).await?;
    let stable = closed.committed.records + open.committed.records;
    await_committed("transacted", stable)?;
    assert_equal_to_java("transacted", Isolation::ReadCommitted, stable as usize).await?;
    KAFKA.end_transaction("open", Outcome::Commit)?;
    let stable = stable + LEFT_OPEN;
    await_committed("transacted", stable)?;
    assert_equal_to_java("transacted", Isolation::ReadCommitted, stable as usize).await
}

/// Waits until so many records can be read: the marker of a transaction is written after its end was acknowledged.
fn await_committed(topic: &str, records: u64) -> Result<()> {
    for _ in 0..100 {
        let consumed = KAFKA.java_consume(ConsumeSpec {
            isolation: Isolation::ReadCommitted,
            ..ConsumeSpec::new(topic)
        })?;
        if consumed.total.records == records {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("{records} committed records of {topic} do not come")
}

#[tokio::test]
async fn b015_f015_records_of_900_kb() -> Result<()> {
    KAFKA.create_topic("large", 2, 1, &[])?;
    for codec in Codec::ALL {
        KAFKA.produce(ProduceSpec {
            topic: "large".into(),
            records: 6,
            values: vec![Value::Random(900_000), Value::Text(10)],
            codec,
            ..ProduceSpec::default()
        })?;
    }
    KAFKA.create_topic("large-two", 1, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: "large-two".into(),
        records: 2,
        values: vec![Value::Random(900_000)],
        codec: Codec::Lz4,
        ..ProduceSpec::default()
    })?;
    assert_equal_to_java("large-two", Isolation::ReadUncommitted, 2).await?;

    // limits below the size of a record hold it up no longer than they must (KIP-74), and little memory no longer than it takes
    let java = KAFKA.java_consume("large")?;
    let ends = KAFKA.end_offsets("large")?;
    for (key, value) in [
        ("max.poll.records", "500"),
        ("max.partition.fetch.bytes", "1000"),
        ("fetch.max.bytes", "1000"),
        ("buffer.memory", "1048576"),
    ] {
        let mut consumer = consumer().set(key, value).build().await?;
        let reading = read_to(&mut consumer, "large", &ends, |_, _| ()).await?;
        println!(
            "900 KB records with {key}={value}: {} fetch requests, {} bore data, {} bytes received, {} replies read over the budget",
            reading.metrics.fetch_requests,
            reading.metrics.data_bearing_responses,
            reading.metrics.bytes_received,
            reading.metrics.overdrawn_replies,
        );
        assert_eq!(reading.partitions, java.partitions, "{key}={value}");
        assert_eq!(reading.metrics.discarded_replies, 0, "{key}={value}");
    }
    Ok(())
}

/// Reads a topic with both consumers and compares each field of each record.
async fn assert_equal_to_java(topic: &str, isolation: Isolation, records: usize) -> Result<()> {
    let (level, end) = match isolation {
        Isolation::ReadUncommitted => ("read_uncommitted", Offset::Latest),
        Isolation::ReadCommitted => ("read_committed", Offset::LatestStable),
    };
    let java = KAFKA.java_records(ConsumeSpec {
        isolation,
        ..ConsumeSpec::new(topic)
    })?;
    assert_eq!(java.len(), records, "{topic} {level}: what Java reads");
    let ends: BTreeMap<i32, i64> = KAFKA
        .list_offsets(topic, end)?
        .into_iter()
        .map(|(partition, offset)| Some((partition, offset?)))
        .collect::<Option<_>>()
        .context("no end")?;
    let mut consumer = consumer().set("isolation.level", level).build().await?;
    let mut ours: Vec<JavaRecord> = Vec::new();
    read_to(&mut consumer, topic, &ends, |_, records| {
        ours.extend(records.iter().map(as_java));
    })
    .await?;
    ours.sort_by_key(|record| (record.partition, record.offset));
    let mut expected = java;
    expected.sort_by_key(|record| (record.partition, record.offset));
    for (ours, java) in ours.iter().zip(&expected) {
        assert_eq!(ours, java, "{topic} {level}");
    }
    assert_eq!(ours.len(), expected.len(), "{topic} {level}");
    let positions: BTreeMap<i32, i64> = consumer
        .assignment()
        .iter()
        .filter_map(|partition| Some((partition.partition(), consumer.position(partition)?)))
        .collect();
    assert_eq!(positions, ends, "{topic} {level}");
    println!("{topic} {level}: {records} records equal to Java's in every field");
    Ok(())
}

fn as_java(record: Record<'_>) -> JavaRecord {
    JavaRecord {
        partition: record.partition(),
        offset: record.offset(),
        timestamp: record.timestamp(),
        timestamp_type: match record.timestamp_type() {
            Ours::NoTimestamp => Java::NoTimestampType,
            Ours::CreateTime => Java::CreateTime,
            Ours::LogAppendTime => Java::LogAppendTime,
        },
        leader_epoch: record.leader_epoch(),
        key: record.key().map(<[u8]>::to_vec),
        value: record.value().map(<[u8]>::to_vec),
        headers: record
            .headers()
            .iter()
            .map(|header| {
                (
                    String::from_utf8_lossy(header.key()).into_owned(),
                    header.value().map(<[u8]>::to_vec),
                )
            })
            .collect(),
    }
}
