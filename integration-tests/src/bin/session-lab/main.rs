//! Who keeps its fetch sessions (KIP-227) when a broker has fewer slots than consumers, and the application works on what it polls.
//!
//! Each mode has a real broker of its own, with the same records written to all; the broker's counters and log are what is measured. A
//! broker keeps a new session for 120 s whatever comes, so a run takes minutes. Prints a Markdown table per setting and, below it, whether
//! the figures are reached; fails if one is not.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use integration_tests::kafka::{Cluster, Jars};

mod broker;
mod java;
mod lane;
mod mode;
mod ours;
mod report;
mod runs;
mod setting;

use java::Clients;
use lane::{Measured, Plan};
use mode::Mode;
use setting::{Load, PARTITIONS, Setting};

const TOPIC: &str = "lab";
/// Compares how consumers keep their fetch sessions, on real brokers with few session slots.
#[derive(Debug, Parser)]
struct Arguments {
    /// The settings, one after the other.
    #[arg(value_enum, ignore_case = true, default_value = "b")]
    settings: Vec<Setting>,
    /// The modes, side by side: ours by the policy's name (read-ahead, omit, stop, max-bytes-1, skip-node), Java's as classic-4.4.0,
    /// async-4.4.0 and async-3.9.1.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "read-ahead,omit,classic-4.4.0,async-4.4.0"
    )]
    modes: Vec<Mode>,
    /// Measures 35 s, and `f` 85 s, but for `c` and `d`: evictions are few, and the first ones, which come all at once, weigh more.
    #[arg(long, conflicts_with = "measure")]
    short: bool,
    /// Seconds before measuring, in place of the setting's.
    #[arg(long)]
    skip: Option<u64>,
    /// Seconds of measuring, in place of the setting's.
    #[arg(long)]
    measure: Option<u64>,
    /// Consumers of each mode, in place of the setting's.
    #[arg(long)]
    readers: Option<u32>,
    /// Java consumers that come and go beside those of the mode, and want sessions, too.
    #[arg(long, default_value_t = 4)]
    newcomers: u32,
    /// `max.incremental.fetch.session.cache.slots` of each broker, in place of the setting's; a multiple of 8, in as many parts as the
    /// cache is divided.
    #[arg(long)]
    slots: Option<u32>,
    /// Runs of each setting, side by side: the table has the medians, and a figure is reached if it is in each of them.
    #[arg(long, default_value_t = 1)]
    runs: usize,
}

impl Arguments {
    fn plan(&self, setting: Setting) -> Plan {
        let measure = if self.short {
            setting.short()
        } else {
            self.measure.map(Duration::from_secs)
        };
        let mut load = setting.load();
        load.skip = self.skip.map_or(load.skip, Duration::from_secs);
        load.measure = measure.unwrap_or(load.measure);
        load.readers = self.readers.unwrap_or(load.readers);
        load.slots = self.slots.unwrap_or(load.slots);
        Plan {
            load,
            newcomers: self.newcomers,
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut reached = true;
    for &setting in &arguments.settings {
        let plan = arguments.plan(setting);
        let runs = run(&plan, &arguments.modes, arguments.runs)
            .with_context(|| format!("setting {setting:?}"))?;
        println!("{}", report::table(setting, &plan, &runs::medians(&runs)));
        for (index, measured) in (1..).zip(&runs) {
            for verdict in report::verdicts(setting, measured) {
                println!(
                    "- run {index}, {}: {}",
                    if verdict.reached { "reached" } else { "MISSED" },
                    verdict.what
                );
                reached &= verdict.reached;
            }
        }
        println!();
    }
    Ok(if reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Every mode as often as there are runs, all side by side; what was seen, by run.
fn run(plan: &Plan, modes: &[Mode], runs: usize) -> Result<Vec<Vec<Measured>>> {
    let modes: Vec<Mode> = modes.repeat(runs.max(1));
    let clusters = side_by_side(&modes, |_| start(&plan.load))?;
    let all: Vec<&Cluster> = clusters.iter().collect();
    let mut writer = Clients::write(&plan.load, &Jars::fetch()?, &all)?;
    let lanes: Vec<(Mode, &Cluster)> = modes.iter().copied().zip(all).collect();
    let measured = side_by_side(&lanes, |&(mode, kafka)| lane::run(mode, plan, kafka))?;
    writer.check()?;
    let each = measured.len() / runs.max(1);
    Ok(measured.chunks(each.max(1)).map(<[_]>::to_vec).collect())
}

fn start(load: &Load) -> Result<Cluster> {
    let kafka = broker::start(load)?;
    // what has been read is of no use, and the runs are long
    let configs = [("retention.ms", "120000"), ("segment.bytes", "8388608")];
    kafka.create_topic(TOPIC, PARTITIONS, 1, &configs)?;
    Ok(kafka)
}

/// Does the same for each, in a thread each, and answers in their order.
fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    each: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    thread::scope(|scope| {
        let each = &each;
        let threads: Vec<_> = all
            .iter()
            .map(|one| scope.spawn(move || each(one)))
            .collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?);
        ended.collect()
    })
}
