//! Our consumer, in a process of its own. Says what `LivenessLab read` says.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use consumer_app::{Consumer, Records, TopicPartition};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::setting::Habit;

const POLL: Duration = Duration::from_millis(500);
const STORM: Duration = Duration::from_millis(1);
const PAUSES: Duration = Duration::from_millis(20);
const SECOND: Duration = Duration::from_secs(1);

/// What a reader does.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    topic: String,
    partitions: i32,
    #[arg(value_enum)]
    habit: Habit,
    /// `KEY=VALUE` of the client's configuration.
    properties: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let mut builder = Consumer::builder();
    for property in &arguments.properties {
        let (key, value) = property.split_once('=').context("KEY=VALUE")?;
        builder = builder.set(key, value);
    }
    let consumer = builder.build().await?;
    let partition = |index| TopicPartition::new(arguments.topic.as_str(), index);
    let all: Vec<TopicPartition> = (0..arguments.partitions).map(partition).collect();
    consumer.assign(all.clone()).await?;
    let mut reader = Reader {
        consumer,
        all,
        resumed: BTreeMap::new(),
        paused: None,
        told: None,
    };
    let mut tick = interval(STORM);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let records = match arguments.habit {
            Habit::Waits => Some(reader.consumer.poll(POLL).await?),
            Habit::Storms => tokio::select! {
                biased;
                _ = tick.tick() => None,
                records = reader.consumer.poll(POLL) => Some(records?),
            },
            Habit::Pauses => Some(reader.consumer.poll(PAUSES).await?),
        };
        if let Some(records) = records {
            reader.tell(&records)?;
        }
        if arguments.habit == Habit::Pauses {
            reader.pause_or_resume().await?;
        }
        reader.tell_requests().await?;
    }
}

struct Reader {
    consumer: Consumer,
    all: Vec<TopicPartition>,
    /// When a partition was last resumed.
    resumed: BTreeMap<i32, u128>,
    paused: Option<TopicPartition>,
    /// When the number of requests was last told.
    told: Option<Instant>,
}

impl Reader {
    /// A line for each record: partition, offset, when it was given, and when its partition was last resumed.
    fn tell(&self, records: &Records) -> io::Result<()> {
        let now = now();
        let mut out = io::stdout().lock();
        for record in records {
            let resumed = self.resumed.get(&record.partition()).unwrap_or(&0);
            let (partition, offset) = (record.partition(), record.offset());
            writeln!(out, "record {partition} {offset} {now} {resumed}")?;
        }
        Ok(())
    }

    /// One partition at a time is paused, until the next turn.
    async fn pause_or_resume(&mut self) -> Result<()> {
        match self.paused.take() {
            Some(paused) => {
                self.resumed.insert(paused.partition(), now());
                self.consumer.resume(&[paused]).await?;
            }
            None => {
                let chosen = self.all[fastrand::usize(..self.all.len())].clone();
                self.consumer.pause([&chosen]).await?;
                self.paused = Some(chosen);
            }
        }
        Ok(())
    }

    /// A line each second: fetch requests so far.
    async fn tell_requests(&mut self) -> Result<()> {
        if self.told.is_some_and(|told| told.elapsed() < SECOND) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        let requests = self.consumer.metrics().await?.fetch_requests;
        writeln!(io::stdout().lock(), "requests {requests}")?;
        Ok(())
    }
}

/// What processes have in common is the clock of the system.
fn now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_nanos()
}
