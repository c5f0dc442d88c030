//! One member's way through a group of KIP-848.

use anyhow::{Context, Result};
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, DescribeGroupsRequest,
    HeartbeatRequest, LeaveGroupRequest, ListGroupsRequest, OffsetCommitRequest,
    OffsetFetchRequest, SyncGroupRequest,
};

use super::super::versions;
use super::Consumers;
use crate::engine::{Names, Pair};
use crate::requests::{
    commit, describe_consumer_groups, describe_groups, fetch_committed, fetch_committed_as,
    full_beat, heartbeat, leave, sync, text,
};

const TOPIC: &str = "consumer-groups";
const ALL: [i32; 4] = [0, 1, 2, 3];
const NOBODY: &str = "nobody";
/// Epochs that say that a member leaves.
const LEAVE: i32 = -1;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1], &[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        id_of_the_broker(pair, version).await?;
        let group = Consumers::new(pair, "consumers", TOPIC, version).await?;
        before(pair, &group).await?;
        life(pair, &group).await?;
        after(pair, &group).await?;
    }
    let group = Consumers::new(pair, "consumers-asked", TOPIC, 1).await?;
    let epoch = group.join(pair, "is asked about", "a").await?;
    offsets(pair, &group.id, epoch).await?;
    classic_requests(pair, &group.id).await?;
    about(pair, &group.id).await?;
    for version in versions::<LeaveGroupRequest>() {
        taken_out(pair, version).await?;
    }
    Ok(())
}

/// In version 0 the broker gives a member its id if it has none, later it is refused (KIP-1082).
async fn id_of_the_broker(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumers-ids", TOPIC, version).await?;
    let answers = pair
        .compare("no member id", version, |_| {
            full_beat(&group.id, "".into(), 0, &[TOPIC], Vec::new())
        })
        .await?;
    for (side, answer) in [
        (&mut pair.real, answers.real),
        (&mut pair.ours, answers.ours),
    ] {
        let answer = answer.context("no answer")?;
        if let Some(id) = answer.member_id {
            side.names.set_member("named", &id);
        }
    }
    if version == 0 {
        group
            .beat(pair, "with the broker's id", ("named", 1), Some(&ALL))
            .await?;
        group.describe(pair, "with the broker's id").await?;
        group
            .beat(pair, "with the broker's id, leaves", ("named", LEAVE), None)
            .await?;
    }
    Ok(())
}

/// Requests to a group that there is not.
async fn before(pair: &mut Pair, group: &Consumers) -> Result<()> {
    let case = "to no group";
    group.describe(pair, case).await?;
    group.beat(pair, case, (NOBODY, 1), None).await?;
    group.beat(pair, case, (NOBODY, LEAVE), None).await?;
    group.commit(pair, case, (NOBODY, 1), 0).await?;
    group.describe(pair, "still no group").await
}

async fn life(pair: &mut Pair, group: &Consumers) -> Result<()> {
    let first = group.join(pair, "joins", "a").await?;
    group.describe(pair, "joined").await?;
    group.beat(pair, "nothing new", ("a", first), None).await?;
    group
        .beat(pair, "owns all", ("a", first), Some(&ALL))
        .await?;
    group
        .beat(pair, "owns some", ("a", first), Some(&[1, 2]))
        .await?;
    group
        .beat(pair, "owns none", ("a", first), Some(&[]))
        .await?;
    group
        .beat(pair, "owns what there is not", ("a", first), Some(&[9]))
        .await?;
    group
        .full(pair, "full, same epoch", ("a", first), &[TOPIC], &ALL)
        .await?;
    group
        .full(pair, "full, owns none", ("a", first), &[TOPIC], &[])
        .await?;
    group.describe(pair, "stable").await?;
    group.commit(pair, "stable", ("a", first), 0).await?;
    group
        .commit(pair, "newer epoch", ("a", first + 1), 0)
        .await?;
    group
        .commit(pair, "older epoch", ("a", first - 1), 0)
        .await?;
    group.commit(pair, "no epoch", ("a", -1), 0).await?;
    group
        .commit(pair, "simple, into a group", ("", -1), 0)
        .await?;
    group
        .commit(pair, "unknown member", (NOBODY, first), 0)
        .await?;
    group
        .commit(pair, "unknown partition", ("a", first), 8)
        .await?;
    group
        .beat(pair, "unknown member", (NOBODY, first), None)
        .await?;
    group
        .beat(pair, "unknown member leaves", (NOBODY, LEAVE), None)
        .await?;
    group
        .beat(pair, "newer epoch", ("a", first + 1), None)
        .await?;
    group
        .beat(pair, "epoch before that", ("a", first - 1), None)
        .await?;
    let second = group.join(pair, "joins again", "a").await?;
    group
        .beat(pair, "joined again", ("a", second), None)
        .await?;
    // another subscription takes the epoch on
    let third = group
        .full(pair, "subscribes to nothing", ("a", second), &[], &ALL)
        .await?;
    group.describe(pair, "subscribed to nothing").await?;
    let third = group
        .beat(pair, "gave up some", ("a", third), Some(&[0]))
        .await?;
    let third = group
        .beat(pair, "gave up all", ("a", third), Some(&[]))
        .await?;
    group
        .beat(pair, "subscribed to nothing", ("a", third), None)
        .await?;
    group.describe(pair, "gave up all").await?;
    let fourth = group
        .full(pair, "subscribes again", ("a", third), &[TOPIC], &[])
        .await?;
    let lost = "the answer was lost";
    group.beat(pair, lost, ("a", third), Some(&[])).await?;
    group
        .beat(
            pair,
            "the answer was lost, owns what it was to get",
            ("a", third),
            Some(&ALL),
        )
        .await?;
    group
        .beat(pair, "an old epoch, owning more", ("a", third), Some(&[7]))
        .await?;
    group
        .beat(
            pair,
            "an old epoch, owning nothing said",
            ("a", third),
            None,
        )
        .await?;
    group
        .beat(pair, "two epochs ago", ("a", third - 1), Some(&[]))
        .await?;
    group
        .commit(pair, "epoch before it had it", ("a", third), 1)
        .await?;
    group.describe(pair, "subscribed again").await?;
    group.beat(pair, "leaves", ("a", LEAVE), None).await?;
    group.beat(pair, "leaves again", ("a", LEAVE), None).await?;
    group
        .beat(pair, "left", ("a", fourth), None)
        .await
        .map(drop)
}

/// Requests to a group that everybody left.
async fn after(pair: &mut Pair, group: &Consumers) -> Result<()> {
    let case = "has left";
    group.describe(pair, case).await?;
    group.commit(pair, case, ("a", 4), 0).await?;
    group
        .commit(pair, "a member without an epoch", ("a", -1), 0)
        .await?;
    group.commit(pair, "a simple consumer", ("", -1), 0).await?;
    let epoch = group.join(pair, "the next one", "b").await?;
    group.beat(pair, "the next one", ("b", epoch), None).await?;
    group.describe(pair, "the next one").await
}

/// Who asks what a live group has committed, and who commits, in every version.
async fn offsets(pair: &mut Pair, group: &str, epoch: i32) -> Result<()> {
    for version in versions::<OffsetCommitRequest>() {
        for (case, member, epoch) in [
            ("a member", "a", epoch),
            ("no epoch", "a", -1),
            ("older epoch", "a", epoch - 1),
            ("newer epoch", "a", epoch + 1),
            ("unknown member", NOBODY, epoch),
            ("simple", "", -1),
        ] {
            pair.compare(case, version, |_| {
                commit(group, member.into(), epoch, (TOPIC, 0, 3), "m")
            })
            .await?;
        }
    }
    for version in versions::<OffsetFetchRequest>() {
        for (case, member, epoch) in [
            ("nobody", None, -1),
            ("a member", Some("a"), epoch),
            ("no epoch", Some("a"), -1),
            ("older epoch", Some("a"), epoch - 1),
            ("newer epoch", Some("a"), epoch + 1),
            ("unknown member", Some(NOBODY), epoch),
            ("unknown member, no epoch", Some(NOBODY), -1),
            ("empty member", Some(""), epoch),
            ("empty member, no epoch", Some(""), -1),
            ("an epoch alone", None, epoch),
        ] {
            pair.compare(case, version, |_| {
                let topics: [(&str, &[i32]); 1] = [(TOPIC, &[0, 1])];
                fetch_committed_as(version, group, Some(&topics), member.map(Into::into), epoch)
            })
            .await?;
        }
        if version >= 2 {
            pair.compare("all", version, |_| fetch_committed(version, group, None))
                .await?;
        }
    }
    Ok(())
}

/// Requests of the classic protocol about a member of the other one.
async fn classic_requests(pair: &mut Pair, group: &str) -> Result<()> {
    let case = "of the classic protocol";
    for version in versions::<SyncGroupRequest>() {
        pair.compare(case, version, |_| sync(version, group, "a".into(), 1, []))
            .await?;
    }
    for version in versions::<HeartbeatRequest>() {
        pair.compare(case, version, |_| heartbeat(group, "a".into(), 1))
            .await?;
    }
    for version in versions::<LeaveGroupRequest>() {
        pair.compare(case, version, |_| {
            leave(version, group, &[(NOBODY.into(), None)])
        })
        .await?;
    }
    for version in versions::<DescribeGroupsRequest>() {
        pair.compare(case, version, |_| describe_groups(&[group]))
            .await?;
    }
    Ok(())
}

/// Descriptions and lists.
async fn about(pair: &mut Pair, group: &str) -> Result<()> {
    for version in versions::<ConsumerGroupDescribeRequest>() {
        let none = pair.group("consumers-none").await?;
        for asked in [false, true] {
            let case = format!("authorized operations {asked}");
            pair.compare(case, version, |_| {
                describe_consumer_groups(&[group, &none]).with_include_authorized_operations(asked)
            })
            .await?;
        }
        pair.compare("no groups", version, |_| describe_consumer_groups(&[]))
            .await?;
        pair.compare("empty group id", version, |_| {
            describe_consumer_groups(&[""])
        })
        .await?;
    }
    for version in versions::<ListGroupsRequest>() {
        pair.compare("all", version, |_| ListGroupsRequest::default())
            .await?;
        if version >= 5 {
            for name in ["consumer", "classic"] {
                pair.compare(format!("of the type {name}"), version, |_| {
                    ListGroupsRequest::default().with_types_filter(vec![text(name)])
                })
                .await?;
            }
        }
    }
    Ok(())
}

/// Administrators take members out with requests of the classic protocol.
async fn taken_out(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumers-taken-out", TOPIC, 1).await?;
    for member in ["a", "b"] {
        group.join(pair, "will be taken out", member).await?;
    }
    for (member, instance) in [("c", "i"), ("d", "j")] {
        let request = |names: &Names| {
            full_beat(&group.id, names.member(member), 0, &[TOPIC], Vec::new())
                .with_instance_id(Some(text(instance)))
        };
        group.send(pair, "will be taken out", request).await?;
    }
    pair.compare("one", version, |_| {
        leave(version, &group.id, &[("a".into(), None)])
    })
    .await?;
    group.describe(pair, "one was taken out").await?;
    if version >= 3 {
        let several = [
            ("b".into(), None),
            (NOBODY.into(), None),
            ("b".into(), Some("i")),
            ("".into(), Some("i")),
            ("".into(), Some("k")),
            ("d".into(), Some("j")),
            ("".into(), None),
        ];
        pair.compare("several", version, |_| leave(version, &group.id, &several))
            .await?;
        group.describe(pair, "several were taken out").await?;
    }
    group
        .beat(pair, "was taken out", ("a", 2), None)
        .await
        .map(drop)
}
