//! Our consumer in a process of its own, watched from outside.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Long enough for anything that does not hang.
const PATIENCE: Duration = Duration::from_secs(90);

/// The program `follow` at work; ends with this value, or with the test process, whose end closes its stdin.
pub(crate) struct Follower {
    process: Child,
    seen: Arc<Mutex<Seen>>,
}

/// What it has printed so far.
#[derive(Default)]
pub(crate) struct Seen {
    /// By partition, the offset after the last.
    pub(crate) next: BTreeMap<i32, i64>,
    /// When the last line of records of a partition came.
    pub(crate) last: BTreeMap<i32, Instant>,
    /// Offsets that were not the next ones.
    pub(crate) wrong: Vec<String>,
    /// Errors of polls.
    pub(crate) errors: Vec<String>,
    /// Its log, line by line, with the times at which the lines came.
    pub(crate) log: Vec<(Instant, String)>,
}

impl Seen {
    /// Over all partitions.
    pub(crate) fn records(&self) -> i64 {
        self.next.values().sum()
    }

    /// The warnings in its log.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &str> {
        let lines = self.log.iter().map(|(_, line)| line.as_str());
        lines.filter(|line| line.contains(" WARN "))
    }

    fn take(&mut self, line: &str) -> Option<()> {
        if let Some(error) = line.strip_prefix("error ") {
            self.errors.push(error.to_owned());
            return Some(());
        }
        let mut fields = line.strip_prefix("records ")?.split(' ');
        let partition: i32 = fields.next()?.parse().ok()?;
        let first: i64 = fields.next()?.parse().ok()?;
        let last: i64 = fields.next()?.parse().ok()?;
        let next = self.next.entry(partition).or_default();
        if first != *next {
            self.wrong
                .push(format!("partition {partition}: {first} in place of {next}"));
        }
        *next = last + 1;
        self.last.insert(partition, Instant::now());
        Some(())
    }
}

impl Follower {
    /// Begins to read a topic of so many partitions, resting for `pause` after each poll.
    pub(crate) fn start(
        servers: &str,
        topic: &str,
        partitions: i32,
        pause: Duration,
        properties: &[&str],
    ) -> Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_follow"))
            .args([servers, topic])
            .args([partitions.to_string(), pause.as_millis().to_string()])
            .args(properties)
            .env("RUST_LOG", "warn,consumer_app=debug,session_actor=debug")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start follow")?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (out, err) = (process.stdout.take(), process.stderr.take());
        each_line(out.context("stdout")?, &seen, |seen, line| {
            if seen.take(&line).is_none() {
                seen.wrong.push(line);
            }
        });
        each_line(err.context("stderr")?, &seen, |seen, line| {
            seen.log.push((Instant::now(), line));
        });
        Ok(Self { process, seen })
    }

    /// What it has printed so far.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what it has printed is as it should be.
    pub(crate) fn wait(&mut self, what: &str, mut there: impl FnMut(&Seen) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            if there(&self.seen()) {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait()? {
                bail!("follow ended ({status}):\n{}", self.end_of_log());
            }
            ensure!(
                Instant::now() < end,
                "{what}: not within {PATIENCE:?}; at {:?}\n{}",
                self.seen().next,
                self.end_of_log()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until it has read everything up to `ends`, each offset once and in order.
    pub(crate) fn wait_for_ends(&mut self, ends: &BTreeMap<i32, i64>) -> Result<()> {
        self.wait(&format!("reading to {ends:?}"), |seen| {
            let at = |partition| seen.next.get(partition).copied().unwrap_or(0);
            ends.iter().all(|(partition, end)| at(partition) >= *end)
        })?;
        let seen = self.seen();
        ensure!(seen.wrong.is_empty(), "{:?}", seen.wrong);
        ensure!(seen.next == *ends, "{:?} in place of {ends:?}", seen.next);
        Ok(())
    }

    /// What it has used of the CPU, in user and kernel mode.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        /// Ticks a second in `/proc`, fixed by the kernel's interface.
        const TICK: Duration = Duration::from_millis(10);
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // the name of the program, which may have blanks in it, is in parentheses
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let mut ticks = 0;
        for field in fields.split_ascii_whitespace().skip(11).take(2) {
            ticks += field.parse::<u32>()?;
        }
        Ok(TICK * ticks)
    }

    fn end_of_log(&self) -> String {
        let seen = self.seen();
        let lines = seen.log.iter().rev().take(30).rev();
        lines.map(|(_, line)| format!("{line}\n")).collect()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // it has ended by itself
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn each_line(
    from: impl Read + Send + 'static,
    seen: &Arc<Mutex<Seen>>,
    take: impl Fn(&mut Seen, String) + Send + 'static,
) {
    let seen = Arc::clone(seen);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            take(
                &mut seen.lock().unwrap_or_else(PoisonError::into_inner),
                line,
            );
        }
    });
}
