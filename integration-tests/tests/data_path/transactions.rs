//! Transactions of several Java producers at a time, read under both isolation levels.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use consumer_app::TopicPartition;
use integration_tests::kafka::{
    Codec, ConsumeSpec, Isolation, Offset, Outcome, Partitioning, ProduceSpec, Produced,
    Transactions,
};
use integration_tests::{Tally, read_to};

use super::shared::{KAFKA, consumer};

const TOPIC: &str = "transactions";
const PARTITIONS: i32 = 4;
/// By producer: so many, in transactions of so many each.
const PRODUCERS: [(&str, u64, u64, Codec); 3] = [
    ("plain", 66_000, 100, Codec::None),
    ("lz4", 67_000, 50, Codec::Lz4),
    ("zstd", 67_000, 500, Codec::Zstd),
];

#[tokio::test]
async fn b090_three_producers_of_whose_records_two_in_five_are_aborted() -> Result<()> {
    KAFKA.create_topic(TOPIC, PARTITIONS, 1, &[])?;
    let produced = produce_side_by_side()?;
    let stable = await_stable()?;
    // of this nothing is given where only what is committed is
    let open = KAFKA.produce(spec("open", 60, 60, Codec::None, true))?;
    let ends = KAFKA.end_offsets(TOPIC)?;
    assert_eq!(
        ends.values().sum::<i64>(),
        stable.values().sum::<i64>() + 60
    );
    let (mut all, mut committed) = (open.all, Tally::default());
    for produced in &produced {
        all.merge(&produced.all);
        committed.merge(&produced.committed);
    }
    assert_eq!(all.records, 200_060);
    assert_eq!(committed.records, 119_800);
    for (isolation, level, ends, expected) in [
        (Isolation::ReadUncommitted, "read_uncommitted", ends, all),
        (
            Isolation::ReadCommitted,
            "read_committed",
            stable,
            committed,
        ),
    ] {
        let mut consumer = consumer().set("isolation.level", level).build().await?;
        let reading = read_to(&mut consumer, TOPIC, &ends, |_, _| {}).await?;
        println!(
            "{level}: {} of {} records, {} bytes received in {} fetches",
            reading.total.records,
            all.records,
            reading.metrics.bytes_received,
            reading.metrics.fetch_requests
        );
        assert_eq!(reading.total, expected, "{level}");
        let java = KAFKA.java_consume(ConsumeSpec {
            isolation,
            ..ConsumeSpec::new(TOPIC)
        })?;
        assert_eq!(reading.partitions, java.partitions, "{level}");
        for (partition, end) in ends {
            let name = TopicPartition::new(TOPIC, partition);
            assert_eq!(consumer.position(&name), Some(end), "{level}: {name}");
        }
    }
    Ok(())
}

/// The ends, once the markers of all transactions are written, which is after their ends were acknowledged.
fn await_stable() -> Result<BTreeMap<i32, i64>> {
    for _ in 0..100 {
        let stable = KAFKA.list_offsets(TOPIC, Offset::LatestStable)?;
        let ends = KAFKA.end_offsets(TOPIC)?;
        if stable
            .into_iter()
            .all(|(partition, stable)| stable == ends.get(&partition).copied())
        {
            return Ok(ends);
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("the transactions do not end")
}

fn spec(id: &str, records: u64, records_each: u64, codec: Codec, leave_open: bool) -> ProduceSpec {
    ProduceSpec {
        topic: TOPIC.into(),
        records,
        codec,
        partitioning: Partitioning::RoundRobin,
        transactions: Some(Transactions {
            id: format!("{TOPIC}-{id}"),
            records_each,
            outcomes: vec![
                Outcome::Commit,
                Outcome::Abort,
                Outcome::Commit,
                Outcome::Abort,
                Outcome::Commit,
            ],
            leave_open,
        }),
        ..ProduceSpec::default()
    }
}

fn produce_side_by_side() -> Result<Vec<Produced>> {
    let producers = PRODUCERS.map(|(id, records, records_each, codec)| {
        thread::spawn(move || KAFKA.produce(spec(id, records, records_each, codec, false)))
    });
    let produced = producers.into_iter().map(|producer| match producer.join() {
        Ok(produced) => Ok(produced?),
        Err(_) => bail!("a producer panicked"),
    });
    produced.collect()
}
