//! A topic is deleted and created again under its name.

use std::time::Duration;

use anyhow::{Result, ensure};
use consumer_app::{Consumer, OffsetReset, TopicPartition};
use integration_tests::kafka::{Cluster, ProduceSpec};

/// A new topic id is a new topic: its records are read from where the reset policy says, not from where the old one's ended.
#[tokio::test]
async fn f012_b120_a_topic_created_again_is_read_from_its_beginning() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    for later in [500, 2_000] {
        let topic = format!("again-{later}");
        kafka.create_topic(&topic, 1, 1, &[])?;
        let spec = |records| ProduceSpec {
            topic: topic.clone(),
            records,
            ..ProduceSpec::default()
        };
        kafka.produce(spec(1_000))?;
        let mut consumer = Consumer::builder()
            .bootstrap_servers(kafka.bootstrap_servers())
            .auto_offset_reset(OffsetReset::Earliest)
            .build()
            .await?;
        let partition = TopicPartition::new(topic.as_str(), 0);
        consumer.assign([partition.clone()]).await?;
        let mut read = 0;
        while read < 1_000 {
            read += consumer.poll(Duration::from_secs(10)).await?.len();
        }
        kafka.delete_topic(&topic)?;
        kafka.create_topic(&topic, 1, 1, &[])?;
        kafka.produce(spec(later))?;
        let (mut offsets, mut in_vain) = (Vec::new(), 0);
        while offsets.len() < later as usize && in_vain < 10 {
            in_vain += 1;
            match consumer.poll(Duration::from_secs(2)).await {
                Ok(records) if records.is_empty() => {}
                Ok(records) => {
                    in_vain = 0;
                    offsets.extend(records.iter().map(|record| record.offset()));
                }
                // that it is unknown for a while may be told
                Err(error) => println!("{topic}: {error}"),
            }
        }
        println!(
            "{topic}: {} of {later} records of the new topic, from {:?} on, position {:?}",
            offsets.len(),
            offsets.first(),
            consumer.position(&partition)
        );
        ensure!(offsets == (0..later as i64).collect::<Vec<_>>());
    }
    Ok(())
}
