use std::fmt::Display;
use std::time::Duration;

use test_broker::TestBroker;

use crate::seeds::Outcome;

/// What happened and what should not have.
#[derive(Default)]
pub(crate) struct Journal {
    lines: Vec<String>,
    violations: Vec<String>,
}

impl Journal {
    /// Something that happened, now.
    pub(crate) fn note(&mut self, line: impl Display) {
        self.lines
            .push(format!("{:>7} ms  {line}", now().as_millis()));
    }

    /// Something that should not have.
    pub(crate) fn violation(&mut self, line: impl Display) {
        self.note(format_args!("VIOLATION {line}"));
        self.violations.push(line.to_string());
    }

    /// What the broker was asked, behind all that was noted.
    pub(crate) fn requests(&mut self, broker: &TestBroker) {
        let requests = broker.requests();
        self.lines
            .extend(requests.iter().map(|request| format!("{request:?}")));
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome {
            trace: self.lines,
            violations: self.violations,
        }
    }
}

/// Simulated time since the beginning.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}
