//! `lag`: how far a group is behind.

use std::fmt;
use std::time::Duration;

use anyhow::bail;
use clap::builder::NonEmptyStringValueParser;
use consumer_app::{Consumer, TopicPartition};
use serde::Serialize;

use super::connect::{Connection, Own};
use super::output::Reader;
use super::stdout;

/// How long the brokers may take to be told of the end.
const CLOSE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// The group.
    #[arg(short, long, value_parser = NonEmptyStringValueParser::new())]
    group: String,
    /// Print a JSON object a partition.
    #[arg(long)]
    json: bool,
}

/// A partition of which the group committed something. Its names are those of the JSON.
#[derive(Debug, Serialize)]
struct Lag {
    topic: String,
    partition: i32,
    committed: i64,
    end: i64,
    lag: i64,
}

/// For people.
impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}-{}: committed {}, end {}, lag {}",
            self.topic, self.partition, self.committed, self.end, self.lag
        )
    }
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let own = Own {
        strong: vec![
            ("group.id", &arguments.group),
            // it looks at a group, and takes no part in it
            ("enable.auto.commit", "false"),
        ],
        ..Own::default()
    };
    let mut consumer = arguments.connection.open(&own).await?;
    let lags = lags(&consumer).await;
    consumer.close(CLOSE).await?;
    let lags = lags?;
    if lags.is_empty() {
        bail!("group {} has committed nothing", arguments.group);
    }
    for lag in lags {
        let reader = if arguments.json {
            stdout::print(serde_json::to_string(&lag)?)?
        } else {
            stdout::print(&lag)?
        };
        if reader == Reader::Gone {
            break;
        }
    }
    Ok(())
}

async fn lags(consumer: &Consumer) -> anyhow::Result<Vec<Lag>> {
    let committed = consumer.all_committed().await?;
    let committed: Vec<(TopicPartition, i64)> = committed
        .into_iter()
        .filter_map(|(partition, offset)| Some((partition, offset?.offset)))
        .collect();
    let partitions = || committed.iter().map(|(partition, _)| partition);
    consumer.assign(partitions().cloned()).await?;
    // only where they end is asked for
    consumer.pause(partitions()).await?;
    let ends: Vec<_> = partitions()
        .map(|partition| consumer.seek_to_end(partition))
        .collect();
    let mut lags = Vec::new();
    for ((partition, committed), end) in committed.iter().zip(ends) {
        let end = end.await?;
        lags.push(Lag {
            topic: partition.topic().to_owned(),
            partition: partition.partition(),
            committed: *committed,
            end,
            lag: end.saturating_sub(*committed).max(0),
        });
    }
    Ok(lags)
}
