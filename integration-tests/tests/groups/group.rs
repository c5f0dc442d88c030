//! A group whose members come and go while records are produced, and what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use integration_tests::kafka::{Cluster, Error, GroupDescription, Partitioning, ProduceSpec};
use tempfile::TempDir;

use super::child::{Child, Client};
use super::member::LIMIT;

/// What is asked of the broker or read from files is asked again after this.
const AGAIN: Duration = Duration::from_millis(200);

/// Members in processes of their own, and a producer that produces steadily.
pub(crate) struct Group {
    kafka: &'static Cluster,
    name: String,
    partitions: i32,
    producer: Producer,
    /// Those that are there.
    pub(crate) members: Vec<Child>,
    /// Those that were told to leave.
    leaving: Vec<Child>,
    /// Those that have left or were killed.
    gone: Vec<Child>,
    came: Came,
    started: usize,
    /// Stays where something fails.
    folder: TempDir,
}

/// What came, at the end.
pub(crate) struct Outcome {
    /// Records that were produced, each of which came.
    pub(crate) produced: usize,
    /// Those that came more than once.
    pub(crate) twice: usize,
    /// Those of them that came to none of Java's.
    pub(crate) twice_to_ours: usize,
    /// To whom those came that came more than once, if any did.
    repeats: BTreeMap<Vec<String>, Vec<(i32, i64)>>,
    /// What ours had to say besides records.
    pub(crate) faults: Vec<String>,
    /// Stays unless all is well.
    folder: TempDir,
}

impl Outcome {
    /// All changes were in order.
    pub(crate) fn ensure_each_once(self) -> Result<()> {
        ensure!(
            self.twice == 0,
            "{} records came twice: {:?}",
            self.twice,
            self.repeats
        );
        self.ensure_each_once_to_ours()
    }

    /// The same where Java's repeat.
    pub(crate) fn ensure_each_once_to_ours(mut self) -> Result<()> {
        ensure!(self.faults.is_empty(), "{:#?}", self.faults);
        let twice = self.twice_to_ours;
        ensure!(
            twice == 0,
            "{twice} records came twice, none of it to Java's: {:?}",
            self.repeats
        );
        self.folder.disable_cleanup(false);
        Ok(())
    }

    /// Members were killed and frozen: what they lost by it is no matter, but nothing else failed.
    pub(crate) fn ensure_none_failed(mut self) -> Result<()> {
        let failed = |fault: &&String| fault.contains(": poll: ") || fault.contains(": close: ");
        let failed: Vec<&String> = self.faults.iter().filter(failed).collect();
        ensure!(failed.is_empty(), "{failed:#?}");
        self.folder.disable_cleanup(false);
        Ok(())
    }
}

impl Group {
    /// Creates the topic, which has the group's name, and begins to produce.
    pub(crate) fn start(kafka: &'static Cluster, name: &str, partitions: i32) -> Result<Self> {
        kafka.create_topic(name, partitions, 1, &[])?;
        let mut folder = tempfile::tempdir()?;
        folder.disable_cleanup(true);
        println!("{name}: logs of members are in {}", folder.path().display());
        Ok(Self {
            kafka,
            name: name.to_owned(),
            partitions,
            producer: Producer::start(kafka, name),
            members: Vec::new(),
            leaving: Vec::new(),
            gone: Vec::new(),
            came: Came::default(),
            started: 0,
            folder,
        })
    }

    /// Starts a member.
    pub(crate) fn join(&mut self, client: Client, settings: &[(&str, &str)]) -> Result<()> {
        self.started += 1;
        let name = format!("{}-{client:?}", self.started);
        let folder = self.folder.path();
        let member = Child::start(self.kafka, &self.name, client, settings, folder, name)?;
        self.members.push(member);
        Ok(())
    }

    /// Tells a member to leave, and does not wait until it has.
    pub(crate) fn leave(&mut self, member: usize) -> Result<()> {
        let mut member = self.members.remove(member);
        member.leave()?;
        self.leaving.push(member);
        Ok(())
    }

    /// Kills a member.
    pub(crate) fn kill(&mut self, member: usize) -> Result<()> {
        let mut member = self.members.remove(member);
        member.kill()?;
        self.gone.push(member);
        Ok(())
    }

    /// Forgets those that ended after they were frozen, and answers how many they were.
    pub(crate) fn forget_the_ended(&mut self) -> Result<usize> {
        let mut ended = 0;
        for mut member in std::mem::take(&mut self.members) {
            if member.has_given_up()? {
                ended += 1;
                self.gone.push(member);
            } else {
                self.members.push(member);
            }
        }
        Ok(ended)
    }

    /// Waits until those that were told to leave have left.
    pub(crate) fn await_left(&mut self) -> Result<()> {
        for mut member in self.leaving.drain(..) {
            member.left()?;
            self.gone.push(member);
        }
        Ok(())
    }

    /// Waits until the group has exactly the members that are there, all partitions are assigned, some to each, and more is so.
    pub(crate) fn await_settled(
        &self,
        what: &str,
        more: impl Fn(&GroupDescription) -> bool,
    ) -> Result<GroupDescription> {
        let begin = Instant::now();
        loop {
            let mut group = match self.kafka.describe_group(&self.name) {
                // nobody has joined yet
                Err(Error::Command { kind, .. }) if kind == "GroupIdNotFoundException" => None,
                group => Some(group?),
            };
            let is_settled = |group: &GroupDescription| {
                let partitions = group.members.iter().map(|member| member.partitions);
                group.state == "Stable"
                    && group.members.len() == self.members.len()
                    && partitions.clone().all(|count| count > 0)
                    && Ok(partitions.sum()) == usize::try_from(self.partitions)
                    && more(group)
            };
            if let Some(group) = group.take_if(|group| is_settled(group)) {
                return Ok(group);
            }
            if begin.elapsed() > LIMIT {
                bail!("{}: not {what} after {LIMIT:?}: {group:#?}", self.name);
            }
            thread::sleep(AGAIN);
        }
    }

    /// Produces no more, waits until all that was produced came, and has all members leave.
    pub(crate) fn end(mut self) -> Result<Outcome> {
        let produced = self.producer.end()?;
        let begin = Instant::now();
        loop {
            self.take_records()?;
            let missing = self.came.missing(&self.kafka.end_offsets(&self.name)?);
            if missing.is_empty() {
                break;
            }
            ensure!(
                begin.elapsed() < LIMIT,
                "{}: of {produced} records {} did not come, as {:?}",
                self.name,
                missing.len(),
                &missing[..missing.len().min(20)]
            );
            thread::sleep(AGAIN);
        }
        while !self.members.is_empty() {
            self.leave(0)?;
        }
        self.await_left()?;
        self.take_records()?;
        ensure!(
            self.came.len() == produced,
            "{} of {produced} came",
            self.came.len()
        );
        Ok(Outcome {
            produced,
            twice: self.came.twice(),
            twice_to_ours: self.came.twice_to_ours(),
            repeats: self.came.repeats(),
            faults: self.gone.iter().flat_map(Child::faults).collect(),
            folder: self.folder,
        })
    }

    fn take_records(&mut self) -> Result<()> {
        let members = [&mut self.members, &mut self.leaving, &mut self.gone];
        for member in members.into_iter().flatten() {
            let records = member.records()?;
            let (client, name) = (member.client(), member.name());
            self.came.add(client, name, records);
        }
        Ok(())
    }
}

/// To whom each record came.
#[derive(Default)]
pub(crate) struct Came {
    members: Vec<(Client, String)>,
    /// By partition and offset, the places of those members.
    to: BTreeMap<(i32, i64), Vec<usize>>,
}

impl Came {
    pub(crate) fn add(
        &mut self,
        client: Client,
        name: &str,
        records: impl IntoIterator<Item = (i32, i64)>,
    ) {
        let known = self.members.iter().position(|(_, known)| known == name);
        let place = known.unwrap_or_else(|| {
            self.members.push((client, name.to_owned()));
            self.members.len() - 1
        });
        for record in records {
            self.to.entry(record).or_default().push(place);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.to.len()
    }

    /// How many came more than once.
    pub(crate) fn twice(&self) -> usize {
        self.more_than_once().count()
    }

    fn twice_to_ours(&self) -> usize {
        let is_ours = |place: &usize| self.members[*place].0 == Client::Ours;
        self.more_than_once()
            .filter(|(_, places)| places.iter().all(is_ours))
            .count()
    }

    /// Those that came more than once, by the members to whom they came.
    fn repeats(&self) -> BTreeMap<Vec<String>, Vec<(i32, i64)>> {
        let mut repeats: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (record, places) in self.more_than_once() {
            let names = places.iter().map(|place| self.members[*place].1.clone());
            repeats.entry(names.collect()).or_default().push(*record);
        }
        repeats
    }

    fn more_than_once(&self) -> impl Iterator<Item = (&(i32, i64), &Vec<usize>)> {
        self.to.iter().filter(|(_, places)| places.len() > 1)
    }

    fn missing(&self, ends: &BTreeMap<i32, i64>) -> Vec<(i32, i64)> {
        let there = ends
            .iter()
            .flat_map(|(partition, end)| (0..*end).map(|offset| (*partition, offset)));
        there
            .filter(|record| !self.to.contains_key(record))
            .collect()
    }
}

/// Some thousand records a second, in turn over the partitions.
struct Producer {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<usize>>>,
}

impl Producer {
    const RECORDS: usize = 480;
    const PAUSE: Duration = Duration::from_millis(150);

    fn start(kafka: &'static Cluster, topic: &str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, topic) = (Arc::clone(&is_over), topic.to_owned());
        let thread = thread::spawn(move || {
            let mut produced = 0;
            while !over.load(Ordering::Relaxed) {
                kafka.produce(ProduceSpec {
                    topic: topic.clone(),
                    records: Self::RECORDS as u64,
                    partitioning: Partitioning::RoundRobin,
                    ..ProduceSpec::default()
                })?;
                produced += Self::RECORDS;
                thread::sleep(Self::PAUSE);
            }
            Ok(produced)
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }

    /// How many records it produced.
    fn end(&mut self) -> Result<usize> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(produced)) => produced,
            _ => bail!("the producer panicked"),
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // where the test failed before its end
        self.is_over.store(true, Ordering::Relaxed);
    }
}
