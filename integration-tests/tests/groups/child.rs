//! Members in processes of their own, ours and Kafka's console consumer, whose lines are read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use integration_tests::kafka::{Cluster, Jars, Process};

use super::member::LIMIT;

/// Whose consumer a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The program `member`.
    Ours,
    /// Kafka's console consumer. It writes each record through to the file before its next poll, and positions are committed in a poll; only
    /// the membership of KIP-848, which has a thread of its own, may commit what a poll is about to give. So it is not killed here.
    Java,
}

/// A member of a group, of which the topic has the name; killed when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    client: Client,
    process: Process,
    lines: BufReader<File>,
    /// A line that was not whole when it was read.
    rest: Vec<u8>,
    faults: Vec<String>,
    frozen_until: Option<Instant>,
    was_frozen: bool,
    log: PathBuf,
}

/// The status of a program that a signal ended.
const fn by_signal(signal: i32) -> i32 {
    128 + signal
}

const KILLED: i32 = by_signal(9);
const TERMINATED: i32 = by_signal(15);
/// Kafka's console consumer ends with this, an exception of its poll included.
const GAVE_UP: i32 = 0;

impl Child {
    /// Its output goes to two files of its name in the folder.
    pub(crate) fn start(
        kafka: &Cluster,
        group: &str,
        client: Client,
        settings: &[(&str, &str)],
        folder: &Path,
        name: String,
    ) -> Result<Self> {
        let properties = settings.iter().map(|(key, value)| format!("{key}={value}"));
        let command = match client {
            Client::Ours => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_member"));
                command.args([kafka.bootstrap_servers(), group, group]);
                command.args(properties);
                command
            }
            Client::Java => {
                let mut command = Jars::fetch()?.java();
                command
                    .arg("-Dorg.slf4j.simpleLogger.showDateTime=true")
                    .arg("-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS")
                    .arg("org.apache.kafka.tools.consumer.ConsoleConsumer")
                    .args(["--bootstrap-server", kafka.bootstrap_servers()])
                    .args(["--topic", group, "--group", group])
                    .args(["--command-property", "auto.offset.reset=earliest"])
                    .args(["--formatter-property", "print.partition=true"])
                    .args(["--formatter-property", "print.offset=true"])
                    .args(["--formatter-property", "print.value=false"]);
                for property in properties {
                    command.args(["--command-property", &property]);
                }
                command
            }
        };
        let (out, log) = (folder.join(&name), folder.join(format!("{name}.log")));
        let process = Process::spawn(&command, &out, &log)?;
        Ok(Self {
            name,
            client,
            process,
            lines: BufReader::new(File::open(out)?),
            rest: Vec::new(),
            faults: Vec::new(),
            frozen_until: None,
            was_frozen: false,
            log,
        })
    }

    pub(crate) fn client(&self) -> Client {
        self.client
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What ours had to say besides records.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        let faults = self.faults.iter();
        faults.map(|fault| format!("{}: {fault}", self.name))
    }

    /// Partition and offset of each record that it has printed since this was last asked.
    pub(crate) fn records(&mut self) -> Result<Vec<(i32, i64)>> {
        let mut records = Vec::new();
        while self.lines.read_until(b'\n', &mut self.rest)? > 0 {
            if self.rest.pop_if(|last| *last == b'\n').is_none() {
                break;
            }
            let line = std::mem::take(&mut self.rest);
            let line = std::str::from_utf8(&line)?;
            match line.strip_prefix("fault ") {
                Some(fault) => self.faults.push(fault.to_owned()),
                None => records.push(record(line).with_context(|| self.name.clone())?),
            }
        }
        Ok(records)
    }

    /// Tells it to commit, to leave and to end, and does not wait for it.
    pub(crate) fn leave(&mut self) -> Result<()> {
        // it may have ended before it is known that the signal was sent: how it ended tells
        self.process.signal("TERM")?;
        Ok(())
    }

    /// Waits for the end of one that was told to leave.
    pub(crate) fn left(&mut self) -> Result<()> {
        self.ended(match self.client {
            // or of the signal, before it listens
            Client::Ours => &[0, TERMINATED],
            Client::Java if self.was_frozen => &[TERMINATED, GAVE_UP],
            Client::Java => &[TERMINATED],
        })
    }

    /// Whether it has ended after it was frozen: then the poll of Java's members of KIP-848 may throw UnknownMemberIdException, or
    /// IllegalStateException ("No current assignment for partition"), with which the console consumer ends.
    pub(crate) fn has_given_up(&mut self) -> Result<bool> {
        let may_give_up = self.client == Client::Java && self.was_frozen;
        if !may_give_up || self.process.ended()?.is_none() {
            return Ok(false);
        }
        self.ended(&[GAVE_UP])?;
        Ok(true)
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.signal("KILL")?;
        self.ended(&[KILLED])
    }

    fn ended(&mut self, expected: &[i32]) -> Result<()> {
        let status = self.process.wait(LIMIT)?;
        match status.and_then(|status| status.code()) {
            Some(code) if expected.contains(&code) => Ok(()),
            code => bail!(
                "{} ended with {code:?} in place of {expected:?}; {}",
                self.name,
                self.log.display()
            ),
        }
    }

    /// SIGSTOP.
    pub(crate) fn freeze(&mut self, until: Instant) -> Result<()> {
        self.signal("STOP")?;
        self.frozen_until = Some(until);
        self.was_frozen = true;
        Ok(())
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen_until.is_some()
    }

    /// SIGCONT, if it was frozen until then.
    pub(crate) fn thaw(&mut self, now: Instant) -> Result<()> {
        if self.frozen_until.take_if(|until| *until <= now).is_some() {
            self.signal("CONT")?;
        }
        Ok(())
    }

    fn signal(&mut self, signal: &str) -> Result<()> {
        ensure!(
            self.process.signal(signal)?,
            "{} has ended by itself; {}",
            self.name,
            self.log.display()
        );
        Ok(())
    }
}

fn record(line: &str) -> Result<(i32, i64)> {
    let fields = line
        .strip_prefix("Partition:")
        .and_then(|line| line.split_once("\tOffset:"));
    let (partition, offset) = fields.with_context(|| format!("no record: {line}"))?;
    Ok((partition.parse()?, offset.parse()?))
}
