//! The table, and whether the figure is reached.

use std::time::Duration;

use crate::client::{Client, DEFAULT, JAVA_ASYNC, Measured, Run};

/// Records per second, of those of Java's async consumer.
const LEAST: f64 = 1.7;

pub(crate) fn median(runs: &[Run], client: Client, of: impl Fn(&Measured) -> f64) -> f64 {
    let own = runs.iter().filter(|run| run.client == client);
    let mut all: Vec<f64> = own.map(|run| of(&run.measured)).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// How long fetching takes, per record: what Java's async consumer takes for one if nobody works.
pub(crate) fn fetching_takes(free: &[Run]) -> Duration {
    Duration::from_secs_f64(median(free, JAVA_ASYNC, Measured::seconds_per_record))
}

/// A Markdown table, a row per client.
pub(crate) fn table(free: &[Run], working: &[Run], work: Duration) -> String {
    let mut text = String::from(
        "| client | without work: µs/record | ms/fetch | work on a buffer, ms | with work: µs/record | records/s (lowest, highest) | of Java async | \
         records/fetch | polls/fetch |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let rate = |one: &Measured| 1.0 / one.seconds_per_record();
    let java = median(working, JAVA_ASYNC, rate);
    for client in Client::ALL {
        let of = |runs, what: fn(&Measured) -> f64| median(runs, client, what);
        let rates = || {
            let own = working.iter().filter(|run| run.client == client);
            own.map(|run| rate(&run.measured))
        };
        let records = of(working, Measured::records_per_fetch);
        text += &format!(
            "| {client} | {:.2} | {:.1} | {:.1} | {:.2} | {:.0} ({:.0}, {:.0}) | {:.2} | {records:.0} | {:.1} |\n",
            of(free, Measured::seconds_per_record) * 1e6,
            median(free, client, |one| {
                one.seconds_per_record() * one.records_per_fetch() * 1e3
            }),
            work.as_secs_f64() * records * 1e3,
            of(working, Measured::seconds_per_record) * 1e6,
            median(working, client, rate),
            rates().fold(f64::INFINITY, f64::min),
            rates().fold(0.0, f64::max),
            median(working, client, rate) / java,
            of(working, Measured::polls_per_fetch),
        );
    }
    // with Java's rule the fetch goes on during the last poll of a buffer only
    let polls = median(working, JAVA_ASYNC, Measured::polls_per_fetch);
    text += &format!(
        "\nA client that fetches only while the last of a buffer's {polls:.1} polls is worked on takes {:.2} times what one takes that never waits.\n",
        2.0 - 1.0 / polls
    );
    text
}

/// A figure that has to be reached.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) reached: bool,
}

pub(crate) fn verdict(working: &[Run]) -> Verdict {
    let rate = |client| 1.0 / median(working, client, Measured::seconds_per_record);
    let share = rate(DEFAULT) / rate(JAVA_ASYNC);
    Verdict {
        what: format!("records per second, of those of Java's async consumer: {share:.2}"),
        reached: share >= LEAST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(client: Client, millis: u64) -> Run {
        let measured = Measured {
            records: 1_000,
            time: Duration::from_millis(millis),
            polls: 100,
            fetches: 10,
        };
        Run { client, measured }
    }

    #[test]
    fn the_medians_are_compared() {
        let mut runs = Vec::new();
        for (ours, java) in [(1_000, 1_700), (900, 2_000), (5_000, 1_600)] {
            runs.push(run(DEFAULT, ours));
            runs.push(run(JAVA_ASYNC, java));
        }
        let verdict = verdict(&runs);
        assert!(verdict.reached);
        assert!(verdict.what.ends_with(": 1.70"), "{}", verdict.what);
        assert_eq!(fetching_takes(&runs), Duration::from_micros(1_700));
        runs.push(run(DEFAULT, 1_100));
        runs.push(run(DEFAULT, 1_100));
        assert!(!super::verdict(&runs).reached);
    }
}
