//! Texts.

use super::{Kind, Refusal};
use crate::config::choice::Choice;
use crate::config::secret::{HIDDEN, Secret};

const LONGEST_SENT: usize = i16::MAX as usize;

/// A text.
pub(in crate::config) struct Text {
    is_allowed: fn(&str) -> bool,
    allowed: &'static str,
}

impl Text {
    pub(in crate::config) const ANY: Self = Self {
        is_allowed: |_| true,
        allowed: "",
    };

    pub(in crate::config) const NOT_EMPTY: Self = Self {
        is_allowed: |text| !text.is_empty(),
        allowed: "not empty",
    };

    /// What is sent in fields that some version of the protocol gives two bytes for the length.
    pub(in crate::config) const SENT: Self = Self {
        is_allowed: |text| text.len() <= LONGEST_SENT,
        allowed: "at most 32767 bytes",
    };

    /// The same, and something.
    pub(in crate::config) const SENT_NOT_EMPTY: Self = Self {
        is_allowed: |text| (1..=LONGEST_SENT).contains(&text.len()),
        allowed: "1 to 32767 bytes",
    };

    /// As brokers limit the names of topics and of static members.
    pub(in crate::config) const LEGAL_NAME: Self = Self {
        is_allowed: is_legal_name,
        allowed: "1 to 249 of ASCII letters, digits, '.', '_', '-', and neither . nor ..",
    };
}

fn is_legal_name(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=249).contains(&text.len()) && text.bytes().all(is_legal) && text != "." && text != ".."
}

impl Kind for Text {
    type Value = String;

    fn type_name(&self) -> &'static str {
        "string"
    }

    fn allowed(&self) -> String {
        self.allowed.to_owned()
    }

    fn parse(&self, text: &str) -> Result<String, Refusal> {
        if (self.is_allowed)(text) {
            Ok(text.to_owned())
        } else {
            Err(None)
        }
    }

    fn write(&self, value: &String) -> Option<String> {
        Some(value.clone())
    }
}

/// A text that is never shown.
pub(in crate::config) struct Password;

impl Kind for Password {
    type Value = Option<Secret>;

    fn type_name(&self) -> &'static str {
        "password"
    }

    fn allowed(&self) -> String {
        String::new()
    }

    fn parse(&self, text: &str) -> Result<Option<Secret>, Refusal> {
        Ok(Some(Secret::new(text)))
    }

    fn write(&self, value: &Option<Secret>) -> Option<String> {
        value.as_ref().map(|_| HIDDEN.to_owned())
    }
}

/// One of a few names.
pub(in crate::config) struct OneOf<T: 'static> {
    ignores_case: bool,
    choices: &'static [T],
}

impl<T: Choice> OneOf<T> {
    pub(in crate::config) const fn exactly() -> Self {
        Self {
            ignores_case: false,
            choices: T::ALL,
        }
    }

    pub(in crate::config) const fn in_any_case() -> Self {
        Self {
            ignores_case: true,
            choices: T::ALL,
        }
    }
}

impl<T: Choice> Kind for OneOf<T> {
    type Value = T;

    fn type_name(&self) -> &'static str {
        "string"
    }

    fn allowed(&self) -> String {
        let names = self.choices.iter().map(|choice| {
            if choice.name().is_empty() {
                "empty"
            } else {
                choice.name()
            }
        });
        names.collect::<Vec<_>>().join(", ")
    }

    fn parse(&self, text: &str) -> Result<T, Refusal> {
        let is_it = |choice: &&T| {
            choice.name() == text || (self.ignores_case && choice.name().eq_ignore_ascii_case(text))
        };
        self.choices.iter().find(is_it).copied().ok_or(None)
    }

    fn write(&self, value: &T) -> Option<String> {
        Some(value.name().to_owned())
    }
}
