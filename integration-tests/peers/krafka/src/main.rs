//! krafka, without its limits on buffered records: with them it fetches a topic some twenty times over.

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use contract::{Arguments, Meter, Tally, crate_version};
use krafka::Kafka;
use krafka::consumer::AutoOffsetReset;

const WAIT: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    arguments.without_properties()?;
    let client = crate_version("krafka")?;
    let kafka = Kafka::builder(arguments.bootstrap_server.clone())
        .connect()
        .await?;
    let consumer = kafka
        .consumer_without_group()
        .auto_offset_reset(AutoOffsetReset::Earliest)
        .enable_auto_commit(false)
        .max_poll_records(-1)
        .max_buffered_records(0)
        .build()
        .await?;
    let partitions: Vec<i32> = (0..arguments.partitions).collect();
    consumer
        .assign(&arguments.topic, partitions.clone())
        .await?;
    for _ in 0..arguments.passes {
        let meter = Meter::begin(&arguments)?;
        for &partition in &partitions {
            consumer.seek(&arguments.topic, partition, 0).await?;
        }
        let mut tally = Tally::default();
        while tally.records() < arguments.records {
            meter.check(&tally)?;
            tally.polled();
            for record in consumer.poll(WAIT).await? {
                let length = |bytes: Option<usize>| bytes.unwrap_or(0);
                tally.add(
                    record.offset,
                    length(record.key.as_ref().map(|key| key.len())),
                    length(record.value.as_ref().map(|value| value.len())),
                );
            }
        }
        meter.end(&client, &tally)?;
    }
    Ok(())
}
