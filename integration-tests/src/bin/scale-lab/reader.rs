//! Our consumer, in a process of its own. Reads what to do from its input, and answers with nanoseconds of time and of processor time, fetch
//! requests, and records.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use consumer_app::{Consumer, TopicPartition};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tokio::time::Instant;

use crate::case::TOPIC;

const POLL: Duration = Duration::from_millis(500);

/// What the consumer reads.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    bootstrap_servers: String,
    partitions: i32,
}

/// What has been used at a moment.
struct Usage {
    at: Instant,
    cpu: Duration,
    fetches: u64,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let mut before = Usage {
        at: Instant::now(),
        cpu: Duration::ZERO,
        fetches: 0,
    };
    let mut consumer = Consumer::builder()
        .bootstrap_servers(&arguments.bootstrap_servers)
        .set("auto.offset.reset", "earliest")
        .build()
        .await?;
    let all: Vec<TopicPartition> = (0..arguments.partitions)
        .map(|index| TopicPartition::new(TOPIC, index))
        .collect();
    consumer.assign(all.clone()).await?;
    // the last of them has a position, and the first long poll is over
    while !all
        .iter()
        .all(|partition| consumer.position(partition).is_some())
    {
        consumer.poll(POLL).await?;
    }
    consumer.poll(2 * POLL).await?;
    answer(&consumer, &before, 0).await?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        before = usage(&consumer).await?;
        let records = match line.split_once(' ') {
            Some(("idle", millis)) => {
                let end = Instant::now() + Duration::from_millis(millis.parse()?);
                let mut records = 0;
                while Instant::now() < end {
                    records += consumer.poll(POLL).await?.len() as u64;
                }
                records
            }
            Some(("read", wanted)) => {
                let wanted: u64 = wanted.parse()?;
                let mut records = 0;
                let mut bytes = 0;
                while records < wanted {
                    for record in &consumer.poll(POLL).await? {
                        records += 1;
                        bytes += record.value().map_or(0, <[u8]>::len);
                    }
                }
                anyhow::ensure!(bytes as u64 == 100 * records, "values of 100 bytes");
                records
            }
            None if line == "end" => break,
            _ => bail!("{line:?}"),
        };
        answer(&consumer, &before, records).await?;
    }
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
}

async fn usage(consumer: &Consumer) -> Result<Usage> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = (used.user_time() + used.system_time()).num_microseconds();
    Ok(Usage {
        at: Instant::now(),
        cpu: Duration::from_micros(micros.try_into().context("processor time")?),
        fetches: consumer.metrics().await?.fetch_requests,
    })
}

async fn answer(consumer: &Consumer, before: &Usage, records: u64) -> Result<()> {
    let after = usage(consumer).await?;
    let wall = (after.at - before.at).as_nanos();
    let cpu = (after.cpu - before.cpu).as_nanos();
    let fetches = after.fetches - before.fetches;
    let mut out = io::stdout().lock();
    writeln!(out, "{wall} {cpu} {fetches} {records}")?;
    Ok(out.flush()?)
}
