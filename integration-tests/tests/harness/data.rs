//! Producing and consuming.

use integration_tests::Tally;
use integration_tests::kafka::{
    Codec, ConsumeSpec, ExplicitRecord, Isolation, Key, Offset, Outcome, Partitioning, ProduceSpec,
    Result, TimestampType, Transactions, Value,
};

use super::shared::KAFKA;

fn committed(topic: &str) -> ConsumeSpec {
    ConsumeSpec {
        isolation: Isolation::ReadCommitted,
        ..ConsumeSpec::new(topic)
    }
}

#[test]
fn what_the_producer_wrote_is_what_the_consumer_reads_in_every_codec() -> Result<()> {
    for codec in Codec::ALL {
        let topic = format!("codec-{codec:?}").to_lowercase();
        KAFKA.create_topic(&topic, 6, 1, &[])?;
        let produced = KAFKA.produce(ProduceSpec {
            topic: topic.clone(),
            records: 6_000,
            keys: vec![
                Key::Numbered {
                    distinct: 500,
                    size: 9,
                },
                Key::Null,
                Key::Empty,
            ],
            values: vec![
                Value::Text(120),
                Value::Null,
                Value::Empty,
                Value::RandomBetween(1, 50),
            ],
            codec,
            linger_ms: 5,
            ..ProduceSpec::default()
        })?;
        let consumed = KAFKA.java_consume(topic.as_str())?;
        assert_eq!(produced.all.records, 6_000);
        assert_eq!(produced.all.key_bytes, 2_000 * 9);
        assert_eq!(
            produced.all.checksum(),
            consumed.total.checksum(),
            "{codec:?}"
        );
        assert_eq!(produced.all, consumed.total);
        assert_eq!(produced.committed, consumed.total);
        for (partition, end) in KAFKA.end_offsets(&topic)? {
            assert_eq!(end as u64, consumed.partitions[&partition].records);
            assert_eq!(end, produced.partitions[&partition].last_offset + 1);
        }
        // the batches really carry the codec
        let segment = format!(
            "{}/{topic}-0/00000000000000000000.log",
            KAFKA.data(1)?.display()
        );
        let dump = KAFKA.tool(
            "org.apache.kafka.tools.DumpLogSegments",
            &["--files", &segment],
        )?;
        assert!(
            dump.contains(&format!(
                "compresscodec: {}",
                format!("{codec:?}").to_lowercase()
            )),
            "{dump}"
        );
    }
    Ok(())
}

#[test]
fn partitions_are_those_asked_for() -> Result<()> {
    KAFKA.create_topic("fixed", 3, 1, &[])?;
    let spec = ProduceSpec {
        topic: "fixed".into(),
        records: 90,
        ..ProduceSpec::default()
    };
    KAFKA.produce(ProduceSpec {
        partitioning: Partitioning::Fixed(2),
        ..spec.clone()
    })?;
    assert_eq!(
        KAFKA.end_offsets("fixed")?,
        [(0, 0), (1, 0), (2, 90)].into()
    );
    KAFKA.produce(ProduceSpec {
        partitioning: Partitioning::RoundRobin,
        ..spec
    })?;
    assert_eq!(
        KAFKA.end_offsets("fixed")?,
        [(0, 30), (1, 30), (2, 120)].into()
    );
    Ok(())
}

#[test]
fn batches_have_exactly_as_many_records_as_asked_for() -> Result<()> {
    KAFKA.create_topic("batches", 2, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: "batches".into(),
        records: 140,
        keys: vec![Key::Numbered {
            distinct: 140,
            size: 3,
        }],
        values: vec![Value::Text(300)],
        codec: Codec::Zstd,
        partitioning: Partitioning::RoundRobin,
        records_per_batch: Some(7),
        ..ProduceSpec::default()
    })?;
    for partition in 0..2 {
        let segment = format!(
            "{}/batches-{partition}/00000000000000000000.log",
            KAFKA.data(1)?.display()
        );
        let dump = KAFKA.tool(
            "org.apache.kafka.tools.DumpLogSegments",
            &["--files", &segment],
        )?;
        assert_eq!(dump.matches("baseOffset:").count(), 10, "{dump}");
        assert_eq!(dump.matches(" count: 7 ").count(), 10, "{dump}");
    }
    let too_large = KAFKA.produce(ProduceSpec {
        topic: "batches".into(),
        records: 4,
        values: vec![Value::Random(600_000)],
        partitioning: Partitioning::Fixed(0),
        records_per_batch: Some(2),
        ..ProduceSpec::default()
    });
    assert!(
        too_large
            .unwrap_err()
            .to_string()
            .contains("max.message.bytes")
    );
    Ok(())
}

/// The harness chooses the partition itself when it makes exact batches; it must choose as Java's default partitioner does.
#[test]
fn exact_batches_go_where_the_default_partitioner_sends_them() -> Result<()> {
    let mut ends = Vec::new();
    for (topic, records_per_batch) in [("hashed", None), ("hashed-exactly", Some(3))] {
        KAFKA.create_topic(topic, 5, 1, &[])?;
        KAFKA.produce(ProduceSpec {
            topic: topic.into(),
            records: 400,
            keys: vec![Key::Numbered {
                distinct: 400,
                size: 5,
            }],
            records_per_batch,
            ..ProduceSpec::default()
        })?;
        ends.push(KAFKA.end_offsets(topic)?);
    }
    assert_eq!(ends[0], ends[1]);
    assert!(ends[0].values().all(|end| *end > 0), "{ends:?}");
    Ok(())
}

#[test]
fn headers_and_timestamps_are_on_every_record() -> Result<()> {
    KAFKA.create_topic("stamped", 1, 1, &[])?;
    let headers = vec![("trace".into(), Some(vec![1, 2])), ("trace".into(), None)];
    KAFKA.produce(ProduceSpec {
        topic: "stamped".into(),
        records: 50,
        keys: vec![Key::Bytes(vec![9]), Key::Empty],
        values: vec![Value::Bytes(b"v".to_vec())],
        headers: headers.clone(),
        first_timestamp: Some(1_600_000_000_000),
        timestamp_step: -7,
        ..ProduceSpec::default()
    })?;
    let read = KAFKA.java_records("stamped")?;
    assert_eq!(read.len(), 50);
    for (i, record) in (0..).zip(&read) {
        assert_eq!(
            (record.offset, record.timestamp),
            (i, 1_600_000_000_000 - 7 * i)
        );
        assert_eq!(
            record.key.as_deref(),
            Some(if i % 2 == 0 { &[9][..] } else { &[] })
        );
        assert_eq!(record.value.as_deref(), Some(&b"v"[..]));
        assert_eq!(record.headers, headers);
    }
    Ok(())
}

#[test]
fn records_of_900_kb_arrive_whole() -> Result<()> {
    KAFKA.create_topic("large", 1, 1, &[])?;
    let produced = KAFKA.produce(ProduceSpec {
        topic: "large".into(),
        records: 20,
        values: vec![Value::Random(900_000), Value::Text(10)],
        ..ProduceSpec::default()
    })?;
    let mut expected = Tally::default();
    (0..20).for_each(|offset| {
        expected.add(
            offset,
            None,
            Some(if offset % 2 == 0 { 900_000 } else { 10 }),
        )
    });
    assert_eq!(produced.all, expected);
    assert_eq!(KAFKA.java_consume("large")?.total, expected);
    Ok(())
}

#[test]
fn transactions_commit_abort_and_stay_open() -> Result<()> {
    KAFKA.create_topic("transactions", 1, 1, &[])?;
    let produced = KAFKA.produce(ProduceSpec {
        topic: "transactions".into(),
        records: 35,
        transactions: Some(Transactions {
            id: "some".into(),
            records_each: 10,
            outcomes: vec![Outcome::Commit, Outcome::Abort],
            leave_open: true,
        }),
        ..ProduceSpec::default()
    })?;
    // offsets: 0..=9 committed, marker 10, 11..=20 aborted, marker 21, 22..=31 committed, marker 32, 33..=37 open
    assert_eq!((produced.all.records, produced.committed.records), (35, 20));
    assert_eq!(
        KAFKA.list_offsets("transactions", Offset::LatestStable)?,
        [(0, Some(33))].into()
    );
    assert_eq!(
        KAFKA.list_offsets("transactions", Offset::Latest)?,
        [(0, Some(38))].into()
    );
    assert_eq!(KAFKA.java_consume("transactions")?.total, produced.all);
    assert_eq!(
        KAFKA.java_consume(committed("transactions"))?.total,
        produced.committed
    );

    KAFKA.end_transaction("some", Outcome::Commit)?;
    let mut expected = produced.committed;
    (33..38).for_each(|offset| expected.add(offset, None, Some(100)));
    assert_eq!(
        KAFKA.java_consume(committed("transactions"))?.total,
        expected
    );
    let nothing_open = KAFKA.end_transaction("some", Outcome::Commit).unwrap_err();
    assert_eq!(nothing_open.java_kind(), Some("IllegalStateException"));
    Ok(())
}

#[test]
fn records_given_in_full_come_back_in_full() -> Result<()> {
    KAFKA.create_topic("explicit", 2, 1, &[])?;
    let headers = vec![
        ("h".into(), None),
        ("h".into(), Some(vec![])),
        ("é".into(), Some(vec![0, 0xff])),
    ];
    let records = [
        ExplicitRecord {
            partition: Some(1),
            key: Some(vec![0, 0x80]),
            headers,
            ..ExplicitRecord::default()
        },
        ExplicitRecord {
            partition: Some(1),
            value: Some(vec![]),
            timestamp: Some(1_700_000_000_000),
            ..ExplicitRecord::default()
        },
    ];
    let places = KAFKA.produce_records("explicit", Codec::Lz4, &records)?;
    assert_eq!(
        places
            .iter()
            .map(|place| (place.partition, place.offset))
            .collect::<Vec<_>>(),
        [(1, 0), (1, 1)]
    );
    let read = KAFKA.java_records("explicit")?;
    assert_eq!(read.len(), 2);
    for ((record, place), read) in records.iter().zip(&places).zip(&read) {
        assert_eq!(
            (read.partition, read.offset, read.timestamp),
            (place.partition, place.offset, place.timestamp)
        );
        assert_eq!(
            (&read.key, &read.value, &read.headers),
            (&record.key, &record.value, &record.headers)
        );
        assert_eq!(read.timestamp_type, TimestampType::CreateTime);
    }
    assert_eq!(read[1].timestamp, 1_700_000_000_000);
    Ok(())
}

#[test]
fn the_brokers_clock_is_told_from_the_producers() -> Result<()> {
    KAFKA.create_topic(
        "appended",
        1,
        1,
        &[("message.timestamp.type", "LogAppendTime")],
    )?;
    let old = ExplicitRecord {
        timestamp: Some(5),
        ..ExplicitRecord::default()
    };
    KAFKA.produce_records("appended", Codec::None, &[old])?;
    let read = KAFKA.java_records("appended")?;
    assert_eq!(read[0].timestamp_type, TimestampType::LogAppendTime);
    assert!(read[0].timestamp > 5);
    Ok(())
}

#[test]
fn a_compacted_topic_has_the_last_record_of_each_key() -> Result<()> {
    let configs = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "1048576"),
        ("segment.ms", "1000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("max.compaction.lag.ms", "1000"),
    ];
    KAFKA.create_topic("compacted", 2, 1, &configs)?;
    let produced = KAFKA.produce(ProduceSpec {
        topic: "compacted".into(),
        records: 20_000,
        keys: vec![Key::Numbered {
            distinct: 10_000,
            size: 8,
        }],
        values: vec![Value::Text(150)],
        linger_ms: 5,
        ..ProduceSpec::default()
    })?;
    let left = KAFKA.compact("compacted")?;
    assert_eq!(produced.all.records, 20_000);
    // the last of each key, and one filler per partition
    assert_eq!(left.total.records, 10_000 + 2);
    let ends: i64 = KAFKA.end_offsets("compacted")?.values().sum();
    assert_eq!(ends, 20_000 + 2, "compaction does not move the end");

    KAFKA.create_topic("plain", 1, 1, &[])?;
    let refused = KAFKA.compact("plain").unwrap_err().to_string();
    assert!(
        refused.contains("its cleanup.policy is delete"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn commands_run_side_by_side_from_a_runtime() {
    KAFKA.create_topic("parallel", 1, 1, &[]).unwrap();
    let commands: Vec<_> = (0..8)
        .map(|_| {
            tokio::task::spawn_blocking(|| {
                let spec = ProduceSpec {
                    topic: "parallel".into(),
                    records: 500,
                    ..ProduceSpec::default()
                };
                KAFKA.produce(spec).map(|produced| produced.all.records)
            })
        })
        .collect();
    for command in commands {
        assert_eq!(command.await.unwrap().unwrap(), 500);
    }
    assert_eq!(KAFKA.end_offsets("parallel").unwrap(), [(0, 4_000)].into());
}
