//! Why the group is of no use: written by the coordinator, read by every poll, no message between them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::GroupError;

/// Shared by the reader and the coordinator, which alone sets it: when a subscription is answered, what the one before failed with
/// is gone. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LastingFailure(Arc<Mutex<Option<GroupError>>>);

impl LastingFailure {
    /// Every poll fails with this; `None` while the group is of use.
    pub fn get(&self) -> Option<GroupError> {
        self.lock().clone()
    }

    pub(crate) fn set(&self, failure: Option<GroupError>) {
        *self.lock() = failure;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<GroupError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
