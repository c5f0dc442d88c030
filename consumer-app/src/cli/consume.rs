//! `consume`: prints the records of topics, as `kcat -C` does.

mod begin;
mod ends;
mod silence;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::builder::NonEmptyStringValueParser;
use consumer_app::{Consumer, Error, PartitionError, Records, TopicPartition};
use tracing::warn;

use self::ends::{Ends, Next, Seen};
use self::silence::{Silence, Stage};
use super::connect::{Connection, Own};
use super::interrupt::Interrupt;
use super::output::{OutputFormat, Reader, RecordView, RecordWriter, Separator, TextLayout};
use super::start_from::StartFrom;
use super::usage::WrongUsage;
use super::{log, stdout};

/// How long a poll waits when nothing is to be written.
const POLL: Duration = Duration::from_millis(500);
/// How long the brokers may take to be told of the end.
const CLOSE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// A topic to read; may be repeated.
    #[arg(short, long, required = true, value_parser = NonEmptyStringValueParser::new())]
    topic: Vec<String>,
    /// Read only this partition of each topic; may be repeated.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Read as a member of this group, from where it committed; --from is for partitions of which it committed nothing. What was
    /// printed is committed.
    #[arg(short, long, conflicts_with_all = ["partition", "exit_at_end"], value_parser = NonEmptyStringValueParser::new())]
    group: Option<String>,
    /// Where to begin: beginning, latest or an offset. By default where auto.offset.reset says, which is latest unless set,
    /// or beginning with --exit-at-end.
    #[arg(short = 'o', long, value_name = "beginning|latest|OFFSET")]
    from: Option<StartFrom>,
    /// End after so many records.
    #[arg(short = 'c', long, value_name = "N")]
    max_records: Option<u64>,
    /// End each partition where its log ends now, and the program with the last of them.
    #[arg(short = 'e', long)]
    exit_at_end: bool,
    /// What to print of each record.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    output: OutputFormat,
    /// With text: print keys, and this between key and value (\t, \n, \x00 and the like are understood).
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_separator: Option<Separator>,
    /// With text: what follows each record.
    #[arg(short = 'D', long, value_name = "TEXT", default_value = "\\n")]
    separator: Separator,
}

const EXAMPLES: &str = "\
Short options are kcat's. Examples:
  what comes from now on:          consume -b localhost:9092 -t orders
  all that is there, then an end:  consume -b localhost:9092 -t orders -e --output json
  ten records with their keys:     consume -b localhost:9092 -t orders -p 0 -o 1000 -c 10 -K '\\t'";

/// Why the printing ended, other than by a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// What was asked for has been printed.
    Done,
    /// By Ctrl-C or SIGTERM.
    Interrupted,
    /// Nobody reads the output any more.
    ReaderGone,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut interrupt = Interrupt::listen()?;
    if let Some(note) = arguments.from.and_then(StartFrom::note) {
        log::note(note);
    }
    let mut consumer = arguments.connection.open(&arguments.own()?).await?;
    let end = print(&mut consumer, &arguments, &mut interrupt).await;
    consumer.close(CLOSE).await?;
    if end? == End::Interrupted && (arguments.exit_at_end || arguments.max_records.is_some()) {
        bail!("interrupted before the end");
    }
    Ok(())
}

impl Arguments {
    fn own(&self) -> Result<Own<'_>, WrongUsage> {
        let mut own = self.reset()?;
        if let Some(group) = &self.group {
            if let Some(StartFrom::Offset(_)) = self.from {
                return Err(WrongUsage::new(
                    "--from: an offset is none for all partitions of a group; write beginning or latest",
                ));
            }
            own.strong.push(("group.id", group));
        }
        if self.max_records.is_some() {
            // a poll may give more than is to be printed
            own.strong.push(("enable.auto.commit", "false"));
        }
        Ok(own)
    }

    fn reset(&self) -> Result<Own<'static>, WrongUsage> {
        let reset = match self.from {
            Some(StartFrom::Beginning) => "earliest",
            Some(StartFrom::Latest) => "latest",
            // an offset that is not in the log is told, not silently replaced
            Some(StartFrom::Offset(_)) => "none",
            Some(StartFrom::Time(_)) => {
                return Err(WrongUsage::new(
                    "--from: a time is not supported yet; write beginning, latest or an offset",
                ));
            }
            None if self.exit_at_end => {
                return Ok(Own {
                    weak: vec![("auto.offset.reset", "earliest")],
                    ..Own::default()
                });
            }
            None => return Ok(Own::default()),
        };
        Ok(Own {
            strong: vec![("auto.offset.reset", reset)],
            ..Own::default()
        })
    }

    fn has_all(&self, printed: u64) -> bool {
        self.max_records.is_some_and(|most| printed >= most)
    }
}

async fn print(
    consumer: &mut Consumer,
    arguments: &Arguments,
    interrupt: &mut Interrupt,
) -> anyhow::Result<End> {
    let layout = TextLayout {
        key_separator: arguments.key_separator.clone(),
        record_separator: arguments.separator.clone(),
    };
    let mut writer = RecordWriter::new(io::stdout(), arguments.output, layout);
    let mut printed = Printed::new();
    let closed = stdout::closed();
    let end = tokio::select! {
        biased;
        () = interrupt.wait() => Ok(End::Interrupted),
        () = closed => Ok(End::ReaderGone),
        // nothing is awaited in there between taking records and writing them
        end = follow(consumer, arguments, &mut writer, &mut printed) => end,
    };
    // whatever the end is, what was taken is printed
    let _ = writer.finish()?;
    if arguments.group.is_some() && arguments.max_records.is_some() {
        consumer.commit_offsets(printed).await?;
    }
    end
}

/// The offset that follows the last printed record of each partition.
type Printed = BTreeMap<TopicPartition, i64>;

/// Prints until it is enough. May be dropped at any await: what was taken is with the writer.
async fn follow(
    consumer: &mut Consumer,
    arguments: &Arguments,
    writer: &mut RecordWriter<io::Stdout>,
    printed: &mut Printed,
) -> anyhow::Result<End> {
    let mut silence = Silence::new(now());
    let mut ends = begin::begin(consumer, arguments, &mut silence).await?;
    loop {
        if arguments.has_all(writer.records()) || are_reached(&mut ends, consumer).await? {
            return Ok(End::Done);
        }
        // not zero, or what the buffer has would not be asked for
        let timeout = writer
            .poll_timeout(now(), POLL)
            .max(Duration::from_millis(1));
        let records = match consumer.poll(timeout).await {
            Ok(records) => records,
            Err(error) => {
                heed(consumer, arguments, error).await?;
                continue;
            }
        };
        if !records.is_empty() {
            silence.heard(now());
        } else if let Some(why) = silence.look(now(), || Stage::of(consumer)) {
            log::note(why);
        }
        if write(
            writer,
            records,
            arguments.max_records,
            ends.as_ref(),
            printed,
        )? == Reader::Gone
            || writer.polled(now())? == Reader::Gone
        {
            return Ok(End::ReaderGone);
        }
    }
}

/// Ends the partitions that are to end where they are now; whether all have ended.
async fn are_reached(ends: &mut Option<Ends>, consumer: &Consumer) -> anyhow::Result<bool> {
    let Some(ends) = ends else {
        return Ok(false);
    };
    match ends.look(now(), |partition| Seen::of(consumer, partition)) {
        Next::Wait => {}
        Next::Stop(reached) => consumer.pause(&reached).await?,
        Next::Alone(partition, position) => {
            consumer.assign(None::<TopicPartition>).await?;
            consumer.assign_at([(partition, position)]).await?;
        }
    }
    Ok(ends.are_reached())
}

/// Goes on from what a person at a terminal can wait for, or need not care about.
async fn heed(consumer: &Consumer, arguments: &Arguments, error: Error) -> anyhow::Result<()> {
    match error {
        Error::Partition(PartitionError::UnexpectedError { .. }) => {
            warn!(%error, "no records from there for now");
            Ok(())
        }
        Error::Partition(PartitionError::OffsetOutOfRange { partition, offset })
            if matches!(arguments.from, Some(StartFrom::Offset(_))) =>
        {
            let begin = consumer.seek_to_beginning(&partition).await?;
            if offset < begin {
                log::note(format_args!(
                    "{partition}: offset {offset} is not there any more; reading from its beginning, {begin}"
                ));
                return Ok(());
            }
            let end = consumer.seek_to_end(&partition).await?;
            log::note(format_args!(
                "{partition}: offset {offset} is not there yet; reading from its end, {end}"
            ));
            Ok(())
        }
        error => Err(error.into()),
    }
}

fn write(
    writer: &mut RecordWriter<io::Stdout>,
    records: Records,
    most: Option<u64>,
    ends: Option<&Ends>,
    printed: &mut Printed,
) -> io::Result<Reader> {
    for partition in records.by_partition() {
        // what was produced after the start is not asked for
        let end = ends.map_or(i64::MAX, |ends| ends.of(partition.topic_partition()));
        let mut next = None;
        for record in partition.iter().take_while(|record| record.offset() < end) {
            if most.is_some_and(|most| writer.records() >= most) {
                break;
            }
            next = Some(record.offset() + 1);
            let reader = writer.write(RecordView {
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
                return Ok(reader);
            }
        }
        if let Some(next) = next {
            printed.insert(partition.topic_partition().clone(), next);
        }
    }
    Ok(Reader::Listening)
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
