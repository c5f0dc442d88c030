//! Differences that are known.

use std::ops::RangeInclusive;

use super::fields::Difference;

/// What stands for a field that an answer does not have.
pub(crate) const ABSENT: &str = "(absent)";

/// A difference that is known. `*` in a text stands for any characters.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The subject whose cases show it.
    pub(crate) subject: &'static str,
    pub(crate) case: &'static str,
    pub(crate) versions: RangeInclusive<i16>,
    /// The path of the field.
    pub(crate) field: &'static str,
    /// What Kafka answers; `(absent)` if it has no such field.
    pub(crate) real: &'static str,
    /// What the test broker answers.
    pub(crate) ours: &'static str,
    /// Why it may be so.
    pub(crate) reason: &'static str,
}

impl Known {
    pub(crate) fn is(&self, case: &str, version: i16, difference: &Difference) -> bool {
        let shown = |value: &Option<String>| value.clone().unwrap_or(ABSENT.to_owned());
        fits(self.case, case)
            && self.versions.contains(&version)
            && fits(self.field, &difference.path)
            && fits(self.real, &shown(&difference.real))
            && fits(self.ours, &shown(&difference.ours))
    }
}

/// Whether `text` is `pattern`, in which `*` stands for any characters.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.any(|at| rest.get(at..).is_some_and(|tail| fits(after, tail)))
        }),
    }
}
