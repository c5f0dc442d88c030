//! Static members (KIP-345): a restart is no rebalance, and of two with one name one is told.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::Cluster;

use super::member::{LIMIT, PROTOCOLS, builder, poll_until};

async fn start(kafka: &Cluster, group: &str, protocol: &str, instance: &str) -> Result<Consumer> {
    let settings = [
        ("group.protocol", protocol),
        ("group.instance.id", instance),
    ];
    let consumer = builder(kafka, group, &settings).build().await?;
    consumer.subscribe(["t"]).await?;
    Ok(consumer)
}

/// Polls both until each has half, for good.
async fn divide(one: &mut Consumer, two: &mut Consumer) -> Result<()> {
    let half = |consumer: &Consumer| consumer.assignment().len() == 3;
    let begin = Instant::now();
    while !(half(one) && half(two)) {
        ensure!(
            begin.elapsed() < LIMIT,
            "{:?} {:?}",
            one.assignment(),
            two.assignment()
        );
        one.poll(Duration::from_millis(50)).await?;
        two.poll(Duration::from_millis(50)).await?;
    }
    Ok(())
}

fn owned(consumer: &Consumer) -> BTreeSet<TopicPartition> {
    consumer.assignment().into_iter().collect()
}

#[tokio::test]
async fn b152_a_static_member_restarts_and_the_other_one_sees_nothing_of_it() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    kafka.create_topic("t", 6, 1, &[])?;
    for protocol in PROTOCOLS {
        let group = format!("static-{protocol}");
        let mut one = start(&kafka, &group, protocol, "one").await?;
        let mut two = start(&kafka, &group, protocol, "two").await?;
        divide(&mut one, &mut two).await?;
        let before = (owned(&one), owned(&two));
        let generation = one.group_metadata().await?.generation_id;
        two.close(Duration::from_secs(5)).await?;
        one.poll(Duration::from_secs(2)).await?;
        let mut two = start(&kafka, &group, protocol, "two").await?;
        divide(&mut one, &mut two).await?;
        // a rebalance would have come to it by now
        one.poll(Duration::from_secs(6)).await?;
        let after = (owned(&one), owned(&two));
        ensure!(after == before, "{protocol}: {before:?} {after:?}");
        let now = one.group_metadata().await?.generation_id;
        println!("{protocol}: generation {generation} before, {now} after");
        ensure!(now == generation);
        one.close(Duration::from_secs(5)).await?;
        two.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn f023_b152_of_two_with_one_name_one_is_told() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    kafka.create_topic("t", 6, 1, &[])?;
    for protocol in PROTOCOLS {
        let group = format!("double-{protocol}");
        let has_all = |consumer: &Consumer| consumer.assignment().len() == 6;
        let mut older = start(&kafka, &group, protocol, "one").await?;
        poll_until(&mut older, |_, _| (), has_all).await?;
        let mut newer = start(&kafka, &group, protocol, "one").await?;
        let begin = Instant::now();
        // the classic protocol fences the older one, KIP-848 refuses the newer one
        let (fenced, error) = loop {
            ensure!(begin.elapsed() < LIMIT, "{protocol}: nobody is told");
            if let Err(error) = newer.poll(Duration::from_millis(50)).await {
                break ("newer", error.to_string());
            }
            if let Err(error) = older.poll(Duration::from_millis(50)).await {
                break ("older", error.to_string());
            }
        };
        println!("{protocol}: the {fenced} one: {error}");
        ensure!(error.contains("group.instance.id"), "{error}");
        let expected = if protocol == "classic" {
            "older"
        } else {
            "newer"
        };
        ensure!(fenced == expected);
        let other = if fenced == "older" {
            &mut newer
        } else {
            &mut older
        };
        poll_until(other, |_, _| (), has_all).await?;
        older.close(Duration::from_secs(5)).await?;
        newer.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
