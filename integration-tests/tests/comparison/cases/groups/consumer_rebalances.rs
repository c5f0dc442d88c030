//! Partitions that go from member to member (KIP-848), and who may commit them meanwhile (KIP-1251).

use anyhow::Result;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::super::versions;
use super::Consumers;
use crate::engine::{Names, Pair};
use crate::requests::{beat, full_beat, text};

const TOPIC: &str = "consumer-rebalances";
const ALL: [i32; 4] = [0, 1, 2, 3];
const LEAVE: i32 = -1;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1], &[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        for assignor in ["uniform", "range"] {
            let group = Consumers::new(pair, "consumer-rebalances", TOPIC, version).await?;
            second_comes(pair, &group, assignor).await?;
        }
        first_leaves(pair, version).await?;
        first_is_silent(pair, version).await?;
    }
    Ok(())
}

async fn join_with(
    pair: &mut Pair,
    group: &Consumers,
    case: &str,
    member: &str,
    assignor: &str,
) -> Result<i32> {
    let request = |names: &Names| {
        full_beat(&group.id, names.member(member), 0, &[TOPIC], Vec::new())
            .with_server_assignor(Some(text(assignor)))
    };
    group.send(pair, case, request).await
}

/// The first member owns all four partitions and is to give two to the second.
async fn second_comes(pair: &mut Pair, group: &Consumers, assignor: &str) -> Result<()> {
    let case = |text: &str| format!("{assignor}: {text}");
    let a = join_with(pair, group, &case("the first"), "a", assignor).await?;
    group
        .beat(pair, &case("the first"), ("a", a), Some(&ALL))
        .await?;
    let b = join_with(pair, group, &case("the second"), "b", assignor).await?;
    group.describe(pair, &case("the second")).await?;
    group
        .beat(pair, &case("nothing is free"), ("b", b), None)
        .await?;
    group
        .beat(
            pair,
            &case("nothing is free, owns none"),
            ("b", b),
            Some(&[]),
        )
        .await?;
    group
        .commit(pair, &case("before it knows"), ("a", a), 3)
        .await?;
    let asked = group
        .beat(pair, &case("is asked to give up"), ("a", a), None)
        .await?;
    group.describe(pair, &case("is asked to give up")).await?;
    group
        .beat(pair, &case("is asked once"), ("a", asked), None)
        .await?;
    group
        .beat(pair, &case("owns all still"), ("a", asked), Some(&ALL))
        .await?;
    for partition in ALL {
        group
            .commit(pair, &case("gives up"), ("a", asked), partition)
            .await?;
    }
    group
        .beat(pair, &case("still nothing is free"), ("b", b), None)
        .await?;
    let given = group
        .beat(pair, &case("gave up"), ("a", asked), Some(&[0, 1]))
        .await?;
    group.describe(pair, &case("gave up")).await?;
    for partition in ALL {
        group
            .commit(pair, &case("gave up"), ("a", given), partition)
            .await?;
        group
            .commit(pair, &case("gave up, old epoch"), ("a", asked), partition)
            .await?;
    }
    let b = group
        .beat(pair, &case("gets its own"), ("b", b), None)
        .await?;
    group.describe(pair, &case("gets its own")).await?;
    for partition in ALL {
        group
            .commit(pair, &case("its own"), ("b", b), partition)
            .await?;
        group
            .commit(pair, &case("the other's old epoch"), ("a", a), partition)
            .await?;
        group
            .commit(pair, &case("an old epoch"), ("b", b - 1), partition)
            .await?;
    }
    group
        .beat(pair, &case("has its own"), ("b", b), Some(&[2, 3]))
        .await?;
    group
        .beat(pair, &case("has kept its own"), ("a", given), None)
        .await?;
    group.describe(pair, &case("all have theirs")).await
}

/// What a member leaves is free at once.
async fn first_leaves(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-leaves", TOPIC, version).await?;
    let a = group.join(pair, "one that will leave", "a").await?;
    let b = group.join(pair, "one that waits", "b").await?;
    group
        .beat(pair, "one that will leave", ("a", a), None)
        .await?;
    group
        .beat(pair, "leaves without giving up", ("a", LEAVE), None)
        .await?;
    group.describe(pair, "the other left").await?;
    let b = group.beat(pair, "the other left", ("b", b), None).await?;
    group
        .beat(pair, "the other left, settled", ("b", b), None)
        .await?;
    let c = group.join(pair, "a third", "c").await?;
    group.beat(pair, "a third waits", ("c", c), None).await?;
    group.describe(pair, "a third waits").await?;
    group
        .beat(pair, "the third leaves again", ("c", LEAVE), None)
        .await?;
    group.beat(pair, "the third left", ("b", b), None).await?;
    group.describe(pair, "the third left").await
}

/// A member that says nothing of what it owns, or joins again in the middle.
async fn first_is_silent(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-silent", TOPIC, version).await?;
    let a = group.join(pair, "will join again", "a").await?;
    let b = group.join(pair, "the second", "b").await?;
    let asked = group.beat(pair, "is asked", ("a", a), None).await?;
    group.beat(pair, "says nothing", ("a", asked), None).await?;
    let again = group.join(pair, "joins again in the middle", "a").await?;
    group.describe(pair, "joined again in the middle").await?;
    group
        .beat(pair, "joined again in the middle", ("a", again), None)
        .await?;
    let b = group
        .beat(pair, "after it joined again", ("b", b), None)
        .await?;
    group.describe(pair, "after it joined again").await?;
    // three members, the last of which takes a while
    let c = group.join(pair, "a third", "c").await?;
    pair.compare("a third", version, |names| {
        beat(&group.id, names.member("c"), c)
    })
    .await?;
    group.beat(pair, "a third came", ("a", again), None).await?;
    group.beat(pair, "a third came", ("b", b), None).await?;
    group.describe(pair, "a third came").await
}
