//! What every peer does, whatever it is written in; here for those in Rust.
//!
//! A peer is a program that reads a whole topic, several times over, through the public API of one client, and prints a JSON line for each
//! pass ([`Pass`]). It fails, with a word on stderr, if a pass does not bring all records in the time that it has.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::Serialize;

/// What a peer is told.
#[derive(Debug, clap::Parser)]
pub struct Arguments {
    /// Address of a broker.
    #[arg(long)]
    pub bootstrap_server: String,
    /// The topic to read, from the beginning of each partition.
    #[arg(long)]
    pub topic: String,
    /// How many partitions it has.
    #[arg(long)]
    pub partitions: i32,
    /// How many records are in it: a pass ends with the last of them.
    #[arg(long)]
    pub records: u64,
    /// How many times to read it.
    #[arg(long, default_value_t = 1)]
    pub passes: u32,
    /// Which API of the client to read with, where there are several.
    #[arg(long, default_value = "")]
    pub mode: String,
    /// A property of the client, as KEY=VALUE.
    #[arg(long, value_parser = property)]
    pub set: Vec<(String, String)>,
    /// Seconds that a pass may take.
    #[arg(long, default_value_t = 120)]
    pub limit: u64,
}

impl Arguments {
    /// Refuses properties, for clients that have none by name.
    ///
    /// # Errors
    /// If one was given: a run must not pass for one with a property that had no effect.
    pub fn without_properties(&self) -> Result<()> {
        match self.set.first() {
            Some((key, _)) => anyhow::bail!("this client has no property {key}"),
            None => Ok(()),
        }
    }
}

fn property(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "give it as KEY=VALUE".to_owned())
}

/// What one pass read and took: a line of a peer's output.
#[derive(Debug, Serialize)]
pub struct Pass {
    /// Name and version of the client.
    pub client: String,
    /// Records read.
    pub records: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Seconds from the first call of the pass to the last record.
    pub wall_s: f64,
    /// User and system time of all threads in the same time, in seconds.
    pub cpu_s: f64,
    /// The most bytes that were resident at any time since the program began.
    pub max_rss: u64,
    /// See [`Tally::checksum`]; a decimal string, since readers of JSON may round a number as large.
    pub checksum: String,
    /// Calls that asked the client for records.
    pub polls: u64,
}

/// Counts the records of a pass.
#[derive(Debug, Default)]
pub struct Tally {
    records: u64,
    offsets: u64,
    key_bytes: u64,
    value_bytes: u64,
    polls: u64,
}

impl Tally {
    /// Counts a record: its offset, and the lengths of key and value, a null counting 0.
    #[inline]
    pub fn add(&mut self, offset: i64, key: usize, value: usize) {
        self.records += 1;
        self.offsets = self.offsets.wrapping_add_signed(offset);
        self.key_bytes += key as u64;
        self.value_bytes += value as u64;
    }

    /// Counts a call that asked for records.
    #[inline]
    pub fn polled(&mut self) {
        self.polls += 1;
    }

    /// How many calls asked for records.
    #[inline]
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// How many records there were.
    #[inline]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The sum of all offsets, 31 times all lengths of keys and 1,000,003 times all lengths of values; it wraps.
    pub fn checksum(&self) -> u64 {
        self.offsets
            .wrapping_add(self.key_bytes.wrapping_mul(31))
            .wrapping_add(self.value_bytes.wrapping_mul(1_000_003))
    }
}

/// Measures one pass. Made when it begins.
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu: Duration,
    limit: Duration,
}

impl Meter {
    /// The pass begins.
    ///
    /// # Errors
    /// If the system does not tell what the process has used.
    pub fn begin(arguments: &Arguments) -> Result<Self> {
        Ok(Self {
            cpu: cpu()?,
            #[expect(
                clippy::disallowed_methods,
                reason = "the real clock is what is measured here"
            )]
            began: Instant::now(),
            limit: Duration::from_secs(arguments.limit),
        })
    }

    /// Ends a pass that does not come to its end. To be asked now and then, not for each record.
    ///
    /// # Errors
    /// If the pass has taken longer than it may.
    pub fn check(&self, tally: &Tally) -> Result<()> {
        ensure!(
            self.began.elapsed() < self.limit,
            "no more than {} records came within {} s",
            tally.records,
            self.limit.as_secs()
        );
        Ok(())
    }

    /// The pass is over: prints its line.
    ///
    /// # Errors
    /// If the system does not tell what the process has used.
    pub fn end(self, client: &str, tally: &Tally) -> Result<()> {
        let wall = self.began.elapsed();
        let cpu = cpu()?.saturating_sub(self.cpu);
        let pass = Pass {
            client: client.to_owned(),
            records: tally.records,
            bytes: tally.key_bytes + tally.value_bytes,
            wall_s: wall.as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            max_rss: max_rss()?,
            checksum: tally.checksum().to_string(),
            polls: tally.polls,
        };
        println!("{}", serde_json::to_string(&pass)?);
        Ok(())
    }
}

/// User and system time of all threads of this process.
fn cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let of =
        |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    Ok(of(usage.user_time()) + of(usage.system_time()))
}

/// The peak of resident memory. Not what `getrusage` says, which begins with what the process had been before `exec`.
fn max_rss() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .context("no VmHWM in /proc/self/status")?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// Name and version of a client that is a crate, for [`Pass::client`]: the version is that which was built.
///
/// # Errors
/// If the crate is not part of this workspace's build.
pub fn crate_version(name: &str) -> Result<String> {
    let lock = include_str!("../../Cargo.lock");
    let package = format!("name = \"{name}\"\nversion = \"");
    let version = lock
        .split_once(&package)
        .and_then(|(_, rest)| rest.split_once('"'))
        .with_context(|| format!("{name} is not in Cargo.lock"))?;
    Ok(format!("{name} {}", version.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_contract() {
        let mut tally = Tally::default();
        tally.add(7, 10, 100);
        tally.add(9, 0, 3);
        assert_eq!(tally.checksum(), 16 + 31 * 10 + 1_000_003 * 103);
        tally.add(i64::MAX, 0, 0);
        tally.add(i64::MAX, 0, 0);
        assert_eq!(tally.checksum(), 14 + 31 * 10 + 1_000_003 * 103);
    }

    #[test]
    fn work_and_memory_are_counted() -> Result<()> {
        let before = cpu()?;
        let bytes = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(cpu()? > before);
        assert!(max_rss()? >= bytes.len() as u64);
        Ok(())
    }

    #[test]
    fn versions_are_those_that_are_built() -> Result<()> {
        assert!(crate_version("krafka")?.starts_with("krafka 0."));
        assert!(crate_version("no-such-crate").is_err());
        Ok(())
    }
}
