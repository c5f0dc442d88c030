//! Static members of classic groups (KIP-345, KIP-814).

use anyhow::Result;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest, SyncGroupRequest,
};

use super::{Classic, STATIC_MEMBERS, STEPS, version_at};
use crate::engine::{Names, Pair};
use crate::requests::{commit, heartbeat, leave, protocols, text};

const TOPIC: &str = "static-members";
const LEADER: &str = "instance-1";
const FOLLOWER: &str = "instance-2";

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1]]).await?;
    for step in STATIC_MEMBERS..=*STEPS.end() {
        let group = Classic::new(pair, "static", TOPIC, step).await?;
        let first = alone(pair, &group).await?;
        returns(pair, &group, first).await?;
        let second = two(pair, &group).await?;
        follower_returns(pair, &group, second).await?;
        leaves(pair, &group).await?;
        replaced_while_joining(pair, step).await?;
        new_subscription(pair, step).await?;
    }
    Ok(())
}

fn join_as(group: &Classic, names: &Names, member: &str, instance: &str) -> JoinGroupRequest {
    group
        .join_request(names, member)
        .with_group_instance_id(Some(text(instance)))
}

/// Each request that says whose instance it is, of a member by its name.
async fn all_apis(
    pair: &mut Pair,
    group: &Classic,
    case: &str,
    (member, instance): (&str, &str),
    generation: i32,
) -> Result<()> {
    let instance = || Some(text(instance));
    pair.compare(case, version_at::<HeartbeatRequest>(group.step), |names| {
        heartbeat(&group.id, names.member(member), generation).with_group_instance_id(instance())
    })
    .await?;
    pair.compare(case, version_at::<SyncGroupRequest>(group.step), |names| {
        group
            .sync_request(names, member, generation, &[])
            .with_group_instance_id(instance())
    })
    .await?;
    let version = version_at::<OffsetCommitRequest>(group.step);
    if version >= 7 {
        pair.compare(case, version, |names| {
            let at = (TOPIC, 0, 9);
            commit(&group.id, names.member(member), generation, at, "")
                .with_group_instance_id(instance())
        })
        .await?;
    }
    Ok(())
}

async fn alone(pair: &mut Pair, group: &Classic) -> Result<i32> {
    let first = pair
        .join("static", group.step, "a", |names| {
            join_as(group, names, "", LEADER)
        })
        .await?;
    group.sync(pair, "static", "a", first, &["a"]).await?;
    all_apis(pair, group, "static", ("a", LEADER), first).await?;
    group
        .heartbeat(pair, "without its instance", "a", first)
        .await?;
    all_apis(
        pair,
        group,
        "another member's instance",
        ("nobody", LEADER),
        first,
    )
    .await?;
    all_apis(pair, group, "not its instance", ("a", "nobody"), first).await?;
    all_apis(pair, group, "old generation", ("a", LEADER), first - 1).await?;
    pair.compare("another member's instance", group.step, |names| {
        join_as(group, names, "nobody", LEADER)
    })
    .await?;
    group.describe(pair, "static").await?;
    Ok(first)
}

/// The only member is started again and has no id: it takes its old one's place.
async fn returns(pair: &mut Pair, group: &Classic, generation: i32) -> Result<()> {
    pair.join("returns", group.step, "a2", |names| {
        join_as(group, names, "", LEADER)
    })
    .await?;
    group.describe(pair, "returns").await?;
    all_apis(pair, group, "was replaced", ("a", LEADER), generation).await?;
    all_apis(pair, group, "replaces", ("a2", LEADER), generation).await?;
    group
        .heartbeat(pair, "was replaced, without its instance", "a", generation)
        .await?;
    pair.compare("was replaced", group.step, |names| {
        join_as(group, names, "a", LEADER)
    })
    .await?;
    Ok(())
}

/// Another static member comes; the generation.
async fn two(pair: &mut Pair, group: &Classic) -> Result<i32> {
    let b = pair
        .start::<JoinGroupRequest>(1, "the second", group.step, |names| {
            join_as(group, names, "", FOLLOWER)
        })
        .await?;
    pair.wait_for_rebalance(&group.id, "a2", 1).await?;
    let a = pair
        .start::<JoinGroupRequest>(1, "the first again", group.step, |names| {
            join_as(group, names, "a2", LEADER)
        })
        .await?;
    let second = pair.finish_join("b", b).await?;
    pair.finish_join("a2", a).await?;
    let version = version_at::<SyncGroupRequest>(group.step);
    let b = pair
        .start::<SyncGroupRequest>(1, "waits", version, |names| {
            group.sync_request(names, "b", second, &[])
        })
        .await?;
    group
        .sync(pair, "assigns", "a2", second, &["a2", "b"])
        .await?;
    pair.finish(b).await?;
    Ok(second)
}

async fn follower_returns(pair: &mut Pair, group: &Classic, generation: i32) -> Result<()> {
    pair.join("the follower returns", group.step, "b2", |names| {
        join_as(group, names, "", FOLLOWER)
    })
    .await?;
    let case = "the follower returned";
    group.heartbeat(pair, case, "a2", generation).await?;
    all_apis(pair, group, case, ("b2", FOLLOWER), generation).await?;
    pair.join("the leader returns to two", group.step, "a3", |names| {
        join_as(group, names, "", LEADER)
    })
    .await?;
    all_apis(
        pair,
        group,
        "the leader returned to two",
        ("a3", LEADER),
        generation,
    )
    .await?;
    group.describe(pair, "both returned").await
}

async fn leaves(pair: &mut Pair, group: &Classic) -> Result<()> {
    let version = version_at::<LeaveGroupRequest>(group.step);
    let id = group.id.as_str();
    pair.compare("fenced and unknown instances", version, |names| {
        let fenced = (names.member("b"), Some(FOLLOWER));
        let unknown = (names.member("b2"), Some("nobody"));
        leave(version, id, &[fenced, unknown])
    })
    .await?;
    pair.compare("by the instance alone", version, |_| {
        leave(version, id, &[("".into(), Some(FOLLOWER))])
    })
    .await?;
    pair.compare("by the instance alone, again", version, |_| {
        leave(version, id, &[("".into(), Some(FOLLOWER))])
    })
    .await?;
    pair.compare("by both", version, |names| {
        leave(version, id, &[(names.member("a3"), Some(LEADER))])
    })
    .await?;
    group.describe(pair, "static members left").await
}

/// The place is taken while the old member waits for others.
async fn replaced_while_joining(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "static-joining", TOPIC, step).await?;
    let first = group.enter(pair, "a").await?;
    group.sync(pair, "dynamic", "a", first, &["a"]).await?;
    let b = pair
        .start::<JoinGroupRequest>(1, "is replaced while it waits", step, |names| {
            join_as(&group, names, "", FOLLOWER)
        })
        .await?;
    pair.wait_for_rebalance(&group.id, "a", first).await?;
    let b2 = pair
        .start::<JoinGroupRequest>(1, "replaces one that waits", step, |names| {
            join_as(&group, names, "", FOLLOWER)
        })
        .await?;
    pair.finish_join("b", b).await?;
    let a = pair
        .start::<JoinGroupRequest>(1, "the first again", step, |names| {
            group.join_request(names, "a")
        })
        .await?;
    pair.finish_join("b2", b2).await?;
    pair.finish_join("a", a).await?;
    group.describe(pair, "one of each kind").await
}

/// A static member returns with something new to say.
async fn new_subscription(pair: &mut Pair, step: i16) -> Result<()> {
    let group = Classic::new(pair, "static-new", TOPIC, step).await?;
    let first = pair
        .join("static", step, "a", |names| {
            join_as(&group, names, "", LEADER)
        })
        .await?;
    group.sync(pair, "static", "a", first, &["a"]).await?;
    pair.join("returns with another topic", step, "a2", |names| {
        let topic = "static-members-other";
        join_as(&group, names, "", LEADER)
            .with_protocols(protocols(&["range", "roundrobin"], topic))
    })
    .await?;
    group.describe(pair, "returned with another topic").await?;
    pair.join("returns with another protocol", step, "a3", |names| {
        join_as(&group, names, "", LEADER).with_protocols(protocols(&["roundrobin"], TOPIC))
    })
    .await?;
    group.describe(pair, "returned with another protocol").await
}
