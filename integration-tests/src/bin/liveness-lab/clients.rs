//! The processes of the lab, and what they have said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use integration_tests::kafka::{Jars, Process};

use crate::place::Place;
use crate::setting::Setting;

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Ours,
    JavaClassic,
    JavaAsync,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::JavaClassic => "Java classic 4.4.0",
            Self::JavaAsync => "Java async 4.4.0",
        }
    }
}

/// A partition and an offset.
pub(crate) type Name = (i32, i64);

/// What the writer says of a record: when it was sent and when it was acknowledged, in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) sent: i128,
    pub(crate) acknowledged: i128,
}

/// What a reader says of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    pub(crate) at: i128,
    /// When its partition was last resumed, or 0.
    pub(crate) resumed: i128,
}

/// A process of the lab. Dropping it kills it.
pub(crate) struct Client {
    what: String,
    process: Process,
    out: PathBuf,
    err: PathBuf,
}

impl Client {
    pub(crate) fn read(mode: Mode, setting: Setting, place: &Place, folder: &Path) -> Result<Self> {
        let mut command = match mode {
            Mode::Ours => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("read");
                command
            }
            Mode::JavaClassic | Mode::JavaAsync => {
                let mut command = Jars::fetch()?.java();
                command.args(["LivenessLab", "read"]);
                command
            }
        };
        let habit = setting.habit().to_possible_value();
        let habit = habit.context("every habit has a name")?;
        command.arg(setting.name());
        command.arg(setting.partitions().to_string());
        command.arg(habit.get_name());
        command.args(setting.properties(&place.readers_servers(setting)?));
        match mode {
            Mode::Ours => {}
            Mode::JavaClassic => {
                command.args(["group.protocol=classic", "enable.metrics.push=false"]);
            }
            Mode::JavaAsync => {
                command.args(["group.protocol=consumer", "enable.metrics.push=false"]);
            }
        }
        let what = format!("{}-{}", setting.name(), mode.name().replace(' ', "-"));
        Self::start(what, &command, folder)
    }

    /// Writes so many records, and ends.
    pub(crate) fn write(
        setting: Setting,
        records: usize,
        place: &Place,
        folder: &Path,
    ) -> Result<Self> {
        let mut command = Jars::fetch()?.java();
        let live: Vec<String> = setting.live().iter().map(i32::to_string).collect();
        command.args(["LivenessLab", "write", setting.name(), &live.join(",")]);
        command.arg(records.to_string());
        command.arg(setting.period().as_millis().to_string());
        command.arg(place.servers());
        let what = format!("{}-writer-{records}", setting.name());
        Self::start(what, &command, folder)
    }

    fn start(what: String, command: &Command, folder: &Path) -> Result<Self> {
        let out = folder.join(format!("{what}.out"));
        let err = folder.join(format!("{what}.err"));
        Ok(Self {
            process: Process::spawn(command, &out, &err)?,
            what,
            out,
            err,
        })
    }

    /// Whether it has ended, and well.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        match self.process.ended()? {
            Some(status) if !status.success() => {
                let err = fs::read_to_string(&self.err)?;
                bail!("{} ended, {status}: {err}", self.what)
            }
            ended => Ok(ended.is_some()),
        }
    }

    /// Processor time that it has used so far, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        /// USER_HZ, which is 100 wherever Linux runs.
        const TICKS: f64 = 100.0;
        let pid = self.process.pid();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("processor time of {}", self.what))?;
        // the name, in brackets, may have blanks
        let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks =
            |at: usize| -> Result<f64> { Ok(fields.get(at).context("/proc/PID/stat")?.parse()?) };
        Ok((ticks(11)? + ticks(12)?) / TICKS)
    }

    /// Fetch requests so far, as of a second ago at most.
    pub(crate) fn requests(&self) -> Result<f64> {
        let last = self.lines()?.pop_requests();
        last.with_context(|| format!("{} has not told its requests", self.what))
    }

    pub(crate) fn written(&self) -> Result<BTreeMap<Name, Written>> {
        let lines = self.lines()?;
        let records = lines.records(|sent, acknowledged| Written { sent, acknowledged });
        records.collect()
    }

    pub(crate) fn given(&self) -> Result<BTreeMap<Name, Given>> {
        let lines = self.lines()?;
        let records = lines.records(|at, resumed| Given { at, resumed });
        records.collect()
    }

    fn lines(&self) -> Result<Lines> {
        let text = fs::read_to_string(&self.out)?;
        // the last line may not be whole yet
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        Ok(Lines(whole.to_owned()))
    }
}

struct Lines(String);

impl Lines {
    fn pop_requests(&self) -> Option<f64> {
        let mut lines = self.0.lines().rev();
        lines.find_map(|line| line.strip_prefix("requests ")?.parse().ok())
    }

    fn records<'a, T>(
        &'a self,
        of: impl Fn(i128, i128) -> T + 'a,
    ) -> impl Iterator<Item = Result<(Name, T)>> + 'a {
        let records = self
            .0
            .lines()
            .filter_map(|line| line.strip_prefix("record "));
        records.map(move |line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [partition, offset, one, other] = fields[..] else {
                bail!("a line {line:?}");
            };
            let name = (number(partition)?, number(offset)?);
            Ok((name, of(number(one)?, number(other)?)))
        })
    }
}

fn number<T: FromStr>(text: &str) -> Result<T> {
    let parsed = text.parse().ok();
    parsed.with_context(|| format!("a number {text:?}"))
}
