//! The test broker held against Apache Kafka, request by request.
//!
//! Each subject sends its requests to both and compares every field of the answers. What is known to differ stands in
//! `known_differences.rs`; a subject fails for anything else, and also if a known difference does not occur any more.

mod cases;
mod clusters;
mod engine;
mod engine_checks;
mod known_differences;
mod requests;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime;

use clusters::Clusters;
use engine::{Pair, Report, Totals};
use known_differences::KNOWN_DIFFERENCES;

/// Subjects spend most of their time in long polls, so more of them run at a time than there are cores.
const SUBJECTS_AT_A_TIME: usize = 6;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SUBJECTS_AT_A_TIME);
    let totals = Arc::new(Mutex::new(Totals::default()));
    let mut trials = cases::all(&totals);
    trials.push(Trial::test("engine_checks", || Ok(engine_checks::run()?)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        let totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        println!("{totals}");
    }
    conclusion.exit_code()
}

/// A test of the cases of one subject.
fn subject<F>(
    totals: &Arc<Mutex<Totals>>,
    name: &'static str,
    clusters: Clusters,
    cases: F,
) -> Trial
where
    F: AsyncFnOnce(&mut Pair) -> Result<()> + Send + 'static,
{
    let totals = Arc::clone(totals);
    Trial::test(name, move || {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let show = std::env::var_os("COMPARISON_SHOW").is_some();
        let report = Report::new(name, &KNOWN_DIFFERENCES, show);
        let (kafka, broker) = runtime.block_on(clusters.start())?;
        let mut pair = Pair::new(kafka, broker, report)?;
        let outcome = runtime.block_on(cases(&mut pair));
        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.merge(pair.report().totals());
        drop(totals);
        // what was found tells more than why it could not go on
        let verdict = pair.report().verdict();
        verdict
            .and(outcome)
            .map_err(|error| Failed::from(format!("{error:#}")))
    })
}
