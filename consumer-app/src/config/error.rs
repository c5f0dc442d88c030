//! What can be wrong with a configuration.

use std::fmt;

use super::key::ConfigKey;
use super::kind::Refusal;
use super::secret::HIDDEN;

/// One thing that is wrong with a configuration. No value of a secret key, nor of an unknown one, is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No such key, neither of the Java consumer nor of this one.
    #[error("{key}: unknown key{}", suggestion(*.did_you_mean))]
    UnknownKey {
        /// The key as given, shortened when it is long.
        key: String,
        /// The known key that looks most like it.
        did_you_mean: Option<&'static str>,
    },
    /// The value is not of the key's type or not in its range.
    #[error("{key}=\"{value}\": not allowed{}; allowed is {allowed}{}", because(.detail), default_note(.default.as_deref()))]
    InvalidValue {
        /// The key.
        key: &'static str,
        /// The value as given, shortened when it is long, or a mark in place of a secret.
        value: String,
        /// What exactly is wrong, where that is not plain from `allowed`.
        detail: String,
        /// What is allowed.
        allowed: String,
        /// What holds when the key is not given.
        default: Option<String>,
    },
    /// The key, or this value of it, is known but cannot have an effect here.
    #[error("{key}: not supported: {reason}{}", accepted_note(.accepted))]
    NotSupported {
        /// The key.
        key: String,
        /// Why, and what to do instead.
        reason: &'static str,
        /// The values that are taken, since they ask for nothing.
        accepted: &'static [&'static str],
    },
    /// The key, or this value of it, asks for something that is still to come.
    #[error("{key}: not supported yet: {what}{}", accepted_note(.accepted))]
    NotYetSupported {
        /// The key.
        key: &'static str,
        /// What is missing.
        what: &'static str,
        /// The values that are taken, since they ask for nothing.
        accepted: &'static [&'static str],
    },
    /// A key that must be given is not.
    #[error("{key}: missing; {advice}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What to give.
        advice: &'static str,
    },
    /// Two keys, each with an allowed value, that do not go together.
    #[error("{key} and {other}: {rule}")]
    Conflict {
        /// The key to look at first.
        key: &'static str,
        /// The key that it does not go together with.
        other: &'static str,
        /// The rule.
        rule: String,
    },
    /// A `.properties` text that cannot be read.
    #[error("line {line}: {problem}")]
    Syntax {
        /// The line, counted from 1, on which the entry begins.
        line: usize,
        /// What is wrong.
        problem: &'static str,
    },
}

impl ConfigError {
    /// That a value is not one of the key.
    pub(super) fn invalid(key: &ConfigKey, value: &str, detail: Refusal) -> Self {
        // before an @ there may be a password, as in a URL
        let is_hidden = key.is_secret() || value.contains('@');
        Self::InvalidValue {
            key: key.name(),
            value: if is_hidden {
                HIDDEN.to_owned()
            } else {
                excerpt(value)
            },
            detail: detail.unwrap_or_default(),
            allowed: [key.type_name(), &key.allowed()].join(": "),
            default: key.default_value(),
        }
    }
}

fn suggestion(key: Option<&str>) -> String {
    key.map_or_else(String::new, |key| format!("; did you mean {key}?"))
}

fn because(detail: &str) -> String {
    if detail.is_empty() {
        String::new()
    } else {
        format!(" ({detail})")
    }
}

fn default_note(default: Option<&str>) -> String {
    match default {
        None => String::new(),
        Some("") => "; default is empty".to_owned(),
        Some(default) => format!("; default is {default}"),
    }
}

fn accepted_note(accepted: &[&str]) -> String {
    let quoted = accepted.iter().map(|value| {
        if value.is_empty() {
            "an empty value"
        } else {
            value
        }
    });
    match quoted.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        values => format!("; only {} is taken", values.join(" or ")),
    }
}

/// All that is wrong with a configuration, never empty when it is an error. Displays as one line each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Collects nothing so far; [`extend`](Extend::extend) it and ask [`into_result`](Self::into_result).
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The errors, in the order found.
    #[must_use]
    pub fn as_slice(&self) -> &[ConfigError] {
        &self.0
    }

    /// `value` when there is no error.
    ///
    /// # Errors
    /// Itself, when there are any.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }

    /// Whether the value that a key was given is one of them.
    pub(crate) fn refuses(&self, key: &str) -> bool {
        self.0.iter().any(
            |error| matches!(error, ConfigError::InvalidValue { key: refused, .. } if *refused == key),
        )
    }

    pub(super) fn push(&mut self, error: ConfigError) {
        self.0.push(error);
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is not valid:")?;
        for error in &self.0 {
            write!(f, "\n  {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<ConfigError> for ConfigErrors {
    fn extend<I: IntoIterator<Item = ConfigError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

/// Something in a valid configuration that its author should know. Meant for one line of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// An entry of `bootstrap.servers` cannot be used; the others are.
    #[error("bootstrap.servers: left out {0}")]
    IgnoredServer(super::IgnoredServer),
    /// A pause is longer than the maximum that it may grow to, so it is always that maximum.
    #[error("{key} is more than {maximum}, which is used instead")]
    AboveMaximum {
        /// The first pause.
        key: &'static str,
        /// The key of the maximum.
        maximum: &'static str,
    },
}

/// A text from outside for a message: what is not printable escaped, and no longer than a line.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            shown.push('…');
            break;
        }
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}
