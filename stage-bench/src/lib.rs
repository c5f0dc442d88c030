//! Benches of single stages of the data path. Each is written once and measured in two ways: by time with criterion (`cargo bench`), and by
//! instructions under callgrind, which the gate `instruction-counts` of this crate holds against `counts.toml`.
//!
//! A bench program is a target with `harness = false` whose `main` is [`run`]:
//!
//! ```no_run
//! use stage_bench::Per;
//!
//! stage_bench::run("example", |stages| {
//!     // measured 0.06 ns per byte, budget 0.1
//!     let ones = || vec![1_u8; 4096];
//!     stages.add("sum", Per::byte(4096), ones, |bytes| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>());
//! });
//! ```
//!
//! What a stage does must not depend on chance: seeds are fixed, and no other thread has a part in it.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};

/// The argument that makes a bench program name its stages, one a line: name, how many, of what, with tabs in between.
pub const LIST: &str = "--stages";

/// The argument that makes a bench program do a stage twice, the second time in the function that callgrind is to watch.
pub const COUNT: &str = "--count";

/// What callgrind is to watch, as a pattern of a function's name, mangled or not.
pub const WATCHED: &str = "*stage_bench*watched_by_callgrind*";

/// What a cost is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Per {
    /// How many of them a stage deals with.
    pub count: u64,
    /// One of them, as in "per record".
    pub unit: &'static str,
}

impl Per {
    /// So many records.
    pub const fn record(count: u64) -> Self {
        let unit = "record";
        Self { count, unit }
    }

    /// So many bytes.
    pub const fn byte(count: u64) -> Self {
        let unit = "byte";
        Self { count, unit }
    }

    /// So many partitions.
    pub const fn partition(count: u64) -> Self {
        let unit = "partition";
        Self { count, unit }
    }
}

/// The stages of one bench program.
pub struct Stages {
    group: &'static str,
    mode: Mode,
}

enum Mode {
    Time(Box<Criterion>),
    List,
    Count { stage: String, found: bool },
}

impl Stages {
    /// Adds a stage: what `work` does with what `setup` made. Only `work` is measured, and what it returns is dropped outside of the measurement.
    pub fn add<S, T>(
        &mut self,
        name: &str,
        per: Per,
        mut setup: impl FnMut() -> S,
        mut work: impl FnMut(&mut S) -> T,
    ) {
        let full_name = format!("{}/{name}", self.group);
        match &mut self.mode {
            Mode::List => println!("{full_name}\t{}\t{}", per.count, per.unit),
            Mode::Count { stage, found } if *stage == full_name => {
                *found = true;
                // what is made once, such as the tables of a codec, is made here
                work(&mut setup());
                let mut input = setup();
                let mut output = None;
                watched_by_callgrind(&mut || output = Some(black_box(work(&mut input))));
            }
            Mode::Count { .. } => {}
            Mode::Time(criterion) => {
                let mut group = criterion.benchmark_group(self.group);
                group.throughput(match per.unit {
                    "byte" => Throughput::Bytes(per.count),
                    _ => Throughput::Elements(per.count),
                });
                group.bench_function(name, |bencher| {
                    bencher.iter_batched_ref(&mut setup, &mut work, BatchSize::PerIteration);
                });
                group.finish();
            }
        }
    }
}

/// The `main` of a bench program, whose stages are named after `group`.
///
/// # Panics
/// If it is to count a stage that there is not.
pub fn run(group: &'static str, add_stages: impl FnOnce(&mut Stages)) {
    let mut arguments = std::env::args().skip(1);
    let mode = match arguments.next().as_deref() {
        Some(LIST) => Mode::List,
        Some(COUNT) => Mode::Count {
            stage: arguments.next().unwrap_or_default(),
            found: false,
        },
        _ => Mode::Time(Box::new(Criterion::default().configure_from_args())),
    };
    let mut stages = Stages { group, mode };
    add_stages(&mut stages);
    match stages.mode {
        Mode::List => {}
        Mode::Count { stage, found } => assert!(found, "no stage {stage:?}"),
        Mode::Time(criterion) => criterion.final_summary(),
    }
}

#[inline(never)]
fn watched_by_callgrind(work: &mut dyn FnMut()) {
    work();
    // or the call would be a jump, and this function be left before the work is done
    black_box(());
}
