//! What is wrong with how the program was called, where only more than the arguments can tell.

/// Ends the program with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub(super) String);

impl WrongUsage {
    pub(super) fn new(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}
