//! Consumers in the rack of a follower (KIP-392): where the leader sends them, and what the follower gives them.

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::FetchRequest;
use tokio::time::sleep;

use crate::engine::Pair;
use crate::requests::Fetch;

/// On both nodes; node 1 leads partition 0 and node 2 partition 1.
const T: &str = "replicas";
const END: i64 = 4;
const RACKS: [&str; 4] = ["", "a", "b", "c"];
const WAIT_MS: i32 = 80;
/// Until a follower has what was produced, which it learns within half a second.
const UNTIL_WOKEN_MS: i32 = 30_000;
const TO_BE_WAITING: Duration = Duration::from_millis(200);

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(T, &[&[1, 2], &[2, 1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    for _ in 0..END / 2 {
        pair.append_at(1, T, 0, &two).await?;
        pair.append_at(2, T, 1, &two).await?;
    }
    pair.wait_for_high_watermark(2, T, 0, END).await?;
    pair.wait_for_high_watermark(1, T, 1, END).await?;
    hints(pair).await?;
    sessions(pair).await?;
    waits(pair).await
}

async fn hints(pair: &mut Pair) -> Result<()> {
    for version in 11..=18 {
        for rack in RACKS {
            for node in [1, 2] {
                for (partition, offset) in [(0, 0), (0, 3), (0, END + 1), (1, 0)] {
                    let fetch = Fetch::of([(T, partition, offset)]).rack(rack);
                    let case =
                        format!("partition {partition} at {offset} of node {node}, rack {rack:?}");
                    pair.fetch_at(node, case, version, &fetch).await?;
                }
                let both = Fetch::of([(T, 0, 0), (T, 1, 0)]).rack(rack);
                let case = format!("both of node {node}, rack {rack:?}");
                pair.fetch_at(node, case, version, &both).await?;
                // without a hint there is nothing at the end but a wait
                let is_sent_away = (node, rack) == (1, "b");
                let at_end = Fetch::of([(T, 0, END)]).rack(rack);
                let at_end = if is_sent_away {
                    at_end
                } else {
                    at_end.wait(WAIT_MS)
                };
                let case = format!("at the end, of node {node}, rack {rack:?}");
                pair.fetch_at(node, case, version, &at_end).await?;
            }
        }
    }
    Ok(())
}

/// A hint is given again with each request.
async fn sessions(pair: &mut Pair) -> Result<()> {
    for version in [11, 12, 13, 18] {
        let open = Fetch::of([(T, 0, 0), (T, 1, 0)]).rack("b");
        pair.open_session("hints", version, &open).await?;
        let rows = [
            ("all omitted", Fetch::next("hints", 1).rack("b")),
            ("in no rack any more", Fetch::next("hints", 2)),
            (
                "in the rack again, at its end",
                Fetch::of([(T, 0, END)]).in_session("hints", 3).rack("b"),
            ),
            (
                "sent away and forgotten",
                Fetch::next("hints", 4).rack("b").forget(T, 0),
            ),
        ];
        for (case, fetch) in rows {
            pair.fetch(case, version, &fetch).await?;
        }
    }
    Ok(())
}

/// At a follower a fetch is woken by what the follower comes to know.
async fn waits(pair: &mut Pair) -> Result<()> {
    let one = pair.batch(&["a"]).build();
    for (index, version) in (0..).zip([11, 13, 18]) {
        let fetch = Fetch::of([(T, 0, END + index)])
            .rack("b")
            .wait(UNTIL_WOKEN_MS);
        let waiting = pair
            .start::<FetchRequest>(2, "at a follower", version, |names| {
                fetch.request(version, names)
            })
            .await?;
        sleep(TO_BE_WAITING).await;
        pair.append(T, 0, &one).await?;
        pair.finish(waiting).await?;
        pair.wait_for_high_watermark(2, T, 0, END + index + 1)
            .await?;
    }
    Ok(())
}
