//! Offsets that the brokers tell, as they tell Java's admin client.

use std::collections::BTreeMap;

use anyhow::Result;
use consumer_app::{OffsetSpec, TopicPartition};
use integration_tests::kafka::{Codec, ExplicitRecord, Offset, Outcome, ProduceSpec, Transactions};

use super::shared::{KAFKA, consumer};

const BEGIN: i64 = 1_700_000_000_000;

/// Times that rise, but for one: the greatest is in the middle.
fn record(partition: i32, at: i64) -> ExplicitRecord {
    ExplicitRecord {
        partition: Some(partition),
        timestamp: Some(BEGIN + if at == 20 { 1_000_000 } else { 1_000 * at }),
        value: Some(format!("{at}").into_bytes()),
        ..ExplicitRecord::default()
    }
}

#[tokio::test]
async fn b103_each_place_is_the_one_that_java_is_told() -> Result<()> {
    let topic = "places";
    KAFKA.create_topic(topic, 3, 1, &[])?;
    // partition 2 stays empty
    for partition in 0..2 {
        for codec in [Codec::None, Codec::Zstd] {
            let records: Vec<_> = (0..50).map(|at| record(partition, at)).collect();
            KAFKA.produce_records(topic, codec, &records)?;
        }
    }
    KAFKA.delete_records(topic, 0, 7)?;
    let consumer = consumer().build().await?;
    let mut places = vec![
        (OffsetSpec::Earliest, Offset::Earliest),
        (OffsetSpec::Latest, Offset::Latest),
        (OffsetSpec::MaxTimestamp, Offset::MaxTimestamp),
    ];
    for time in [
        0,
        BEGIN,
        BEGIN + 1,
        BEGIN + 19_500,
        BEGIN + 49_000,
        BEGIN + 50_000,
        BEGIN + 1_000_000,
        BEGIN + 1_000_001,
    ] {
        places.push((OffsetSpec::Timestamp(time), Offset::Timestamp(time)));
    }
    for (ours, javas) in places {
        let partitions = (0..3).map(|partition| (TopicPartition::new(topic, partition), ours));
        let listed = consumer.list_offsets(partitions).await?.into_iter();
        let listed: BTreeMap<i32, Option<i64>> = listed
            .map(|(name, found)| (name.partition(), found.map(|found| found.offset)))
            .collect();
        assert_eq!(listed, KAFKA.list_offsets(topic, javas)?, "{ours:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_end_is_the_last_stable_offset_where_only_what_is_committed_is_read() -> Result<()> {
    let topic = "open-at-the-end";
    KAFKA.create_topic(topic, 1, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: topic.into(),
        records: 30,
        transactions: Some(Transactions {
            id: topic.into(),
            records_each: 10,
            outcomes: vec![Outcome::Commit],
            leave_open: true,
        }),
        ..ProduceSpec::default()
    })?;
    let partition = TopicPartition::new(topic, 0);
    for (isolation, place) in [
        ("read_uncommitted", Offset::Latest),
        ("read_committed", Offset::LatestStable),
    ] {
        let consumer = consumer().set("isolation.level", isolation).build().await?;
        let end = consumer.end_offsets([&partition]).await?[&partition];
        assert_eq!(Some(end), KAFKA.list_offsets(topic, place)?[&0]);
    }
    Ok(())
}
