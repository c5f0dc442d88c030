//! Subscriptions by pattern follow topics that come later.

use std::time::Duration;

use anyhow::{Result, ensure};
use consumer_app::Consumer;
use integration_tests::kafka::Cluster;

use super::member::{PROTOCOLS, builder, poll_until};

async fn owns(consumer: &mut Consumer, count: usize) -> Result<()> {
    poll_until(
        consumer,
        |_, _| (),
        |consumer| consumer.assignment().len() == count,
    )
    .await
}

#[tokio::test]
async fn b153_a_pattern_finds_topics_that_come_later() -> Result<()> {
    let kafka = Cluster::builder()
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    for protocol in PROTOCOLS {
        let topic = |name: &str| format!("{protocol}-{name}");
        kafka.create_topic(&topic("orders-1"), 2, 1, &[])?;
        kafka.create_topic(&topic("other"), 2, 1, &[])?;
        let settings = [
            ("group.protocol", protocol),
            ("metadata.max.age.ms", "1000"),
        ];
        let mut consumer = builder(&kafka, &topic("group"), &settings).build().await?;
        consumer
            .subscribe_pattern(&format!("{protocol}-orders-.*"))
            .await?;
        owns(&mut consumer, 2).await?;
        kafka.create_topic(&topic("orders-2"), 3, 1, &[])?;
        owns(&mut consumer, 5).await?;
        kafka.create_partitions(&topic("orders-1"), 4)?;
        owns(&mut consumer, 7).await?;
        kafka.delete_topic(&topic("orders-2"))?;
        owns(&mut consumer, 4).await?;
        let prefix = topic("orders-1");
        ensure!(consumer.assignment().iter().all(|p| *p.topic() == *prefix));
        consumer.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}
