//! The table, and whether the figures that matter are reached.

use std::fmt::Write as _;

use crate::clients::Mode;
use crate::measure::{Measured, Plan};
use crate::setting::Setting;

/// Above the producer's round trip, ms.
const MOST_DELAY: f64 = 2.0;
/// Of a core, while nothing comes.
const MOST_IDLE: f64 = 0.05;

/// A Markdown table, a row per consumer.
pub(crate) fn table(setting: Setting, plan: &Plan, measured: &Measured) -> String {
    let mut text = format!(
        "Setting {}, {}: {} records, one each {:?}; then {:?} without. Delay: from the acknowledgement to the poll that gives the record, ms\n\n",
        setting.name(),
        measured.place,
        plan.records,
        setting.period(),
        plan.silence,
    );
    text += "| | delay p50 | p90 | p99 | most | requests/s | with no data | CPU of a core | with no data |\n";
    text += "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    let trips = &measured.round_trips;
    // writing to a string does not fail
    let _ = writeln!(
        text,
        "| producer, sent to acknowledged | {} | | | | |",
        percentiles(trips)
    );
    for reader in &measured.readers {
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {:.1} | {:.1} % | {:.1} % |",
            reader.mode.name(),
            percentiles(&reader.delays),
            reader.requests[0],
            reader.requests[1],
            100.0 * reader.busy_share,
            100.0 * reader.idle_share,
        );
    }
    text
}

fn percentiles(sorted: &[f64]) -> String {
    let shown = [0.5, 0.9, 0.99, 1.0].map(|share| format!("{:.2}", percentile(sorted, share)));
    shown.join(" | ")
}

/// The smallest value that is not below so large a share of them.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// A figure that we have to reach.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) reached: bool,
}

pub(crate) fn verdicts(setting: Setting, measured: &Measured) -> Vec<Verdict> {
    let ours = measured.readers.iter().find(|one| one.mode == Mode::Ours);
    let Some(ours) = ours else {
        return Vec::new();
    };
    let median = percentile(&ours.delays, 0.5);
    // sent to given is the round trip and what follows the acknowledgement
    let most = MOST_DELAY + setting.own_wait().as_secs_f64() * 1e3;
    let share = 100.0 * ours.idle_share;
    vec![
        Verdict {
            what: format!(
                "half of the records are given within {most} ms after the producer's round trip: {median:.2} ms"
            ),
            reached: median <= most,
        },
        Verdict {
            what: format!(
                "with no data less than {:.0} % of a core: {share:.1} %",
                100.0 * MOST_IDLE
            ),
            reached: ours.idle_share < MOST_IDLE,
        },
    ]
}
