//! Nodes that do not lead what they are asked for: followers (KIP-392), others, and hints at the leader (KIP-951).

use anyhow::Result;
use kafka_protocol::messages::{
    FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest, ProduceRequest,
};

use super::session_moves::move_leader;
use super::versions;
use crate::engine::Pair;
use crate::requests::{Fetch, ListOffsets, Produce, metadata_of, offset_for_leader_epoch};

/// Partition 0 on node 1 alone, 1 on node 2 alone.
const ALONE: &str = "nodes-alone";
/// On both nodes.
const BOTH: &str = "nodes-both";
const END: i64 = 4;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(ALONE, &[&[1], &[2]]).await?;
    pair.create(BOTH, &[&[1, 2]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    for _ in 0..END / 2 {
        pair.append(ALONE, 0, &two).await?;
        pair.append_at(2, ALONE, 1, &two).await?;
        pair.append(BOTH, 0, &two).await?;
    }
    pair.wait_for_high_watermark(2, BOTH, 0, END).await?;
    produce(pair).await?;
    ask(pair, "first leaders").await?;
    move_leader(pair, BOTH, 2).await?;
    pair.wait_for_high_watermark(1, BOTH, 0, END).await?;
    ask(pair, "after an election").await?;
    move_leader(pair, ALONE, 2).await?;
    ask(pair, "after a reassignment").await
}

/// Batches that are empty, so that nothing is appended where they get to a leader.
async fn produce(pair: &mut Pair) -> Result<()> {
    let empty = pair.batch(&[]).build();
    for version in versions::<ProduceRequest>() {
        for (topic, partition) in [(ALONE, 0), (ALONE, 1), (BOTH, 0)] {
            for node in [1, 2] {
                let produce = Produce::to(topic, partition, &empty);
                let case = format!("{topic}-{partition} to node {node}");
                pair.produce_at(node, case, version, &produce).await?;
            }
        }
        let all = Produce::to(ALONE, 0, &empty)
            .and(ALONE, 1, &empty)
            .and(BOTH, 0, &empty);
        for node in [1, 2] {
            pair.produce_at(node, format!("all to node {node}"), version, &all)
                .await?;
        }
    }
    Ok(())
}

async fn ask(pair: &mut Pair, when: &str) -> Result<()> {
    for node in [1, 2] {
        for version in versions::<FetchRequest>() {
            for (case, fetch) in fetches(version) {
                pair.fetch_at(
                    node,
                    format!("{when}: {case} of node {node}"),
                    version,
                    &fetch,
                )
                .await?;
            }
        }
        for (topic, partition) in [(ALONE, 0), (ALONE, 1), (BOTH, 0)] {
            let case =
                |what: String| format!("{when}: {topic}-{partition}, {what}, of node {node}");
            for version in versions::<ListOffsetsRequest>() {
                for timestamp in [-1, -2, -3, pair.time] {
                    let list = ListOffsets::of(topic, partition, timestamp);
                    list_offsets(
                        pair,
                        node,
                        case(format!("time {timestamp}")),
                        version,
                        &list,
                    )
                    .await?;
                    let debugging = list.clone().debugging();
                    list_offsets(
                        pair,
                        node,
                        case(format!("debugging, time {timestamp}")),
                        version,
                        &debugging,
                    )
                    .await?;
                    for epoch in [0, 1, 2].into_iter().filter(|_| version >= 4) {
                        let list = list.clone().leader_epoch(epoch);
                        list_offsets(
                            pair,
                            node,
                            case(format!("epoch {epoch}, time {timestamp}")),
                            version,
                            &list,
                        )
                        .await?;
                    }
                }
            }
            for version in versions::<OffsetForLeaderEpochRequest>() {
                for epochs in [(-1, 0), (0, 0), (1, 0), (2, 0), (-1, 1), (1, 1)] {
                    let request = offset_for_leader_epoch(topic, partition, epochs, version);
                    pair.compare_at(node, case(format!("epochs {epochs:?}")), version, |_| {
                        request.clone()
                    })
                    .await?;
                }
            }
        }
        for version in versions::<MetadataRequest>() {
            pair.compare_at(node, format!("{when}: of node {node}"), version, |_| {
                let request = metadata_of(&[ALONE, BOTH]);
                request.with_allow_auto_topic_creation(true)
            })
            .await?;
        }
    }
    Ok(())
}

async fn list_offsets(
    pair: &mut Pair,
    node: i32,
    case: String,
    version: i16,
    list: &ListOffsets,
) -> Result<()> {
    pair.compare_at(node, case, version, |_| list.request(version))
        .await
        .map(drop)
}

fn fetches(version: i16) -> Vec<(String, Fetch)> {
    let mut rows = vec![
        (
            "all".to_owned(),
            Fetch::of([(ALONE, 0, 0), (ALONE, 1, 0), (BOTH, 0, 0)]),
        ),
        (
            "all, backwards".to_owned(),
            Fetch::of([(BOTH, 0, 0), (ALONE, 1, 0), (ALONE, 0, 0)]),
        ),
    ];
    for (topic, partition) in [(ALONE, 0), (ALONE, 1), (BOTH, 0)] {
        for offset in [0, END, END + 1] {
            let fetch = Fetch::of([(topic, partition, offset)]).wait(0);
            rows.push((format!("{topic}-{partition} at {offset}"), fetch.clone()));
            for epoch in [0, 1, 2].into_iter().filter(|_| version >= 9) {
                let fetch = fetch.clone().leader_epoch(epoch);
                rows.push((
                    format!("{topic}-{partition} at {offset}, epoch {epoch}"),
                    fetch,
                ));
            }
        }
    }
    rows
}
