//! Offsets that consumers commit that take part in no group, and who asks for them.

use anyhow::Result;
use kafka_protocol::messages::{DescribeGroupsRequest, OffsetCommitRequest, OffsetFetchRequest};

use super::super::versions;
use crate::engine::Pair;
use crate::requests::{asked_group, commit, describe_groups, fetch_committed, fetch_committed_as};

const TOPIC: &str = "committed";
const OTHER: &str = "committed-other";
const UNKNOWN: &str = "committed-unknown";
/// Since when a commit has the leader's epoch, up to when one has a retention, since when a fetch can ask for all, for what is stable
/// (KIP-447), and several groups (KIP-709).
const LEADER_EPOCH: i16 = 6;
const RETENTION: i16 = 4;
const ALL: i16 = 2;
const STABLE: i16 = 7;
const SEVERAL_GROUPS: i16 = 8;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for topic in [TOPIC, OTHER] {
        pair.create(topic, &[&[1], &[1]]).await?;
    }
    for version in versions::<OffsetCommitRequest>() {
        commits(pair, version).await?;
    }
    let full = pair.group("committed-full").await?;
    let none = pair.group("committed-none").await?;
    for (offset, topic, partition) in [(1, TOPIC, 0), (2, TOPIC, 1), (3, OTHER, 1)] {
        pair.compare("to be fetched", 8, |_| {
            commit(&full, "".into(), -1, (topic, partition, offset), "m")
        })
        .await?;
    }
    for version in versions::<OffsetFetchRequest>() {
        fetches(pair, version, &full, &none).await?;
    }
    for version in versions::<DescribeGroupsRequest>() {
        pair.compare("offsets alone", version, |_| describe_groups(&[&full]))
            .await?;
    }
    Ok(())
}

async fn commits(pair: &mut Pair, version: i16) -> Result<()> {
    let group = pair.group("committed").await?;
    let of = |member: &'static str, generation| {
        let group = &group;
        move |at, metadata: &str| commit(group, member.into(), generation, at, metadata)
    };
    let simple = of("", -1);
    let at = (TOPIC, 0, 10);
    for (case, member, generation) in [
        ("generation of no group", "", 0),
        ("member of no group", "nobody", 0),
        ("member of no group, no generation", "nobody", -1),
    ] {
        pair.compare(case, version, |_| of(member, generation)(at, ""))
            .await?;
        fetch(pair, version, &group).await?;
    }
    for (case, at, metadata) in [
        ("simple", at, "m"),
        ("without metadata", (TOPIC, 1, 11), ""),
        ("unknown topic", (UNKNOWN, 0, 1), ""),
        ("unknown partition", (TOPIC, 7, 1), ""),
        ("offset 0", (TOPIC, 0, 0), ""),
        ("negative offset", (TOPIC, 0, -1), "n"),
        ("largest offset", (TOPIC, 1, i64::MAX), "n"),
    ] {
        pair.compare(case, version, |_| simple(at, metadata))
            .await?;
        fetch(pair, version, &group).await?;
    }
    pair.compare("generation of an empty group", version, |_| {
        of("", 1)(at, "")
    })
    .await?;
    pair.compare("member of an empty group", version, |_| {
        of("nobody", 1)(at, "")
    })
    .await?;
    pair.compare("null metadata", version, |_| {
        let mut request = simple(at, "");
        for topic in &mut request.topics {
            for partition in &mut topic.partitions {
                partition.committed_metadata = None;
            }
        }
        request
    })
    .await?;
    if version >= LEADER_EPOCH {
        for epoch in [-2, 0, 5] {
            pair.compare(format!("leader epoch {epoch}"), version, |_| {
                let mut request = simple(at, "");
                for topic in &mut request.topics {
                    for partition in &mut topic.partitions {
                        partition.committed_leader_epoch = epoch;
                    }
                }
                request
            })
            .await?;
            fetch(pair, version, &group).await?;
        }
    }
    if version <= RETENTION {
        pair.compare("retention", version, |_| {
            simple(at, "").with_retention_time_ms(1_000)
        })
        .await?;
    }
    pair.compare("good and bad ones", version, |_| {
        let mut request = simple((TOPIC, 1, 20), "");
        for at in [(UNKNOWN, 0, 1), (OTHER, 9, 1), (OTHER, 0, 21)] {
            request.topics.extend(simple(at, "").topics);
        }
        request
    })
    .await?;
    pair.compare("one twice", version, |_| {
        let mut request = simple((TOPIC, 1, 30), "");
        request.topics.extend(simple((TOPIC, 1, 31), "").topics);
        request
    })
    .await?;
    fetch(pair, version, &group).await
}

/// Asks for all that a group has, after a commit of a version.
async fn fetch(pair: &mut Pair, commit: i16, group: &str) -> Result<()> {
    let version = commit.max(ALL);
    let case = format!("after a commit of version {commit}");
    pair.compare(case, version, |_| fetch_committed(version, group, None))
        .await
        .map(drop)
}

async fn fetches(pair: &mut Pair, version: i16, full: &str, none: &str) -> Result<()> {
    let named: [(&str, &[i32]); 4] = [
        (TOPIC, &[0, 1, 9]),
        (OTHER, &[0, 1]),
        (UNKNOWN, &[0]),
        ("not a topic!", &[-1]),
    ];
    for (case, group) in [("a group", full), ("no group", none)] {
        pair.compare(case, version, |_| {
            fetch_committed(version, group, Some(&named))
        })
        .await?;
        let nothing = format!("{case}: no topics");
        pair.compare(nothing, version, |_| {
            fetch_committed(version, group, Some(&[]))
        })
        .await?;
        if version >= ALL {
            let all = format!("{case}: all");
            pair.compare(all, version, |_| fetch_committed(version, group, None))
                .await?;
        }
        if version >= STABLE {
            for topics in [None, Some(named.as_slice())] {
                let stable = format!("{case}: what is stable");
                pair.compare(stable, version, |_| {
                    fetch_committed(version, group, topics).with_require_stable(true)
                })
                .await?;
            }
        }
        if version > SEVERAL_GROUPS {
            for (who, member, epoch) in [
                ("unknown member", Some("nobody"), 1),
                ("unknown member without an epoch", Some("nobody"), -1),
                ("no member, but an epoch", None, 1),
                ("empty member", Some(""), -1),
            ] {
                pair.compare(format!("{case}: {who}"), version, |_| {
                    let member = member.map(Into::into);
                    fetch_committed_as(version, group, Some(&named), member, epoch)
                })
                .await?;
            }
        }
    }
    pair.compare("one twice", version, |_| {
        fetch_committed(version, full, Some(&[(TOPIC, &[0, 0]), (TOPIC, &[0])]))
    })
    .await?;
    if version >= SEVERAL_GROUPS {
        pair.compare("several groups", version, |_| {
            let mut request = fetch_committed(version, full, None);
            request.groups.push(asked_group(none, Some(&named)));
            request
        })
        .await?;
        pair.compare("no groups", version, |_| {
            let mut request = fetch_committed(version, full, None);
            request.groups.clear();
            request
        })
        .await?;
    }
    Ok(())
}
