//! Two members of a classic group.

use anyhow::Result;
use kafka_protocol::messages::{JoinGroupRequest, SyncGroupRequest};

use super::{Classic, MEMBER_ID_REQUIRED, STEPS, version_at};
use crate::engine::{Names, Pair};
use crate::requests::{protocols, text};

const TOPIC: &str = "rebalances";

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1]]).await?;
    for step in STEPS {
        let group = Classic::new(pair, "rebalances", TOPIC, step).await?;
        let second = second_joins(pair, &group).await?;
        both_sync(pair, &group, second).await?;
        follower_again(pair, &group, second).await?;
        follower_leaves(pair, &group, second).await?;
        given_up(pair, step).await?;
        leader_leaves(pair, step).await?;
        preferences(pair, step).await?;
    }
    Ok(())
}

/// The second member comes to one that is in; the generation of both.
async fn second_joins(pair: &mut Pair, group: &Classic) -> Result<i32> {
    let first = group.enter(pair, "a").await?;
    group.sync(pair, "alone", "a", first, &["a"]).await?;
    if group.step >= MEMBER_ID_REQUIRED {
        let new = |names: &Names| group.join_request(names, "");
        pair.join("the second, without its id", group.step, "b", new)
            .await?;
        // which only asked for an id
        group
            .heartbeat(pair, "nobody has joined", "a", first)
            .await?;
        group.heartbeat(pair, "has an id alone", "b", first).await?;
        group.sync(pair, "has an id alone", "b", first, &[]).await?;
        group.commit(pair, "has an id alone", "b", first, 1).await?;
        group.describe(pair, "one has an id alone").await?;
    }
    let new = group.step < MEMBER_ID_REQUIRED;
    let b = pair
        .start::<JoinGroupRequest>(1, "the second", group.step, |names| {
            group.join_request(names, if new { "" } else { "b" })
        })
        .await?;
    pair.wait_for_rebalance(&group.id, "a", first).await?;
    let case = "the other one joins";
    group.heartbeat(pair, case, "a", first).await?;
    group
        .heartbeat(pair, "old generation in a rebalance", "a", first - 1)
        .await?;
    group.sync(pair, case, "a", first, &["a"]).await?;
    group.commit(pair, case, "a", first, 2).await?;
    group.describe(pair, case).await?;
    let a = pair
        .start::<JoinGroupRequest>(1, "the first again", group.step, |names| {
            group.join_request(names, "a")
        })
        .await?;
    let second = pair.finish_join("b", b).await?;
    pair.finish_join("a", a).await?;
    Ok(second)
}

async fn both_sync(pair: &mut Pair, group: &Classic, generation: i32) -> Result<()> {
    let case = "to be assigned";
    group.describe(pair, case).await?;
    group.heartbeat(pair, case, "b", generation).await?;
    group.commit(pair, case, "b", generation, 3).await?;
    group.join(pair, "joins twice", "b").await?;
    let b = pair
        .start::<SyncGroupRequest>(
            1,
            "waits",
            version_at::<SyncGroupRequest>(group.step),
            |names| group.sync_request(names, "b", generation, &[]),
        )
        .await?;
    group
        .sync(pair, "assigns", "a", generation, &["a", "b"])
        .await?;
    pair.finish(b).await?;
    group.describe(pair, "both have theirs").await?;
    group
        .heartbeat(pair, "both have theirs", "a", generation)
        .await?;
    group
        .heartbeat(pair, "both have theirs", "b", generation)
        .await?;
    group.commit(pair, "a follower", "b", generation, 4).await
}

/// A follower that says nothing new has no rebalance begin.
async fn follower_again(pair: &mut Pair, group: &Classic, generation: i32) -> Result<()> {
    group.join(pair, "a follower again", "b").await?;
    group
        .heartbeat(pair, "a follower joined again", "a", generation)
        .await?;
    group
        .sync(pair, "a follower again", "b", generation, &[])
        .await
}

async fn follower_leaves(pair: &mut Pair, group: &Classic, generation: i32) -> Result<()> {
    group.leave(pair, "a follower", &["b"]).await?;
    let case = "a follower left";
    group.heartbeat(pair, case, "a", generation).await?;
    group.heartbeat(pair, case, "b", generation).await?;
    group.commit(pair, case, "b", generation, 5).await?;
    let third = group.join(pair, case, "a").await?;
    group.sync(pair, case, "a", third, &["a"]).await?;
    group.leave(pair, "the last", &["a"]).await
}

/// What waits is answered when another member leaves, or when a new protocol has a rebalance begin again.
async fn given_up(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "rebalances-given-up", TOPIC, step).await?;
    let second = second_joins(pair, &group).await?;
    let version = version_at::<SyncGroupRequest>(step);
    let b = pair
        .start::<SyncGroupRequest>(1, "waits in vain", version, |names| {
            group.sync_request(names, "b", second, &[])
        })
        .await?;
    group.describe(pair, "one waits").await?;
    group
        .leave(pair, "the leader, while one waits", &["a"])
        .await?;
    pair.finish(b).await?;
    let third = group.join(pair, "the leader left", "b").await?;
    group
        .sync(pair, "the leader left", "b", third, &["b"])
        .await?;
    group.describe(pair, "the leader left").await
}

/// A member leaves while others wait for it to join.
async fn leader_leaves(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "rebalances-leader", TOPIC, step).await?;
    let first = group.enter(pair, "a").await?;
    group.sync(pair, "alone", "a", first, &["a"]).await?;
    let new = step < MEMBER_ID_REQUIRED;
    if !new {
        let request = |names: &Names| group.join_request(names, "");
        pair.join("the second, without its id", step, "b", request)
            .await?;
    }
    let b = pair
        .start::<JoinGroupRequest>(1, "waits for one that leaves", step, |names| {
            group.join_request(names, if new { "" } else { "b" })
        })
        .await?;
    pair.wait_for_rebalance(&group.id, "a", first).await?;
    group.leave(pair, "instead of joining", &["a"]).await?;
    let second = pair.finish_join("b", b).await?;
    group.sync(pair, "alone again", "b", second, &["b"]).await?;
    // a member that has something new to say
    let protocol = ["roundrobin"];
    let third = pair
        .join("other protocols", step, "b", |names| {
            group
                .join_request(names, "b")
                .with_protocols(protocols(&protocol, TOPIC))
        })
        .await?;
    let version = version_at::<SyncGroupRequest>(step);
    pair.compare("of the other protocol", version, |names| {
        let request = group.sync_request(names, "b", third, &["b"]);
        match version {
            ..5 => request,
            _ => request.with_protocol_name(Some(text("roundrobin"))),
        }
    })
    .await?;
    group.describe(pair, "of another protocol").await
}

/// Members vote for protocols that both have.
async fn preferences(pair: &mut Pair, step: i16) -> Result<()> {
    for (case, of_a, of_b) in [
        ("they would have either", ["x", "y"], ["y", "x"]),
        ("one is not known to both", ["x", "y"], ["y", "z"]),
        (
            "usual names",
            ["range", "roundrobin"],
            ["roundrobin", "range"],
        ),
        (
            "a better one of both",
            ["cooperative-sticky", "range"],
            ["range", "cooperative-sticky"],
        ),
    ] {
        let group = Classic::with_offsets(pair, "rebalances-protocols", TOPIC, step).await?;
        let request = |names: &Names, member, own: &[&str]| {
            group
                .join_request(names, member)
                .with_protocols(protocols(own, TOPIC))
        };
        let told = step >= MEMBER_ID_REQUIRED;
        let first = pair
            .join(case, step, "a", |names| request(names, "", &of_a))
            .await?;
        let first = match told {
            true => {
                pair.join(case, step, "a", |names| request(names, "a", &of_a))
                    .await?
            }
            false => first,
        };
        if told {
            pair.join(case, step, "b", |names| request(names, "", &of_b))
                .await?;
        }
        let b = pair
            .start::<JoinGroupRequest>(1, case, step, |names| {
                request(names, if told { "b" } else { "" }, &of_b)
            })
            .await?;
        pair.wait_for_rebalance(&group.id, "a", first).await?;
        let a = pair
            .start::<JoinGroupRequest>(1, case, step, |names| request(names, "a", &of_a))
            .await?;
        pair.finish_join("b", b).await?;
        pair.finish_join("a", a).await?;
        group.describe(pair, case).await?;
    }
    Ok(())
}
