//! What is done before the first record is printed: which partitions there are, where each is to begin, and to end.

use std::fmt::Write as _;
use std::pin::pin;

use anyhow::{Context, bail};
use consumer_app::{Consumer, OffsetReset, TopicPartition};

use super::ends::Ends;
use super::silence::{Silence, Stage};
use super::{Arguments, now};
use crate::cli::log;
use crate::cli::start_from::StartFrom;
use crate::cli::usage::WrongUsage;

/// Assigns the partitions at the place to begin; where they end, if the program is to end there.
pub(super) async fn begin(
    consumer: &Consumer,
    arguments: &Arguments,
    silence: &mut Silence,
) -> anyhow::Result<Option<Ends>> {
    let partitions = patiently(
        silence,
        || Stage::Topics(arguments.topic.clone()),
        partitions(consumer, arguments),
    )
    .await?;
    if arguments.group.is_some() {
        consumer.subscribe(&arguments.topic).await?;
        return Ok(None);
    }
    if arguments.exit_at_end {
        consumer.assign(partitions.iter().cloned()).await?;
        let ends = patiently(
            silence,
            || Stage::of(consumer),
            bounded(consumer, arguments, partitions),
        );
        return Ok(Some(ends.await?));
    }
    match arguments.from {
        Some(StartFrom::Offset(offset)) => {
            let begins = partitions.into_iter().map(|partition| (partition, offset));
            consumer.assign_at(begins).await?;
        }
        _ => consumer.assign(partitions).await?,
    }
    Ok(None)
}

/// Waits, and says on stderr what for when it takes long.
async fn patiently<T>(
    silence: &mut Silence,
    stage: impl Fn() -> Stage,
    waited_for: impl Future<Output = T>,
) -> T {
    let mut waited_for = pin!(waited_for);
    loop {
        tokio::select! {
            biased;
            done = &mut waited_for => return done,
            () = tokio::time::sleep_until(silence.next_look().into()) => {
                if let Some(why) = silence.look(now(), &stage) {
                    log::note(why);
                }
            }
        }
    }
}

async fn partitions(
    consumer: &Consumer,
    arguments: &Arguments,
) -> anyhow::Result<Vec<TopicPartition>> {
    // asked for together, and then waited for
    let topics = arguments.topic.iter();
    let asked: Vec<_> = topics
        .map(|topic| (topic, consumer.partitions_for(topic)))
        .collect();
    let mut partitions = Vec::new();
    for (topic, found) in asked {
        let all = found.await?;
        if arguments.partition.is_empty() {
            partitions.extend(all);
            continue;
        }
        for &index in &arguments.partition {
            let wanted = TopicPartition::new(topic.as_str(), index);
            if !all.contains(&wanted) {
                let mut what = format!("topic {topic} has no partition {index}");
                if let [first, .., last] = all.as_slice() {
                    write!(
                        what,
                        "; it has {} to {}",
                        first.partition(),
                        last.partition()
                    )?;
                }
                bail!(what);
            }
            partitions.push(wanted);
        }
    }
    partitions.sort_unstable();
    partitions.dedup();
    Ok(partitions)
}

/// Finds the ends of assigned partitions and moves each to the place to begin.
async fn bounded(
    consumer: &Consumer,
    arguments: &Arguments,
    partitions: Vec<TopicPartition>,
) -> anyhow::Result<Ends> {
    let from = match (arguments.from, consumer.config().auto_offset_reset()) {
        (Some(from), _) => from,
        (None, OffsetReset::Earliest) => StartFrom::Beginning,
        (None, OffsetReset::Latest) => StartFrom::Latest,
        (None, reset) => {
            return Err(WrongUsage::new(format_args!(
                "auto.offset.reset is {reset}: --exit-at-end needs --from then"
            ))
            .into());
        }
    };
    let sought: Vec<_> = partitions
        .into_iter()
        .map(|partition| {
            let end = consumer.seek_to_end(&partition);
            (partition, end)
        })
        .collect();
    let mut ends = Vec::new();
    for (partition, end) in sought {
        let end = end.await.context("cannot find where it ends now")?;
        ends.push((partition, end));
    }
    let begun: Vec<_> = ends
        .iter()
        .filter(|_| from == StartFrom::Beginning)
        .map(|(partition, _)| consumer.seek_to_beginning(partition))
        .collect();
    for begun in begun {
        begun.await.context("cannot find where it begins")?;
    }
    if let StartFrom::Offset(offset) = from {
        for (partition, end) in &ends {
            if offset < *end {
                consumer.seek(partition, offset).await?;
            } else {
                log::note(format_args!(
                    "{partition}: nothing at offset {offset}, it ends at {end}"
                ));
            }
        }
    }
    Ok(Ends::new(ends, now()))
}
