//! Partitions in error inside a session: named at once, named again once they are well, and what they do to the others.

use anyhow::Result;

use crate::engine::Pair;
use crate::requests::Fetch;

const A: &str = "session-errors-a";
const B: &str = "session-errors-b";
const UNKNOWN: &str = "session-errors-unknown";
const WAIT_MS: i32 = 80;
const VERSIONS: [i16; 5] = [7, 9, 12, 13, 18];

/// An error: its name, a partition that has it, the same one without it.
struct Row {
    case: &'static str,
    wrong: Fetch,
    right: Fetch,
    /// The first version that can have it.
    since: i16,
    /// Whether the error lets the request wait for other partitions.
    waits: bool,
}

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(A, &[&[1], &[1], &[2]]).await?;
    pair.create(B, &[&[1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    for (topic, partition) in [(A, 0), (A, 1), (B, 0)] {
        pair.append(topic, partition, &two).await?;
    }
    for version in VERSIONS {
        for row in rows().into_iter().filter(|row| row.since <= version) {
            one(pair, version, &row).await?;
        }
    }
    Ok(())
}

fn rows() -> Vec<Row> {
    let at_end = Fetch::of([(A, 1, 2)]);
    let row = |case, wrong: Fetch, since, waits| Row {
        case,
        wrong,
        right: at_end.clone(),
        since,
        waits,
    };
    vec![
        row("behind the end", Fetch::of([(A, 1, 99)]), 7, false),
        row("negative offset", Fetch::of([(A, 1, -1)]), 7, false),
        row(
            "leader epoch too large",
            Fetch::of([(A, 1, 2)]).leader_epoch(5),
            9,
            false,
        ),
        row(
            "last fetched epoch too large",
            Fetch::of([(A, 1, 2)]).last_fetched_epoch(5),
            12,
            false,
        ),
        row(
            "diverges",
            Fetch::of([(A, 1, 9)]).last_fetched_epoch(0),
            12,
            false,
        ),
        row("unknown partition", Fetch::of([(A, 9, 0)]), 7, true),
        row("unknown topic", Fetch::of([(UNKNOWN, 0, 0)]), 7, true),
        row("leader elsewhere", Fetch::of([(A, 2, 0)]), 7, false),
    ]
}

/// A session of an idle partition and one that has data, in which the error comes and goes.
async fn one(pair: &mut Pair, version: i16, row: &Row) -> Result<()> {
    let session = "errors";
    let name = |step: &str| format!("{}: {step}", row.case);
    let wait = if row.waits { WAIT_MS } else { 5_000 };
    let wrong = row.wrong.clone();
    let right = row.right.clone();
    pair.open_session(
        session,
        version,
        &Fetch::of([(A, 0, 2), (A, 1, 2)]).wait(WAIT_MS),
    )
    .await?;
    let rows = [
        ("comes", wrong.clone().in_session(session, 1).wait(wait)),
        ("stays", Fetch::next(session, 2).wait(wait)),
        (
            "stays, and there is data",
            Fetch::of([(B, 0, 0)]).in_session(session, 3),
        ),
        (
            "stays, and a tiny limit",
            Fetch::next(session, 4).max_bytes(1),
        ),
        (
            "stays, all else idle",
            Fetch::of([(B, 0, 2)]).in_session(session, 5).wait(wait),
        ),
        ("goes", right.in_session(session, 6).wait(wait.min(WAIT_MS))),
    ];
    for (step, fetch) in rows {
        pair.fetch(name(step), version, &fetch).await?;
    }
    pair.open_session("begins so", version, &wrong.wait(wait))
        .await?;
    let after = Fetch::next("begins so", 1).wait(wait);
    pair.fetch(name("a session that began so"), version, &after)
        .await
}
