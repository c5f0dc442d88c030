//! Leaders that move while a session has their partitions, and while it waits for them.

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::FetchRequest;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clusters::KAFKA;
use crate::engine::Pair;
use crate::requests::{Fetch, Produce};

const WAIT_MS: i32 = 80;
/// Longer than any move takes.
const VERY_LONG_WAIT_MS: i32 = 30_000;
const TO_BE_WAITING: Duration = Duration::from_millis(200);

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for version in [7, 11, 12, 13, 16, 18] {
        moved_between_requests(pair, version).await?;
    }
    for version in [11, 17] {
        moved_during_a_wait(pair, version).await?;
    }
    Ok(())
}

/// Moves a leader on both.
pub(super) async fn move_leader(pair: &mut Pair, topic: &str, to: i32) -> Result<()> {
    let name = topic.to_owned();
    spawn_blocking(move || KAFKA.move_leader(&name, 0, to)).await??;
    pair.broker.move_leader(topic, 0, to)?;
    // the others learn of it by themselves
    for node in pair.broker.node_ids() {
        pair.wait_until_known(node, topic, 0, node == to).await?;
    }
    Ok(())
}

/// The partition leaves its node for good, so that the node answers at once that it knows nothing of it.
async fn moved_between_requests(pair: &mut Pair, version: i16) -> Result<()> {
    let topic = format!("moves-{version}");
    let topic = topic.as_str();
    pair.create(topic, &[&[1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    pair.append(topic, 0, &two).await?;
    let session = topic;
    pair.open_session(session, version, &Fetch::of([(topic, 0, 2)]).wait(WAIT_MS))
        .await?;
    let with_epoch = Fetch::of([(topic, 0, 2)])
        .leader_epoch(0)
        .in_session(session, 1);
    pair.fetch("before the move", version, &with_epoch.wait(WAIT_MS))
        .await?;
    move_leader(pair, topic, 2).await?;
    let rows = [
        ("moved away", Fetch::next(session, 2)),
        ("moved away, again", Fetch::next(session, 3)),
        (
            "moved away, new epoch",
            Fetch::of([(topic, 0, 2)])
                .leader_epoch(1)
                .in_session(session, 4),
        ),
        (
            "moved away, forgotten",
            Fetch::next(session, 5).forget(topic, 0),
        ),
    ];
    for (case, fetch) in rows {
        pair.fetch(case, version, &fetch).await?;
    }
    let at_new = Fetch::of([(topic, 0, 0)]);
    pair.fetch_at(
        2,
        "at the new leader",
        version,
        &at_new.clone().leader_epoch(1),
    )
    .await?;
    pair.fetch_at(
        2,
        "at the new leader, old epoch",
        version,
        &at_new.leader_epoch(0),
    )
    .await?;
    let produce = Produce::to(topic, 0, &two);
    for node in [1, 2] {
        pair.produce_at(
            node,
            format!("after the move, to node {node}"),
            10,
            &produce,
        )
        .await?;
    }
    Ok(())
}

async fn moved_during_a_wait(pair: &mut Pair, version: i16) -> Result<()> {
    let topic = format!("moves-waiting-{version}");
    let topic = topic.as_str();
    pair.create(topic, &[&[1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    pair.append(topic, 0, &two).await?;
    let fetch = Fetch::of([(topic, 0, 2)]).wait(VERY_LONG_WAIT_MS);
    let waiting = pair
        .start::<FetchRequest>(1, "moved during the wait", version, |names| {
            fetch.request(version, names)
        })
        .await?;
    sleep(TO_BE_WAITING).await;
    move_leader(pair, topic, 2).await?;
    pair.finish(waiting).await.map(drop)
}
