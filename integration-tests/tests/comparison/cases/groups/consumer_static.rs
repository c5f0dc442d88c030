//! Static members of groups of KIP-848.

use anyhow::Result;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::super::versions;
use super::Consumers;
use crate::engine::{Names, Pair};
use crate::requests::{beat, full_beat, text};

const TOPIC: &str = "consumer-static";
const INSTANCE: &str = "instance-1";
const OTHER: &str = "instance-2";
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1], &[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        alone(pair, version).await?;
        beside_another(pair, version).await?;
    }
    Ok(())
}

async fn join(
    pair: &mut Pair,
    group: &Consumers,
    case: &str,
    (member, instance): (&str, &str),
    topics: &[&str],
) -> Result<i32> {
    let request = |names: &Names| {
        full_beat(&group.id, names.member(member), 0, topics, Vec::new())
            .with_instance_id(Some(text(instance)))
    };
    group.send(pair, case, request).await
}

async fn say(
    pair: &mut Pair,
    group: &Consumers,
    case: &str,
    (member, instance): (&str, &str),
    epoch: i32,
) -> Result<i32> {
    let request = |names: &Names| {
        beat(&group.id, names.member(member), epoch).with_instance_id(Some(text(instance)))
    };
    group.send(pair, case, request).await
}

async fn alone(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-static", TOPIC, version).await?;
    let a = ("a", INSTANCE);
    say(pair, &group, "to no group", a, 1).await?;
    say(pair, &group, "leaves no group", a, LEAVE_STATIC).await?;
    let first = join(pair, &group, "joins", a, &[TOPIC]).await?;
    group.describe(pair, "joined").await?;
    say(pair, &group, "nothing new", a, first).await?;
    group
        .beat(pair, "without its instance", ("a", first), None)
        .await?;
    join(pair, &group, "a duplicate", ("b", INSTANCE), &[TOPIC]).await?;
    say(
        pair,
        &group,
        "another member's instance",
        ("b", INSTANCE),
        first,
    )
    .await?;
    say(
        pair,
        &group,
        "another member's instance leaves",
        ("b", INSTANCE),
        LEAVE,
    )
    .await?;
    say(
        pair,
        &group,
        "another member's instance leaves for a while",
        ("b", INSTANCE),
        LEAVE_STATIC,
    )
    .await?;
    say(pair, &group, "unknown instance", ("a", OTHER), first).await?;
    say(pair, &group, "unknown instance leaves", ("a", OTHER), LEAVE).await?;
    join(pair, &group, "joins again", a, &[TOPIC]).await?;
    say(pair, &group, "leaves for a while", a, LEAVE_STATIC).await?;
    group.describe(pair, "is away").await?;
    say(pair, &group, "leaves for a while, again", a, LEAVE_STATIC).await?;
    say(pair, &group, "goes on though it left", a, first).await?;
    group.commit(pair, "is away", ("a", first), 0).await?;
    group
        .commit(pair, "is away, its epoch", ("a", LEAVE_STATIC), 0)
        .await?;
    let back = join(
        pair,
        &group,
        "is back under another id",
        ("a2", INSTANCE),
        &[TOPIC],
    )
    .await?;
    group.describe(pair, "is back").await?;
    say(pair, &group, "is back", ("a2", INSTANCE), back).await?;
    say(pair, &group, "was replaced", a, back).await?;
    group
        .beat(
            pair,
            "was replaced, without its instance",
            ("a", back),
            None,
        )
        .await?;
    say(
        pair,
        &group,
        "leaves for a while as the new one",
        ("a2", INSTANCE),
        LEAVE_STATIC,
    )
    .await?;
    let other = "consumer-static-other";
    let back = join(
        pair,
        &group,
        "is back with another topic",
        ("a3", INSTANCE),
        &[other],
    )
    .await?;
    group.describe(pair, "is back with another topic").await?;
    say(
        pair,
        &group,
        "is back with another topic",
        ("a3", INSTANCE),
        back,
    )
    .await?;
    say(
        pair,
        &group,
        "leaves for a while, then for good",
        ("a3", INSTANCE),
        LEAVE_STATIC,
    )
    .await?;
    say(pair, &group, "leaves for good", ("a3", INSTANCE), LEAVE).await?;
    group.describe(pair, "left for good").await?;
    join(
        pair,
        &group,
        "a new one of the instance",
        ("a4", INSTANCE),
        &[TOPIC],
    )
    .await?;
    say(
        pair,
        &group,
        "leaves for good at once",
        ("a4", INSTANCE),
        LEAVE,
    )
    .await?;
    group.describe(pair, "left for good at once").await
}

/// What is kept for one that is away is not given to the other.
async fn beside_another(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-static", TOPIC, version).await?;
    let (a, b) = (("a", INSTANCE), ("b", OTHER));
    let of_a = join(pair, &group, "the first", a, &[TOPIC]).await?;
    say(
        pair,
        &group,
        "the first leaves for a while",
        a,
        LEAVE_STATIC,
    )
    .await?;
    let of_b = join(
        pair,
        &group,
        "the second, all kept for the first",
        b,
        &[TOPIC],
    )
    .await?;
    group.describe(pair, "all kept for the first").await?;
    say(pair, &group, "all kept for the first", b, of_b).await?;
    let of_a2 = join(
        pair,
        &group,
        "the first is back",
        ("a2", INSTANCE),
        &[TOPIC],
    )
    .await?;
    group.describe(pair, "the first is back").await?;
    say(pair, &group, "the first is back", ("a2", INSTANCE), of_a2).await?;
    say(pair, &group, "the second waits", b, of_b).await?;
    say(pair, &group, "the first of old", a, of_a).await?;
    say(pair, &group, "the second leaves", b, LEAVE).await?;
    say(pair, &group, "the second left", ("a2", INSTANCE), of_a2).await?;
    group.describe(pair, "the second left").await
}
