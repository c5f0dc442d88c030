//! Members that say nothing any more.

use anyhow::Result;
use kafka_protocol::messages::{JoinGroupRequest, SyncGroupRequest};

use super::{Classic, Consumers, MEMBER_ID_REQUIRED, version_at};
use crate::engine::{Names, Pair};
use crate::requests::full_beat;

const TOPIC: &str = "group-timeouts";
/// One before and one with ids that are told first. Version 0 has no rebalance timeout.
const STEPS: [i16; 3] = [1, MEMBER_ID_REQUIRED, 9];
const REBALANCE_MS: i32 = 500;
/// `group.min.session.timeout.ms`.
const SESSION_MS: i32 = 6_000;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1], &[1], &[1]]).await?;
    for step in STEPS {
        does_not_join(pair, step).await?;
        does_not_assign(pair, step).await?;
        follower_waits(pair, step).await?;
    }
    does_not_give_up(pair).await?;
    sessions_end(pair).await
}

fn join(group: &Classic, names: &Names, member: &str) -> JoinGroupRequest {
    let request = group.join_request(names, member);
    request.with_rebalance_timeout_ms(REBALANCE_MS)
}

/// A new member joins, if need be with the id that it is told first; the generation.
async fn enter(pair: &mut Pair, group: &Classic, member: &str) -> Result<i32> {
    let new = |names: &Names| join(group, names, "");
    let generation = pair.join("a new member", group.step, member, new).await?;
    if group.step < MEMBER_ID_REQUIRED {
        return Ok(generation);
    }
    let again = |names: &Names| join(group, names, member);
    pair.join("with its id", group.step, member, again).await
}

/// A member is not back when the rebalance ends.
async fn does_not_join(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "timeouts-join", TOPIC, step).await?;
    let first = enter(pair, &group, "a").await?;
    group.sync(pair, "alone", "a", first, &["a"]).await?;
    let second = enter(pair, &group, "b").await?;
    group.heartbeat(pair, "was not back", "a", first).await?;
    group.join(pair, "was not back", "a").await?;
    group
        .sync(pair, "the other one", "b", second, &["b"])
        .await?;
    group.describe(pair, "one was not back").await
}

/// The only member does not assign.
async fn does_not_assign(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::with_offsets(pair, "timeouts-sync", TOPIC, step).await?;
    let first = enter(pair, &group, "a").await?;
    pair.wait_for_state(&group.id, "Empty").await?;
    group.describe(pair, "did not assign").await?;
    group.heartbeat(pair, "did not assign", "a", first).await?;
    group
        .sync(pair, "did not assign", "a", first, &["a"])
        .await?;
    group.join(pair, "did not assign", "a").await.map(drop)
}

/// The leader does not assign, and a follower waits for it.
async fn follower_waits(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "timeouts-follower", TOPIC, step).await?;
    let first = enter(pair, &group, "a").await?;
    group.sync(pair, "alone", "a", first, &["a"]).await?;
    if step >= MEMBER_ID_REQUIRED {
        let new = |names: &Names| join(&group, names, "");
        pair.join("the second, without its id", step, "b", new)
            .await?;
    }
    let id = if step >= MEMBER_ID_REQUIRED { "b" } else { "" };
    let b = pair
        .start::<JoinGroupRequest>(1, "the second", step, |names| join(&group, names, id))
        .await?;
    pair.wait_for_rebalance(&group.id, "a", first).await?;
    let again = |names: &Names| join(&group, names, "a");
    let second = pair.join("the first again", step, "a", again).await?;
    pair.finish_join("b", b).await?;
    let version = version_at::<SyncGroupRequest>(step);
    let waits = |names: &Names| group.sync_request(names, "b", second, &[]);
    pair.compare("waits for the leader", version, waits).await?;
    group
        .heartbeat(pair, "the leader did not assign", "a", second)
        .await?;
    group
        .heartbeat(pair, "the leader did not assign", "b", second)
        .await?;
    let again = |names: &Names| join(&group, names, "b");
    let third = pair.join("the leader is out", step, "b", again).await?;
    group
        .sync(pair, "the leader is out", "b", third, &["b"])
        .await?;
    group.describe(pair, "the leader is out").await
}

/// A member of KIP-848 does not say that it gave up what it was asked to.
async fn does_not_give_up(pair: &mut Pair) -> Result<()> {
    for version in [0, 1] {
        let group = Consumers::new(pair, "timeouts-revoke", TOPIC, version).await?;
        let request = |names: &Names| {
            full_beat(&group.id, names.member("a"), 0, &[TOPIC], Vec::new())
                .with_rebalance_timeout_ms(REBALANCE_MS)
        };
        let a = group.send(pair, "has little time", request).await?;
        let b = group.join(pair, "the second", "b").await?;
        let asked = group.beat(pair, "is asked", ("a", a), None).await?;
        pair.wait_for_members(&group.id, 1).await?;
        group.describe(pair, "did not give up in time").await?;
        group
            .beat(pair, "did not give up in time", ("a", asked), None)
            .await?;
        group.beat(pair, "gets all", ("b", b), None).await?;
        group.describe(pair, "gets all").await?;
    }
    Ok(())
}

/// A member sends no heartbeats.
async fn sessions_end(pair: &mut Pair) -> Result<()> {
    let group = Classic::with_offsets(pair, "timeouts-session", TOPIC, 9).await?;
    let short = |names: &Names, member: &str| {
        let request = group.join_request(names, member);
        request.with_session_timeout_ms(SESSION_MS)
    };
    pair.join("an id for a while", 9, "p", |names| short(names, ""))
        .await?;
    pair.join("an id", 9, "a", |names| short(names, "")).await?;
    let first = pair
        .join("joins", 9, "a", |names| short(names, "a"))
        .await?;
    group.sync(pair, "joins", "a", first, &["a"]).await?;
    pair.wait_for_state(&group.id, "Empty").await?;
    group.heartbeat(pair, "was silent", "a", first).await?;
    group.commit(pair, "was silent", "a", first, 1).await?;
    group.describe(pair, "was silent").await?;
    pair.join("its id has run out", 9, "p", |names| short(names, "p"))
        .await
        .map(drop)
}
