//! Texts that are shown to nobody.

use std::fmt;

/// A password, a key or a token's source: compares and clones like a string, and never shows its content in `Debug`.
/// It has neither `Display` nor serde, so it reaches no log, no error and no file by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The content. What is done with it is up to the caller.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "[hidden]";
