//! Our consumer, with its defaults: CRC on, `max.poll.records` 500, the actors on a thread of their own.
//!
//! Modes: `poll`, borrowed views; `local`, the same with the actors on the application's own thread; `batches`, `poll_batches` decoded on the same thread; `backlog`, `poll` of an application that comes now
//! and then and takes all that is there.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use consumer_app::{Consumer, OffsetReset, Record, TopicPartition};
use contract::{Arguments, Meter, Tally, crate_version};
use tokio::task::LocalSet;

const WAIT: Duration = Duration::from_secs(1);
/// How long the application of `backlog` stays away.
const AWAY: Duration = Duration::from_millis(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    LocalSet::new().run_until(run(Arguments::parse())).await
}

async fn run(arguments: Arguments) -> Result<()> {
    let client = crate_version("consumer-app")?;
    let mut builder = Consumer::builder()
        .bootstrap_servers(&arguments.bootstrap_server)
        .auto_offset_reset(OffsetReset::Earliest);
    for (key, value) in &arguments.set {
        builder = builder.set(key, value);
    }
    let mut consumer = if arguments.mode == "local" {
        builder.spawn_local()?
    } else {
        builder.build().await?
    };
    let partitions = 0..arguments.partitions;
    for _ in 0..arguments.passes {
        let meter = Meter::begin(&arguments)?;
        let all = partitions
            .clone()
            .map(|partition| TopicPartition::new(arguments.topic.as_str(), partition));
        consumer.assign(all).await?;
        let mut tally = Tally::default();
        while tally.records() < arguments.records {
            meter.check(&tally)?;
            read(&mut consumer, &arguments.mode, &mut tally).await?;
        }
        meter.end(&client, &tally)?;
        consumer.assign(Vec::<TopicPartition>::new()).await?;
    }
    Ok(consumer.close(WAIT).await?)
}

async fn read(consumer: &mut Consumer, mode: &str, tally: &mut Tally) -> Result<()> {
    tally.polled();
    match mode {
        "poll" | "local" => {
            for record in &consumer.poll(WAIT).await? {
                add(tally, record);
            }
        }
        "batches" => {
            for batches in consumer.poll_batches(WAIT).await?.into_partitions() {
                for record in batches.decode()?.iter() {
                    add(tally, record);
                }
            }
        }
        "backlog" => {
            let records = consumer.poll(Duration::ZERO).await?;
            if records.is_empty() {
                tokio::time::sleep(AWAY).await;
            }
            for record in &records {
                add(tally, record);
            }
        }
        other => bail!("no mode {other:?}: there are poll, local, batches and backlog"),
    }
    Ok(())
}

#[inline]
fn add(tally: &mut Tally, record: Record<'_>) {
    let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    tally.add(
        record.offset(),
        length(record.key()),
        length(record.value()),
    );
}
