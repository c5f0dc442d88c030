//! One member's way through a classic group, in every version.

use anyhow::Result;
use kafka_protocol::messages::LeaveGroupRequest;

use super::{Classic, MEMBER_ID_REQUIRED, STEPS, version_at};
use crate::engine::{Names, Pair};
use crate::requests::{leave, text};

const TOPIC: &str = "classic-groups";
/// Of members that nobody knows.
const NOBODY: &str = "nobody";

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1]]).await?;
    for step in STEPS {
        let group = Classic::new(pair, "classic", TOPIC, step).await?;
        before(pair, &group).await?;
        life(pair, &group).await?;
        after(pair, &group).await?;
    }
    Ok(())
}

/// Requests to a group that there is not.
async fn before(pair: &mut Pair, group: &Classic) -> Result<()> {
    let case = "to no group";
    group.describe(pair, case).await?;
    group.join(pair, case, NOBODY).await?;
    group.sync(pair, case, NOBODY, 0, &[]).await?;
    group.heartbeat(pair, case, NOBODY, 0).await?;
    group.leave(pair, case, &[NOBODY]).await?;
    group.commit(pair, case, NOBODY, 0, 1).await?;
    group.fetch_committed(pair, case).await
}

async fn life(pair: &mut Pair, group: &Classic) -> Result<()> {
    let first = group.enter(pair, "a").await?;
    group.heartbeat(pair, "to be assigned", "a", first).await?;
    group.commit(pair, "to be assigned", "a", first, 1).await?;
    group.join(pair, "joins twice", "a").await?;
    group
        .sync(pair, "assigns itself", "a", first, &["a"])
        .await?;
    group.describe(pair, "stable").await?;
    group.heartbeat(pair, "stable", "a", first).await?;
    group.commit(pair, "stable", "a", first, 2).await?;
    group
        .commit(pair, "behind the end", "a", first, 2_000)
        .await?;
    group.fetch_committed(pair, "stable").await?;
    group.sync(pair, "again", "a", first, &["a"]).await?;
    group
        .sync(pair, "again, of nothing", "a", first, &[])
        .await?;
    // the leader that joins again has a rebalance begin
    let second = group.join(pair, "the leader again", "a").await?;
    group.heartbeat(pair, "old generation", "a", first).await?;
    group
        .sync(pair, "old generation", "a", first, &["a"])
        .await?;
    group.commit(pair, "old generation", "a", first, 3).await?;
    group.describe(pair, "to be assigned again").await?;
    group
        .sync(pair, "assigns nothing", "a", second, &[])
        .await?;
    group.describe(pair, "nothing assigned").await?;
    group.leave(pair, "an unknown one", &[NOBODY]).await?;
    group.leave(pair, "leaves", &["a"]).await?;
    group.leave(pair, "leaves again", &["a"]).await
}

/// Requests to a group that everybody left.
async fn after(pair: &mut Pair, group: &Classic) -> Result<()> {
    let case = "has left";
    group.describe(pair, case).await?;
    group.heartbeat(pair, case, "a", 2).await?;
    group.sync(pair, case, "a", 2, &[]).await?;
    group.commit(pair, case, "a", 2, 4).await?;
    group
        .commit(pair, "a member without a generation", "a", -1, 4)
        .await?;
    group.commit(pair, "a simple consumer", "", -1, 5).await?;
    group.fetch_committed(pair, case).await?;
    group.join(pair, "with an id that is no more", "a").await?;
    let version = version_at::<LeaveGroupRequest>(group.step);
    let nobody = |_: &Names| leave(version, &group.id, &[]);
    pair.compare("nobody leaves", version, nobody).await?;
    // what it was before does not matter
    let of_connect = |names: &Names| {
        let member = group.join_request(names, "");
        member.with_protocol_type(text("connect"))
    };
    pair.join("another protocol type", group.step, "c", of_connect)
        .await?;
    if group.step >= MEMBER_ID_REQUIRED {
        let of_connect = |names: &Names| {
            let member = group.join_request(names, "c");
            member.with_protocol_type(text("connect"))
        };
        pair.join("another protocol type", group.step, "c", of_connect)
            .await?;
    }
    group.leave(pair, "another protocol type", &["c"]).await?;
    let third = group.enter(pair, "b").await?;
    group.sync(pair, "a new member", "b", third, &["b"]).await?;
    group
        .leave(pair, "two leave, one unknown", &["b", NOBODY])
        .await?;
    group.describe(pair, "empty again").await
}
