//! Heartbeats of KIP-848 that are refused by themselves, and what is just not.

use anyhow::Result;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, TopicName};

use super::super::versions;
use super::Consumers;
use crate::engine::{Names, Pair};
use crate::requests::{beat, full_beat, group_id, owned, text};

const TOPIC: &str = "consumer-errors";
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;

type Change = fn(ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatRequest;

/// What is changed about a request that joins.
const JOINS: [(&str, Change); 16] = [
    ("empty group id", |r| r.with_group_id(group_id(""))),
    ("blank group id", |r| r.with_group_id(group_id(" "))),
    ("no rebalance timeout", |r| r.with_rebalance_timeout_ms(-1)),
    ("rebalance timeout 0", |r| r.with_rebalance_timeout_ms(0)),
    ("negative rebalance timeout", |r| {
        r.with_rebalance_timeout_ms(-5)
    }),
    ("no topics", |r| r.with_subscribed_topic_names(None)),
    ("owns nothing said", |r| r.with_topic_partitions(None)),
    ("empty instance id", |r| r.with_instance_id(Some(text("")))),
    ("blank instance id", |r| r.with_instance_id(Some(text(" ")))),
    ("empty rack", |r| r.with_rack_id(Some(text("")))),
    ("blank rack", |r| r.with_rack_id(Some(text(" ")))),
    ("unknown assignor", |r| {
        r.with_server_assignor(Some(text("sticky")))
    }),
    ("empty assignor", |r| r.with_server_assignor(Some(text("")))),
    ("blank member id", |r| r.with_member_id(text(" "))),
    ("a topic that is none", |r| {
        r.with_subscribed_topic_names(Some(vec![TopicName(text("not a topic!"))]))
    }),
    ("an empty topic", |r| {
        r.with_subscribed_topic_names(Some(vec![TopicName(text(""))]))
    }),
];

/// What is changed about a request of a member that is in.
const STAYS: [(&str, Change); 12] = [
    ("empty member id", |r| r.with_member_id(text(""))),
    ("empty group id", |r| r.with_group_id(group_id(""))),
    ("rebalance timeout 0", |r| r.with_rebalance_timeout_ms(0)),
    ("negative rebalance timeout", |r| {
        r.with_rebalance_timeout_ms(-5)
    }),
    ("empty instance id", |r| r.with_instance_id(Some(text("")))),
    ("an instance that it is not", |r| {
        r.with_instance_id(Some(text("i")))
    }),
    ("empty rack", |r| r.with_rack_id(Some(text("")))),
    ("unknown assignor", |r| {
        r.with_server_assignor(Some(text("sticky")))
    }),
    ("epoch -3", |r| r.with_member_epoch(-3)),
    ("smallest epoch", |r| r.with_member_epoch(i32::MIN)),
    ("largest epoch", |r| r.with_member_epoch(i32::MAX)),
    ("nothing", |r| r),
];

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1], &[1]]).await?;
    for version in versions::<ConsumerGroupHeartbeatRequest>() {
        joins(pair, version).await?;
        stays(pair, version).await?;
        leaves(pair, version).await?;
    }
    Ok(())
}

async fn joins(pair: &mut Pair, version: i16) -> Result<()> {
    for (case, change) in JOINS {
        let group = Consumers::new(pair, "consumer-errors", TOPIC, version).await?;
        let good = || full_beat(&group.id, "a".into(), 0, &[TOPIC], Vec::new());
        pair.compare(case, version, |_| change(good())).await?;
        group.describe(pair, case).await?;
    }
    let group = Consumers::new(pair, "consumer-errors", TOPIC, version).await?;
    pair.compare("owns something", version, |names| {
        let owned = vec![owned(names.topic(TOPIC), &[0])];
        full_beat(&group.id, "a".into(), 0, &[TOPIC], owned)
    })
    .await?;
    pair.compare("a very long member id", version, |_| {
        let long = "m".repeat(5_000);
        full_beat(&group.id, text(&long), 0, &[TOPIC], Vec::new())
    })
    .await?;
    pair.compare("a topic twice", version, |_| {
        full_beat(&group.id, "a".into(), 0, &[TOPIC, TOPIC], Vec::new())
    })
    .await?;
    group.describe(pair, "a topic twice").await
}

async fn stays(pair: &mut Pair, version: i16) -> Result<()> {
    let group = Consumers::new(pair, "consumer-errors", TOPIC, version).await?;
    let epoch = group.join(pair, "a member that stays", "a").await?;
    for (case, change) in STAYS {
        let request = |_: &Names| change(beat(&group.id, "a".into(), epoch));
        pair.compare(case, version, request).await?;
    }
    group.describe(pair, "a member that stays").await
}

/// Who leaves need not say anything else.
async fn leaves(pair: &mut Pair, version: i16) -> Result<()> {
    for (case, epoch, change) in [
        (
            "without an instance, as a static one",
            LEAVE_STATIC,
            (|r| r) as Change,
        ),
        ("as a static one that it is not", LEAVE_STATIC, |r| {
            r.with_instance_id(Some(text("i")))
        }),
        ("as an instance that it is not", LEAVE, |r| {
            r.with_instance_id(Some(text("i")))
        }),
        ("empty member id", LEAVE, |r| r.with_member_id(text(""))),
        ("unknown assignor", LEAVE, |r| {
            r.with_server_assignor(Some(text("x")))
        }),
        ("with everything else", LEAVE, |r| {
            r.with_rebalance_timeout_ms(1)
                .with_subscribed_topic_names(Some(Vec::new()))
                .with_topic_partitions(Some(Vec::new()))
        }),
    ] {
        let group = Consumers::new(pair, "consumer-errors", TOPIC, version).await?;
        group.join(pair, "a member that leaves", "a").await?;
        let case = format!("leaves {case}");
        pair.compare(&case, version, |_| {
            change(beat(&group.id, "a".into(), epoch))
        })
        .await?;
        group.describe(pair, &case).await?;
    }
    Ok(())
}
