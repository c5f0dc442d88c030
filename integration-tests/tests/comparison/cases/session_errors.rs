//! Partitions in error inside a session: named at once, named again once they are well, and what they do to the others.

use anyhow::Result;

use crate::engine::Pair;
use crate::requests::{AT_ONCE_MS, Fetch};

const A: &str = "session-errors-a";
const B: &str = "session-errors-b";
const UNKNOWN: &str = "session-errors-unknown";
const WAIT_MS: i32 = 80;
const VERSIONS: [i16; 5] = [7, 9, 12, 13, 18];

/// An error that a partition comes to have in a session.
struct Row {
    case: &'static str,
    wrong: Fetch,
    /// What makes it go.
    remedy: Remedy,
    /// The first version that can have it.
    since: i16,
    /// Whether the error lets the request wait for other partitions.
    waits: bool,
}

#[derive(Clone, Copy)]
enum Remedy {
    /// Partition 1 of [`A`] at its end.
    Ask,
    Forget(&'static str, i32),
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
    let row = |case, since, wrong: Fetch| Row {
        case,
        wrong,
        remedy: Remedy::Ask,
        since,
        waits: false,
    };
    let at = |offset| Fetch::of([(A, 1, offset)]);
    vec![
        row("behind the end", 7, at(99)),
        row("negative offset", 7, at(-1)),
        row("leader epoch too large", 9, at(2).leader_epoch(5)),
        row(
            "last fetched epoch too large",
            12,
            at(2).last_fetched_epoch(5),
        ),
        row("diverges", 12, at(9).last_fetched_epoch(0)),
        Row {
            remedy: Remedy::Forget(A, 2),
            ..row("leader elsewhere", 7, Fetch::of([(A, 2, 0)]))
        },
        Row {
            remedy: Remedy::Forget(A, 9),
            waits: true,
            ..row("unknown partition", 7, Fetch::of([(A, 9, 0)]))
        },
        Row {
            remedy: Remedy::Forget(UNKNOWN, 0),
            waits: true,
            ..row("unknown topic", 7, Fetch::of([(UNKNOWN, 0, 0)]))
        },
    ]
}

/// A session of an idle partition and one that has data, in which the error comes and goes.
async fn one(pair: &mut Pair, version: i16, row: &Row) -> Result<()> {
    let session = "errors";
    let next = |epoch| Fetch::next(session, epoch);
    let at = |topic, partition, offset, epoch| {
        Fetch::of([(topic, partition, offset)]).in_session(session, epoch)
    };
    let wait = if row.waits { WAIT_MS } else { AT_ONCE_MS };
    let healed = match row.remedy {
        Remedy::Ask => at(A, 1, 2, 6),
        Remedy::Forget(topic, partition) => next(6).forget(topic, partition),
    };
    let idle = Fetch::of([(A, 0, 2), (A, 1, 2)]).wait(WAIT_MS);
    pair.open_session(session, version, &idle).await?;
    let rows = [
        ("comes", row.wrong.clone().in_session(session, 1).wait(wait)),
        ("stays", next(2).wait(wait)),
        ("stays, and there is data", at(B, 0, 0, 3)),
        ("stays, and a tiny limit", next(4).max_bytes(1)),
        ("stays, all else idle", at(B, 0, 2, 5).wait(wait)),
        ("goes", healed.wait(WAIT_MS)),
        ("is gone", next(7).wait(WAIT_MS)),
    ];
    for (step, fetch) in rows {
        pair.fetch(format!("{}: {step}", row.case), version, &fetch)
            .await?;
    }
    // alone, there is nothing that could be waited for
    pair.open_session("begins so", version, &row.wrong).await?;
    let case = format!("{}: a session that began so", row.case);
    pair.fetch(case, version, &Fetch::next("begins so", 1))
        .await
}
