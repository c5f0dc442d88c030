//! Fetch: how many bytes come, and when they are enough (KIP-74).

use anyhow::Result;

use crate::engine::Pair;
use crate::requests::Fetch;

const A: &str = "limits-a";
const B: &str = "limits-b";
/// Where partition 0 of [`A`] ends.
const END: i64 = 12;
/// Bytes of a batch of one record with a value of one letter.
const BATCH: i32 = 69;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(A, &[&[1], &[1], &[1]]).await?;
    pair.create(B, &[&[1]]).await?;
    let one = pair.batch(&["a"]).build();
    anyhow::ensure!(
        one.len() == usize::try_from(BATCH)?,
        "a batch has {} bytes",
        one.len()
    );
    for _ in 0..END {
        pair.append(A, 0, &one).await?;
    }
    for _ in 0..3 {
        pair.append(A, 1, &one).await?;
        pair.append(B, 0, &one).await?;
    }
    let large = pair.batch(&[&"x".repeat(1_000)]).build();
    pair.append(A, 2, &large).await?;
    pair.append(A, 2, &large).await?;

    for version in [4, 7, 12, 17] {
        for (case, fetch) in edges().into_iter().chain(minimum()).chain(order()) {
            pair.fetch(case, version, &fetch).await?;
        }
    }
    Ok(())
}

/// Limits around the sizes of batches.
fn edges() -> Vec<(String, Fetch)> {
    let all = Fetch::of([(A, 0, 0), (A, 1, 0), (A, 2, 0)]);
    let first_is_empty = Fetch::of([(A, 0, END), (A, 1, 0), (A, 2, 0)]);
    let sizes = [1, 2, 12, 15].map(|batches| batches * BATCH);
    let mut limits = vec![i32::MIN, -1, 0, 1, 60, 61, 62, 1_000, 1_100, i32::MAX];
    limits.extend(sizes.iter().flat_map(|size| [size - 1, *size, size + 1]));
    let mut rows = Vec::new();
    for limit in limits {
        rows.extend([
            (format!("max bytes {limit}"), all.clone().max_bytes(limit)),
            (
                format!("partition max bytes {limit}"),
                all.clone().partition_max_bytes(limit),
            ),
            (
                format!("partition max bytes {limit}, first one empty"),
                first_is_empty.clone().partition_max_bytes(limit),
            ),
            (
                format!("max bytes {limit}, within the log"),
                Fetch::of([(A, 0, 5), (A, 2, 1)]).max_bytes(limit),
            ),
            (
                format!("partition max bytes {limit} of the last one"),
                all.clone().last_max_bytes(limit),
            ),
        ]);
    }
    rows
}

/// `fetch.min.bytes`, also where it cannot be reached.
fn minimum() -> Vec<(String, Fetch)> {
    let idle = Fetch::of([(A, 0, END)]);
    let all = Fetch::of([(A, 0, 0), (A, 1, 0)]);
    let some = 15 * BATCH;
    [
        (
            "min above max, idle",
            idle.clone().min_bytes(1_000).max_bytes(10).wait(60),
        ),
        (
            "min above max, data",
            all.clone().min_bytes(100_000).max_bytes(some),
        ),
        (
            "min above max, max 0",
            all.clone().min_bytes(100_000).max_bytes(0),
        ),
        (
            "min far above all data",
            all.clone().min_bytes(100_000).wait(60),
        ),
        ("min is all data", all.clone().min_bytes(some)),
        (
            "min is a byte more than all data",
            all.clone().min_bytes(some + 1).wait(60),
        ),
        (
            "min within the partition's limit",
            all.clone().min_bytes(100).partition_max_bytes(100),
        ),
        (
            "min above the partitions' limits",
            all.clone().min_bytes(300).partition_max_bytes(100).wait(60),
        ),
        ("min 0, idle", idle.clone().min_bytes(0)),
        ("min negative, idle", idle.clone().min_bytes(-1)),
        ("max wait 0, idle", idle.clone().wait(0)),
        ("max wait negative, idle", idle.clone().wait(-5)),
        ("max bytes 0, idle", idle.clone().max_bytes(0)),
        ("max bytes negative, idle", idle.clone().max_bytes(-1)),
        (
            "partition max bytes 0, idle",
            idle.partition_max_bytes(0).wait(60),
        ),
        ("partition max bytes 0, data", all.partition_max_bytes(0)),
    ]
    .map(|(case, fetch)| (case.to_owned(), fetch))
    .to_vec()
}

/// The order in which partitions are named.
fn order() -> Vec<(String, Fetch)> {
    [
        (
            "the same partition twice",
            Fetch::of([(A, 0, 0), (A, 0, 5), (A, 1, 0)]),
        ),
        (
            "the same partition twice in a row of topics",
            Fetch::of([(A, 0, 0), (B, 0, 0), (A, 0, 5)]),
        ),
        (
            "topics alternating",
            Fetch::of([(A, 0, 5), (B, 0, 0), (A, 1, 0)]),
        ),
        (
            "topics alternating, one batch",
            Fetch::of([(B, 0, 3), (A, 0, 5), (B, 0, 0)]).max_bytes(1),
        ),
        (
            "partitions backwards",
            Fetch::of([(A, 2, 0), (A, 1, 0), (A, 0, 0)]).max_bytes(1_300),
        ),
        (
            "first one out of range",
            Fetch::of([(A, 0, 99), (A, 1, 0)]).max_bytes(1),
        ),
        (
            "first one unknown",
            Fetch::of([(A, 7, 0), (A, 1, 0)]).max_bytes(1),
        ),
    ]
    .map(|(case, fetch)| (case.to_owned(), fetch))
    .to_vec()
}
