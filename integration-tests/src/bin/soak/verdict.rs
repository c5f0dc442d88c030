//! Whether a figure stays as it is.

use std::fmt;

use crate::sample::Sample;

/// A figure is that of a sample.
type Figure = fn(&Sample) -> u64;

/// What of a figure must not rise. The first third is left out: caches fill, pools grow.
enum Rule {
    /// The straight line through the last two thirds rises by no more than so much per hour.
    Slope(f64),
    /// The greatest value of the last third is no more than so much above that of the middle third.
    Maximum(u64),
    /// The same of the least values, which do not depend on what was just under way.
    Minimum(u64),
    /// It is never more than this.
    Limit(u64),
}

/// KiB per hour. Pages that the allocator holds back come and go.
const MEMORY: f64 = 16.0 * 1024.0;
/// KiB.
const BUFFER_MEMORY: u64 = 8 * 1024;
/// Buffers are kept for reuse, up to `buffer.memory` with those in use; all else takes less than this. KiB.
const BESIDE_BUFFERS: u64 = 2 * 1024;

const RULES: &[(&str, Figure, Rule)] = &[
    (
        "resident memory, KiB",
        |sample| sample.rss,
        Rule::Slope(MEMORY),
    ),
    ("heap, KiB", |sample| sample.heap, Rule::Slope(MEMORY)),
    (
        "heap, KiB",
        |sample| sample.heap,
        Rule::Limit(BUFFER_MEMORY + BESIDE_BUFFERS),
    ),
    (
        "allocated pieces",
        |sample| sample.allocations,
        Rule::Minimum(200),
    ),
    ("descriptors", |sample| sample.descriptors, Rule::Maximum(4)),
    ("threads", |sample| sample.threads, Rule::Maximum(1)),
    ("tasks", |sample| sample.tasks, Rule::Maximum(4)),
    (
        "echo of the actors, us",
        |sample| sample.echo,
        Rule::Minimum(1_000),
    ),
    (
        "buffered, KiB",
        |sample| sample.buffered,
        Rule::Limit(BUFFER_MEMORY),
    ),
    ("lag, records", |sample| sample.lag, Rule::Minimum(2_000)),
];

/// One figure's.
pub(crate) struct Verdict {
    pub(crate) is_flat: bool,
    what: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_flat { "flat" } else { "NOT FLAT" };
        write!(f, "{word}: {}", self.what)
    }
}

/// Judges the samples of one member, in the order of time.
pub(crate) fn judge(samples: &[Sample]) -> Vec<Verdict> {
    let third = samples.len() / 3;
    if third == 0 {
        return vec![Verdict {
            is_flat: false,
            what: format!("{} readings are too few", samples.len()),
        }];
    }
    let (rest, last) = samples.split_at(samples.len() - third);
    let middle = &rest[rest.len() - third..];
    let mut verdicts: Vec<Verdict> = RULES
        .iter()
        .map(|(name, figure, rule)| {
            let least = |of: &[Sample]| of.iter().map(figure).min().unwrap_or(0);
            let most = |of: &[Sample]| of.iter().map(figure).max().unwrap_or(0);
            let (is_flat, what) = match *rule {
                Rule::Slope(bound) => {
                    let slope = 3_600.0 * slope(&samples[samples.len() - 2 * third..], *figure);
                    (
                        slope <= bound,
                        format!("rises by {slope:.0} per hour, at most {bound:.0}"),
                    )
                }
                Rule::Maximum(more) => (
                    most(last) <= most(middle) + more,
                    format!(
                        "at most {} after {}, {more} more is allowed",
                        most(last),
                        most(middle)
                    ),
                ),
                Rule::Minimum(more) => (
                    least(last) <= least(middle) + more,
                    format!(
                        "at least {} after {}, {more} more is allowed",
                        least(last),
                        least(middle)
                    ),
                ),
                Rule::Limit(limit) => (
                    most(samples) <= limit,
                    format!("at most {}, {limit} is allowed", most(samples)),
                ),
            };
            Verdict {
                is_flat,
                what: format!("{name}: {what}"),
            }
        })
        .collect();
    let count = |of: &[Sample], figure: Figure| match of {
        [first, .., last] => figure(last).saturating_sub(figure(first)),
        _ => 0,
    };
    let (records, rebalances) = (
        count(last, |sample| sample.records),
        count(last, |sample| sample.rebalances),
    );
    verdicts.push(Verdict {
        // one that does nothing is flat, too
        is_flat: records > 0,
        what: format!("{records} records and {rebalances} rebalances in the last third"),
    });
    verdicts
}

/// Of the line with the least squares, per second.
fn slope(samples: &[Sample], figure: Figure) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let value = |sample: &Sample| figure(sample) as f64;
    let (at, of) = (mean(&|sample| sample.at), mean(&value));
    let covariance = mean(&|sample| (sample.at - at) * (value(sample) - of));
    let variance = mean(&|sample| (sample.at - at).powi(2));
    if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half an hour of readings of a member that is busy: every figure goes up and down.
    fn soak(change: impl Fn(usize, &mut Sample)) -> Vec<String> {
        let samples: Vec<Sample> = (0..180)
            .map(|index| {
                let noise = [0, 7, 3, 9, 1][index % 5];
                let mut sample = Sample {
                    at: 10.0 * index as f64,
                    rss: 20_000 + 300 * noise,
                    heap: 8_000 + 200 * noise,
                    allocations: 4_000 + 100 * noise,
                    descriptors: 20 + noise / 3,
                    threads: 3,
                    tasks: 12 + noise,
                    echo: 90 + 200 * noise,
                    buffered: 700 * noise,
                    lag: 1_000 * noise,
                    partitions: 6,
                    records: 30_000 * index as u64,
                    rebalances: index as u64 / 5,
                };
                change(index, &mut sample);
                sample
            })
            .collect();
        let verdicts = judge(&samples).into_iter();
        let rising = verdicts.filter(|verdict| !verdict.is_flat);
        rising.map(|verdict| verdict.what).collect()
    }

    #[test]
    fn a_member_that_is_busy_and_stays_as_it_is_is_flat() {
        assert_eq!(soak(|_, _| ()), Vec::<String>::new());
        // what rises in the first third is no leak
        let warm = soak(|index, sample| sample.rss += 500 * index.min(50) as u64);
        assert_eq!(warm, Vec::<String>::new());
    }

    #[test]
    fn what_rises_is_found() {
        type Change = fn(usize, &mut Sample);
        let leaks: [(&str, Change); 9] = [
            ("resident memory", |index, sample| {
                sample.rss += 60 * index as u64
            }),
            ("heap", |index, sample| sample.heap += 60 * index as u64),
            ("pieces", |index, sample| {
                sample.allocations += 5 * index as u64
            }),
            ("descriptors", |index, sample| {
                sample.descriptors += index as u64 / 10
            }),
            ("threads", |index, sample| {
                sample.threads += index as u64 / 30
            }),
            ("tasks", |index, sample| sample.tasks += index as u64 / 10),
            ("echo", |index, sample| sample.echo += 50 * index as u64),
            ("buffered", |index, sample| {
                sample.buffered += 60 * index as u64
            }),
            ("lag", |index, sample| sample.lag += 100 * index as u64),
        ];
        for (name, leak) in leaks {
            let found = soak(leak);
            assert!(
                !found.is_empty() && found.iter().all(|what| what.contains(name)),
                "{name}: {found:?}"
            );
        }
        let stuck = soak(|index, sample| sample.records = 30_000 * index.min(60) as u64);
        assert_eq!(stuck.len(), 1, "{stuck:?}");
    }
}
