//! One process of a peer: what it said, and what the broker counted meanwhile.

#![expect(
    clippy::disallowed_methods,
    reason = "blocking and the real clock are the point here: this drives processes, and no actor calls it"
)]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use integration_tests::kafka::{Cluster, Process};
use serde::{Deserialize, Serialize};

use crate::broker::Counters;
use crate::peer::Peer;
use crate::programs::{LIMIT, Programs};
use crate::topic::Filled;

/// The broker's counters lag behind what it does by less than this.
const SETTLE: Duration = Duration::from_millis(300);

/// A line of a peer's output; contract/src/lib.rs says what is in it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Pass {
    pub(crate) client: String,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) max_rss: u64,
    pub(crate) checksum: String,
    pub(crate) polls: u64,
}

/// What is kept of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Run {
    pub(crate) round: usize,
    pub(crate) topic: String,
    pub(crate) peer: String,
    /// Bytes of the topic's log.
    pub(crate) log: f64,
    /// All passes, in order.
    pub(crate) passes: Vec<Pass>,
    /// So many of them, at the end, count.
    pub(crate) counted: usize,
    /// Fetch requests that the broker got, per pass.
    pub(crate) fetches: f64,
    /// Bytes of records that left the broker, per pass.
    pub(crate) bytes_out: f64,
    /// The broker's processor time per pass, in seconds.
    pub(crate) broker_cpu_s: f64,
    /// Cores that were taken by anything else: neither the passes nor the broker. The peer's own start is in it.
    pub(crate) other_load: f64,
}

/// Lets a peer read a topic.
pub(crate) fn run(
    kafka: &Cluster,
    programs: &Programs,
    (peer, filled): (&Peer, &Filled),
    (round, short): (usize, bool),
) -> Result<Run> {
    let passes = peer.program.passes(short);
    let servers = kafka.bootstrap_servers();
    let command = programs.command(peer, filled, servers, passes.all)?;
    let folder = kafka
        .log(1)?
        .with_file_name(format!("{}-{}-{round}", peer.name, filled.topic.name));
    fs::create_dir_all(&folder)?;
    let (out, err) = (folder.join("out"), folder.join("err"));

    thread::sleep(SETTLE);
    let before = Counters::read(kafka, filled.topic.name)?;
    let began = Instant::now();
    let mut process = Process::spawn(&command, &out, &err)?;
    let limit = Duration::from_secs(LIMIT) * u32::try_from(passes.all)?;
    let Some(status) = process.wait(limit)? else {
        bail!("it did not end within {} s", limit.as_secs());
    };
    let took = began.elapsed().as_secs_f64();
    thread::sleep(SETTLE);
    let after = Counters::read(kafka, filled.topic.name)?;
    ensure!(
        status.success(),
        "{status}: {}",
        fs::read_to_string(&err)?.trim()
    );

    let passes: Vec<Pass> = fs::read_to_string(&out)?
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect::<Result<_>>()?;
    check(&passes, peer.program.passes(short).all, filled)?;
    let count = passes.len() as f64;
    let own: f64 = passes.iter().map(|pass| pass.cpu_s).sum();
    let broker = after.broker_cpu - before.broker_cpu;
    Ok(Run {
        round,
        topic: filled.topic.name.to_owned(),
        peer: peer.name.to_owned(),
        log: filled.log,
        counted: peer.program.passes(short).counted,
        fetches: (after.fetches - before.fetches) / count,
        bytes_out: (after.bytes_out - before.bytes_out) / count,
        broker_cpu_s: broker / count,
        other_load: (after.machine_cpu - before.machine_cpu - own - broker).max(0.0) / took,
        passes,
    })
}

/// That each pass read all records, and the right ones.
fn check(passes: &[Pass], expected: usize, filled: &Filled) -> Result<()> {
    ensure!(
        passes.len() == expected,
        "{} passes of {expected}",
        passes.len()
    );
    for pass in passes {
        ensure!(
            pass.records == filled.records && pass.checksum == filled.checksum.to_string(),
            "it read {} records with the checksum {}; written were {} with {}",
            pass.records,
            pass.checksum,
            filled.records,
            filled.checksum
        );
    }
    Ok(())
}

impl Run {
    fn counted(&self) -> &[Pass] {
        &self.passes[self.passes.len().saturating_sub(self.counted)..]
    }

    /// The median of the passes that count.
    fn median(&self, figure: impl Fn(&Pass) -> f64) -> f64 {
        crate::figures::median(self.counted().iter().map(figure))
    }

    /// Processor time of the process per record, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> f64 {
        self.median(|pass| pass.cpu_s * 1e9 / pass.records as f64)
    }

    /// Megabytes of keys and values per second.
    pub(crate) fn mb_per_s(&self) -> f64 {
        self.median(|pass| pass.bytes as f64 / 1e6 / pass.wall_s)
    }

    /// Records of a pass.
    pub(crate) fn records(&self) -> f64 {
        self.median(|pass| pass.records as f64)
    }

    /// Megabytes.
    pub(crate) fn max_rss(&self) -> f64 {
        self.passes
            .iter()
            .map(|pass| pass.max_rss)
            .max()
            .unwrap_or(0) as f64
            / 1e6
    }

    /// Processor time of the process per fetch request, in microseconds.
    pub(crate) fn cpu_us_per_fetch(&self) -> f64 {
        self.median(|pass| pass.cpu_s * 1e6) / self.fetches
    }
}
