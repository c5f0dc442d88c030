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
mod scenario;
mod search;
mod world;

use crate::scenario::ALL;
use crate::search::Search;

#[test]
fn some() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let limit: usize = std::env::var("LIMIT")
        .ok()
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(300_000);
    std::panic::set_hook(Box::new(|_| ()));
    for mut scenario in ALL {
        if !scenario.name.contains(&only) {
            continue;
        }
        scenario.limit = Some(limit);
        let begin = std::time::SystemTime::now();
        let report = Search::of(scenario).run();
        println!(
            "{}: {} states, {} transitions, {} at rest, {} drained, deepest {}, cut {} {:?}",
            report.name,
            report.states,
            report.transitions,
            report.at_rest,
            report.drained,
            report.deepest,
            report.cut,
            begin.elapsed()
        );
        println!("  {:?}", report.events);
        println!("  {:?}", report.seen);
        if let Some(verdict) = report.verdict() {
            println!("VIOLATION {verdict}");
        }
    }
}
