//! What ends the wait of a fetch, and what does not.

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::{DeleteTopicsRequest, FetchRequest};
use record_batch::Compression;
use tokio::time::sleep;

use super::transaction_log::Step::{Abort, Commit, Data, Plain};
use super::transaction_log::TransactionLog;
use crate::clusters::TRANSACTIONS;
use crate::engine::Pair;
use crate::requests::{Fetch, topic_name};

/// A wait that nothing but an event ends.
const UNTIL_WOKEN_MS: i32 = 30_000;
/// A wait that ends by itself, and the time by which a broker is waiting.
const TO_THE_END_MS: i32 = 700;
const TO_BE_WAITING: Duration = Duration::from_millis(200);
const VERSIONS: [i16; 4] = [4, 7, 12, 17];

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for version in VERSIONS {
        produce(pair, version).await?;
    }
    transactions(pair).await?;
    deletion(pair).await
}

/// Waits that records are produced into.
async fn produce(pair: &mut Pair, version: i16) -> Result<()> {
    let topic = format!("waiting-{version}");
    let topic = topic.as_str();
    pair.create(topic, &[&[1], &[1]]).await?;
    let one = pair.batch(&["a"]).build();
    let size = i32::try_from(one.len())?;
    let both = |offset| Fetch::of([(topic, 0, offset), (topic, 1, 0)]);
    // the partition that each batch goes to; how long is waited; and the request, which expects an empty partition 1
    let rows = [
        ("one batch", vec![0], both(0).wait(UNTIL_WOKEN_MS)),
        (
            "enough with the second batch",
            vec![0, 0],
            both(1).min_bytes(size * 2).wait(UNTIL_WOKEN_MS),
        ),
        (
            "a byte too little",
            vec![0],
            both(3).min_bytes(size + 1).wait(TO_THE_END_MS),
        ),
        (
            "more than max bytes",
            vec![0],
            both(4)
                .min_bytes(size * 9)
                .max_bytes(size)
                .wait(UNTIL_WOKEN_MS),
        ),
        (
            "partition limit 0",
            vec![0],
            both(5).partition_max_bytes(0).wait(TO_THE_END_MS),
        ),
        (
            "partition limit below a batch",
            vec![0],
            both(6).partition_max_bytes(1).wait(UNTIL_WOKEN_MS),
        ),
        (
            "min bytes above the partition limit",
            vec![0, 0],
            both(7)
                .partition_max_bytes(size)
                .min_bytes(size * 2)
                .wait(TO_THE_END_MS),
        ),
        (
            "an unknown partition beside it",
            vec![0],
            Fetch::of([(topic, 9, 0), (topic, 0, 9)]).wait(UNTIL_WOKEN_MS),
        ),
        (
            "the other partition",
            vec![1],
            both(10).wait(UNTIL_WOKEN_MS),
        ),
    ];
    for (case, partitions, fetch) in rows {
        let waiting = pair
            .start::<FetchRequest>(1, case, version, |names| fetch.request(version, names))
            .await?;
        sleep(TO_BE_WAITING).await;
        for partition in partitions {
            pair.append(topic, partition, &one).await?;
        }
        pair.finish(waiting).await?;
    }
    Ok(())
}

/// Under read_committed it is the end of a transaction that brings records.
async fn transactions(pair: &mut Pair) -> Result<()> {
    const T: &str = "waiting-transactions";
    const X: i64 = 7_101;
    let mut log = TransactionLog::create(pair, T).await?;
    let none = Compression::None;
    let start = log.write(pair, &[Data(X, 1, none)]).await? - 1;
    // offset, isolation, what is written, and whether that ends the wait
    let rows = [
        (
            "read_committed, data of an open transaction",
            0,
            1,
            vec![Data(X, 1, none)],
            false,
        ),
        (
            "read_committed, plain data behind an open one",
            0,
            1,
            vec![Plain(1)],
            false,
        ),
        (
            "read_uncommitted, data of an open transaction",
            3,
            0,
            vec![Data(X, 1, none)],
            true,
        ),
        ("read_committed, commit", 0, 1, vec![Commit(X)], true),
        (
            "read_committed, an aborted one",
            5,
            1,
            vec![Data(X, 1, none), Abort(X)],
            true,
        ),
    ];
    for (case, offset, isolation, steps, is_woken) in rows {
        let wait = if is_woken {
            UNTIL_WOKEN_MS
        } else {
            TO_THE_END_MS
        };
        let fetch = Fetch::of([(T, 0, start + offset)])
            .isolation(isolation)
            .wait(wait);
        let waiting = pair
            .start::<FetchRequest>(TRANSACTIONS, case, 17, |names| fetch.request(17, names))
            .await?;
        sleep(TO_BE_WAITING).await;
        log.write(pair, &steps).await?;
        pair.finish(waiting).await?;
    }
    Ok(())
}

async fn deletion(pair: &mut Pair) -> Result<()> {
    for version in VERSIONS {
        let topic = format!("waiting-deletion-{version}");
        let topic = topic.as_str();
        pair.create(topic, &[&[1]]).await?;
        let fetch = Fetch::of([(topic, 0, 0)]).wait(UNTIL_WOKEN_MS);
        let waiting = pair
            .start::<FetchRequest>(1, "deletion", version, |names| {
                fetch.request(version, names)
            })
            .await?;
        sleep(TO_BE_WAITING).await;
        let delete = DeleteTopicsRequest::default()
            .with_timeout_ms(10_000)
            .with_topic_names(vec![topic_name(topic)]);
        pair.compare("delete during a wait", 4, |_| delete.clone())
            .await?;
        pair.finish(waiting).await?;
    }
    Ok(())
}
