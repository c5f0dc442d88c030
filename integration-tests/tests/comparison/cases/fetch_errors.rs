//! Fetch outside of sessions, of what is not there.

use anyhow::Result;
use kafka_protocol::messages::FetchRequest;

use super::versions;
use crate::engine::Pair;
use crate::requests::Fetch;

const A: &str = "errors-a";
const UNKNOWN: &str = "errors-unknown";
/// Where the log begins and ends.
const START: i64 = 2;
const END: i64 = 6;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(A, &[&[1], &[1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    for _ in 0..3 {
        pair.append(A, 0, &two).await?;
    }
    crate::clusters::KAFKA.delete_records(A, 0, START)?;
    pair.broker.delete_records(A, 0, START)?;
    for version in versions::<FetchRequest>() {
        for (case, fetch) in rows() {
            for isolation in [0, 1] {
                let fetch = fetch.clone().isolation(isolation);
                pair.fetch(format!("{case}, isolation {isolation}"), version, &fetch)
                    .await?;
            }
        }
    }
    for version in versions::<FetchRequest>() {
        for level in [-1, 2, i8::MAX] {
            let fetch = Fetch::of([(A, 0, START)]).isolation(level);
            pair.fetch(format!("isolation level {level}"), version, &fetch)
                .await?;
        }
    }
    for version in versions::<FetchRequest>().filter(|version| *version >= 9) {
        for epoch in [i32::MIN, -2, -1, 0, 1, i32::MAX] {
            let fetch = Fetch::of([(A, 0, START)]).leader_epoch(epoch);
            pair.fetch(format!("leader epoch {epoch}"), version, &fetch)
                .await?;
        }
    }
    Ok(())
}

fn rows() -> Vec<(&'static str, Fetch)> {
    vec![
        ("before the beginning", Fetch::of([(A, 0, START - 1)])),
        ("at the beginning", Fetch::of([(A, 0, START)])),
        ("behind the end", Fetch::of([(A, 0, END + 1)])),
        ("far behind the end", Fetch::of([(A, 0, i64::MAX)])),
        ("negative offset", Fetch::of([(A, 0, -1)])),
        (
            "behind the end, and data",
            Fetch::of([(A, 0, START), (A, 1, 1)]),
        ),
        ("unknown topic", Fetch::of([(UNKNOWN, 0, 0)])),
        (
            "unknown topic, and an idle one",
            Fetch::of([(UNKNOWN, 0, 0), (A, 0, END)]).wait(30),
        ),
        (
            "unknown topic, and data",
            Fetch::of([(UNKNOWN, 0, 0), (A, 0, START)]),
        ),
        (
            "data, and an unknown topic",
            Fetch::of([(A, 0, START), (UNKNOWN, 0, 0)]),
        ),
        ("unknown partition", Fetch::of([(A, 9, 0)])),
        ("negative partition", Fetch::of([(A, -1, 0)])),
        (
            "unknown partition, and an idle one",
            Fetch::of([(A, 9, 0), (A, 0, END)]).wait(30),
        ),
        (
            "two unknown topics and partitions",
            Fetch::of([(UNKNOWN, 0, 0), (A, 9, 0), (UNKNOWN, 1, 0)]),
        ),
    ]
}
