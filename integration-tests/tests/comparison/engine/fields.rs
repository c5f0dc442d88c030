//! An answer as a list of fields.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Path and value of every field of an answer, in its order, such as `responses[0].partitions[1].high_watermark` and `33`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

/// A field in which two answers differ; `None` where the answer has no such field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) real: Option<String>,
    pub(crate) ours: Option<String>,
}

/// What is open while the lines of a `Debug` output are read.
struct Open {
    path: String,
    kind: Kind,
}

enum Kind {
    Struct,
    /// With the index of the next element.
    List(usize),
    /// `Some(`
    Wrapper,
}

impl Fields {
    pub(crate) fn push(&mut self, path: impl Into<String>, value: impl Into<String>) {
        self.0.push((path.into(), value.into()));
    }

    /// The fields of what derives `Debug`. The messages of the protocol crate have no other way to be walked through.
    pub(crate) fn of(value: &impl Debug) -> Self {
        let mut fields = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for line in format!("{value:#?}").lines() {
            let line = line.trim_start().trim_end_matches(',');
            if matches!(line, "}" | "]" | ")") {
                open.pop();
                continue;
            }
            let (path, value) = open
                .last_mut()
                .map_or((String::new(), line), |o| o.child(line));
            match Kind::opened_by(value) {
                Some(kind) => open.push(Open { path, kind }),
                None => fields.push(path, value),
            }
        }
        fields
    }

    /// Changes each value to what is given for its path and itself.
    pub(crate) fn map(self, change: impl Fn(&str, String) -> String) -> Self {
        let fields = self.0.into_iter();
        Self(
            fields
                .map(|(path, value)| {
                    let value = change(&path, value);
                    (path, value)
                })
                .collect(),
        )
    }

    pub(crate) fn append(&mut self, mut fields: Self) {
        self.0.append(&mut fields.0);
    }

    /// Adds fields below a path.
    pub(crate) fn extend(&mut self, path: &str, fields: Self) {
        let fields = fields.0.into_iter();
        self.0
            .extend(fields.map(|(name, value)| (format!("{path}.{name}"), value)));
    }

    pub(crate) fn differences(&self, ours: &Self) -> Vec<Difference> {
        let by_path =
            |fields: &Self| -> BTreeMap<String, String> { fields.0.iter().cloned().collect() };
        let (real_by_path, ours_by_path) = (by_path(self), by_path(ours));
        let differs = |path: &String| Difference {
            path: path.clone(),
            real: real_by_path.get(path).cloned(),
            ours: ours_by_path.get(path).cloned(),
        };
        let only_ours = ours
            .0
            .iter()
            .filter(|(path, _)| !real_by_path.contains_key(path));
        self.0
            .iter()
            .chain(only_ours)
            .map(|(path, _)| differs(path))
            .filter(|difference| difference.real != difference.ours)
            .collect()
    }

    /// All in one line.
    pub(crate) fn line(&self) -> String {
        let fields = self.0.iter();
        let fields: Vec<String> = fields
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        fields.join(" ")
    }
}

impl Open {
    /// The path of what a line within this holds, and the rest of the line.
    fn child<'a>(&mut self, line: &'a str) -> (String, &'a str) {
        match &mut self.kind {
            Kind::Wrapper => (self.path.clone(), line),
            Kind::List(next) => {
                let path = format!("{}[{next}]", self.path);
                *next += 1;
                (path, line)
            }
            Kind::Struct => {
                let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
                match self.path.as_str() {
                    "" => (name.to_owned(), rest),
                    path => (format!("{path}.{name}"), rest),
                }
            }
        }
    }
}

impl Kind {
    fn opened_by(value: &str) -> Option<Self> {
        if value.starts_with('"') || value.starts_with("b\"") {
            return None;
        }
        match value.chars().last()? {
            '{' => Some(Self::Struct),
            '[' => Some(Self::List(0)),
            '(' => Some(Self::Wrapper),
            _ => None,
        }
    }
}
