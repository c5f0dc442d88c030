//! `consume`: prints the records of topics, as `kcat -C` does.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use consumer_app::{Consumer, Error, PartitionError, Records, TopicPartition};
use tracing::warn;

use super::connect::Connection;
use super::interrupt::Interrupt;
use super::output::{OutputFormat, Reader, RecordView, RecordWriter, Separator, TextLayout};
use super::start_from::StartFrom;

/// How long a poll waits when nothing is to be written.
const POLL: Duration = Duration::from_millis(500);
/// Without a record for so long, stderr says why.
const SILENCE: Duration = Duration::from_secs(4);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// A topic to read; may be repeated.
    #[arg(long, required = true)]
    topic: Vec<String>,
    /// Read only this partition of each topic; may be repeated.
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Where to begin: beginning, latest or an offset.
    #[arg(long, default_value = "latest", value_name = "beginning|latest|OFFSET")]
    from: StartFrom,
    /// End after so many records.
    #[arg(long)]
    max_records: Option<u64>,
    /// End each partition where its log ends now, and the program with the last of them.
    #[arg(long)]
    exit_at_end: bool,
    /// What to print of each record.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    output: OutputFormat,
    /// With text: print keys, and this between key and value (\t and the like are understood).
    #[arg(long, value_name = "TEXT")]
    key_separator: Option<Separator>,
    /// With text: what follows each record.
    #[arg(long, value_name = "TEXT", default_value = "\\n")]
    separator: Separator,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut interrupt = Interrupt::listen()?;
    if let Some(note) = arguments.from.note() {
        eprintln!("note: {note}");
    }
    let reset = match arguments.from {
        StartFrom::Beginning | StartFrom::Offset(_) => "earliest",
        StartFrom::Latest => "latest",
        StartFrom::Time(_) => {
            bail!("--from a time is not supported yet; give beginning, latest or an offset")
        }
    };
    let mut consumer = arguments
        .connection
        .open(&[("auto.offset.reset", reset)])
        .await?;
    let printed = tokio::select! {
        printed = print(&mut consumer, &arguments, interrupt.clone()) => printed,
        // while brokers are sought there is nothing to print yet
        () = interrupted_early(&mut interrupt) => Ok(()),
    };
    consumer.close(Duration::from_secs(5)).await?;
    printed?;
    Ok(ExitCode::SUCCESS)
}

/// Ends some time after the signal, for what does not look at it by itself.
async fn interrupted_early(interrupt: &mut Interrupt) {
    interrupt.wait().await;
    tokio::time::sleep(2 * POLL).await;
}

async fn print(
    consumer: &mut Consumer,
    arguments: &Arguments,
    interrupt: Interrupt,
) -> anyhow::Result<()> {
    let partitions = partitions(consumer, arguments).await?;
    let mut ends = begin(consumer, arguments, &partitions).await?;
    let layout = TextLayout {
        key_separator: arguments.key_separator.clone(),
        record_separator: arguments.separator.clone(),
    };
    let mut writer = RecordWriter::new(io::stdout(), arguments.output, layout);
    let mut silence = Silence::new();
    loop {
        if ends.as_mut().is_some_and(|ends| reached(consumer, ends)) {
            break;
        }
        if interrupt.is_set()
            || arguments
                .max_records
                .is_some_and(|most| writer.records() >= most)
        {
            break;
        }
        let records = match consumer.poll(writer.poll_timeout(now(), POLL)).await {
            Ok(records) => records,
            Err(error) if passes(&error) => {
                warn!(%error, "no records from there for now");
                continue;
            }
            Err(error) => {
                // whether somebody reads on or not, this is the end
                let _ = writer.finish()?;
                return Err(error.into());
            }
        };
        silence.heard(&records, consumer);
        if write(&mut writer, &records, arguments.max_records, ends.as_ref())? == Reader::Gone
            || writer.polled(now())? == Reader::Gone
        {
            return Ok(());
        }
    }
    let _ = writer.finish()?;
    Ok(())
}

/// What `poll` goes on from by itself and a person at a terminal can wait for.
fn passes(error: &Error) -> bool {
    matches!(
        error,
        Error::Partition(PartitionError::UnexpectedError { .. })
    )
}

async fn partitions(
    consumer: &Consumer,
    arguments: &Arguments,
) -> anyhow::Result<Vec<TopicPartition>> {
    let mut partitions = Vec::new();
    for topic in &arguments.topic {
        let all = consumer.partitions_for(topic).await?;
        if arguments.partition.is_empty() {
            partitions.extend(all);
            continue;
        }
        for &index in &arguments.partition {
            let wanted = TopicPartition::new(topic.as_str(), index);
            if !all.contains(&wanted) {
                bail!(
                    "topic {topic} has no partition {index}: it has 0 to {}",
                    all.len() - 1
                );
            }
            partitions.push(wanted);
        }
    }
    Ok(partitions)
}

/// Assigns the partitions at the place to begin; the ends of their logs if the program is to end there.
async fn begin(
    consumer: &Consumer,
    arguments: &Arguments,
    partitions: &[TopicPartition],
) -> anyhow::Result<Option<BTreeMap<TopicPartition, i64>>> {
    consumer.assign(partitions.iter().cloned()).await?;
    let mut ends = BTreeMap::new();
    if arguments.exit_at_end {
        for partition in partitions {
            let end = consumer.seek_to_end(partition).await;
            ends.insert(partition.clone(), end.context("cannot find the end")?);
        }
    }
    for partition in partitions {
        match arguments.from {
            StartFrom::Offset(offset) => consumer.seek(partition, offset).await?,
            StartFrom::Beginning if arguments.exit_at_end => {
                consumer.seek_to_beginning(partition).await?;
            }
            StartFrom::Beginning | StartFrom::Latest | StartFrom::Time(_) => {}
        }
    }
    Ok(arguments.exit_at_end.then_some(ends))
}

/// Whether every partition is at the end that was found at the start.
fn reached(consumer: &Consumer, ends: &mut BTreeMap<TopicPartition, i64>) -> bool {
    ends.iter()
        .all(|(partition, end)| consumer.position(partition).is_some_and(|at| at >= *end))
}

fn write(
    writer: &mut RecordWriter<io::Stdout>,
    records: &Records,
    most: Option<u64>,
    ends: Option<&BTreeMap<TopicPartition, i64>>,
) -> io::Result<Reader> {
    let mut reader = Reader::Listening;
    for record in records {
        if most.is_some_and(|most| writer.records() >= most) {
            break;
        }
        // what was produced after the start is not asked for
        let beyond = ends
            .and_then(|ends| ends.get(record.topic_partition()))
            .is_some_and(|&end| record.offset() >= end);
        if beyond {
            continue;
        }
        reader = writer.write(RecordView {
            topic: record.topic(),
            partition: record.partition(),
            offset: record.offset(),
            timestamp: record.timestamp(),
            key: record.key(),
            value: record.value(),
            headers: record
                .headers()
                .iter()
                .map(|header| (header.key(), header.value())),
        })?;
        if reader == Reader::Gone {
            break;
        }
    }
    Ok(reader)
}

/// Says on stderr, once, why nothing is printed.
struct Silence {
    since: Instant,
    said: bool,
}

impl Silence {
    fn new() -> Self {
        Self {
            since: now(),
            said: false,
        }
    }

    fn heard(&mut self, records: &Records, consumer: &Consumer) {
        if !records.is_empty() {
            self.since = now();
            self.said = false;
        } else if !self.said && self.since.elapsed() >= SILENCE {
            self.said = true;
            for partition in consumer.assignment() {
                match consumer.position(&partition) {
                    Some(offset) => {
                        eprintln!("waiting: {partition} at offset {offset}, nothing newer yet")
                    }
                    None => eprintln!("waiting: {partition}, its position is being looked up"),
                }
            }
        }
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
