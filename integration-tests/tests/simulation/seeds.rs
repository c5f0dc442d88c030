//! Which seeds are run, on how many threads, and what is said about those that fail.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};

/// Every so many seeds one is run a second time, to see that it does the same.
const REPEATED: u64 = 25;

/// What a seed led to.
pub(crate) struct Outcome {
    /// Everything that happened, in order.
    pub(crate) trace: Vec<String>,
    /// What should not have happened.
    pub(crate) violations: Vec<String>,
}

/// Runs a simulation with many seeds: `SEED=n` with that one, twice and with its trace, `SEEDS=n` with the first n, else with the
/// first `usual`.
pub(crate) fn each(name: &str, usual: u64, simulate: fn(u64) -> Outcome) {
    if let Some(seed) = number("SEED") {
        log_to_stderr();
        let first = run(seed, simulate);
        for line in &first.trace {
            println!("{line}");
        }
        let failure = failure(seed, &first).or_else(|| difference(&first, &run(seed, simulate)));
        if let Some(failure) = failure {
            panic!("{name}, seed {seed}: {failure}");
        }
        return;
    }
    let count = number("SEEDS").unwrap_or(usual);
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    let first = run(seed, simulate);
                    let failed = failure(seed, &first).or_else(|| {
                        let again = seed.is_multiple_of(REPEATED);
                        again
                            .then(|| run(seed, simulate))
                            .and_then(|second| difference(&first, &second))
                    });
                    if let Some(failed) = failed {
                        println!("{name}, seed {seed}: {failed}");
                        failures.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort_unstable();
    assert!(
        failures.is_empty(),
        "{} of {count} seeds failed: {failures:?}; repeat one with\n  SEED={} cargo test -p integration-tests --test simulation {name} -- --nocapture",
        failures.len(),
        failures[0],
    );
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={value} is not a number")),
    )
}

/// With `RUST_LOG`, what the actors log.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .without_time();
    // a second test of the same program finds it set
    let _ = log.with_writer(std::io::stderr).try_init();
}

thread_local! {
    static PANICS: Cell<u32> = const { Cell::new(0) };
}

/// Tasks of actors and broker swallow panics, so they are counted where they begin.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.set(PANICS.get() + 1);
            told(panic);
        }));
    });
}

fn run(seed: u64, simulate: fn(u64) -> Outcome) -> Outcome {
    count_panics();
    PANICS.set(0);
    // what the crates draw: jitter, ids
    fastrand::seed(seed);
    let ended = catch_unwind(AssertUnwindSafe(|| simulate(seed)));
    let mut outcome = ended.unwrap_or_else(|panic| Outcome {
        trace: Vec::new(),
        violations: vec![message(&*panic).to_owned()],
    });
    if PANICS.get() > 0 {
        outcome.violations.push(format!("{} panics", PANICS.get()));
    }
    outcome
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

fn failure(seed: u64, outcome: &Outcome) -> Option<String> {
    let first = outcome.violations.first()?;
    let more = outcome.violations.len() - 1;
    Some(format!(
        "{first} (and {more} more; {} events, SEED={seed} shows them)",
        outcome.trace.len()
    ))
}

fn difference(first: &Outcome, second: &Outcome) -> Option<String> {
    let pairs = first.trace.iter().zip(&second.trace);
    let differs = pairs.clone().position(|(one, other)| one != other);
    let at = differs.or_else(|| (first.trace.len() != second.trace.len()).then(|| pairs.len()))?;
    let line = |outcome: &Outcome| {
        outcome
            .trace
            .get(at)
            .cloned()
            .unwrap_or_else(|| "nothing".to_owned())
    };
    Some(format!(
        "two runs differ from event {at} on:\n  {}\n  {}",
        line(first),
        line(second)
    ))
}
