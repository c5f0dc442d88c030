//! What a subject's cases showed.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ApiKey;

use super::fields::{Difference, Fields};
use super::known::{ABSENT, Known};

/// Differences that are told of one subject; where there are more, the first ones say why.
const SHOWN: usize = 40;

/// Pairs of answers by API.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals(BTreeMap<String, Counts>);

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    pairs: usize,
    /// Pairs that differ as is known.
    known: usize,
    /// Pairs that differ otherwise.
    unexpected: usize,
}

/// Collects what the cases of one subject show.
#[derive(Debug)]
pub(crate) struct Report {
    subject: &'static str,
    /// With the number of fields that showed it.
    known: Vec<(&'static Known, usize)>,
    unexpected: Vec<String>,
    totals: Totals,
    /// Whether every case is printed, with the real broker's answer.
    verbose: bool,
}

impl Report {
    pub(crate) fn new(subject: &'static str, known: &'static [Known], verbose: bool) -> Self {
        let known = known.iter().filter(|known| known.subject == subject);
        Self {
            subject,
            known: known.map(|known| (known, 0)).collect(),
            unexpected: Vec::new(),
            totals: Totals::default(),
            verbose,
        }
    }

    pub(crate) fn add(&mut self, api: ApiKey, case: &str, real: &Fields, ours: &Fields) {
        if self.verbose {
            println!("{}: {api:?} {case}: {}", self.subject, real.line());
        }
        let mut unexpected = Vec::new();
        let mut is_known = false;
        for difference in real.differences(ours) {
            let mut known = self.known.iter_mut();
            match known.find(|(known, _)| known.is(case, &difference)) {
                Some((_, times)) => {
                    *times += 1;
                    is_known = true;
                }
                None => unexpected.push(difference),
            }
        }
        let counts = self.totals.0.entry(format!("{api:?}")).or_default();
        counts.pairs += 1;
        counts.unexpected += usize::from(!unexpected.is_empty());
        counts.known += usize::from(is_known && unexpected.is_empty());
        let lines = unexpected.iter().map(|d| line(api, case, d));
        self.unexpected.extend(lines);
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Fails if anything differs that is not known, or if what is known does not differ any more.
    pub(crate) fn verdict(&self) -> Result<()> {
        let gone = self.known.iter().filter(|(_, times)| *times == 0);
        let gone = gone.map(|(known, _)| {
            format!(
                "no longer different, take it off the list: {} {} ({})",
                known.case, known.field, known.reason
            )
        });
        let all: Vec<String> = self.unexpected.iter().cloned().chain(gone).collect();
        let shown = all.get(..SHOWN).unwrap_or(&all);
        ensure!(
            all.is_empty(),
            "{} fields differ, or should and do not; the first {}:\n{}",
            all.len(),
            shown.len(),
            shown.join("\n")
        );
        Ok(())
    }
}

fn line(api: ApiKey, case: &str, difference: &Difference) -> String {
    let shown = |value: &Option<String>| value.clone().unwrap_or(ABSENT.to_owned());
    format!(
        "{api:?} {case}\n    {}\n        Kafka:       {}\n        test broker: {}",
        difference.path,
        shown(&difference.real),
        shown(&difference.ours)
    )
}

impl Totals {
    pub(crate) fn merge(&mut self, other: &Self) {
        for (api, counts) in &other.0 {
            let sum = self.0.entry(api.clone()).or_default();
            sum.pairs += counts.pairs;
            sum.known += counts.known;
            sum.unexpected += counts.unexpected;
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |api: &str, pairs: &str, known: &str, unexpected: &str| {
            writeln!(f, "{api:<24}{pairs:>8}{known:>20}{unexpected:>20}")
        };
        row("", "pairs", "differ as is known", "differ otherwise")?;
        let mut sum = Counts::default();
        let counted = |c: &Counts| [c.pairs, c.known, c.unexpected].map(|n| n.to_string());
        for (api, counts) in &self.0 {
            let [pairs, known, unexpected] = counted(counts);
            row(api, &pairs, &known, &unexpected)?;
            sum.pairs += counts.pairs;
            sum.known += counts.known;
            sum.unexpected += counts.unexpected;
        }
        let [pairs, known, unexpected] = counted(&sum);
        row("all", &pairs, &known, &unexpected)
    }
}
