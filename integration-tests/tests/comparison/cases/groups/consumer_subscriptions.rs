//! What members of groups of KIP-848 subscribe to, by names and patterns, and how it is assigned.

use anyhow::Result;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::super::versions;
use super::{Classic, Consumers};
use crate::engine::{Names, Pair};
use crate::requests::{beat, full_beat, text};

const TOPIC: &str = "consumer-subscriptions";
const SECOND: &str = "consumer-subscriptions-2";
const UNKNOWN: &str = "consumer-subscriptions-unknown";
/// Since then there are patterns.
const PATTERNS: i16 = 1;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1], &[1], &[1]]).await?;
    pair.create(SECOND, &[&[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        topics(pair, version).await?;
        assignors(pair, version).await?;
        others(pair, version).await?;
        ranges(pair, version).await?;
    }
    patterns(pair).await?;
    topics_come_and_go(pair).await
}

async fn topics(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-topics", TOPIC, version).await?;
    let one = group.full(pair, "one", ("a", 0), &[TOPIC], &[]).await?;
    let two = group
        .full(pair, "two", ("a", one), &[TOPIC, SECOND], &[0, 1, 2, 3])
        .await?;
    group
        .full(
            pair,
            "two, in another order",
            ("a", two),
            &[SECOND, TOPIC],
            &[0, 1, 2, 3],
        )
        .await?;
    group.describe(pair, "two").await?;
    let none = group
        .full(
            pair,
            "and one that there is not",
            ("a", two),
            &[TOPIC, SECOND, UNKNOWN],
            &[0],
        )
        .await?;
    group.describe(pair, "and one that there is not").await?;
    let request =
        |names: &Names| beat(&group.id, names.member("a"), none).with_rack_id(Some(text("rack")));
    let rack = group.send(pair, "a rack", request).await?;
    let request =
        |names: &Names| beat(&group.id, names.member("a"), rack).with_rebalance_timeout_ms(1_000);
    let timeout = group
        .send(pair, "another rebalance timeout", request)
        .await?;
    group.describe(pair, "a rack").await?;
    let request = |names: &Names| {
        let topics = vec![text(UNKNOWN).into()];
        beat(&group.id, names.member("a"), timeout).with_subscribed_topic_names(Some(topics))
    };
    let gone = group
        .send(pair, "only one that there is not", request)
        .await?;
    group
        .beat(pair, "only one that there is not", ("a", gone), Some(&[]))
        .await?;
    group.describe(pair, "only one that there is not").await
}

async fn assignors(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-assignors", TOPIC, version).await?;
    let wants = |member: &'static str, epoch, assignor| {
        let id = group.id.clone();
        move |names: &Names| {
            beat(&id, names.member(member), epoch).with_server_assignor(Some(text(assignor)))
        }
    };
    let a = group.join(pair, "by default", "a").await?;
    group.describe(pair, "by default").await?;
    let a = group
        .send(pair, "the default by name", wants("a", a, "uniform"))
        .await?;
    group.describe(pair, "the default by name").await?;
    let a = group.send(pair, "range", wants("a", a, "range")).await?;
    group.describe(pair, "range").await?;
    let a = group
        .send(pair, "range again", wants("a", a, "range"))
        .await?;
    let b = group.join(pair, "one without a wish", "b").await?;
    group.describe(pair, "one without a wish").await?;
    group
        .send(pair, "one for each", wants("b", b, "uniform"))
        .await?;
    group.describe(pair, "one for each").await?;
    group
        .send(pair, "both the default", wants("a", a, "uniform"))
        .await?;
    group.describe(pair, "both the default").await
}

/// Members of different subscriptions.
async fn others(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-others", TOPIC, version).await?;
    let a = group
        .full(pair, "one topic", ("a", 0), &[TOPIC], &[])
        .await?;
    let b = group
        .full(pair, "the other topic", ("b", 0), &[SECOND], &[])
        .await?;
    group.beat(pair, "one topic", ("a", a), None).await?;
    group.beat(pair, "the other topic", ("b", b), None).await?;
    group.describe(pair, "one topic each").await?;
    // nobody has to give anything up
    let c = group.full(pair, "no topic", ("c", 0), &[], &[]).await?;
    group.beat(pair, "no topic", ("c", c), None).await?;
    group
        .beat(pair, "beside one without a topic", ("a", a), None)
        .await?;
    group.describe(pair, "beside one without a topic").await
}

/// Runs of partitions of two topics, for members that consume one or both.
async fn ranges(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-ranges", TOPIC, version).await?;
    for (member, topics) in [
        ("c", &[TOPIC, SECOND] as &[&str]),
        ("a", &[TOPIC]),
        ("d", &[SECOND]),
        ("b", &[SECOND, TOPIC]),
    ] {
        let case = format!("range, {member} joins");
        let request = |names: &Names| {
            full_beat(&group.id, names.member(member), 0, topics, Vec::new())
                .with_server_assignor(Some(text("range")))
        };
        group.send(pair, &case, request).await?;
        group.describe(pair, &case).await?;
    }
    let request = |names: &Names| {
        full_beat(&group.id, names.member("z"), 0, &[TOPIC], Vec::new())
            .with_instance_id(Some(text("instance")))
    };
    group
        .send(pair, "range, a static one joins", request)
        .await?;
    group.describe(pair, "range, a static one joins").await
}

/// Patterns have to fit whole names. Kafka looks them up in the background, so what comes of them is compared when it is there.
async fn patterns(pair: &mut Pair) -> Result<()> {
    for (case, pattern) in [
        ("a pattern of nothing", "consumer-no-subscriptions.*"),
        ("a pattern of a part of the name", "consumer-sub"),
        ("a bad pattern", "consumer-(subscriptions"),
        ("a pattern that looks ahead", "(?=consumer).*"),
        ("a pattern that refers back", "(c)\\1"),
        ("a bad repetition", "*"),
        ("a pattern that closes more than it opens", "consumer)|(x"),
        ("an empty pattern alone", ""),
    ] {
        let group = Consumers::new(pair, "consumer-patterns", TOPIC, PATTERNS).await?;
        pair.compare(case, PATTERNS, |_| by_pattern(&group, "a", pattern))
            .await?;
        group.describe(pair, case).await?;
    }
    let group = Consumers::new(pair, "consumer-patterns", TOPIC, PATTERNS).await?;
    pair.compare("names and an empty pattern", PATTERNS, |_| {
        full_beat(&group.id, "a".into(), 0, &[TOPIC], Vec::new())
            .with_subscribed_topic_regex(Some(text("")))
    })
    .await?;
    group.describe(pair, "names and an empty pattern").await?;
    refused_later(pair).await?;
    looked_up(pair).await
}

/// A bad pattern is not the first thing that is wrong.
async fn refused_later(pair: &mut Pair) -> Result<()> {
    let group = Consumers::new(pair, "consumer-patterns", TOPIC, PATTERNS).await?;
    let bad = |member: &str, epoch| {
        beat(&group.id, text(member), epoch).with_subscribed_topic_regex(Some(text("(")))
    };
    pair.compare("a bad pattern, to no group", PATTERNS, |_| bad("a", 1))
        .await?;
    let epoch = group.join(pair, "will have a bad pattern", "a").await?;
    for (case, member, epoch) in [
        ("a bad pattern later", "a", epoch),
        ("a bad pattern of an old epoch", "a", epoch - 1),
        ("a bad pattern of a new epoch", "a", epoch + 1),
        ("a bad pattern of an unknown member", "nobody", epoch),
        ("a bad pattern of who leaves", "a", -1),
    ] {
        pair.compare(case, PATTERNS, |_| bad(member, epoch)).await?;
    }
    let group = Classic::with_offsets(pair, "consumer-patterns", TOPIC, 9).await?;
    let into = |member: &str| {
        full_beat(&group.id, text(member), 0, &[], Vec::new())
            .with_subscribed_topic_regex(Some(text("(")))
    };
    pair.compare(
        "a bad pattern into an empty classic group",
        PATTERNS,
        |_| into("a"),
    )
    .await?;
    group
        .describe(pair, "a bad pattern into an empty classic group")
        .await?;
    group.enter(pair, "b").await?;
    pair.compare("a bad pattern into a classic group", PATTERNS, |_| {
        into("a")
    })
    .await
    .map(drop)
}

/// A member that subscribes by nothing but a pattern.
fn by_pattern(group: &Consumers, member: &str, pattern: &str) -> ConsumerGroupHeartbeatRequest {
    full_beat(&group.id, text(member), 0, &[], Vec::new())
        .with_subscribed_topic_regex(Some(text(pattern)))
        .with_subscribed_topic_names(None)
}

async fn looked_up(pair: &mut Pair) -> Result<()> {
    let pattern = "consumer-subscription(s)?";
    let group = Consumers::new(pair, "consumer-patterns", TOPIC, PATTERNS).await?;
    pair.compare("a pattern is looked up", PATTERNS, |_| {
        by_pattern(&group, "a", pattern)
    })
    .await?;
    pair.wait_for_epoch(&group.id, "a", (1, 2)).await?;
    group
        .beat(pair, "a pattern was looked up", ("a", 2), None)
        .await?;
    group.describe(pair, "a pattern was looked up").await?;
    // which is known then
    pair.compare("the same pattern", PATTERNS, |_| {
        by_pattern(&group, "b", pattern)
    })
    .await?;
    group.describe(pair, "the same pattern").await?;
    let request = |_: &Names| {
        beat(&group.id, "b".into(), 3)
            .with_subscribed_topic_regex(Some(text("")))
            .with_subscribed_topic_names(Some(Vec::new()))
    };
    group.send(pair, "no pattern any more", request).await?;
    group.describe(pair, "no pattern any more").await
}

/// Topics that come and go while members subscribe to them.
async fn topics_come_and_go(pair: &mut Pair) -> Result<()> {
    const COMES: &str = "consumer-subscriptions-comes";
    let group = Consumers::new(pair, "consumer-new-topics", TOPIC, PATTERNS).await?;
    let topics: &[&str] = &[TOPIC, COMES];
    let one = group
        .full(pair, "one is still to come", ("a", 0), topics, &[])
        .await?;
    pair.create(COMES, &[&[1], &[1]]).await?;
    pair.wait_for_epoch(&group.id, "a", (one, one + 1)).await?;
    group
        .beat(pair, "one has come", ("a", one + 1), None)
        .await?;
    group
        .full(pair, "one has come", ("a", one + 1), topics, &[0, 1, 2, 3])
        .await?;
    group.describe(pair, "one has come").await
}
