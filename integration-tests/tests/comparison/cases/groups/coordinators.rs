//! Which node coordinates a group, and what the others say to its members.

use anyhow::Result;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, DescribeGroupsRequest,
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};

use super::super::versions;
use crate::engine::Pair;
use crate::requests::{
    beat, commit, describe_consumer_groups, describe_groups, fetch_committed, find_coordinator,
    full_beat, heartbeat, join, leave, sync, text,
};

const TOPIC: &str = "coordinators";
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const TRANSACTIONAL_ID: &str = "t";
const SHARE: i8 = 2;
/// Group, topic id and partition.
const SHARE_KEY: &str = "g:AAAAAAAAQACAAAAAAAAAAQ:0";
const SEVERAL_KEYS: i16 = 4;
/// Until then there are only groups.
const KEY_TYPES: i16 = 1;
const FETCH_ALL: i16 = 2;
const OTHER_NODE: i32 = 2;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1]]).await?;
    let group = pair.group("coordinators").await?;
    let other = pair.group("coordinators").await?;
    pair.real_coordinator(TRANSACTION, TRANSACTIONAL_ID).await?;
    pair.real_coordinator(SHARE, SHARE_KEY).await?;
    for version in versions::<FindCoordinatorRequest>() {
        for node in [1, OTHER_NODE] {
            pair.compare_at(node, "a group", version, |_| {
                find_coordinator(version, GROUP, &group)
            })
            .await?;
        }
        if version >= KEY_TYPES {
            for key_type in [2, 3, i8::MAX, -1] {
                pair.compare(format!("key type {key_type}"), version, |_| {
                    find_coordinator(version, key_type, &group)
                })
                .await?;
            }
            for (case, key_type, key) in [
                ("a transaction", TRANSACTION, TRANSACTIONAL_ID),
                ("a share group", SHARE, SHARE_KEY),
                (
                    "a share group without a partition",
                    SHARE,
                    "g:AAAAAAAAQACAAAAAAAAAAQ",
                ),
                ("a share group without an id", SHARE, "g:t:0"),
                (
                    "a share group without a name",
                    SHARE,
                    ":AAAAAAAAQACAAAAAAAAAAQ:0",
                ),
                (
                    "a share group, no number",
                    SHARE,
                    "g:AAAAAAAAQACAAAAAAAAAAQ:x",
                ),
            ] {
                pair.compare(case, version, |_| find_coordinator(version, key_type, key))
                    .await?;
            }
        }
        if version >= SEVERAL_KEYS {
            pair.compare("several", version, |_| {
                find_coordinator(version, GROUP, &group).with_coordinator_keys(vec![
                    text(&other),
                    text(&group),
                    text(&other),
                ])
            })
            .await?;
            pair.compare("none", version, |_| {
                find_coordinator(version, GROUP, &group).with_coordinator_keys(Vec::new())
            })
            .await?;
        }
    }
    not_here(pair, &group).await
}

/// Every request about a group, sent to a node that does not coordinate it.
async fn not_here(pair: &mut Pair, group: &str) -> Result<()> {
    let (node, case, at) = (OTHER_NODE, "not the coordinator", (TOPIC, 0, 1));
    for version in versions::<JoinGroupRequest>() {
        pair.compare_at(node, case, version, |_| {
            join(version, group, TOPIC, "".into())
        })
        .await?;
        pair.compare_at(node, "not the coordinator, of a member", version, |_| {
            join(version, group, TOPIC, "a".into())
        })
        .await?;
    }
    for version in versions::<SyncGroupRequest>() {
        pair.compare_at(node, case, version, |_| {
            sync(version, group, "a".into(), 1, [])
        })
        .await?;
    }
    for version in versions::<HeartbeatRequest>() {
        pair.compare_at(node, case, version, |_| heartbeat(group, "a".into(), 1))
            .await?;
    }
    for version in versions::<LeaveGroupRequest>() {
        pair.compare_at(node, case, version, |_| {
            leave(version, group, &[("a".into(), None)])
        })
        .await?;
    }
    for version in versions::<OffsetCommitRequest>() {
        pair.compare_at(node, case, version, |_| {
            commit(group, "a".into(), 1, at, "")
        })
        .await?;
        pair.compare_at(node, "not the coordinator, unknown topic", version, |_| {
            commit(group, "a".into(), 1, ("coordinators-unknown", 0, 1), "")
        })
        .await?;
    }
    for version in versions::<OffsetFetchRequest>() {
        pair.compare_at(node, case, version, |_| {
            fetch_committed(version, group, Some(&[(TOPIC, &[0])]))
        })
        .await?;
        if version >= FETCH_ALL {
            pair.compare_at(node, "not the coordinator, all", version, |_| {
                fetch_committed(version, group, None)
            })
            .await?;
        }
    }
    for version in versions::<DescribeGroupsRequest>() {
        pair.compare_at(node, case, version, |_| describe_groups(&[group]))
            .await?;
    }
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        for (case, epoch) in [(case, 1), ("not the coordinator, leaves", -1)] {
            pair.compare_at(node, case, version, |_| beat(group, "a".into(), epoch))
                .await?;
        }
        pair.compare_at(node, "not the coordinator, joins", version, |_| {
            full_beat(group, "a".into(), 0, &[TOPIC], Vec::new())
        })
        .await?;
        pair.compare_at(node, "not the coordinator, bad assignor", version, |_| {
            let joins = full_beat(group, "a".into(), 0, &[TOPIC], Vec::new());
            joins.with_server_assignor(Some(text("sticky")))
        })
        .await?;
    }
    for version in versions::<ConsumerGroupDescribeRequest>() {
        pair.compare_at(node, case, version, |_| describe_consumer_groups(&[group]))
            .await?;
    }
    Ok(())
}
