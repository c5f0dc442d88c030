//! Fetch in every version, of what is there.

use anyhow::Result;
use kafka_protocol::messages::FetchRequest;
use record_batch::Compression;

use super::versions;
use crate::engine::Pair;
use crate::requests::Fetch;

const PLAIN: &str = "versions-plain";
const CODECS: &str = "versions-codecs";
const APPEND_TIME: &str = "versions-append-time";
const ZSTD: &str = "versions-zstd";
const MADE_ZSTD: &str = "versions-made-zstd";

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(PLAIN, &[&[1], &[1]]).await?;
    pair.create(CODECS, &[&[1]]).await?;
    let append_time = [("message.timestamp.type", "LogAppendTime")];
    pair.create_with(APPEND_TIME, &[&[1]], &append_time).await?;
    pair.create(ZSTD, &[&[1]]).await?;
    pair.create_with(MADE_ZSTD, &[&[1]], &[("compression.type", "zstd")])
        .await?;
    let plain = pair.batch(&["a", "b", "c"]).build();
    for _ in 0..3 {
        pair.append(PLAIN, 0, &plain).await?;
    }
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4] {
        let batch = pair.batch(&["x", "y"]).compression(codec).build();
        pair.append(CODECS, 0, &batch).await?;
        pair.append(APPEND_TIME, 0, &batch).await?;
    }
    pair.append(APPEND_TIME, 0, &plain).await?;
    let zstd = pair
        .batch(&["x", "y"])
        .compression(Compression::Zstd)
        .build();
    pair.append(ZSTD, 0, &zstd).await?;
    pair.append(MADE_ZSTD, 0, &zstd).await?;

    for version in versions::<FetchRequest>() {
        for (case, fetch) in rows() {
            for isolation in [0, 1] {
                let fetch = fetch.clone().isolation(isolation);
                pair.fetch(format!("{case}, isolation {isolation}"), version, &fetch)
                    .await?;
            }
        }
    }
    Ok(())
}

fn rows() -> Vec<(&'static str, Fetch)> {
    vec![
        ("from the beginning", Fetch::of([(PLAIN, 0, 0)])),
        ("within a batch", Fetch::of([(PLAIN, 0, 4)])),
        ("at the end", Fetch::of([(PLAIN, 0, 9)]).wait(50)),
        ("an empty partition", Fetch::of([(PLAIN, 1, 0)]).wait(50)),
        (
            "an empty partition and data",
            Fetch::of([(PLAIN, 1, 0), (PLAIN, 0, 0)]),
        ),
        ("two topics", Fetch::of([(PLAIN, 0, 6), (CODECS, 0, 0)])),
        ("codecs", Fetch::of([(CODECS, 0, 0)])),
        ("log append time", Fetch::of([(APPEND_TIME, 0, 0)])),
        ("zstd", Fetch::of([(ZSTD, 0, 0)])),
        (
            "a topic whose codec is zstd",
            Fetch::of([(MADE_ZSTD, 0, 0)]),
        ),
        ("no partitions", Fetch::of([])),
        ("no wait", Fetch::of([(PLAIN, 0, 9)]).wait(0)),
        ("a rack", Fetch::of([(PLAIN, 0, 0)]).rack("here")),
    ]
}
