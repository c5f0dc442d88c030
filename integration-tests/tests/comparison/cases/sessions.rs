//! Incremental fetch sessions from the first request to the last (KIP-227), in every version that has them.

use anyhow::Result;
use kafka_protocol::messages::FetchRequest;

use super::versions;
use crate::engine::Pair;
use crate::requests::Fetch;

/// Long enough to be told from an answer at once, and short enough for many of them.
const WAIT_MS: i32 = 80;
const FIRST_VERSION: i16 = 7;
const TOPIC_IDS: i16 = 13;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for version in versions::<FetchRequest>().filter(|version| *version >= FIRST_VERSION) {
        let topics = Topics {
            a: format!("sessions-{version}-a"),
            b: format!("sessions-{version}-b"),
        };
        topics.fill(pair).await?;
        life(pair, version, &topics).await?;
        ends(pair, version, &topics).await?;
    }
    Ok(())
}

struct Topics {
    /// Partition 0 ends at 4, 1 at 2, and 2 at 4.
    a: String,
    /// Two empty partitions.
    b: String,
}

impl Topics {
    async fn fill(&self, pair: &mut Pair) -> Result<()> {
        pair.create(&self.a, &[&[1], &[1], &[1]]).await?;
        pair.create(&self.b, &[&[1], &[1]]).await?;
        let two = pair.batch(&["a", "b"]).build();
        for partition in [0, 0, 1, 2, 2] {
            pair.append(&self.a, partition, &two).await?;
        }
        Ok(())
    }
}

/// A session with all that happens in one.
async fn life(pair: &mut Pair, version: i16, topics: &Topics) -> Result<()> {
    let (a, b) = (topics.a.as_str(), topics.b.as_str());
    let session = format!("life-{version}");
    let next = |epoch| Fetch::next(&session, epoch);
    let at = |partitions: &[(&str, i32, i64)], epoch| {
        Fetch::of(partitions.iter().copied()).in_session(&session, epoch)
    };
    let two = pair.batch(&["a", "b"]).build();

    pair.open_session(
        &session,
        version,
        &Fetch::of([(a, 0, 0), (a, 1, 0), (a, 2, 0)]),
    )
    .await?;
    let rows = [
        ("all omitted", next(1)),
        ("all omitted again", next(2)),
        ("one moved to the end", at(&[(a, 0, 4)], 3)),
        ("one batch", next(4).max_bytes(1)),
        ("one batch of the next partition", next(5).max_bytes(1)),
        ("nothing new", at(&[(a, 1, 2), (a, 2, 4)], 6).wait(WAIT_MS)),
        ("epoch of the request before", next(6)),
        ("epoch too large", next(8)),
        ("unknown session", Fetch::next("none", 7)),
        ("unknown session, negative epoch", Fetch::next("none", -7)),
        ("still there", next(7).wait(WAIT_MS)),
        (
            "add an unknown topic",
            at(&[("unknown", 0, 0)], 8).wait(WAIT_MS),
        ),
        ("the unknown topic again", next(9).wait(WAIT_MS)),
        (
            "forget it, add and forget another",
            at(&[(b, 1, 0)], 10)
                .forget(b, 1)
                .forget("unknown", 0)
                .wait(WAIT_MS),
        ),
        (
            "forget what is not there",
            next(11).forget(b, 0).wait(WAIT_MS),
        ),
        ("add an empty partition", at(&[(b, 1, 0)], 12).wait(WAIT_MS)),
        (
            "add two and forget one",
            at(&[(b, 0, 0), (a, 1, 0)], 13).forget(b, 1),
        ),
        ("move one to its end", at(&[(a, 1, 2)], 14).wait(WAIT_MS)),
    ];
    for (case, fetch) in rows {
        pair.fetch(case, version, &fetch).await?;
    }

    pair.append(a, 0, &two).await?;
    let rows = [
        ("records that came", next(15)),
        (
            "parked at its end",
            at(&[(a, 0, 6)], 16).partition_max_bytes(0).wait(WAIT_MS),
        ),
    ];
    for (case, fetch) in rows {
        pair.fetch(case, version, &fetch).await?;
    }
    pair.append(a, 0, &two).await?;
    let rows = [
        ("parked, with records that came", next(17)),
        ("parked, with records, again", next(18)),
        (
            "parked at its new end",
            at(&[(a, 0, 8)], 19).partition_max_bytes(0).wait(WAIT_MS),
        ),
        ("fetched again", at(&[(a, 0, 6)], 20)),
    ];
    for (case, fetch) in rows {
        pair.fetch(case, version, &fetch).await?;
    }

    // topics by name where they went by id, or the other way round
    let other_form = if version >= TOPIC_IDS { 12 } else { 13 };
    pair.fetch(
        format!("session of v{version} in the other form"),
        other_form,
        &next(21),
    )
    .await?;
    let forget_all = next(21).forget(a, 0).forget(a, 1).forget(a, 2).forget(b, 0);
    pair.fetch("forget all", version, &forget_all).await?;
    pair.fetch("after all was forgotten", version, &next(22))
        .await
}

/// The ways in which a session ends, and sessions of nothing.
async fn ends(pair: &mut Pair, version: i16, topics: &Topics) -> Result<()> {
    let a = topics.a.as_str();
    let data = Fetch::of([(a, 1, 0)]);

    pair.open_session("final", version, &data).await?;
    pair.fetch("final", version, &data.clone().in_session("final", -1))
        .await?;
    pair.fetch("after the final one", version, &Fetch::next("final", 1))
        .await?;

    pair.open_session("old", version, &data).await?;
    pair.open_session("new", version, &data.clone().in_session("old", 0))
        .await?;
    pair.fetch("the old one", version, &Fetch::next("old", 1))
        .await?;
    pair.fetch("the new one", version, &Fetch::next("new", 1))
        .await?;

    pair.open_session("empty", version, &Fetch::of([])).await?;
    pair.fetch("a session of nothing", version, &Fetch::next("empty", 1))
        .await?;
    pair.fetch(
        "after a session of nothing",
        version,
        &Fetch::next("empty", 2),
    )
    .await?;

    pair.open_session(
        "twice",
        version,
        &Fetch::of([(a, 1, 0), (a, 2, 0), (a, 1, 2)]),
    )
    .await?;
    pair.fetch("a partition named twice", version, &Fetch::next("twice", 1))
        .await?;

    let sessionless = Fetch::of([(a, 1, 0)]).forget(a, 1);
    pair.fetch("forget without a session", version, &sessionless)
        .await?;
    pair.fetch(
        "epoch 0 of an unknown session",
        version,
        &data.clone().in_session("none", 0),
    )
    .await?;
    pair.fetch(
        "epoch -1 of an unknown session",
        version,
        &data.clone().in_session("none", -1),
    )
    .await?;
    let without_id = data.with_epoch(1);
    pair.fetch("epoch 1 without a session", version, &without_id)
        .await
}
