//! One setting: consumers start, records come one at a time, and then none come.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::clients::{Client, Given, Mode, Name, Written};
use crate::place::Place;
use crate::setting::{Habit, Setting};

/// Records before the first that counts: consumers find leaders and positions, and the JVMs warm up.
const FIRST: usize = 200;
/// For whatever should take a moment, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(90);
const A_MOMENT: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) records: usize,
    pub(crate) silence: Duration,
    pub(crate) ours_alone: bool,
}

#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) place: &'static str,
    /// From a record's sending to its acknowledgement, ms, in order.
    pub(crate) round_trips: Vec<f64>,
    pub(crate) readers: Vec<MeasuredReader>,
}

#[derive(Debug)]
pub(crate) struct MeasuredReader {
    pub(crate) mode: Mode,
    /// From a record's acknowledgement to the poll that gave it, ms, in order.
    pub(crate) delays: Vec<f64>,
    /// Share of a core while nothing comes.
    pub(crate) idle_share: f64,
    /// Share of a core while records come.
    pub(crate) busy_share: f64,
    /// Fetch requests per second while records come, and while none come.
    pub(crate) requests: [f64; 2],
}

/// What a consumer has used at a moment.
struct Cost {
    cpu: f64,
    requests: f64,
    at: Instant,
}

impl Cost {
    fn of(reader: &Client) -> Result<Self> {
        Ok(Self {
            cpu: reader.cpu_seconds()?,
            requests: reader.requests()?,
            at: now(),
        })
    }

    /// CPU and requests per second since an earlier moment.
    fn since(&self, earlier: &Self) -> (f64, f64) {
        let seconds = (self.at - earlier.at).as_secs_f64();
        let cpu = (self.cpu - earlier.cpu) / seconds;
        (cpu, (self.requests - earlier.requests) / seconds)
    }
}

pub(crate) fn run(setting: Setting, plan: &Plan, place: &Place) -> Result<Measured> {
    let modes: &[Mode] = if plan.ours_alone {
        &[Mode::Ours]
    } else {
        &[Mode::Ours, Mode::JavaClassic, Mode::JavaAsync]
    };
    let folder = Folder::create()?;
    let mut readers = Vec::new();
    for &mode in modes {
        readers.push(Client::read(mode, setting, place, &folder.0)?);
    }
    let mut first = Client::write(setting, FIRST, place, &folder.0)?;
    let first = written(&mut first, setting.period() * FIRST as u32)?;
    for reader in &mut readers {
        wait_for(reader, first.keys().copied())?;
    }
    place.disturb(setting)?;
    pause(Duration::from_secs(2));
    let begin: Vec<Cost> = readers.iter().map(Cost::of).collect::<Result<_>>()?;
    let mut writer = Client::write(setting, plan.records, place, &folder.0)?;
    let written = written(&mut writer, setting.period() * plan.records as u32)?;
    let end: Vec<Cost> = readers.iter().map(Cost::of).collect::<Result<_>>()?;
    for reader in &mut readers {
        wait_for(reader, written.keys().copied())?;
    }
    // whatever the last records set going is over
    pause(Duration::from_secs(1));
    let silence: Vec<Cost> = readers.iter().map(Cost::of).collect::<Result<_>>()?;
    pause(plan.silence);
    let over: Vec<Cost> = readers.iter().map(Cost::of).collect::<Result<_>>()?;
    place.restore(setting)?;
    let mut measured = Vec::new();
    for (index, (reader, &mode)) in readers.iter().zip(modes).enumerate() {
        let (busy_share, busy_requests) = end[index].since(&begin[index]);
        let (idle_share, idle_requests) = over[index].since(&silence[index]);
        measured.push(MeasuredReader {
            mode,
            delays: delays(setting, &written, &reader.given()?),
            idle_share,
            busy_share,
            requests: [busy_requests, idle_requests],
        });
    }
    let round_trip = |record: &Written| millis(record.acknowledged - record.sent);
    Ok(Measured {
        place: place.name(),
        round_trips: sorted(written.values().map(round_trip)),
        readers: measured,
    })
}

/// Waits for the end of a writer.
fn written(writer: &mut Client, takes: Duration) -> Result<BTreeMap<Name, Written>> {
    let begun = now();
    while !writer.has_ended()? {
        ensure!(
            begun.elapsed() < takes + PATIENCE,
            "records are not written"
        );
        pause(A_MOMENT);
    }
    writer.written()
}

/// Waits until a reader was given all of these.
fn wait_for(reader: &mut Client, names: impl Iterator<Item = Name> + Clone) -> Result<()> {
    let begun = now();
    loop {
        ensure!(!reader.has_ended()?, "a reader ended");
        let given = reader.given()?;
        let missing = names
            .clone()
            .filter(|name| !given.contains_key(name))
            .count();
        if missing == 0 {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < PATIENCE,
            "{missing} records were not given"
        );
        pause(A_MOMENT);
    }
}

/// A record of a paused partition is late from the resume on.
fn delays(
    setting: Setting,
    written: &BTreeMap<Name, Written>,
    given: &BTreeMap<Name, Given>,
) -> Vec<f64> {
    sorted(written.iter().filter_map(|(name, record)| {
        let given = given.get(name)?;
        let due = match setting.habit() {
            Habit::Pauses => record.acknowledged.max(given.resumed),
            Habit::Waits | Habit::Storms => record.acknowledged,
        };
        Some(millis(given.at - due))
    }))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn millis(nanos: i128) -> f64 {
    nanos as f64 / 1e6
}

/// What the processes say is kept as long as it is needed.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("liveness-lab-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // it is in the folder for what may be deleted at any time
        let _ = fs::remove_dir_all::<&Path>(&self.0);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lab measures, and waits on a thread of its own"
)]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lab measures, and waits on a thread of its own"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
