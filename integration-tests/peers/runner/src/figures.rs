//! What the runs come to: medians, and how far they are apart.

use std::fmt;

use crate::peer::{PEERS, Peer};
use crate::run::Run;
use crate::topic::{TOPICS, Topic};

const MIB: f64 = 1024.0 * 1024.0;

/// The median; that of an even number of values lies between the two in the middle. Not a number if there are none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

/// A figure of all runs: the median counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(runs: &[&Run], figure: impl Fn(&Run) -> f64) -> Self {
        let all = || runs.iter().map(|run| figure(run));
        Self {
            median: median(all()),
            least: all().fold(f64::INFINITY, f64::min),
            most: all().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Whole numbers; tenths if a precision is given.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        write!(f, "{:.digits$}", self.median)?;
        if self.least < self.most {
            write!(f, " ({:.digits$}-{:.digits$})", self.least, self.most)?;
        }
        Ok(())
    }
}

/// What a peer took for a topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Processor time of the client's process per record, ns.
    pub(crate) cpu_ns: Spread,
    /// The same per fetch request, µs.
    pub(crate) cpu_us_per_fetch: Spread,
    /// Keys and values, 10⁶ bytes per second.
    pub(crate) mb_per_s: Spread,
    /// 10⁶ bytes.
    pub(crate) max_rss: f64,
    pub(crate) fetches: f64,
    /// Per MiB of the log.
    pub(crate) fetches_per_mib: f64,
    pub(crate) records_per_fetch: f64,
    /// Bytes of records that left the broker per byte of its log.
    pub(crate) amplification: f64,
    /// The broker's processor time per record, ns.
    pub(crate) broker_ns: f64,
}

impl Figures {
    fn of(runs: &[&Run]) -> Self {
        let spread = |figure: fn(&Run) -> f64| Spread::of(runs, figure);
        Self {
            cpu_ns: spread(Run::cpu_ns),
            cpu_us_per_fetch: spread(Run::cpu_us_per_fetch),
            mb_per_s: spread(Run::mb_per_s),
            max_rss: spread(Run::max_rss).median,
            fetches: spread(|run| run.fetches).median,
            fetches_per_mib: spread(|run| run.fetches / (run.log / MIB)).median,
            records_per_fetch: spread(|run| run.records() / run.fetches).median,
            amplification: spread(|run| run.bytes_out / run.log).median,
            broker_ns: spread(|run| run.broker_cpu_s * 1e9 / run.records()).median,
        }
    }
}

/// All that was measured.
pub(crate) struct Results<'a> {
    rows: Vec<(&'static Topic, &'static Peer, Figures)>,
    runs: &'a [Run],
}

impl<'a> Results<'a> {
    pub(crate) fn of(runs: &'a [Run]) -> Self {
        let mut rows = Vec::new();
        for topic in &TOPICS {
            for peer in &PEERS {
                let those = |run: &&Run| run.topic == topic.name && run.peer == peer.name;
                let some: Vec<&Run> = runs.iter().filter(those).collect();
                if !some.is_empty() {
                    rows.push((topic, peer, Figures::of(&some)));
                }
            }
        }
        Self { rows, runs }
    }

    /// The topics that were read.
    pub(crate) fn topics(&self) -> Vec<&'static Topic> {
        let mut topics: Vec<&'static Topic> =
            self.rows.iter().map(|(topic, _, _)| *topic).collect();
        topics.dedup_by_key(|topic| topic.name);
        topics
    }

    /// Who read a topic.
    pub(crate) fn peers(&self, topic: &str) -> impl Iterator<Item = (&'static Peer, &Figures)> {
        self.rows
            .iter()
            .filter(move |(of, _, _)| of.name == topic)
            .map(|(_, peer, figures)| (*peer, figures))
    }

    pub(crate) fn get(&self, topic: &str, peer: &str) -> Option<&Figures> {
        let found = self.peers(topic).find(|(of, _)| of.name == peer);
        found.map(|(_, figures)| figures)
    }

    /// The other client with the least of a figure.
    pub(crate) fn best_other(
        &self,
        topic: &str,
        figure: impl Fn(&Figures) -> f64,
    ) -> Option<(&'static str, f64)> {
        self.peers(topic)
            .filter(|(peer, _)| peer.is_other())
            .map(|(peer, figures)| (peer.name, figure(figures)))
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Name and version of the client that a peer is.
    pub(crate) fn client(&self, peer: &str) -> Option<&'a str> {
        let run = self.runs.iter().find(|run| run.peer == peer)?;
        run.passes.first().map(|pass| pass.client.as_str())
    }

    /// Cores that were taken by what does not belong to the runs: the median and the most.
    pub(crate) fn other_load(&self) -> (f64, f64) {
        let loads: Vec<&Run> = self.runs.iter().collect();
        let spread = Spread::of(&loads, |run| run.other_load);
        (spread.median, spread.most)
    }

    /// The most runs that one peer made of one topic.
    pub(crate) fn rounds(&self) -> usize {
        self.runs.iter().map(|run| run.round).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 8.0].into_iter()), 3.0);
        assert_eq!(median([5.0].into_iter()), 5.0);
        assert!(median(std::iter::empty()).is_nan());
    }
}
