//! ListOffsets: places in a log, and times.

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::ListOffsetsRequest;
use record_batch::Compression;
use test_broker::{BatchBuilder, ProducerRecord};
use tokio::time::sleep;

use super::versions;
use crate::clusters::KAFKA;
use crate::engine::Pair;
use crate::requests::ListOffsets;

/// Partition 0 has times in order, 1 out of order, 2 is empty, 3 begins later.
const T: &str = "list";
const APPEND_TIME: &str = "list-append-time";
const START: i64 = 3;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(T, &[&[1], &[1], &[1], &[1]]).await?;
    let append_time = [("message.timestamp.type", "LogAppendTime")];
    pair.create_with(APPEND_TIME, &[&[1]], &append_time).await?;
    let time = pair.time;
    let batch = |times: &[i64], codec| {
        let empty = BatchBuilder::new().compression(codec);
        let records = times
            .iter()
            .map(|after| ProducerRecord::new("v").timestamp(time + after));
        records.fold(empty, BatchBuilder::record).build()
    };
    let (plain, zstd) = (Compression::None, Compression::Zstd);
    for (partition, batch) in [
        (0, batch(&[2, 4, 6, 8], plain)),
        (0, batch(&[8, 8, 10], zstd)),
        (0, batch(&[20], plain)),
        (1, batch(&[30, 10, 20], plain)),
        (1, batch(&[5, 40, 40, 5], zstd)),
        (1, batch(&[40, 1], plain)),
        (3, batch(&[1, 2], plain)),
        (3, batch(&[3, 4], plain)),
        (3, batch(&[5, 6], plain)),
    ] {
        pair.append(T, partition, &batch).await?;
    }
    pair.append(APPEND_TIME, 0, &batch(&[1, 2, 3], plain))
        .await?;
    // at another time by the broker's clock
    sleep(Duration::from_millis(20)).await;
    pair.append(APPEND_TIME, 0, &batch(&[3, 2, 1], zstd))
        .await?;
    KAFKA.delete_records(T, 3, START)?;
    pair.broker.delete_records(T, 3, START)?;
    for version in versions::<ListOffsetsRequest>() {
        places(pair, version).await?;
        times(pair, version).await?;
        refused(pair, version).await?;
    }
    Ok(())
}

async fn list(pair: &mut Pair, case: String, version: i16, list: &ListOffsets) -> Result<()> {
    pair.compare(case, version, |_| list.request(version))
        .await
        .map(drop)
}

/// The negative times, each of which has a meaning, or none in this version.
async fn places(pair: &mut Pair, version: i16) -> Result<()> {
    for (topic, partition) in [(T, 0), (T, 1), (T, 2), (T, 3), (APPEND_TIME, 0)] {
        for place in [-1, -2, -3, -4, -5, -6, -7, i64::MIN] {
            for isolation in [0, 1] {
                let request = ListOffsets::of(topic, partition, place).isolation(isolation);
                let case = format!("{topic}-{partition}, place {place}, isolation {isolation}");
                list(pair, case, version, &request).await?;
            }
        }
    }
    Ok(())
}

async fn times(pair: &mut Pair, version: i16) -> Result<()> {
    let time = pair.time;
    for partition in 0..4 {
        for after in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 30, 31, 40, 41] {
            let request = ListOffsets::of(T, partition, time + after);
            list(
                pair,
                format!("{T}-{partition}, {after} ms later"),
                version,
                &request,
            )
            .await?;
        }
        for (case, timestamp) in [("1970", 0), ("the end of time", i64::MAX)] {
            let request = ListOffsets::of(T, partition, timestamp);
            list(pair, format!("{T}-{partition}, {case}"), version, &request).await?;
        }
    }
    let request = ListOffsets::of(APPEND_TIME, 0, time);
    list(pair, "log append time".to_owned(), version, &request).await
}

async fn refused(pair: &mut Pair, version: i16) -> Result<()> {
    for (case, request) in [
        ("unknown topic", ListOffsets::of("list-unknown", 0, -1)),
        ("unknown partition", ListOffsets::of(T, 9, -1)),
        ("negative partition", ListOffsets::of(T, -1, -1)),
        (
            "partitions in any order",
            ListOffsets::of(T, 3, -1).and(0, -2).and(1, -1),
        ),
        (
            "one of them unknown",
            ListOffsets::of(T, 3, -1).and(9, -2).and(1, -1),
        ),
        ("a partition twice", ListOffsets::of(T, 0, -1).and(0, -2)),
        (
            "a partition three times, and another",
            ListOffsets::of(T, 0, -1).and(1, -1).and(0, -2).and(0, -1),
        ),
    ] {
        list(pair, case.to_owned(), version, &request).await?;
    }
    if version >= 2 {
        for level in [-1, 2] {
            let request = ListOffsets::of(T, 0, -1).isolation(level);
            list(pair, format!("isolation level {level}"), version, &request).await?;
        }
    }
    if version >= 4 {
        for epoch in [i32::MIN, -2, 0, 1] {
            let request = ListOffsets::of(T, 0, -1).leader_epoch(epoch);
            list(pair, format!("leader epoch {epoch}"), version, &request).await?;
        }
    }
    Ok(())
}
