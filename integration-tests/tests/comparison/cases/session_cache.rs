//! A session cache with two slots in each of its eight shards: who gets a slot and who loses it (KIP-227, KAFKA-9401).
//!
//! That a session may be evicted by any other after two minutes cannot be seen within a test; the test broker's own tests have it.

use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_protocol::messages::FetchRequest;
use tokio::time::sleep;

use crate::clusters::{MAX_IDLE, SLOTS};
use crate::engine::{Pair, Side};
use crate::requests::Fetch;

const T: &str = "cache";
const VERSION: i16 = 17;
/// Bytes of an answer that no socket buffer holds.
const LARGE: i32 = 40 << 20;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(T, &[&[1], &[1], &[1], &[1]]).await?;
    let one = pair.batch(&["a"]).build();
    for partition in 0..4 {
        pair.append(T, partition, &one).await?;
    }
    slots(pair).await?;
    followers(pair).await?;
    an_answer_nobody_reads(pair).await
}

/// The first so many partitions, with data.
fn wide(partitions: usize) -> Fetch {
    let all = [(T, 0, 0), (T, 1, 0), (T, 2, 0), (T, 3, 0)];
    Fetch::of(all.into_iter().take(partitions))
}

/// Sessions 0 to 7 have one partition, 8 to 15 two; each pair of them shares a shard.
async fn slots(pair: &mut Pair) -> Result<()> {
    pair.fetch("without a session, no slot is taken", VERSION, &wide(1))
        .await?;
    for number in 0..SLOTS {
        let partitions = if number < SLOTS / 2 { 1 } else { 2 };
        pair.open_session(&format!("s{number}"), VERSION, &wide(partitions))
            .await?;
        let names = [&pair.real.names, &pair.ours.names];
        let granted = names.map(|names| names.session(&format!("s{number}")) != 0);
        ensure!(
            granted == [true, true],
            "slot {number}: granted is {granted:?}"
        );
    }
    for number in 0..SLOTS {
        let next = Fetch::next(&format!("s{number}"), 1);
        pair.fetch(format!("session {number} lives"), VERSION, &next)
            .await?;
    }
    for partitions in [0, 1, 2, 4] {
        let full = wide(partitions).with_epoch(0);
        for time in 1..=3 {
            let case = format!("no slot for {partitions} partitions, time {time}");
            pair.fetch(case, VERSION, &full).await?;
        }
    }
    // sessions are given out to the shards in turn, also those that are refused
    pair.fetch("session 3 ends", VERSION, &wide(1).in_session("s3", -1))
        .await?;
    for number in 0..9 {
        pair.open_session(&format!("after s3, {number}"), VERSION, &wide(1))
            .await?;
    }
    pair.fetch("session 3 is gone", VERSION, &Fetch::next("s3", 2))
        .await?;
    let forget = Fetch::next("s5", 2).forget(T, 0);
    pair.fetch("session 5 forgets all", VERSION, &forget)
        .await?;
    for number in 0..9 {
        pair.open_session(&format!("after s5, {number}"), VERSION, &wide(1))
            .await?;
    }
    // one that begins anew may have to do without: its old slot is free, but it is another shard's turn
    pair.open_session("anew", VERSION, &wide(1).in_session("s0", 0))
        .await?;
    pair.fetch("session 0 is gone", VERSION, &Fetch::next("s0", 2))
        .await
}

/// Followers displace consumers at once, the smallest session first.
async fn followers(pair: &mut Pair) -> Result<()> {
    for number in 0..10 {
        let follower = Fetch::of([]).replica(2);
        pair.open_session(&format!("follower {number}"), VERSION, &follower)
            .await?;
    }
    for number in 0..SLOTS {
        let next = Fetch::next(&format!("s{number}"), 2);
        pair.fetch(
            format!("session {number} after the followers"),
            VERSION,
            &next,
        )
        .await?;
    }
    for number in 0..10 {
        let next = Fetch::next(&format!("follower {number}"), 1).replica(2);
        pair.fetch(format!("follower {number} lives"), VERSION, &next)
            .await?;
    }
    Ok(())
}

/// A connection on which an answer is not read for `connections.max.idle.ms` is closed.
async fn an_answer_nobody_reads(pair: &mut Pair) -> Result<()> {
    const LARGE_TOPIC: &str = "cache-large";
    pair.create(LARGE_TOPIC, &[&[1]]).await?;
    let batch = pair.batch(&[&"x".repeat(1_000_000)]).build();
    for _ in 0..LARGE >> 20 {
        pair.append(LARGE_TOPIC, 0, &batch).await?;
    }
    let (real, ours) = tokio::try_join!(
        comes_whole_when_read_late(&pair.real, LARGE_TOPIC),
        comes_whole_when_read_late(&pair.ours, LARGE_TOPIC)
    )?;
    pair.compare_fact::<FetchRequest>(
        "an answer that nobody reads comes whole",
        VERSION,
        real,
        ours,
    );
    Ok(())
}

async fn comes_whole_when_read_late(side: &Side, topic: &str) -> Result<bool> {
    let mut connection = side.connect(1).await?;
    let fetch = Fetch::of([(topic, 0, 0)])
        .max_bytes(LARGE)
        .partition_max_bytes(LARGE);
    connection
        .send(&fetch.request(VERSION, &side.names), VERSION)
        .await?;
    sleep(MAX_IDLE * 3 + Duration::from_secs(1)).await;
    let reply = connection.receive::<FetchRequest>(VERSION).await?;
    Ok(reply.answer.is_ok())
}
