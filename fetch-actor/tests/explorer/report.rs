//! What a search found.

use std::collections::BTreeMap;
use std::fmt;

use crate::events::Event;
use crate::notes::Seen;

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    pub(crate) at_rest: u64,
    pub(crate) drained: u64,
    pub(crate) deepest: usize,
    /// Stopped at the scenario's limit.
    pub(crate) cut: bool,
    pub(crate) events: BTreeMap<&'static str, u64>,
    pub(crate) seen: BTreeMap<Seen, u64>,
    pub(crate) violation: Option<Violation>,
}

/// A way to a state in which something does not hold.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) text: String,
    pub(crate) path: Vec<Event>,
    /// What happens on the way, for a reader.
    pub(crate) story: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            states,
            transitions,
            at_rest,
            drained,
            deepest,
            ..
        } = self;
        write!(
            f,
            "{name}: {states} states, {transitions} transitions, {at_rest} at rest, {drained} drained, {deepest} deep{}",
            if self.cut { ", cut" } else { "" }
        )
    }
}

impl Report {
    /// The violation as text, with its story.
    pub(crate) fn verdict(&self) -> Option<String> {
        let violation = self.violation.as_ref()?;
        Some(format!(
            "{}: {}\n{} steps:\n{}",
            self.name,
            violation.text,
            violation.path.len(),
            violation.story.join("\n")
        ))
    }
}
