//! A member in its own process: polls, seeks and pauses by itself, leaves and joins, or tells of itself, when a line on stdin says so.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use consumer_app::{Consumer, OffsetReset, TopicPartition};
use fastrand::Rng;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing_subscriber::EnvFilter;

use crate::sample::Sample;

/// Line on stdin: leave the group, and join it again.
pub(crate) const REJOIN: &str = "rejoin";
/// Line on stdin: answer a [`Sample`] as JSON.
pub(crate) const SAMPLE: &str = "sample";
pub(crate) const GROUP: &str = "soak";
pub(crate) const TOPIC: &str = "soak";

const POLL: Duration = Duration::from_millis(200);
/// How long it stays out of the group.
const AWAY: Duration = Duration::from_secs(1);
const CLOSE: Duration = Duration::from_secs(10);
/// On average between two seeks, two pauses.
const CAPER: Duration = Duration::from_secs(5);
/// How far back a seek goes, in records.
const BACK: i64 = 500;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    servers: String,
    protocol: String,
    /// The actors run on the application's thread and in its runtime, whose tasks are counted.
    #[arg(long)]
    one_thread: bool,
}

/// Ends when stdin does.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new("warn"))?)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let (sender, orders) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            // the member has failed
            let _ = sender.send(line);
        }
    });
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(soak(arguments, orders))
}

async fn soak(arguments: &Arguments, mut orders: mpsc::UnboundedReceiver<String>) -> Result<()> {
    let builder = Consumer::builder()
        .bootstrap_servers(&arguments.servers)
        .group_id(GROUP)
        .auto_offset_reset(OffsetReset::Earliest)
        .set("group.protocol", &arguments.protocol)
        .set("buffer.memory", "8388608")
        .set("request.timeout.ms", "5000");
    let mut consumer = if arguments.one_thread {
        builder.spawn_local()?
    } else {
        builder.build().await?
    };
    consumer.subscribe([TOPIC]).await?;
    let mut random = Rng::new();
    let mut caper = Instant::now() + CAPER;
    loop {
        let order = tokio::select! {
            biased;
            order = orders.recv() => Some(order),
            polled = consumer.poll(POLL) => {
                match polled {
                    Ok(records) => drop(records),
                    Err(error) => tracing::warn!("poll: {error}"),
                }
                None
            }
        };
        match order.as_ref().map(Option::as_deref) {
            None => {}
            Some(None) => break,
            Some(Some(SAMPLE)) => tell(&consumer).await?,
            Some(Some(REJOIN)) => {
                consumer.unsubscribe().await?;
                tokio::time::sleep(AWAY).await;
                consumer.subscribe([TOPIC]).await?;
            }
            Some(Some(other)) => anyhow::bail!("what is {other}?"),
        }
        if Instant::now() >= caper {
            cut_a_caper(&consumer, &mut random).await;
            caper = Instant::now() + CAPER.mul_f64(2.0 * random.f64());
        }
    }
    consumer.close(CLOSE).await?;
    Ok(())
}

async fn tell(consumer: &Consumer) -> Result<()> {
    let asked = Instant::now();
    let metrics = consumer.handle().metrics();
    let metrics = metrics.await?;
    let echo = asked.elapsed().as_micros();
    let sample = Sample::read(&metrics, u64::try_from(echo)?)?;
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &sample)?;
    writeln!(out)?;
    out.flush().context("tell")
}

/// Goes back in one partition, or pauses about half of them or none. A partition may be gone meanwhile: that is no fault.
async fn cut_a_caper(consumer: &Consumer, random: &mut Rng) {
    let handle = consumer.handle();
    let all = handle.assignment();
    let some: Vec<&TopicPartition> = all.iter().filter(|_| random.bool()).collect();
    let done = match random.u8(..3) {
        0 => handle.pause(some).await,
        1 => handle.resume(&all).await,
        _ => {
            let Some(partition) = random.choice(&all) else {
                return;
            };
            let Some(position) = handle.position(partition) else {
                return;
            };
            handle.seek(partition, (position - BACK).max(0)).await
        }
    };
    if let Err(error) = done {
        tracing::info!("{error}");
    }
}
