//! What is counted against what is recorded.

use std::fmt;

use crate::record::{Record, Tools};

/// Percent by which a count may change without being noticed: what differs between two processors that valgrind runs on, and between two
/// versions of the C library, is less.
const TOLERANCE: u64 = 5;

/// Stages that are worth a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// More than recorded, beyond the tolerance.
    over: Vec<Change>,
    /// Less than recorded, beyond the tolerance.
    under: Vec<Change>,
    /// Counted and not recorded.
    unrecorded: Vec<String>,
    /// Recorded and not counted.
    gone: Vec<String>,
    /// Recorded with these, counted with those.
    other_tools: Option<(Tools, Tools)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    stage: String,
    recorded: u64,
    counted: u64,
}

/// Holds counts against the record.
pub(crate) fn compare(recorded: &Record, counted: &Record) -> Report {
    let mut report = Report::default();
    if recorded.tools != counted.tools {
        report.other_tools = Some((recorded.tools.clone(), counted.tools.clone()));
    }
    for (stage, &count) in &counted.instructions {
        let Some(&before) = recorded.instructions.get(stage) else {
            report.unrecorded.push(stage.clone());
            continue;
        };
        let change = Change {
            stage: stage.clone(),
            recorded: before,
            counted: count,
        };
        if count * 100 > before * (100 + TOLERANCE) {
            report.over.push(change);
        } else if count * 100 < before * (100 - TOLERANCE) {
            report.under.push(change);
        }
    }
    let gone = recorded
        .instructions
        .keys()
        .filter(|stage| !counted.instructions.contains_key(*stage));
    report.gone.extend(gone.cloned());
    report
}

impl Report {
    pub(crate) const fn passes(&self) -> bool {
        self.over.is_empty() && self.unrecorded.is_empty() && self.gone.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((recorded, counted)) = &self.other_tools {
            writeln!(
                f,
                "NOTE: recorded with {recorded}, counted with {counted}: what differs below may be the tools' doing."
            )?;
            writeln!(
                f,
                "To tell it from a change of the code, count the commit before it with the same tools."
            )?;
        }
        for change in &self.over {
            writeln!(f, "FAILED: {change}")?;
        }
        for stage in &self.unrecorded {
            writeln!(f, "FAILED: {stage} is not in the record")?;
        }
        for stage in &self.gone {
            writeln!(
                f,
                "FAILED: {stage} is in the record, and there is no such stage"
            )?;
        }
        for change in &self.under {
            writeln!(f, "less than recorded, the record may be lowered: {change}")?;
        }
        if self.passes() {
            writeln!(f, "no stage takes 5 % more instructions than recorded")
        } else {
            writeln!(
                f,
                "profiles are in target/instruction-counts, for callgrind_annotate. If the change is wanted, record it:"
            )?;
            writeln!(f, "UPDATE_COUNTS=1 cargo run -p stage-bench")
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stage,
            recorded,
            counted,
        } = self;
        let percent = (*counted as f64 / *recorded as f64 - 1.0) * 100.0;
        write!(
            f,
            "{stage} takes {counted} instructions, {percent:+.1} % on the {recorded} recorded"
        )
    }
}

impl fmt::Display for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rustc {}, valgrind {}, {}",
            self.rustc, self.valgrind, self.target
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<const N: usize>(rustc: &str, instructions: [(&str, u64); N]) -> Record {
        let mut record = Record::new(Tools {
            rustc: rustc.into(),
            valgrind: "3".into(),
            target: "t".into(),
        });
        record
            .instructions
            .extend(instructions.map(|(stage, count)| (stage.to_owned(), count)));
        record
    }

    #[test]
    fn more_than_5_percent_over_the_record_fails() {
        let recorded = record("1", [("walk", 1000), ("crc", 1000)]);
        let at_the_limit = compare(&recorded, &record("1", [("walk", 1050), ("crc", 1000)]));
        assert!(at_the_limit.passes());
        assert_eq!(
            at_the_limit.to_string(),
            "no stage takes 5 % more instructions than recorded\n"
        );
        let over = compare(&recorded, &record("1", [("walk", 1051), ("crc", 1)]));
        assert!(
            !over.passes(),
            "what another stage saves does not make up for it"
        );
        assert!(
            over.to_string()
                .contains("FAILED: walk takes 1051 instructions, +5.1 % on the 1000 recorded")
        );
    }

    #[test]
    fn less_passes_and_is_said() {
        let report = compare(
            &record("1", [("walk", 1000)]),
            &record("1", [("walk", 900)]),
        );
        assert!(report.passes());
        assert!(
            report
                .to_string()
                .contains("may be lowered: walk takes 900 instructions, -10.0 %")
        );
    }

    #[test]
    fn what_is_missing_on_either_side_fails() {
        let report = compare(&record("1", [("old", 1)]), &record("1", [("new", 1)]));
        assert!(!report.passes());
        let said = report.to_string();
        assert!(said.contains("new is not in the record"), "{said}");
        assert!(
            said.contains("old is in the record, and there is no such stage"),
            "{said}"
        );
    }

    #[test]
    fn other_tools_are_named_and_excuse_nothing() {
        let report = compare(
            &record("1.95.0", [("walk", 100)]),
            &record("1.96.0", [("walk", 200)]),
        );
        assert!(!report.passes());
        let said = report.to_string();
        assert!(
            said.contains("recorded with rustc 1.95.0, valgrind 3, t, counted with rustc 1.96.0"),
            "{said}"
        );
    }
}
