//! Requests that a classic group refuses, and none that are worse than they look.

use anyhow::Result;
use kafka_protocol::messages::{
    DescribeGroupsRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};

use super::super::versions;
use super::{Classic, MEMBER_ID_REQUIRED, STATIC_MEMBERS, STEPS};
use crate::engine::{Names, Pair};
use crate::requests::{
    commit, describe_groups, fetch_committed, fetch_committed_as, group_id, heartbeat, join, leave,
    protocols, sync, text,
};

const TOPIC: &str = "classic-errors";
const NOBODY: &str = "nobody";
/// Since when SyncGroup names the protocol, and the others say whose instance they are.
const NAMES_PROTOCOL: i16 = 5;
const HEARTBEAT_INSTANCE: i16 = 3;
const SYNC_INSTANCE: i16 = 3;
const COMMIT_INSTANCE: i16 = 7;
const LEAVE_INSTANCE: i16 = 3;
/// `DescribeGroups` can tell what one may do with the group.
const AUTHORIZED_OPERATIONS: i16 = 3;
const FETCH_ALL: i16 = 2;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1]]).await?;
    for version in STEPS {
        joins(pair, version).await?;
    }
    // a stable group of one, which none of these requests changes
    let group = Classic::new(pair, "errors", TOPIC, 9).await?;
    let generation = group.enter(pair, "a").await?;
    group.sync(pair, "a", "a", generation, &["a"]).await?;
    let id = group.id.as_str();
    for version in versions::<JoinGroupRequest>() {
        joins_of_others(pair, id, version).await?;
    }
    syncs(pair, id, generation).await?;
    heartbeats(pair, id, generation).await?;
    commits(pair, id, generation).await?;
    leaves(pair, id).await?;
    describes(pair, id).await?;
    fetches(pair, id, generation).await?;
    no_group(pair).await?;
    long_id(pair).await?;
    for version in MEMBER_ID_REQUIRED..=*STEPS.end() {
        ids_alone(pair, version).await?;
    }
    group
        .heartbeat(pair, "is still there", "a", generation)
        .await
}

/// Joins that no group would take.
async fn joins(pair: &mut Pair, version: i16) -> Result<()> {
    let group = pair.group("errors-join").await?;
    let good = |names: &Names, member| join(version, &group, TOPIC, names.member(member));
    let new = |_: &Names| join(version, &group, TOPIC, "".into());
    for timeout in [i32::MIN, -1, 0, 5_999, 1_800_001, i32::MAX] {
        let case = format!("session timeout {timeout}");
        let request = |names: &Names| new(names).with_session_timeout_ms(timeout);
        pair.compare(&case, version, request).await?;
        let request = |names: &Names| good(names, NOBODY).with_session_timeout_ms(timeout);
        pair.compare(case, version, request).await?;
    }
    let request = |names: &Names| new(names).with_group_id(group_id(""));
    pair.compare("empty group id", version, request).await?;
    let request = |names: &Names| good(names, NOBODY).with_group_id(group_id(""));
    pair.compare("empty group id, a member", version, request)
        .await?;
    let request = |names: &Names| new(names).with_protocol_type(text(""));
    pair.compare("empty protocol type", version, request)
        .await?;
    let request = |names: &Names| new(names).with_protocols(Vec::new());
    pair.compare("no protocols", version, request).await?;
    if version >= STATIC_MEMBERS {
        let instance = |instance| {
            move |names: &Names| good(names, NOBODY).with_group_instance_id(Some(text(instance)))
        };
        for (case, id) in [
            ("empty instance id", ""),
            ("a dot", "."),
            ("two dots", ".."),
            ("a blank in the instance id", "a b"),
            ("unknown instance", "nobody"),
        ] {
            pair.compare(case, version, instance(id)).await?;
        }
        let long = "i".repeat(250);
        pair.compare("long instance id", version, |names| {
            new(names).with_group_instance_id(Some(text(&long)))
        })
        .await?;
    }
    Ok(())
}

/// Joins that a group does not take whose members have other protocols.
async fn joins_of_others(pair: &mut Pair, group: &str, version: i16) -> Result<()> {
    let new = || join(version, group, TOPIC, "".into());
    pair.compare("other protocol type", version, |_| {
        new().with_protocol_type(text("connect"))
    })
    .await?;
    pair.compare("no protocol in common", version, |_| {
        new().with_protocols(protocols(&["sticky"], TOPIC))
    })
    .await?;
    pair.compare("no protocols, into a group", version, |_| {
        new().with_protocols(Vec::new())
    })
    .await?;
    pair.compare("unknown member", version, |_| {
        join(version, group, TOPIC, NOBODY.into())
    })
    .await?;
    if version >= STATIC_MEMBERS {
        pair.compare("unknown instance of an unknown member", version, |_| {
            join(version, group, TOPIC, NOBODY.into()).with_group_instance_id(Some(text(NOBODY)))
        })
        .await?;
        pair.compare("a member says that it is an instance", version, |names| {
            join(version, group, TOPIC, names.member("a"))
                .with_group_instance_id(Some(text(NOBODY)))
        })
        .await?;
    }
    Ok(())
}

async fn syncs(pair: &mut Pair, group: &str, generation: i32) -> Result<()> {
    for version in versions::<SyncGroupRequest>() {
        let good = |names: &Names, member, generation| {
            sync(version, group, names.member(member), generation, [])
        };
        for (case, member, generation) in rows(generation) {
            pair.compare(case, version, |names| good(names, member, generation))
                .await?;
        }
        let of_a = |names: &Names| good(names, "a", generation);
        if version >= SYNC_INSTANCE {
            pair.compare("unknown instance", version, |names| {
                of_a(names).with_group_instance_id(Some(text(NOBODY)))
            })
            .await?;
        }
        if version >= NAMES_PROTOCOL {
            for (case, kind, name) in [
                ("other protocol type", Some("connect"), Some("range")),
                ("other protocol", Some("consumer"), Some("sticky")),
                ("no protocol type", None, Some("range")),
                ("no protocol", Some("consumer"), None),
            ] {
                pair.compare(case, version, |names| {
                    of_a(names)
                        .with_protocol_type(kind.map(text))
                        .with_protocol_name(name.map(text))
                })
                .await?;
            }
        }
    }
    Ok(())
}

/// Members and generations that are not the group's.
fn rows(generation: i32) -> [(&'static str, &'static str, i32); 6] {
    [
        ("unknown member", NOBODY, generation),
        ("no member", "", generation),
        ("older generation", "a", generation - 1),
        ("newer generation", "a", generation + 1),
        ("negative generation", "a", -1),
        ("unknown member and generation", NOBODY, generation + 1),
    ]
}

async fn heartbeats(pair: &mut Pair, group: &str, generation: i32) -> Result<()> {
    for version in versions::<HeartbeatRequest>() {
        for (case, member, generation) in rows(generation) {
            pair.compare(case, version, |names| {
                heartbeat(group, names.member(member), generation)
            })
            .await?;
        }
        if version >= HEARTBEAT_INSTANCE {
            pair.compare("unknown instance", version, |names| {
                heartbeat(group, names.member("a"), generation)
                    .with_group_instance_id(Some(text(NOBODY)))
            })
            .await?;
        }
    }
    Ok(())
}

async fn commits(pair: &mut Pair, group: &str, generation: i32) -> Result<()> {
    let (at, fits, too_large) = ((TOPIC, 0, 7), "m".repeat(4_096), "m".repeat(4_097));
    for version in versions::<OffsetCommitRequest>() {
        for (case, member, generation) in rows(generation) {
            pair.compare(case, version, |names| {
                commit(group, names.member(member), generation, at, "")
            })
            .await?;
        }
        for (case, at, metadata) in [
            ("simple consumer", at, "simple"),
            ("largest metadata", at, fits.as_str()),
            ("too large metadata", at, too_large.as_str()),
            ("unknown topic", ("classic-errors-unknown", 0, 7), ""),
            ("unknown partition", (TOPIC, 5, 7), ""),
            ("negative partition", (TOPIC, -1, 7), ""),
            ("negative offset", (TOPIC, 0, -5), ""),
        ] {
            let (member, generation) = match case {
                "simple consumer" => ("", -1),
                _ => ("a", generation),
            };
            pair.compare(case, version, |names| {
                commit(group, names.member(member), generation, at, metadata)
            })
            .await?;
        }
        if version >= COMMIT_INSTANCE {
            pair.compare("unknown instance", version, |names| {
                commit(group, names.member("a"), generation, at, "")
                    .with_group_instance_id(Some(text(NOBODY)))
            })
            .await?;
        }
        pair.compare("of nothing", version, |names| {
            commit(group, names.member("a"), generation, at, "").with_topics(Vec::new())
        })
        .await?;
    }
    Ok(())
}

async fn leaves(pair: &mut Pair, group: &str) -> Result<()> {
    for version in versions::<LeaveGroupRequest>() {
        pair.compare("unknown member", version, |names| {
            leave(version, group, &[(names.member(NOBODY), None)])
        })
        .await?;
        pair.compare("no member", version, |_| {
            leave(version, group, &[("".into(), None)])
        })
        .await?;
        if version >= LEAVE_INSTANCE {
            pair.compare("unknown instances", version, |names| {
                let of_a = names.member("a");
                let nobody = names.member(NOBODY);
                let several = [
                    ("".into(), Some(NOBODY)),
                    (of_a, Some(NOBODY)),
                    (nobody, None),
                ];
                leave(version, group, &several)
            })
            .await?;
        }
    }
    Ok(())
}

async fn describes(pair: &mut Pair, group: &str) -> Result<()> {
    let none = pair.group("errors-no-group").await?;
    for version in versions::<DescribeGroupsRequest>() {
        pair.compare("one is, one is not", version, |_| {
            describe_groups(&[group, &none])
        })
        .await?;
        pair.compare("none", version, |_| describe_groups(&[]))
            .await?;
        if version >= AUTHORIZED_OPERATIONS {
            pair.compare("authorized operations", version, |_| {
                describe_groups(&[group, &none]).with_include_authorized_operations(true)
            })
            .await?;
        }
    }
    Ok(())
}

/// Requests that name no group.
async fn no_group(pair: &mut Pair) -> Result<()> {
    // it has a coordinator too
    let node = pair.real_coordinator(0, "").await?;
    pair.broker.move_coordinator("", node)?;
    let case = "empty group id";
    for version in versions::<SyncGroupRequest>() {
        pair.compare_at(node, case, version, |_| {
            sync(version, "", "a".into(), 1, [])
        })
        .await?;
    }
    for version in versions::<HeartbeatRequest>() {
        pair.compare_at(node, case, version, |_| heartbeat("", "a".into(), 1))
            .await?;
    }
    for version in versions::<LeaveGroupRequest>() {
        pair.compare_at(node, case, version, |_| {
            leave(version, "", &[("a".into(), None)])
        })
        .await?;
    }
    for version in versions::<DescribeGroupsRequest>() {
        pair.compare_at(node, case, version, |_| describe_groups(&[""]))
            .await?;
    }
    for version in versions::<OffsetCommitRequest>() {
        pair.compare_at(node, case, version, |_| {
            commit("", "a".into(), 1, (TOPIC, 0, 1), "")
        })
        .await?;
        pair.compare_at(node, "empty group id, simple", version, |_| {
            commit("", "".into(), -1, (TOPIC, 0, 1), "")
        })
        .await?;
    }
    for version in versions::<OffsetFetchRequest>() {
        pair.compare_at(node, case, version, |_| {
            fetch_committed(version, "", Some(&[(TOPIC, &[0])]))
        })
        .await?;
        if version >= FETCH_ALL {
            pair.compare_at(node, "empty group id, all", version, |_| {
                fetch_committed(version, "", None)
            })
            .await?;
        }
    }
    Ok(())
}

/// What members of classic groups say of themselves when they fetch offsets.
async fn fetches(pair: &mut Pair, group: &str, generation: i32) -> Result<()> {
    for version in versions::<OffsetFetchRequest>() {
        for (case, member, epoch) in [
            ("a member", Some("a"), generation),
            ("older generation", Some("a"), generation - 1),
            ("unknown member", Some(NOBODY), generation),
            ("nobody", None, -1),
        ] {
            pair.compare(case, version, |names| {
                let member = member.map(|member| names.member(member));
                fetch_committed_as(version, group, Some(&[(TOPIC, &[0])]), member, epoch)
            })
            .await?;
        }
    }
    Ok(())
}

/// Groups may have long names.
async fn long_id(pair: &mut Pair) -> Result<()> {
    let group = pair.group(&"g".repeat(2_000)).await?;
    for version in versions::<JoinGroupRequest>() {
        pair.compare("a long group id", version, |_| {
            join(version, &group, TOPIC, NOBODY.into())
        })
        .await?;
    }
    for version in versions::<OffsetCommitRequest>() {
        pair.compare("a long group id", version, |_| {
            commit(&group, "".into(), -1, (TOPIC, 0, 1), "")
        })
        .await?;
    }
    Ok(())
}

/// Members that were told an id and have not joined with it.
async fn ids_alone(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Classic::new(pair, "errors-ids", TOPIC, version).await?;
    let new = |names: &Names| group.join_request(names, "");
    pair.join("is told its id", version, "p", new).await?;
    group.leave(pair, "has an id alone", &["p"]).await?;
    group.leave(pair, "had an id alone", &["p"]).await?;
    group.join(pair, "had an id alone", "p").await?;
    if version >= STATIC_MEMBERS {
        pair.join("is told its id", version, "q", new).await?;
        pair.compare("with an instance id later", version, |names| {
            group
                .join_request(names, "q")
                .with_group_instance_id(Some(text("instance")))
        })
        .await?;
        group
            .leave(pair, "with an instance id later", &["q"])
            .await?;
    }
    pair.join("is told its id", version, "r", new).await?;
    let generation = group.enter(pair, "s").await?;
    group
        .heartbeat(pair, "another one has an id", "s", generation)
        .await?;
    group
        .heartbeat(pair, "has an id alone", "r", generation)
        .await?;
    group
        .sync(pair, "another one has an id", "s", generation, &["s"])
        .await?;
    group
        .leave(pair, "has an id alone, into a stable group", &["r"])
        .await?;
    group
        .heartbeat(pair, "who had an id is gone", "s", generation)
        .await
}
