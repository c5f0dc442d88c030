//! What concerns the consumer as a whole, for `poll` to look at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;

/// Shared by the actors and all handles. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// What the next poll is to fail with.
    failure: Mutex<Option<Error>>,
    closed: AtomicBool,
    assigned: AtomicBool,
}

impl Status {
    /// Brokers cannot be reached or used: `poll` tells.
    pub(crate) fn set_failure(&self, error: Error) {
        *self.lock() = Some(error);
    }

    /// The failure, once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.lock().take()
    }

    /// The consumer is being closed. Returns whether it was not before.
    pub(crate) fn close(&self) -> bool {
        !self.0.closed.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Something, or nothing, was assigned.
    pub(crate) fn set_assigned(&self, assigned: bool) {
        self.0.assigned.store(assigned, Ordering::Release);
    }

    pub(crate) fn is_assigned(&self) -> bool {
        self.0.assigned.load(Ordering::Acquire)
    }

    /// Why an actor does not answer.
    pub(crate) fn gone(&self) -> Error {
        if self.is_closed() {
            Error::Closed
        } else {
            Error::Failed
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        self.0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
