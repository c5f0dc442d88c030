//! Compaction on demand.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::cluster::Cluster;
use super::consume::Consumed;
use super::error::{Context, Error, Result};
use super::produce::{Codec, ExplicitRecord};
use super::topics::TopicDescription;

/// How long compaction may take; the recipe below needs a few seconds.
const LIMIT: Duration = Duration::from_secs(120);
/// A longer `segment.ms` is taken for one that was not set.
const LONGEST_SEGMENT_MS: u64 = 60_000;
/// The key of the records that begin new segments.
const FILLER: &[u8] = b"compaction-filler";

/// # Compaction
impl Cluster {
    /// Has everything that a topic holds now compacted, and answers what is left.
    ///
    /// The newest segment of a partition is never compacted, so each partition with records gets one more with the key
    /// `compaction-filler` (more if the test's own timestamps are ahead of the clock), which begins a new segment. Done is when the brokers'
    /// `cleaner-offset-checkpoint` has reached, for each partition, the end offset as it was at the call.
    ///
    /// For this to take seconds the topic needs `cleanup.policy=compact`, `segment.ms=1000`, `min.cleanable.dirty.ratio=0.01`,
    /// `max.compaction.lag.ms=1000`, and the cluster `log.cleaner.backoff.ms=500`.
    ///
    /// # Errors
    ///
    /// [`Error::NotCompacted`] names what is missing.
    pub fn compact(&self, topic: &str) -> Result<Consumed> {
        let not_compacted = |state: String| Error::NotCompacted {
            topic: topic.into(),
            limit: LIMIT,
            state,
        };
        let description = self.describe_topic(topic)?;
        let segment_ms = segment_ms(&description).map_err(&not_compacted)?;
        let end = Instant::now() + LIMIT;
        let mut logs = Vec::new();
        for (partition, offset) in self
            .end_offsets(topic)?
            .into_iter()
            .filter(|(_, offset)| *offset > 0)
        {
            let leader = description
                .partitions
                .get(&partition)
                .and_then(|partition| partition.leader);
            let leader = leader
                .ok_or_else(|| not_compacted(format!("partition {partition} has no leader")))?;
            logs.push(Log {
                topic,
                partition,
                end: offset,
                data: self.data(leader)?,
            });
        }

        // a segment is closed by a record that is `segment.ms` younger than the segment's first one
        thread::sleep(segment_ms + Duration::from_millis(100));
        loop {
            let mut open = Vec::new();
            for log in &logs {
                if log.newest_segment()? < log.end {
                    open.push(log.partition);
                }
            }
            if open.is_empty() {
                break;
            }
            if Instant::now() >= end {
                return Err(not_compacted(format!(
                    "no new segment was begun in the partitions {open:?}"
                )));
            }
            let fillers: Vec<ExplicitRecord> = open.into_iter().map(filler).collect();
            self.produce_records(topic, Codec::None, &fillers)?;
        }

        loop {
            let mut missing = Vec::new();
            for log in &logs {
                let cleaned = log.cleaned_to()?;
                if cleaned < log.end {
                    missing.push(format!(
                        "partition {} is compacted to {cleaned} of {}",
                        log.partition, log.end
                    ));
                }
            }
            if missing.is_empty() {
                return self.java_consume(topic);
            }
            if Instant::now() >= end {
                return Err(not_compacted(missing.join(", ")));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A partition's log at its leader.
struct Log<'a> {
    topic: &'a str,
    partition: i32,
    /// Its end offset when compaction was asked for.
    end: i64,
    /// The leader's `log.dirs`.
    data: &'a Path,
}

impl Log<'_> {
    /// The first offset of the newest segment: segments are named by theirs.
    fn newest_segment(&self) -> Result<i64> {
        let folder = self.data.join(format!("{}-{}", self.topic, self.partition));
        let reading = || format!("read the folder {}", folder.display());
        let mut newest = 0;
        for entry in fs::read_dir(&folder).context(reading)? {
            let name = entry.context(reading)?.file_name();
            let base = name
                .to_str()
                .and_then(|name| name.strip_suffix(".log"))
                .and_then(|base| base.parse().ok());
            newest = newest.max(base.unwrap_or(0));
        }
        Ok(newest)
    }

    /// How far the cleaner has come. Its file has a version, a count, and lines of topic, partition and offset.
    fn cleaned_to(&self) -> Result<i64> {
        let file = self.data.join("cleaner-offset-checkpoint");
        let text = fs::read_to_string(&file).context(|| format!("read {}", file.display()))?;
        let start = format!("{} {} ", self.topic, self.partition);
        Ok(text
            .lines()
            .find_map(|line| line.strip_prefix(&start)?.parse().ok())
            .unwrap_or(0))
    }
}

fn filler(partition: i32) -> ExplicitRecord {
    ExplicitRecord {
        partition: Some(partition),
        key: Some(FILLER.to_vec()),
        value: Some(Vec::new()),
        ..ExplicitRecord::default()
    }
}

/// The topic's `segment.ms`, or why it will not be compacted.
fn segment_ms(topic: &TopicDescription) -> Result<Duration, String> {
    let config = |name: &str| topic.configs.get(name).map_or("", String::as_str);
    if !config("cleanup.policy").contains("compact") {
        return Err(format!(
            "its cleanup.policy is {}",
            config("cleanup.policy")
        ));
    }
    match config("segment.ms").parse() {
        Ok(ms) if ms <= LONGEST_SEGMENT_MS => Ok(Duration::from_millis(ms)),
        _ => Err(format!("its segment.ms is {}", config("segment.ms"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::RunFolder;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_checkpoint_is_read_per_partition() {
        let run = RunFolder::create().unwrap();
        fs::write(
            run.path().join("cleaner-offset-checkpoint"),
            "0\n3\nt 1 500\nt 10 7\nother 1 9\n",
        )
        .unwrap();
        let log = |partition| Log {
            topic: "t",
            partition,
            end: 0,
            data: run.path(),
        };
        assert_eq!(log(1).cleaned_to().unwrap(), 500);
        assert_eq!(log(10).cleaned_to().unwrap(), 7);
        assert_eq!(log(0).cleaned_to().unwrap(), 0);
    }

    #[test]
    fn a_topic_that_will_not_be_compacted_is_told() {
        let topic = |configs: &[(&str, &str)]| TopicDescription {
            id: String::new(),
            partitions: BTreeMap::new(),
            configs: configs
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect(),
        };
        let refused = segment_ms(&topic(&[
            ("cleanup.policy", "delete"),
            ("segment.ms", "1000"),
        ]));
        assert_eq!(refused.unwrap_err(), "its cleanup.policy is delete");
        let refused = segment_ms(&topic(&[
            ("cleanup.policy", "compact"),
            ("segment.ms", "604800000"),
        ]));
        assert_eq!(refused.unwrap_err(), "its segment.ms is 604800000");
        let fits = segment_ms(&topic(&[
            ("cleanup.policy", "compact,delete"),
            ("segment.ms", "1000"),
        ]));
        assert_eq!(fits, Ok(Duration::from_secs(1)));
    }
}
