//! What ours must reach, in the same run as the other clients.

use crate::figures::{Figures, Results};
use crate::peer::{BACKLOG, FLOOR, JAVA, LIBRDKAFKA, OURS, OURS_8_MIB, Program};
use crate::topic::{Batches, SINGLE};

/// Topic, the most that a record may cost as a multiple of the floor's, and as a share of what the best other client takes.
const CPU: [(&str, f64, Option<f64>); 6] = [
    ("100B-none", 1.6, Some(0.25)),
    ("100B-lz4", 1.4, Some(0.4)),
    ("100B-zstd", 1.3, Some(0.55)),
    ("1KiB-none", 1.3, Some(0.45)),
    ("1KiB-lz4", 1.2, None),
    ("1KiB-zstd", 1.2, None),
];
/// Where ours must be twice as fast as the best other client; elsewhere it must not be slower.
const TWICE_AS_FAST: &str = "100B-none";
/// µs of processor time per fetch of one record.
const FETCH_US: f64 = 20.0;
const FETCH_OF_A_BACKLOG_US: f64 = 12.0;
/// What the floor took on the machine that these two are of. Most of a small fetch is the kernel's waking of threads, which takes three times as long on some
/// machines, so the same is asked as a multiple of the floor.
const FLOOR_FETCH_US: f64 = 6.6;
/// Bytes received per byte of the log. The broker cuts the last batch at the size that was asked for.
const AMPLIFICATION: f64 = 1.03;
const AMPLIFICATION_8_MIB: f64 = 1.005;
/// Fetch requests, of those of Java.
const FETCHES: f64 = 1.05;

pub(crate) struct Verdict {
    pub(crate) reached: bool,
    pub(crate) what: String,
}

impl Verdict {
    fn at_most(what: impl Into<String>, value: f64, most: f64) -> Self {
        Self {
            reached: value <= most,
            what: format!("{}: {value:.3}, at most {most}", what.into()),
        }
    }
}

/// All that can be told of what was measured.
pub(crate) fn verdicts(results: &Results<'_>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for topic in results.topics() {
        let Some(ours) = results.get(topic.name, OURS) else {
            continue;
        };
        if topic.batches == Batches::Large {
            cpu(results, topic.name, ours, &mut verdicts);
            speed(results, topic.name, ours, &mut verdicts);
            requests(results, topic.name, ours, &mut verdicts);
            memory(results, topic.name, ours, &mut verdicts);
        }
    }
    small_fetches(results, &mut verdicts);
    verdicts
}

fn cpu(results: &Results<'_>, topic: &str, ours: &Figures, verdicts: &mut Vec<Verdict>) {
    let Some(&(_, of_floor, of_best)) = CPU.iter().find(|(of, _, _)| *of == topic) else {
        return;
    };
    let ns = ours.cpu_ns.median;
    if let Some(floor) = results.get(topic, FLOOR) {
        let floor = floor.cpu_ns.median;
        verdicts.push(Verdict::at_most(
            format!("{topic}, CPU per record, ours ({ns:.0} ns) of floor ({floor:.0} ns)"),
            ns / floor,
            of_floor,
        ));
    }
    let best = results.best_other(topic, |figures| figures.cpu_ns.median);
    if let (Some((name, best)), Some(most)) = (best, of_best) {
        verdicts.push(Verdict::at_most(
            format!("{topic}, CPU per record, ours ({ns:.0} ns) of the best other, {name} ({best:.0} ns)"),
            ns / best,
            most,
        ));
    }
}

fn speed(results: &Results<'_>, topic: &str, ours: &Figures, verdicts: &mut Vec<Verdict>) {
    let Some((name, best)) = results.best_other(topic, |figures| -figures.mb_per_s.median) else {
        return;
    };
    let (best, ours) = (-best, ours.mb_per_s.median);
    let least = if topic == TWICE_AS_FAST { 2.0 } else { 1.0 };
    verdicts.push(Verdict {
        reached: ours >= least * best,
        what: format!(
            "{topic}, MB/s, ours ({ours:.0}) of the best other, {name} ({best:.0}): {:.2}, at least {least}",
            ours / best
        ),
    });
}

fn requests(results: &Results<'_>, topic: &str, ours: &Figures, verdicts: &mut Vec<Verdict>) {
    verdicts.push(Verdict::at_most(
        format!("{topic}, bytes received per byte of the log"),
        ours.amplification,
        AMPLIFICATION,
    ));
    if let Some(wide) = results.get(topic, OURS_8_MIB) {
        verdicts.push(Verdict::at_most(
            format!("{topic}, bytes received per byte of the log with 8 MiB per partition"),
            wide.amplification,
            AMPLIFICATION_8_MIB,
        ));
    }
    if let Some(java) = results.get(topic, JAVA) {
        verdicts.push(Verdict::at_most(
            format!(
                "{topic}, fetch requests, ours ({:.0}) of {JAVA} ({:.0})",
                ours.fetches, java.fetches
            ),
            ours.fetches / java.fetches,
            FETCHES,
        ));
    }
}

fn memory(results: &Results<'_>, topic: &str, ours: &Figures, verdicts: &mut Vec<Verdict>) {
    let bound = results
        .peers(topic)
        .filter(|(peer, _)| peer.program == Program::Java || peer.name == LIBRDKAFKA)
        .min_by(|(_, one), (_, other)| one.max_rss.total_cmp(&other.max_rss));
    if let Some((peer, bound)) = bound {
        verdicts.push(Verdict {
            reached: ours.max_rss < bound.max_rss,
            what: format!(
                "{topic}, resident memory, ours: {:.0} MB, less than {} ({:.0} MB)",
                ours.max_rss, peer.name, bound.max_rss
            ),
        });
    }
}

fn small_fetches(results: &Results<'_>, verdicts: &mut Vec<Verdict>) {
    for (peer, most) in [(OURS, FETCH_US), (BACKLOG, FETCH_OF_A_BACKLOG_US)] {
        if let Some(figures) = results.get(SINGLE, peer) {
            verdicts.push(Verdict::at_most(
                format!("{SINGLE}, CPU per fetch of one record, µs, {peer}"),
                figures.cpu_us_per_fetch.median,
                most,
            ));
            if let Some(floor) = results.get(SINGLE, FLOOR) {
                verdicts.push(Verdict::at_most(
                    format!("{SINGLE}, CPU per fetch of one record, {peer} of floor"),
                    figures.cpu_us_per_fetch.median / floor.cpu_us_per_fetch.median,
                    (10.0 * most / FLOOR_FETCH_US).round() / 10.0,
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::sample;

    fn told(runs: &[Run]) -> Vec<String> {
        let verdicts = verdicts(&Results::of(runs));
        let word = |verdict: &Verdict| if verdict.reached { "reached" } else { "MISSED" };
        verdicts
            .iter()
            .map(|verdict| format!("{}: {}", word(verdict), verdict.what))
            .collect()
    }

    #[test]
    fn each_target_can_be_reached_and_missed() {
        let topic = "100B-none";
        let runs = [
            sample::run(1, topic, FLOOR, 50.0, 1600.0),
            sample::run(1, topic, OURS, 80.0, 800.0),
            sample::run(1, topic, OURS_8_MIB, 80.0, 800.0),
            sample::run(1, topic, JAVA, 400.0, 300.0),
            sample::run(1, topic, "franz-pools", 320.0, 400.0),
        ];
        let good = told(&runs);
        // the same memory is not less
        let missed: Vec<&String> = good
            .iter()
            .filter(|line| line.starts_with("MISSED"))
            .collect();
        assert_eq!(
            missed,
            ["MISSED: 100B-none, resident memory, ours: 20 MB, less than java-classic (20 MB)"]
        );
        assert_eq!(good.len(), 7, "{good:#?}");

        let mut bad = runs;
        bad[1] = sample::run(1, topic, OURS, 81.0, 799.0);
        bad[1].bytes_out *= 1.04;
        bad[1].fetches = 106.0;
        bad[2].bytes_out *= 1.006;
        bad[3].passes[0].max_rss *= 2;
        let bad = told(&bad);
        let reached: Vec<&String> = bad
            .iter()
            .filter(|line| line.starts_with("reached"))
            .collect();
        assert_eq!(
            reached,
            ["reached: 100B-none, resident memory, ours: 20 MB, less than java-classic (40 MB)"]
        );
        assert_eq!(bad.len(), 7, "{bad:#?}");
    }

    #[test]
    fn small_fetches_are_counted_by_the_fetch() {
        // a million records in 100 requests: 100 s of processor time would be a second each
        let mut run = sample::run(1, SINGLE, OURS, 20.0, 1.0);
        run.fetches = 1000.0;
        assert_eq!(
            told(&[run.clone()]),
            ["reached: single, CPU per fetch of one record, µs, ours: 20.000, at most 20"]
        );
        run.peer = BACKLOG.to_owned();
        let mut floor = sample::run(1, SINGLE, FLOOR, 10.0, 1.0);
        floor.fetches = 1000.0;
        assert_eq!(
            told(&[run, floor]),
            [
                "MISSED: single, CPU per fetch of one record, µs, ours-backlog: 20.000, at most 12",
                "MISSED: single, CPU per fetch of one record, ours-backlog of floor: 2.000, at most 1.8",
            ]
        );
    }
}
