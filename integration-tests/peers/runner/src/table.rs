//! The tables, in Markdown.

use std::fmt::Write as _;

use crate::figures::Results;
use crate::peer::{FLOOR, PEERS};
use crate::setup::Setup;
use crate::topic::Batches;
use crate::verdict::Verdict;

/// Everything: clients, a table per topic, what is reached.
pub(crate) fn all(
    setup: &Setup,
    results: &Results<'_>,
    verdicts: &[Verdict],
    failures: &[String],
) -> String {
    let mut text = format!("# Results\n\n{}\n\n", heading(setup, results));
    text += "| peer | client | how it reads |\n|---|---|---|\n";
    for peer in &PEERS {
        if let Some(client) = results.client(peer.name) {
            let _ = writeln!(text, "| {} | {client} | {} |", peer.name, peer.what);
        }
    }
    for topic in results.topics() {
        let _ = write!(text, "\n## {}\n\n", topic.name);
        text += &match topic.batches {
            Batches::Large => large(results, topic.name),
            Batches::Single => single(results, topic.name),
        };
    }
    text += "\n## What ours must reach\n\n";
    for Verdict { reached, what } in verdicts {
        let _ = writeln!(
            text,
            "- {}: {what}",
            if *reached { "reached" } else { "MISSED" }
        );
    }
    for failure in failures {
        let _ = writeln!(text, "- FAILED: {failure}");
    }
    text
}

fn heading(setup: &Setup, results: &Results<'_>) -> String {
    let (load, most) = results.other_load();
    format!(
        "{}, {}, broker and client on this machine. Rounds: {}{}. Medians (least-most). Cores taken by anything else meanwhile: {load:.2}, at most {most:.2}.",
        setup.date,
        setup.machine,
        results.rounds(),
        if setup.short {
            ", short: a proof that it runs, not a measurement"
        } else {
            ""
        }
    )
}

fn large(results: &Results<'_>, topic: &str) -> String {
    let mut text = "| peer | CPU ns/record | of floor | MB/s | max RSS MB | fetches/pass | fetches/MiB | bytes out/log | broker CPU ns/record |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let floor = results.get(topic, FLOOR).map(|floor| floor.cpu_ns.median);
    for (peer, figures) in results.peers(topic) {
        let of_floor = floor.map_or("-".to_owned(), |floor| {
            format!("{:.2}", figures.cpu_ns.median / floor)
        });
        let _ = writeln!(
            text,
            "| {} | {} | {of_floor} | {} | {:.0} | {:.0} | {:.3} | {:.3} | {:.0} |",
            peer.name,
            figures.cpu_ns,
            figures.mb_per_s,
            figures.max_rss,
            figures.fetches,
            figures.fetches_per_mib,
            figures.amplification,
            figures.broker_ns,
        );
    }
    text
}

fn single(results: &Results<'_>, topic: &str) -> String {
    let mut text = "| peer | CPU µs/fetch | records/fetch | fetches/pass | CPU µs/record | max RSS MB | broker CPU µs/record |\n\
         |---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (peer, figures) in results.peers(topic) {
        let _ = writeln!(
            text,
            "| {} | {:.1} | {:.2} | {:.0} | {:.1} | {:.0} | {:.1} |",
            peer.name,
            figures.cpu_us_per_fetch,
            figures.records_per_fetch,
            figures.fetches,
            figures.cpu_ns.median / 1e3,
            figures.max_rss,
            figures.broker_ns / 1e3,
        );
    }
    text
}

/// One table for readers who want no more: CPU per record and speed by peer and topic.
pub(crate) fn summary(setup: &Setup, results: &Results<'_>) -> String {
    let topics: Vec<&str> = results
        .topics()
        .iter()
        .filter(|topic| topic.batches == Batches::Large)
        .map(|topic| topic.name)
        .collect();
    let mut text = format!(
        "CPU ns per record of the client's process, and MB/s of keys and values. {}\n\n| | {} |\n|---|{}\n",
        heading(setup, results),
        topics.join(" | "),
        "--:|".repeat(topics.len())
    );
    for peer in &PEERS {
        if peer.large.is_none() || results.client(peer.name).is_none() {
            continue;
        }
        let _ = write!(text, "| {} |", peer.name);
        for topic in &topics {
            match results.get(topic, peer.name) {
                Some(figures) => {
                    let _ = write!(
                        text,
                        " {:.0} · {:.0} |",
                        figures.cpu_ns.median, figures.mb_per_s.median
                    );
                }
                None => text += " - |",
            }
        }
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn rows_have_what_was_measured() {
        let runs = [
            sample::run(1, "100B-none", "floor", 50.0, 1600.0),
            sample::run(1, "100B-none", "ours", 80.0, 1000.0),
            sample::run(2, "100B-none", "ours", 82.0, 900.0),
            sample::run(3, "100B-none", "ours", 75.0, 1100.0),
        ];
        let results = Results::of(&runs);
        let table = large(&results, "100B-none");
        assert!(
            table.contains(
                "| ours | 80 (75-82) | 1.60 | 1000 (900-1100) | 20 | 100 | 1.000 | 1.000 | 100 |\n"
            ),
            "{table}"
        );
        let setup = Setup {
            date: "2026-01-02".to_owned(),
            machine: "a machine".to_owned(),
            short: false,
        };
        let summary = summary(&setup, &results);
        assert!(
            summary.contains(
                "| | 100B-none |\n|---|--:|\n| floor | 50 · 1600 |\n| ours | 80 · 1000 |\n"
            ),
            "{summary}"
        );
        assert!(summary.contains("2026-01-02, a machine"), "{summary}");
        assert!(summary.contains("Rounds: 3."), "{summary}");
    }
}
