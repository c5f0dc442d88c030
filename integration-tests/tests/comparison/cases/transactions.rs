//! A log of transactions that overlap, read at every offset under both isolation levels.

use anyhow::Result;
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest};
use record_batch::Compression;

use super::transaction_log::Step::{self, Abort, Commit, Data, Plain};
use super::transaction_log::TransactionLog;
use super::versions;
use crate::clusters::TRANSACTIONS;
use crate::engine::Pair;
use crate::requests::{Fetch, ListOffsets};

const T: &str = "transactions";
const ISOLATIONS: [i8; 2] = [0, 1];
/// The log has some 40 KB, about ten entries of Kafka's offset index.
const LIMITS: [i32; 6] = [1, 700, 2_000, 5_000, 9_000, 20_000];
const WAIT_MS: i32 = 80;

const X: i64 = 7_001;
const Y: i64 = 7_002;
const Z: i64 = 7_003;

fn script() -> Vec<Step> {
    let (none, lz4, zstd) = (Compression::None, Compression::Lz4, Compression::Zstd);
    let mut steps = vec![
        Data(X, 3, none),
        Data(Y, 3, lz4),
        Plain(2),
        Data(Z, 3, zstd),
        Data(X, 2, none),
        Abort(Y),
        Plain(1),
        Commit(Z),
        Abort(X),
    ];
    for round in 0..6 {
        let end = if round % 2 == 0 { Abort(X) } else { Commit(X) };
        steps.extend([Data(X, 8, none), end]);
    }
    steps.extend([
        Data(Y, 10, none),
        Data(Z, 10, none),
        Data(Y, 10, none),
        Abort(Z),
        Data(Y, 10, none),
        Plain(1),
        Abort(Y),
        // a transaction of nothing
        Abort(Z),
        Plain(3),
        // one that stays open, and one behind it that does not
        Data(X, 3, none),
        Plain(3),
        Data(Y, 2, none),
        Commit(Y),
        Data(Z, 2, none),
        Abort(Z),
    ]);
    steps
}

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    let mut log = TransactionLog::create(pair, T).await?;
    let end = log.write(pair, &script()).await?;
    every_offset(pair, end).await?;
    offsets(pair).await?;
    around_the_last_stable_offset(pair, end).await?;
    // the open one ends: all is stable
    let end = log.write(pair, &[Abort(X)]).await?;
    every_offset(pair, end).await?;
    offsets(pair).await
}

async fn every_offset(pair: &mut Pair, end: i64) -> Result<()> {
    for isolation in ISOLATIONS {
        for offset in 0..=end + 1 {
            let fetch = Fetch::of([(T, 0, offset)]).isolation(isolation).wait(0);
            let case = format!("isolation {isolation} at {offset}");
            pair.fetch_at(TRANSACTIONS, &case, 17, &fetch).await?;
            if offset % 3 != 0 {
                continue;
            }
            for limit in LIMITS {
                let fetch = fetch.clone().max_bytes(limit);
                let case = format!("{case}, max bytes {limit}");
                pair.fetch_at(TRANSACTIONS, case, 12, &fetch).await?;
            }
        }
        for version in versions::<FetchRequest>() {
            for offset in [0, 5, end - 12] {
                let fetch = Fetch::of([(T, 0, offset)]).isolation(isolation).wait(0);
                let case = format!("isolation {isolation} at {offset}");
                pair.fetch_at(TRANSACTIONS, case, version, &fetch).await?;
            }
        }
    }
    Ok(())
}

async fn offsets(pair: &mut Pair) -> Result<()> {
    for version in versions::<ListOffsetsRequest>() {
        for isolation in ISOLATIONS {
            for timestamp in [-1, -2, -3, 0, pair.time, pair.time + 1, i64::MAX] {
                let list = ListOffsets::of(T, 0, timestamp).isolation(isolation);
                let case = format!("isolation {isolation}, time {timestamp}");
                pair.compare_at(TRANSACTIONS, case, version, |_| list.request(version))
                    .await?;
            }
        }
    }
    Ok(())
}

/// Under read_committed a fetch at the last stable offset waits, though there are records behind it, and behind it an offset is out of range.
async fn around_the_last_stable_offset(pair: &mut Pair, end: i64) -> Result<()> {
    let stable = pair.broker.offsets(T, 0)?.last_stable_offset;
    let at = |offset| Fetch::of([(T, 0, offset)]).isolation(1);
    let rows = [
        ("at the last stable offset", at(stable).wait(WAIT_MS)),
        ("behind it", at(stable + 2)),
        ("at the end", at(end)),
    ];
    for (case, fetch) in rows {
        pair.fetch_at(TRANSACTIONS, case, 17, &fetch).await?;
    }
    Ok(())
}
