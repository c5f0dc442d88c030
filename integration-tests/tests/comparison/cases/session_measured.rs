//! What a session does as a client meets it: what was measured once, held against the broker again.

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest};
use tokio::time::sleep;

use crate::engine::{Pair, Reply, Side};
use crate::requests::{Fetch, ListOffsets};

const VERSION: i16 = 17;
const WAIT_MS: i32 = 150;
/// A wait that something is produced into.
const LONG_WAIT_MS: i32 = 800;
/// A wait that nothing but an event ends.
const UNTIL_WOKEN_MS: i32 = 30_000;
const TO_BE_WAITING: Duration = Duration::from_millis(200);

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    omitted_is_fetched_again(pair).await?;
    an_error_ends_every_wait(pair).await?;
    tiny_limits_bring_one_batch(pair).await?;
    parked_is_quiet(pair).await?;
    parked_uses_up_the_first_batch_rule(pair).await?;
    a_high_watermark_is_told_without_records(pair).await?;
    forgetting_all_ends_the_session(pair).await?;
    who_gave_data_goes_to_the_end(pair).await?;
    requests_of_a_connection_wait_for_each_other(pair).await?;
    requests_of_a_session_race(pair).await?;
    a_session_is_closed_during_a_wait(pair).await
}

/// A topic of three partitions on node 1, each with so many batches of one record with 1,000 bytes.
async fn filled(pair: &mut Pair, topic: &str, batches: usize) -> Result<()> {
    pair.create(topic, &[&[1], &[1], &[1]]).await?;
    let one = pair.batch(&[&"x".repeat(1_000)]).build();
    for partition in 0..3 {
        for _ in 0..batches {
            pair.append(topic, partition, &one).await?;
        }
    }
    Ok(())
}

async fn omitted_is_fetched_again(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-omitted";
    filled(pair, T, 3).await?;
    pair.open_session(T, VERSION, &Fetch::of([(T, 0, 1), (T, 1, 3)]))
        .await?;
    for epoch in 1..=5 {
        pair.fetch(
            format!("omitted time {epoch}"),
            VERSION,
            &Fetch::next(T, epoch),
        )
        .await?;
    }
    Ok(())
}

async fn an_error_ends_every_wait(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-error";
    filled(pair, T, 1).await?;
    let ends = Fetch::of([(T, 0, 1), (T, 1, 1), (T, 2, 1)]);
    pair.open_session(T, VERSION, &ends.wait(WAIT_MS)).await?;
    let bad = Fetch::of([(T, 2, 99)]).in_session(T, 1);
    pair.fetch("one is out of range", VERSION, &bad).await?;
    for epoch in 2..=5 {
        pair.fetch(
            format!("still out of range {epoch}"),
            VERSION,
            &Fetch::next(T, epoch),
        )
        .await?;
    }
    let good = Fetch::of([(T, 2, 1)]).in_session(T, 6);
    pair.fetch("not any more", VERSION, &good.wait(WAIT_MS))
        .await
}

async fn tiny_limits_bring_one_batch(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-tiny";
    filled(pair, T, 2).await?;
    let all = Fetch::of([(T, 0, 0), (T, 1, 0), (T, 2, 0)]);
    for limit in [0, 1] {
        let session = format!("tiny-{limit}");
        pair.open_session(&session, VERSION, &all.clone().max_bytes(limit))
            .await?;
        for epoch in 1..=3 {
            let next = Fetch::next(&session, epoch).max_bytes(limit);
            pair.fetch(format!("max bytes {limit}, time {epoch}"), VERSION, &next)
                .await?;
        }
        let session = format!("tiny-partitions-{limit}");
        pair.open_session(&session, VERSION, &all.clone().partition_max_bytes(limit))
            .await?;
        for epoch in 1..=3 {
            let next = Fetch::next(&session, epoch);
            pair.fetch(
                format!("partition max bytes {limit}, time {epoch}"),
                VERSION,
                &next,
            )
            .await?;
        }
    }
    Ok(())
}

async fn parked_is_quiet(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-parked";
    filled(pair, T, 1).await?;
    let ends = Fetch::of([(T, 0, 1), (T, 1, 1)]);
    pair.open_session(T, VERSION, &ends.wait(WAIT_MS)).await?;
    let park = Fetch::of([(T, 0, 1)])
        .partition_max_bytes(0)
        .in_session(T, 1);
    pair.fetch(
        "parked, it does not end the wait",
        VERSION,
        &park.wait(WAIT_MS),
    )
    .await?;

    let one = pair.batch(&["a"]).build();
    let waiting = Fetch::next(T, 2).wait(LONG_WAIT_MS);
    let waiting = pair
        .start::<FetchRequest>(
            1,
            "parked, records come during the wait",
            VERSION,
            |names| waiting.request(VERSION, names),
        )
        .await?;
    sleep(TO_BE_WAITING).await;
    pair.append(T, 0, &one).await?;
    pair.append(T, 0, &one).await?;
    pair.finish(waiting).await?;

    pair.fetch(
        "parked behind its high watermark",
        VERSION,
        &Fetch::next(T, 3),
    )
    .await?;
    let park = Fetch::of([(T, 0, 3)])
        .partition_max_bytes(0)
        .in_session(T, 4);
    pair.fetch("parked at the new one", VERSION, &park.wait(WAIT_MS))
        .await
}

async fn parked_uses_up_the_first_batch_rule(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-first-batch";
    filled(pair, T, 2).await?;
    let both = Fetch::of([(T, 0, 2), (T, 1, 2)]);
    pair.open_session(T, VERSION, &both.wait(WAIT_MS)).await?;
    let park = Fetch::of([(T, 0, 2)])
        .partition_max_bytes(0)
        .in_session(T, 1);
    pair.fetch("parked first", VERSION, &park.wait(WAIT_MS))
        .await?;
    let one = pair.batch(&["a"]).build();
    pair.append(T, 0, &one).await?;
    let small = Fetch::of([(T, 1, 0)])
        .partition_max_bytes(500)
        .in_session(T, 2);
    pair.fetch(
        "a later partition's batch is above its limit",
        VERSION,
        &small,
    )
    .await?;
    // the parked one gave data and is behind now
    pair.fetch("and in the other order", VERSION, &Fetch::next(T, 3))
        .await?;
    let park = Fetch::of([(T, 0, 3)])
        .partition_max_bytes(0)
        .in_session(T, 4);
    pair.fetch("parked at its end again", VERSION, &park).await
}

async fn a_high_watermark_is_told_without_records(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-watermark";
    filled(pair, T, 1).await?;
    let both = Fetch::of([(T, 0, 0), (T, 1, 1)]);
    pair.open_session(T, VERSION, &both).await?;
    let one = pair.batch(&["a"]).build();
    pair.append(T, 1, &one).await?;
    // partition 0 has data and takes all that may come
    let next = Fetch::of([(T, 1, 1)])
        .partition_max_bytes(0)
        .in_session(T, 1)
        .max_bytes(1);
    pair.fetch("told without records", VERSION, &next).await?;
    let at_end = Fetch::of([(T, 1, 2)])
        .partition_max_bytes(0)
        .in_session(T, 2)
        .max_bytes(1);
    pair.fetch("told once", VERSION, &at_end).await
}

async fn forgetting_all_ends_the_session(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-forgotten";
    filled(pair, T, 1).await?;
    pair.open_session(T, VERSION, &Fetch::of([(T, 0, 0), (T, 1, 0)]))
        .await?;
    let forget = Fetch::next(T, 1).forget(T, 0).forget(T, 1);
    pair.fetch("all forgotten", VERSION, &forget).await?;
    pair.fetch("there is no session any more", VERSION, &Fetch::next(T, 2))
        .await
}

async fn who_gave_data_goes_to_the_end(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-order";
    filled(pair, T, 2).await?;
    let all = Fetch::of([(T, 2, 0), (T, 0, 0), (T, 1, 0)]);
    for time in 1..=2 {
        let one_batch = all.clone().max_bytes(1);
        pair.fetch(
            format!("without a session, time {time}"),
            VERSION,
            &one_batch,
        )
        .await?;
    }
    pair.open_session(T, VERSION, &all.max_bytes(1)).await?;
    for epoch in 1..=7 {
        let next = Fetch::next(T, epoch).max_bytes(if epoch == 4 { 1_500 } else { 1 });
        pair.fetch(format!("in a session, time {epoch}"), VERSION, &next)
            .await?;
    }
    Ok(())
}

async fn requests_of_a_connection_wait_for_each_other(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-connection";
    filled(pair, T, 1).await?;
    let (real_fetch, real_list) = fetch_and_list(&pair.real, T).await?;
    let (ours_fetch, ours_list) = fetch_and_list(&pair.ours, T).await?;
    let wait = Duration::from_millis(u64::from(LONG_WAIT_MS.unsigned_abs()));
    let case = "before ListOffsets on one connection";
    pair.judge::<FetchRequest>(case, VERSION, Some(wait), real_fetch, ours_fetch)?;
    let case = "behind a long poll on one connection";
    pair.judge::<ListOffsetsRequest>(case, 7, Some(wait), real_list, ours_list)?;
    Ok(())
}

type ReplyOf<R> = Reply<<R as kafka_protocol::protocol::Request>::Response>;

async fn fetch_and_list(
    side: &Side,
    topic: &str,
) -> Result<(ReplyOf<FetchRequest>, ReplyOf<ListOffsetsRequest>)> {
    let mut connection = side.connect(1).await?;
    let fetch = Fetch::of([(topic, 0, 1)]).wait(LONG_WAIT_MS);
    let fetch = fetch.request(VERSION, &side.names);
    connection.send(&fetch, VERSION).await?;
    connection
        .send(&ListOffsets::of(topic, 0, -1).request(7), 7)
        .await?;
    let fetched = connection.receive::<FetchRequest>(VERSION).await?;
    Ok((fetched, connection.receive::<ListOffsetsRequest>(7).await?))
}

/// While one request of a session waits, the next one comes over another connection.
async fn requests_of_a_session_race(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-race";
    filled(pair, T, 1).await?;
    let ends = Fetch::of([(T, 0, 1), (T, 1, 1)]);
    pair.open_session(T, VERSION, &ends.wait(WAIT_MS)).await?;
    let overtaken = Fetch::next(T, 1).wait(LONG_WAIT_MS);
    let overtaken = pair
        .start::<FetchRequest>(1, "overtaken", VERSION, |names| {
            overtaken.request(VERSION, names)
        })
        .await?;
    sleep(TO_BE_WAITING).await;
    let next = Fetch::next(T, 2).wait(WAIT_MS);
    pair.fetch("overtakes one that waits", VERSION, &next)
        .await?;
    pair.finish(overtaken).await?;
    let next = Fetch::next(T, 3).wait(WAIT_MS);
    pair.fetch("after the race", VERSION, &next).await
}

async fn a_session_is_closed_during_a_wait(pair: &mut Pair) -> Result<()> {
    const T: &str = "measured-closed";
    filled(pair, T, 1).await?;
    let end = Fetch::of([(T, 0, 1)]);
    pair.open_session(T, VERSION, &end.clone().wait(WAIT_MS))
        .await?;
    let waiting = Fetch::next(T, 1).wait(UNTIL_WOKEN_MS);
    let waiting = pair
        .start::<FetchRequest>(1, "waits while its session is closed", VERSION, |names| {
            waiting.request(VERSION, names)
        })
        .await?;
    sleep(TO_BE_WAITING).await;
    let closing = end.in_session(T, -1).wait(0);
    pair.fetch("closes while another waits", VERSION, &closing)
        .await?;
    let one = pair.batch(&["a"]).build();
    pair.append(T, 0, &one).await?;
    pair.finish(waiting).await?;
    pair.fetch("was closed", VERSION, &Fetch::next(T, 2)).await
}
