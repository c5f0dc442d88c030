use std::collections::BTreeMap;
use std::time::Duration;

use consumer_app::{Records, TopicPartition};

use super::journal::{Journal, now};

/// How much later than it happened a commit may have been noticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(30);

/// For the members of one group, which read one topic:
///
/// - every record is processed at least once: who crashes before has not, whatever it was given;
/// - what a member gives of a partition while it has it begins where the group had committed at that time, and goes on without a
///   gap: so a record comes twice only if nobody had committed it;
/// - a member gives nothing of a partition that it does not have;
/// - what is committed never goes back;
/// - where members only come and leave in order, every record is processed once, and nobody is assigned what another one has.
pub(crate) struct GroupChecker {
    pub(crate) journal: Journal,
    exactly_once: bool,
    /// By partition: how often each offset was processed.
    processed: Vec<Vec<u32>>,
    /// Different records processed.
    different: usize,
    produced: usize,
    /// By partition: what was committed, and since when.
    committed: Vec<Vec<(Duration, i64)>>,
    /// When each member last asked for records. What it is told of then may have happened since.
    asked: BTreeMap<String, Duration>,
    /// Who has which partition.
    held: BTreeMap<(i32, String), Run>,
    /// Runs that have begun.
    starts: Vec<Start>,
}

/// What a member gives of a partition while it has it.
struct Run {
    /// Not before.
    assigned: Duration,
    next: Option<i64>,
}

struct Start {
    member: String,
    partition: i32,
    offset: i64,
    assigned: Duration,
    began: Duration,
}

impl GroupChecker {
    pub(crate) fn new(partitions: usize, exactly_once: bool) -> Self {
        Self {
            journal: Journal::default(),
            exactly_once,
            processed: vec![Vec::new(); partitions],
            different: 0,
            produced: 0,
            committed: vec![vec![(Duration::ZERO, 0)]; partitions],
            asked: BTreeMap::new(),
            held: BTreeMap::new(),
            starts: Vec::new(),
        }
    }

    pub(crate) fn produced(&mut self, partition: i32, count: usize) {
        let processed = &mut self.processed[index(partition)];
        processed.resize(processed.len() + count, 0);
        self.produced += count;
    }

    pub(crate) fn assigned(&mut self, member: &str, partitions: &[TopicPartition]) {
        let assigned = numbers(partitions);
        self.journal
            .note(format_args!("{member} is assigned {assigned:?}"));
        for partition in assigned {
            let others = self.held.keys().filter(|(held, _)| *held == partition);
            let others: Vec<_> = others.map(|(_, member)| member.clone()).collect();
            if self.exactly_once && !others.is_empty() {
                self.journal.violation(format_args!(
                    "{member} is assigned {partition}, which {others:?} has"
                ));
            }
            let run = Run {
                assigned: self.asked.get(member).copied().unwrap_or_default(),
                next: None,
            };
            self.held.insert((partition, member.to_owned()), run);
        }
    }

    /// A listener was told that these go, in whatever way.
    pub(crate) fn gone(&mut self, member: &str, how: &str, partitions: &[TopicPartition]) {
        let gone = numbers(partitions);
        self.journal.note(format_args!("{member}: {how} {gone:?}"));
        if self.exactly_once && how == "lost" {
            self.journal
                .violation(format_args!("{member} lost {gone:?}"));
        }
        for partition in gone {
            if self.held.remove(&(partition, member.to_owned())).is_none() {
                self.journal.violation(format_args!(
                    "{member} {how} {partition}, which it does not have"
                ));
            }
        }
    }

    /// A poll has ended.
    pub(crate) fn polled(&mut self, member: &str) {
        self.asked.insert(member.to_owned(), now());
    }

    pub(crate) fn given(&mut self, member: &str, records: &Records) {
        let mut came: BTreeMap<i32, (i64, i64)> = BTreeMap::new();
        for record in records {
            let (partition, offset) = (record.partition(), record.offset());
            let (_, last) = came.entry(partition).or_insert((offset, offset));
            *last = offset;
            let Some(run) = self.held.get_mut(&(partition, member.to_owned())) else {
                self.journal.violation(format_args!(
                    "{member} gives offset {offset} of {partition}, which it does not have"
                ));
                continue;
            };
            match run.next.replace(offset + 1) {
                None => self.starts.push(Start {
                    member: member.to_owned(),
                    partition,
                    offset,
                    assigned: run.assigned,
                    began: now(),
                }),
                Some(next) if next != offset => self.journal.violation(format_args!(
                    "{member} gives offset {offset} of {partition}, {next} is the next"
                )),
                Some(_) => {}
            }
        }
        if !came.is_empty() {
            self.journal.note(format_args!("{member} gives {came:?}"));
        }
    }

    /// A member has done its work with what it was given.
    pub(crate) fn processed(&mut self, records: &Records) {
        for record in records {
            let (partition, offset) = (record.partition(), record.offset());
            let of_partition = self.processed.get_mut(index(partition));
            match of_partition
                .and_then(|processed| processed.get_mut(usize::try_from(offset).ok()?))
            {
                Some(times) => {
                    *times += 1;
                    self.different += usize::from(*times == 1);
                }
                None => self
                    .journal
                    .violation(format_args!("offset {offset} of {partition} is not there")),
            }
        }
    }

    /// The group has committed this; told again and again.
    pub(crate) fn committed(&mut self, partition: i32, offset: i64) {
        let Some(history) = self.committed.get_mut(index(partition)) else {
            return;
        };
        let before = history.last().map_or(0, |(_, offset)| *offset);
        if before == offset {
            return;
        }
        history.push((now(), offset));
        self.journal
            .note(format_args!("committed of {partition}: {offset}"));
        if offset < before {
            self.journal.violation(format_args!(
                "committed of {partition} went back from {before} to {offset}"
            ));
        }
    }

    /// A member has ended: `in_order`, after which it must have been told of everything that goes, or not.
    pub(crate) fn ended(&mut self, member: &str, in_order: bool) {
        self.journal.note(format_args!(
            "{member} {}",
            if in_order { "has closed" } else { "is gone" }
        ));
        let left = self.held.extract_if(.., |(_, holder), _| holder == member);
        let left: Vec<_> = left.map(|((partition, _), _)| partition).collect();
        if in_order && !left.is_empty() {
            self.journal.violation(format_args!(
                "{member} has closed and was not told that {left:?} go"
            ));
        }
    }

    /// Whether all that was produced was processed.
    pub(crate) fn is_complete(&self) -> bool {
        self.different == self.produced
    }

    /// What is still to come, for a message.
    pub(crate) fn missing(&self) -> String {
        let missing = self
            .processed
            .iter()
            .enumerate()
            .filter_map(|(partition, processed)| {
                let first = processed.iter().position(|times| *times == 0)?;
                let count = processed.iter().filter(|times| **times == 0).count();
                Some(format!("{count} of {partition} from {first} on"))
            });
        missing.collect::<Vec<_>>().join(", ")
    }

    /// What can be judged only at the end.
    pub(crate) fn conclude(&mut self) {
        for (partition, processed) in self.processed.iter().enumerate() {
            let again = processed.iter().position(|times| *times > 1);
            if let Some(offset) = again.filter(|_| self.exactly_once) {
                let times = processed[offset];
                self.journal.violation(format_args!(
                    "offset {offset} of {partition} was processed {times} times"
                ));
            }
        }
        for start in &self.starts {
            let history = &self.committed[index(start.partition)];
            let at = |time: Duration| {
                let until = history.iter().take_while(|(since, _)| *since <= time);
                until.last().map_or(0, |(_, offset)| *offset)
            };
            let low = at(start.assigned.saturating_sub(NOTICED_WITHIN));
            let high = at(start.began + NOTICED_WITHIN);
            if !(low..=high).contains(&start.offset) {
                self.journal.violation(format_args!(
                    "{} began with offset {} of {} at {} ms; assigned since {} ms, committed was {low} to {high}",
                    start.member,
                    start.offset,
                    start.partition,
                    start.began.as_millis(),
                    start.assigned.as_millis(),
                ));
            }
        }
    }
}

fn numbers(partitions: &[TopicPartition]) -> Vec<i32> {
    let mut numbers: Vec<_> = partitions.iter().map(TopicPartition::partition).collect();
    numbers.sort_unstable();
    numbers
}

fn index(partition: i32) -> usize {
    usize::try_from(partition).unwrap_or(usize::MAX)
}
