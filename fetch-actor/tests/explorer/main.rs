//! All interleavings of the data path, within bounds (design, "The race", invariants I1 to I9): the real machines of buffer,
//! planner and sessions against brokers, connections and an application that do whatever they may at any moment.

mod actors;
mod broker;
mod checks;
mod data;
mod drain;
mod events;
mod fingerprint;
mod kafka_17182;
mod lane;
mod mutants;
mod network;
mod notes;
mod reader;
mod report;
mod scenario;
mod search;
mod world;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::thread;

use crate::notes::Seen;
use crate::report::Report;
use crate::scenario::{ALL, Scenario, WIDE};
use crate::search::Search;

/// Distinct states that the bounded searches visit between them, at least.
const STATES: usize = 1_000_000;
/// Every kind of event there is.
const EVENTS: usize = 25;

/// Searches each scenario, two at a time.
fn search(scenarios: impl IntoIterator<Item = Scenario>) -> Vec<Report> {
    let queue: Mutex<VecDeque<Scenario>> = Mutex::new(scenarios.into_iter().collect());
    let reports = Mutex::new(Vec::new());
    let next = || queue.lock().ok()?.pop_front();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = next() {
                    let report = Search::of(scenario).run();
                    println!("{report}");
                    if let Ok(mut reports) = reports.lock() {
                        reports.push(report);
                    }
                }
            });
        }
    });
    reports.into_inner().unwrap_or_default()
}

fn assert_sound(reports: &[Report]) {
    let verdicts: Vec<String> = reports.iter().filter_map(Report::verdict).collect();
    assert!(verdicts.is_empty(), "{}", verdicts.join("\n\n"));
}

#[test]
fn every_interleaving_within_the_bounds_keeps_the_invariants() {
    let reports = search(ALL);
    assert_sound(&reports);
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen: BTreeMap<Seen, u64> = BTreeMap::new();
    let mut states = 0;
    for report in &reports {
        assert!(!report.cut, "{}: not exhausted", report.name);
        states += report.states;
        for (event, times) in &report.events {
            *events.entry(event).or_default() += times;
        }
        for (what, times) in &report.seen {
            *seen.entry(*what).or_default() += times;
        }
    }
    println!("{states} states\n{events:?}\n{seen:?}");
    assert_eq!(reports.len(), ALL.len());
    assert!(states >= STATES, "only {states} states");
    assert_eq!(events.len(), EVENTS, "an event never happened: {events:?}");
    let never: Vec<_> = Seen::ALL.iter().filter(|what| seen[what] == 0).collect();
    assert!(never.is_empty(), "never met: {never:?}");
}

/// A world in which everything may happen is too large to be searched whole: it is walked through, up to so many states.
/// `EXPLORER_STATES` says how many.
#[test]
fn a_long_walk() {
    let limit = std::env::var("EXPLORER_STATES").map_or(200_000, |text| {
        text.replace('_', "")
            .parse()
            .expect("EXPLORER_STATES is a number of states")
    });
    let report = Search::of(Scenario {
        limit: Some(limit),
        ..WIDE
    })
    .walk();
    println!("{report}\n{:?}\n{:?}", report.events, report.seen);
    assert_sound(&[report]);
}
