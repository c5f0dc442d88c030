//! Members of one protocol that come to a group of the other one. Neither side lets them in together
//! (`group.consumer.migration.policy` = `disabled`), but a group that is empty can become one of the other protocol.

use anyhow::Result;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, JoinGroupRequest};

use super::super::versions;
use super::{Classic, Consumers, STEPS};
use crate::engine::{Names, Pair};
use crate::requests::{commit, join};

const TOPIC: &str = "protocols-mixed";
const LEAVE: i32 = -1;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        consumer_into_classic(pair, version).await?;
        classic_into_consumer(pair, version).await?;
        into_offsets(pair, version).await?;
    }
    Ok(())
}

fn consumers(classic: &Classic, version: i16) -> Consumers {
    Consumers {
        id: classic.id.clone(),
        topic: classic.topic.clone(),
        version,
    }
}

async fn consumer_into_classic(pair: &mut Pair, version: i16) -> Result<()> {
    let classic = Classic::new(pair, "mixed-classic", TOPIC, *STEPS.end()).await?;
    let group = consumers(&classic, version);
    let generation = classic.enter(pair, "a").await?;
    group.join(pair, "to be assigned", "b").await?;
    classic.sync(pair, "a", "a", generation, &["a"]).await?;
    for (case, epoch) in [("joins", 0), ("stays", 1), ("leaves", LEAVE)] {
        let case = format!("into a classic group: {case}");
        let topics: &[&str] = &[TOPIC];
        group.full(pair, &case, ("b", epoch), topics, &[]).await?;
        group.full(pair, &case, ("a", epoch), topics, &[]).await?;
    }
    group.describe(pair, "a classic group").await?;
    classic.leave(pair, "so that it is empty", &["a"]).await?;
    group.describe(pair, "an empty classic group").await?;
    group
        .beat(pair, "stays in an empty classic group", ("b", 1), None)
        .await?;
    group
        .beat(pair, "leaves an empty classic group", ("b", LEAVE), None)
        .await?;
    let epoch = group
        .join(pair, "joins an empty classic group", "b")
        .await?;
    group
        .beat(pair, "joined an empty classic group", ("b", epoch), None)
        .await?;
    group.describe(pair, "was classic").await?;
    classic.describe(pair, "was classic").await?;
    classic
        .heartbeat(pair, "was classic", "a", generation)
        .await
}

async fn classic_into_consumer(pair: &mut Pair, version: i16) -> Result<()> {
    let classic = Classic::new(pair, "mixed-consumer", TOPIC, *STEPS.end()).await?;
    let group = consumers(&classic, version);
    group.join(pair, "the first", "b").await?;
    for version in versions::<JoinGroupRequest>() {
        for member in ["", "b", "c"] {
            let case = format!("into a group of KIP-848: {member}");
            pair.compare(case, version, |_| {
                join(version, &classic.id, TOPIC, member.into())
            })
            .await?;
        }
    }
    group
        .beat(pair, "leaves, so that it is empty", ("b", LEAVE), None)
        .await?;
    let nobody = |_: &Names| join(9, &classic.id, TOPIC, "c".into());
    pair.compare("a member of nothing, into an empty one", 9, nobody)
        .await?;
    let generation = classic.enter(pair, "d").await?;
    classic
        .sync(pair, "joined an empty one", "d", generation, &["d"])
        .await?;
    classic.describe(pair, "joined an empty one").await?;
    group.describe(pair, "is classic now").await?;
    group
        .beat(pair, "is classic now", ("b", 1), None)
        .await
        .map(drop)
}

/// A group that has committed offsets and never had members.
async fn into_offsets(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "mixed-offsets", TOPIC, version).await?;
    pair.compare("before anyone joins", 8, |_| {
        commit(&group.id, "".into(), -1, (TOPIC, 0, 4), "")
    })
    .await?;
    group.describe(pair, "offsets alone").await?;
    group.beat(pair, "stays", ("a", 1), None).await?;
    group
        .join(pair, "joins where there are offsets", "a")
        .await?;
    group.describe(pair, "joined where there are offsets").await
}
