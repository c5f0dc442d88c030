//! The cluster, the producer, the members, and what happens to them when.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, by the wall clock"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec, Production, Value};

use crate::member::{REJOIN, SAMPLE, TOPIC};
use crate::sample::Sample;

const PARTITIONS: i32 = 12;
const NODES: i32 = 3;
/// Between two changes of the group, by one member or the other.
const REJOINS: Duration = Duration::from_secs(45);
/// How long a member that has ended its work may take to close.
const CLOSE: Duration = Duration::from_secs(20);

pub(crate) struct Plan {
    pub(crate) length: Duration,
    pub(crate) interval: Duration,
    pub(crate) restart: Duration,
    pub(crate) protocol: String,
}

/// Soaks, and answers what each member told of itself.
pub(crate) fn run(plan: &Plan) -> Result<Vec<(&'static str, Vec<Sample>)>> {
    let kafka = start()?;
    let production = Production::start(Arc::clone(&kafka), records(), Duration::from_millis(200));
    let mut members = [
        Member::start("threads", &kafka, plan, &[])?,
        Member::start("local", &kafka, plan, &["--one-thread"])?,
    ];
    println!("{}", Sample::HEADER);
    let begin = Instant::now();
    let mut samples = Every::new(plan.interval, begin);
    let mut restarts = Every::new(plan.restart, begin);
    let mut rejoins = Every::new(REJOINS, begin);
    thread::scope(|scope| {
        let mut restarting: Option<thread::ScopedJoinHandle<'_, Result<()>>> = None;
        while begin.elapsed() < plan.length {
            thread::sleep(Duration::from_millis(100));
            let at = begin.elapsed().as_secs_f64();
            if samples.next().is_some() {
                for member in &mut members {
                    let name = member.name;
                    println!("{at:7.0} {name:7} {}", member.sample(at)?);
                }
            }
            if let Some(count) = rejoins.next() {
                let chosen = count % members.len();
                members[chosen].order(REJOIN)?;
                println!("{at:7.0} {} leaves and joins", members[chosen].name);
            }
            if let Some(ended) = restarting.take_if(|thread| thread.is_finished()) {
                joined(ended)?;
            }
            if restarting.is_none()
                && let Some(count) = restarts.next()
            {
                let kafka = &kafka;
                restarting = Some(scope.spawn(move || restart(kafka, count, at)));
            }
        }
        restarting.map_or(Ok(()), joined)
    })?;
    production.end()?;
    members
        .into_iter()
        .map(|member| Ok((member.name, member.end()?)))
        .collect()
}

fn joined(thread: thread::ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    match thread.join() {
        Ok(ended) => ended,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Node 1, the controller, stays; the others go in turn, by order or by a crash.
fn restart(kafka: &Cluster, count: usize, at: f64) -> Result<()> {
    let node = if count.is_multiple_of(2) { 2 } else { 3 };
    let is_crash = count % 4 >= 2;
    println!(
        "{at:7.0} node {node} is {}",
        if is_crash { "killed" } else { "stopped" }
    );
    if is_crash {
        kafka.kill(node)?;
    } else {
        kafka.stop(node)?;
    }
    thread::sleep(Duration::from_secs(2));
    Ok(kafka.start_node(node)?)
}

fn start() -> Result<Arc<Cluster>> {
    let kafka = Cluster::builder()
        .nodes(3)
        .property("broker.session.timeout.ms", "3000")
        .property("broker.heartbeat.interval.ms", "300")
        .property("log.retention.check.interval.ms", "10000")
        .start()?;
    let configs = [
        ("min.insync.replicas", "2"),
        // what was read is of no use, and the soak is long
        ("retention.ms", "60000"),
        ("segment.bytes", "8388608"),
    ];
    kafka.create_topic(TOPIC, PARTITIONS, i16::try_from(NODES)?, &configs)?;
    Ok(Arc::new(kafka))
}

fn records() -> ProduceSpec {
    ProduceSpec {
        topic: TOPIC.into(),
        records: 1_000,
        values: vec![Value::Text(500)],
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    }
}

/// Something that happens at intervals, the first time after one.
struct Every {
    interval: Duration,
    next: Instant,
    count: usize,
}

impl Every {
    fn new(interval: Duration, begin: Instant) -> Self {
        Self {
            interval,
            next: begin + interval,
            count: 0,
        }
    }

    /// How often it was due before, if it is.
    fn next(&mut self) -> Option<usize> {
        if Instant::now() < self.next {
            return None;
        }
        self.next += self.interval;
        self.count += 1;
        Some(self.count - 1)
    }
}

/// A member's process, and what it told so far. It ends with this value, or with this process, whose end closes its stdin.
struct Member {
    name: &'static str,
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    samples: Vec<Sample>,
}

impl Member {
    fn start(name: &'static str, kafka: &Cluster, plan: &Plan, more: &[&str]) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["member", kafka.bootstrap_servers(), &plan.protocol])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start a member")?;
        let (orders, answers) = (process.stdin.take(), process.stdout.take());
        Ok(Self {
            name,
            orders: orders.context("stdin")?,
            answers: BufReader::new(answers.context("stdout")?),
            process,
            samples: Vec::new(),
        })
    }

    fn order(&mut self, order: &str) -> Result<()> {
        writeln!(self.orders, "{order}").with_context(|| format!("{} has ended", self.name))
    }

    fn sample(&mut self, at: f64) -> Result<&Sample> {
        self.order(SAMPLE)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "{} has ended by itself", self.name);
        let mut sample: Sample = serde_json::from_str(&line)?;
        sample.at = at;
        self.samples.push(sample);
        self.samples.last().context("it was just added")
    }

    /// Has it close.
    fn end(mut self) -> Result<Vec<Sample>> {
        drop(self.orders);
        let begin = Instant::now();
        while begin.elapsed() < CLOSE {
            match self.process.try_wait()? {
                Some(status) if status.success() => return Ok(self.samples),
                Some(status) => bail!("{} ended with {status}", self.name),
                None => thread::sleep(Duration::from_millis(50)),
            }
        }
        self.process.kill()?;
        bail!("{} does not close within {CLOSE:?}", self.name)
    }
}
