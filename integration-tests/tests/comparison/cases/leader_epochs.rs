//! Leader epochs (KIP-320): a log that was written under several of them, and what a client can find out by them.

use anyhow::Result;
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest};

use super::session_moves::move_leader;
use super::versions;
use crate::engine::Pair;
use crate::requests::{Fetch, ListOffsets, offset_for_leader_epoch};

const T: &str = "epochs";
/// Batches of two records under epochs 0, 1, 3 and 4; none under 2, and none yet under 5.
const END: i64 = 10;
const LEADER: i32 = 2;
const EPOCHS: [i32; 10] = [i32::MIN, -2, -1, 0, 1, 2, 3, 4, 5, 6];

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(T, &[&[1, 2]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    pair.append_at(1, T, 0, &two).await?;
    pair.append_at(1, T, 0, &two).await?;
    for (leader, appends) in [(2, true), (1, false), (2, true), (1, true), (2, false)] {
        move_leader(pair, T, leader).await?;
        if appends {
            pair.append_at(leader, T, 0, &two).await?;
        }
    }
    for node in [1, 2] {
        pair.wait_for_high_watermark(node, T, 0, END).await?;
    }
    offsets_for_epochs(pair).await?;
    current_epochs(pair).await?;
    last_fetched_epochs(pair).await?;
    timestamps(pair).await
}

async fn offsets_for_epochs(pair: &mut Pair) -> Result<()> {
    for version in versions::<OffsetForLeaderEpochRequest>() {
        for current in [-1, 4, 5, 6] {
            for epoch in EPOCHS {
                let request = offset_for_leader_epoch(T, 0, (current, epoch), version);
                for node in [1, 2] {
                    let case = format!("epoch {epoch}, current {current}, of node {node}");
                    pair.compare_at(node, case, version, |_| request.clone())
                        .await?;
                }
            }
        }
        for (case, topic, partition) in [
            ("unknown partition", T, 9),
            ("unknown topic", "epochs-unknown", 0),
        ] {
            let request = offset_for_leader_epoch(topic, partition, (-1, 0), version);
            pair.compare(case, version, |_| request.clone()).await?;
        }
    }
    Ok(())
}

async fn current_epochs(pair: &mut Pair) -> Result<()> {
    for version in versions::<FetchRequest>().filter(|version| *version >= 9) {
        for epoch in EPOCHS {
            let fetch = Fetch::of([(T, 0, 0)]).leader_epoch(epoch);
            for node in [1, 2] {
                pair.fetch_at(
                    node,
                    format!("current epoch {epoch} of node {node}"),
                    version,
                    &fetch,
                )
                .await?;
            }
        }
    }
    Ok(())
}

/// A client that tells the epoch of the last record that it has is told where its log and the broker's part.
async fn last_fetched_epochs(pair: &mut Pair) -> Result<()> {
    for version in versions::<FetchRequest>().filter(|version| *version >= 12) {
        for epoch in EPOCHS {
            for offset in 0..=END + 1 {
                let fetch = Fetch::of([(T, 0, offset)])
                    .last_fetched_epoch(epoch)
                    .wait(0);
                let case = format!("last fetched epoch {epoch} at {offset}");
                pair.fetch_at(LEADER, case, version, &fetch).await?;
            }
        }
    }
    for epoch in EPOCHS {
        let fetch = Fetch::of([(T, 0, 5)]).last_fetched_epoch(epoch).wait(0);
        pair.fetch_at(
            1,
            format!("last fetched epoch {epoch} of a follower"),
            17,
            &fetch,
        )
        .await?;
    }
    Ok(())
}

async fn timestamps(pair: &mut Pair) -> Result<()> {
    for version in versions::<ListOffsetsRequest>() {
        for timestamp in [-1, -2, -3, -4, -5, pair.time] {
            let list = ListOffsets::of(T, 0, timestamp);
            pair.compare_at(LEADER, format!("time {timestamp}"), version, |_| {
                list.request(version)
            })
            .await?;
            for epoch in EPOCHS.into_iter().filter(|_| version >= 4) {
                let list = list.clone().leader_epoch(epoch);
                let case = format!("time {timestamp}, current epoch {epoch}");
                pair.compare_at(LEADER, case, version, |_| list.request(version))
                    .await?;
            }
        }
    }
    Ok(())
}
