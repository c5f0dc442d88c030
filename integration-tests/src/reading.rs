//! A topic read with our consumer, from its beginning to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use consumer_app::{Consumer, Metrics, Record, Records, TopicPartition};

use crate::Tally;

/// A consumer that moves no position for so long is stuck, on any machine.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_secs(1);

/// What our consumer read, and what it did for it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Over all partitions.
    pub total: Tally,
    /// By partition, also those without records.
    pub partitions: BTreeMap<i32, Tally>,
    /// Records per poll, polls without records left out.
    pub polls: Vec<usize>,
    /// The consumer's counters at the end.
    pub metrics: Metrics,
}

/// Assigns the partitions of `ends` and polls until the position of each is at its end or beyond, handing each poll to `each`.
///
/// # Errors
/// An error of the consumer; an offset that does not rise; a consumer that stands still.
pub async fn read_to(
    consumer: &mut Consumer,
    topic: &str,
    ends: &BTreeMap<i32, i64>,
    mut each: impl FnMut(&Consumer, &Records),
) -> Result<Reading> {
    let partitions: Vec<TopicPartition> = ends
        .keys()
        .map(|&index| TopicPartition::new(topic, index))
        .collect();
    consumer.assign(partitions.iter().cloned()).await?;
    let mut tallies: BTreeMap<i32, Tally> = ends
        .keys()
        .map(|&index| (index, Tally::default()))
        .collect();
    let mut last: BTreeMap<i32, i64> = BTreeMap::new();
    let mut polls = Vec::new();
    let mut still = Duration::ZERO;
    loop {
        let positions: Vec<Option<i64>> = partitions
            .iter()
            .map(|partition| consumer.position(partition))
            .collect();
        let at_end = positions
            .iter()
            .zip(ends.values())
            .all(|(position, end)| position.is_some_and(|position| position >= *end));
        if at_end {
            break;
        }
        let records = consumer.poll(POLL).await?;
        for record in &records {
            count(&record, &mut tallies, &mut last)?;
        }
        if !records.is_empty() {
            polls.push(records.len());
        }
        each(consumer, &records);
        let moved = partitions
            .iter()
            .zip(&positions)
            .any(|(partition, before)| consumer.position(partition) != *before);
        still = if moved { Duration::ZERO } else { still + POLL };
        if still >= PATIENCE {
            bail!("{topic} is not read on: positions {positions:?}, ends {ends:?}");
        }
    }
    let mut total = Tally::default();
    tallies.values().for_each(|tally| total.merge(tally));
    Ok(Reading {
        total,
        partitions: tallies,
        polls,
        metrics: consumer.metrics().await?,
    })
}

fn count(
    record: &Record<'_>,
    tallies: &mut BTreeMap<i32, Tally>,
    last: &mut BTreeMap<i32, i64>,
) -> Result<()> {
    let (index, offset) = (record.partition(), record.offset());
    if let Some(former) = last.insert(index, offset) {
        ensure!(
            former < offset,
            "partition {index}: offset {offset} came after {former}"
        );
    }
    tallies
        .get_mut(&index)
        .with_context(|| format!("a record of partition {index}, which is not assigned"))?
        .add(
            offset,
            record.key().map(<[u8]>::len),
            record.value().map(<[u8]>::len),
        );
    Ok(())
}
