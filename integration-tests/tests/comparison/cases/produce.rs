//! Produce: what is taken, what is refused, and idempotent producers (KIP-98).

use anyhow::Result;
use bytes::Bytes;
use integration_tests::kafka::{Outcome, ProduceSpec, Transactions};
use kafka_protocol::messages::{ApiVersionsRequest, ProduceRequest};
use record_batch::{Compression, produced};
use test_broker::BatchBuilder;
use tokio::task::spawn_blocking;

use super::versions;
use crate::clusters::KAFKA;
use crate::engine::{Pair, Side};
use crate::requests::{ListOffsets, Produce};

const GOOD: &str = "produce-good";
const REFUSED: &str = "produce-refused";
const SEQUENCES: &str = "produce-sequences";
const APPEND_TIME: &str = "produce-append-time";
const NUMBERS_AND_TIMES: &str = "produce-numbers-and-times";
const SMALL: &str = "produce-small";
const UNKNOWN: &str = "produce-unknown";

/// Where a batch has its magic and its records.
const MAGIC: usize = 16;
const RECORDS: usize = 61;

const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    await_coordinator().await?;
    pair.create(GOOD, &[&[1], &[1]]).await?;
    pair.create(REFUSED, &[&[1]]).await?;
    pair.create(SEQUENCES, &[&[1], &[1]]).await?;
    let append_time = [("message.timestamp.type", "LogAppendTime")];
    pair.create_with(APPEND_TIME, &[&[1]], &append_time).await?;
    pair.create(NUMBERS_AND_TIMES, &[&[1], &[1], &[1]]).await?;
    pair.create_with(SMALL, &[&[1]], &[("max.message.bytes", "100")])
        .await?;
    for version in versions::<ProduceRequest>() {
        taken(pair, version).await?;
        refused(pair, version).await?;
        nowhere(pair, version).await?;
        acks(pair, version).await?;
        transactional(pair, version).await?;
    }
    sequences(pair).await?;
    numbering_and_times(pair).await
}

async fn taken(pair: &mut Pair, version: i16) -> Result<()> {
    let batch = |codec| pair.batch(&["a", "b", "c"]).compression(codec).build();
    let rows = CODECS.map(|codec| (codec, batch(codec)));
    let plain = batch(Compression::None);
    for (codec, batch) in rows {
        let produce = Produce::to(GOOD, 0, &batch);
        pair.produce(format!("{codec:?}"), version, &produce)
            .await?;
    }
    let two = Produce::to(GOOD, 0, &plain).and(GOOD, 1, &plain);
    pair.produce("two partitions", version, &two).await?;
    let one_is_unknown = Produce::to(GOOD, 9, &plain).and(GOOD, 0, &plain);
    pair.produce("one partition of two is unknown", version, &one_is_unknown)
        .await?;
    let at_append_time = Produce::to(APPEND_TIME, 0, &plain);
    pair.produce("log append time", version, &at_append_time)
        .await
}

/// Batches that no broker appends.
fn wrong_batches(pair: &Pair) -> Result<Vec<(&'static str, Bytes)>> {
    let good = pair.batch(&["a", "b"]).build();
    let one = || pair.batch(&["a"]);
    let changed = |at: usize, to: u8| {
        let mut bytes = good.to_vec();
        bytes[at] = to;
        bytes
    };
    let mut garbage = changed(RECORDS, 0xff);
    produced::write_crc(&mut garbage)?;
    Ok(vec![
        ("wrong crc", changed(RECORDS + 4, 0xff).into()),
        ("two batches", [&good[..], &good[..]].concat().into()),
        ("no bytes", Bytes::new()),
        ("base offset 3", one().base_offset(3).build()),
        (
            "more records counted than there are",
            pair.batch(&["a", "b"]).record_count(5).build(),
        ),
        (
            "fewer records counted than there are",
            pair.batch(&["a", "b"]).record_count(1).build(),
        ),
        (
            "last offset too large",
            pair.batch(&["a", "b"]).last_offset_delta(5).build(),
        ),
        (
            "last offset negative",
            pair.batch(&["a", "b"]).last_offset_delta(-1).build(),
        ),
        ("no records", pair.batch(&[]).build()),
        (
            "as many records as there can be",
            one()
                .record_count(i32::MAX)
                .last_offset_delta(i32::MAX - 1)
                .build(),
        ),
        ("negative number of records", one().record_count(-3).build()),
        (
            "control batch",
            BatchBuilder::end_transaction(5, 0, true).build(),
        ),
        (
            "producer without a sequence",
            one().producer(5, 0, -1).build(),
        ),
        (
            "producer without an epoch",
            one().producer(5, -1, 0).build(),
        ),
        ("cut within the header", good.slice(..30)),
        ("cut by a byte", good.slice(..good.len() - 1)),
        ("a byte too much", [&good[..], &[0]].concat().into()),
        (
            "larger than a message may be",
            pair.batch(&[&"x".repeat(1_100_000)]).build(),
        ),
        ("records are garbage", garbage.into()),
        ("magic 1", changed(MAGIC, 1).into()),
        ("magic 3", changed(MAGIC, 3).into()),
    ])
}

async fn refused(pair: &mut Pair, version: i16) -> Result<()> {
    for (case, batch) in wrong_batches(pair)? {
        pair.produce(case, version, &Produce::to(REFUSED, 0, &batch))
            .await?;
    }
    let small = pair.batch(&[&"x".repeat(100)]).build();
    let small = Produce::to(SMALL, 0, &small);
    pair.produce("larger than the topic allows", version, &small)
        .await
}

/// Topics and partitions that there are not.
async fn nowhere(pair: &mut Pair, version: i16) -> Result<()> {
    let good = pair.batch(&["a"]).build();
    let two = pair.batch(&["a", "b"]).build();
    let rows = [
        ("unknown partition", Produce::to(GOOD, 9, &good)),
        ("negative partition", Produce::to(GOOD, -1, &good)),
        ("unknown topic", Produce::to(UNKNOWN, 0, &good)),
        (
            "unknown topic and a known one",
            Produce::to(UNKNOWN, 0, &good).and(GOOD, 0, &good),
        ),
        (
            "the same partition twice",
            Produce::to(GOOD, 0, &good).and(GOOD, 0, &two),
        ),
        (
            "topics alternating",
            Produce::to(GOOD, 0, &good)
                .and(REFUSED, 9, &good)
                .and(GOOD, 1, &two),
        ),
        (
            "topics alternating, the same partition twice",
            Produce::to(GOOD, 0, &good)
                .and(REFUSED, 9, &good)
                .and(GOOD, 0, &two),
        ),
    ];
    for (case, produce) in rows {
        pair.produce(case, version, &produce).await?;
    }
    Ok(())
}

async fn acks(pair: &mut Pair, version: i16) -> Result<()> {
    let good = pair.batch(&["a"]).build();
    for acks in [1, 2, -2] {
        let produce = Produce::to(GOOD, 0, &good).acks(acks);
        pair.produce(format!("acks {acks}"), version, &produce)
            .await?;
    }
    // without an answer: what the connection's next request tells
    let rows = [
        ("after acks 0", Produce::to(GOOD, 0, &good)),
        (
            "after acks 0 for an unknown partition",
            Produce::to(GOOD, 9, &good),
        ),
        (
            "after acks 0 for an unknown topic",
            Produce::to(UNKNOWN, 0, &good),
        ),
    ];
    for (case, produce) in rows {
        let produce = produce.acks(0);
        let real = answers_after(&pair.real, &produce, version).await?;
        let ours = answers_after(&pair.ours, &produce, version).await?;
        pair.compare_fact::<ProduceRequest>(case, version, real, ours);
        let end = ListOffsets::of(GOOD, 0, -1);
        pair.compare(format!("{case} v{version}"), 7, |_| end.request(7))
            .await?;
    }
    Ok(())
}

/// Whether the connection's next request is answered.
async fn answers_after(side: &Side, produce: &Produce, version: i16) -> Result<bool> {
    let mut connection = side.connect(1).await?;
    connection
        .send_unanswered(&produce.request(version, &side.names), version)
        .await?;
    let reply = connection.ask(&ApiVersionsRequest::default(), 0).await?;
    Ok(reply.answer.is_ok())
}

/// A cluster makes the topic of its coordinators with the first transaction, and answers otherwise before.
async fn await_coordinator() -> Result<()> {
    const TOPIC: &str = "produce-coordinator";
    let transactions = Transactions {
        id: TOPIC.to_owned(),
        records_each: 1,
        outcomes: vec![Outcome::Commit],
        leave_open: false,
    };
    let spec = ProduceSpec {
        topic: TOPIC.to_owned(),
        records: 1,
        transactions: Some(transactions),
        ..ProduceSpec::default()
    };
    spawn_blocking(|| {
        KAFKA.create_topic(TOPIC, 1, 1, &[])?;
        KAFKA.produce(spec)
    })
    .await??;
    Ok(())
}

/// Data of a transaction of which no coordinator knows.
async fn transactional(pair: &mut Pair, version: i16) -> Result<()> {
    let in_transaction = pair.batch(&["a"]).producer(9, 0, 0).transactional().build();
    let plain = pair.batch(&["a"]).build();
    let rows = [
        (
            "transaction without an id",
            Produce::to(REFUSED, 0, &in_transaction),
        ),
        (
            "transaction of an unknown id",
            Produce::to(REFUSED, 0, &in_transaction).transactional_id("unknown"),
        ),
        (
            "no transaction, but an id",
            Produce::to(GOOD, 0, &plain).transactional_id("unknown"),
        ),
    ];
    for (case, produce) in rows {
        pair.produce(case, version, &produce).await?;
    }
    Ok(())
}

async fn sequences(pair: &mut Pair) -> Result<()> {
    // producer epoch, first sequence of two records
    let rows = [
        ("first", 0, 0),
        ("second", 0, 2),
        ("the first again", 0, 0),
        ("the second again", 0, 2),
        ("a gap", 0, 9),
        ("third", 0, 4),
        ("overlapping", 0, 5),
        ("fourth", 0, 6),
        ("fifth", 0, 8),
        ("sixth", 0, 10),
        ("one of the last five again", 0, 2),
        ("one before the last five again", 0, 0),
        ("new epoch in the middle", 1, 3),
        ("new epoch", 1, 0),
        ("new epoch, second", 1, 2),
        ("old epoch", 0, 12),
        ("old epoch, again", 0, 10),
        ("new epoch, first again", 1, 0),
    ];
    for (case, epoch, sequence) in rows {
        let batch = pair
            .batch(&["p", "q"])
            .producer(4242, epoch, sequence)
            .build();
        for version in [3, 9, 13] {
            // the second and third time it is the one before again
            let produce = Produce::to(SEQUENCES, 0, &batch);
            pair.produce(format!("sequence: {case}"), version, &produce)
                .await?;
        }
    }
    let rows = [
        ("a producer that is not known begins in the middle", 7, 100),
        ("goes on", 7, 102),
        ("the last sequence", 8, i32::MAX - 1),
        ("wraps", 8, 0),
        ("wraps within the batch", 9, i32::MAX),
        ("goes on behind that", 9, 1),
    ];
    for (case, producer, sequence) in rows {
        let batch = pair
            .batch(&["p", "q"])
            .producer(producer, 0, sequence)
            .build();
        let produce = Produce::to(SEQUENCES, 1, &batch);
        pair.produce(format!("sequence: {case}"), 9, &produce)
            .await?;
    }
    Ok(())
}

/// What Kafka puts right or refuses and the test broker does not, on partitions of their own.
async fn numbering_and_times(pair: &mut Pair) -> Result<()> {
    const HOUR_MS: i64 = 60 * 60 * 1000;
    const DAY_MS: i64 = 24 * HOUR_MS;
    let time = pair.time;
    let at = |time: i64| BatchBuilder::new().timestamp(time).record("a").build();
    let numbered = BatchBuilder::new()
        .timestamp(time)
        .record_at(0, "a")
        .record_at(2, "b");
    let rows = [
        (
            0,
            "records are not numbered in order",
            numbered.last_offset_delta(1).build(),
        ),
        (
            1,
            "two days ahead of the broker's clock",
            at(time + 2 * DAY_MS),
        ),
        (2, "an hour behind the broker's clock", at(time - HOUR_MS)),
        (2, "without a timestamp", at(-1)),
    ];
    for (partition, case, batch) in rows {
        pair.produce(case, 9, &Produce::to(NUMBERS_AND_TIMES, partition, &batch))
            .await?;
    }
    Ok(())
}
