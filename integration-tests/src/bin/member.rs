//! Our consumer as a member of a group in a process of its own, for suites that kill, freeze and end members.
//!
//! `member BOOTSTRAP_SERVERS TOPIC GROUP [KEY=VALUE]...`
//!
//! Prints a line `Partition:P<tab>Offset:O` for each record, as Kafka's console consumer does when told to, and a line `fault TEXT` for what
//! does not happen where all changes are in order. What a poll gave is out before the next one begins, so nothing is committed that is not
//! out. With `enable.auto.commit=false` it commits when partitions are revoked, and otherwise every [`COMMIT`]. SIGTERM has it leave in
//! order. Logs to stderr as RUST_LOG says.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use consumer_app::{
    Consumer, OffsetReset, RebalanceContext, RebalanceListener, Records, TopicPartition,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tracing_subscriber::EnvFilter;

const COMMIT: Duration = Duration::from_secs(1);
const CLOSE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut end = signal(SignalKind::terminate())?;
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new("info"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, topic, group, properties @ ..] = arguments.as_slice() else {
        bail!("usage: member BOOTSTRAP_SERVERS TOPIC GROUP [KEY=VALUE]...");
    };
    let mut builder = Consumer::builder()
        .bootstrap_servers(servers)
        .group_id(group)
        .auto_offset_reset(OffsetReset::Earliest);
    for property in properties {
        let (key, value) = property.split_once('=').context("KEY=VALUE")?;
        builder = builder.set(key, value);
    }
    let commits = properties
        .iter()
        .any(|property| property == "enable.auto.commit=false");
    if commits {
        builder = builder.rebalance_listener(CommitOnRevoke);
    }
    let mut consumer = builder.build().await?;
    consumer.subscribe([topic]).await?;
    let mut committed = Instant::now();
    loop {
        let polled = tokio::select! {
            polled = consumer.poll(Duration::from_secs(1)) => polled,
            _ = end.recv() => break,
        };
        match polled {
            Ok(records) => print(&records)?,
            Err(error) => fault(&format!("poll: {error}")),
        }
        if commits && committed.elapsed() >= COMMIT {
            // one that was away for too long is refused: it is told of the loss in the next poll
            if let Err(error) = consumer.commit().await {
                tracing::warn!("not committed: {error}");
            }
            committed = Instant::now();
        }
    }
    if let Err(error) = consumer.close(CLOSE).await {
        fault(&format!("close: {error}"));
    }
    Ok(())
}

fn print(records: &Records) -> io::Result<()> {
    let mut lines = Vec::new();
    for record in records {
        writeln!(
            lines,
            "Partition:{}\tOffset:{}",
            record.partition(),
            record.offset()
        )?;
    }
    let mut out = io::stdout().lock();
    out.write_all(&lines)?;
    out.flush()
}

fn fault(text: &str) {
    println!("fault {text}");
}

struct CommitOnRevoke;

impl RebalanceListener for CommitOnRevoke {
    async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        if let Err(error) = context.commit().await {
            fault(&format!("revoked, not committed: {error}: {partitions:?}"));
        }
    }

    async fn lost(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        fault(&format!("lost: {partitions:?}"));
    }
}
