//! What a subject's cases showed.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ApiKey;

use super::fields::{Difference, Fields};
use super::known::{ABSENT, Known};

/// Cases that are told of one subject, and fields of one case; where there are more, the first ones say why.
const SHOWN_CASES: usize = 30;
const SHOWN_FIELDS: usize = 6;

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
    /// What is described, and the versions that show it.
    unexpected: Vec<(String, Vec<i16>)>,
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

    pub(crate) fn add(
        &mut self,
        api: ApiKey,
        case: &str,
        version: i16,
        real: &Fields,
        ours: &Fields,
    ) {
        if self.verbose {
            println!(
                "{}: {api:?} v{version}: {case}: {}",
                self.subject,
                real.line()
            );
        }
        let mut unexpected = Vec::new();
        let mut is_known = false;
        for difference in real.differences(ours) {
            let mut known = self.known.iter_mut();
            match known.find(|(known, _)| known.is(case, version, &difference)) {
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
        if !unexpected.is_empty() {
            let text = described(api, case, &unexpected);
            let mut before = self.unexpected.iter_mut();
            match before.find(|(other, _)| *other == text) {
                Some((_, versions)) => versions.push(version),
                None => self.unexpected.push((text, vec![version])),
            }
        }
    }

    /// A case was answered at once that asks for a short wait. On a slow machine that would look like a wait to the end.
    pub(crate) fn misjudged(&mut self, case: &str, version: i16) {
        let text = format!("{case}: Kafka answers at once, so let it ask for a long wait");
        self.unexpected.push((text, vec![version]));
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
        let different = self.unexpected.iter();
        let different =
            different.map(|(text, versions)| format!("versions {versions:?} of {text}"));
        let all: Vec<String> = gone.chain(different).collect();
        let shown = all.get(..SHOWN_CASES).unwrap_or(&all);
        ensure!(
            all.is_empty(),
            "{} things are not as expected; the first {}:\n{}",
            all.len(),
            shown.len(),
            shown.join("\n")
        );
        Ok(())
    }
}

fn described(api: ApiKey, case: &str, differences: &[Difference]) -> String {
    let shown = |value: &Option<String>| value.clone().unwrap_or(ABSENT.to_owned());
    let mut text = format!("{api:?}: {case}: {} fields differ", differences.len());
    for difference in differences.iter().take(SHOWN_FIELDS) {
        let (real, ours) = (shown(&difference.real), shown(&difference.ours));
        text += &format!(
            "\n    {}: Kafka {real}, test broker {ours}",
            difference.path
        );
    }
    text
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
