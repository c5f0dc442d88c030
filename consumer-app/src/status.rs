//! What concerns the consumer as a whole, for `poll` to look at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use coordinator_actor::Subscription;

use crate::error::Error;

/// Shared by the actors and all handles. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// What the next poll is to fail with.
    failure: Mutex<Option<Error>>,
    closed: AtomicBool,
    /// An actor panicked.
    failed: AtomicBool,
    usage: Mutex<Usage>,
}

/// Who says what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// Nothing is.
    #[default]
    Idle,
    /// The application, by hand.
    Assigned,
    /// The group.
    Subscribed,
}

#[derive(Debug, Default)]
struct Usage {
    mode: Mode,
    subscription: Option<Subscription>,
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

    /// An actor panicked: nothing goes on.
    pub(crate) fn fail(&self) {
        self.0.failed.store(true, Ordering::Release);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Acquire)
    }

    /// What is read is said by the application from now on, if anything is. `tell` tells the actors so: they hear of changes of the mode in the
    /// order in which those were made, whoever made them.
    ///
    /// # Errors
    /// There is a subscription.
    pub(crate) fn assign<T>(&self, any: bool, tell: impl FnOnce() -> T) -> Result<T, Error> {
        let mut usage = self.usage();
        if usage.mode == Mode::Subscribed {
            return Err(Error::MixedUse);
        }
        usage.mode = if any { Mode::Assigned } else { Mode::Idle };
        Ok(tell())
    }

    /// It is said by the group from now on. As [`assign`](Self::assign).
    ///
    /// # Errors
    /// Partitions are assigned by hand.
    pub(crate) fn subscribe<T>(
        &self,
        subscription: &Subscription,
        tell: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        let mut usage = self.usage();
        if usage.mode == Mode::Assigned {
            return Err(Error::MixedUse);
        }
        *usage = Usage {
            mode: Mode::Subscribed,
            subscription: Some(subscription.clone()),
        };
        Ok(tell())
    }

    /// Nothing is read any more. As [`assign`](Self::assign); `tell` is told what was before.
    pub(crate) fn leave<T>(&self, tell: impl FnOnce(Mode) -> T) -> T {
        let mut usage = self.usage();
        let before = std::mem::take(&mut *usage).mode;
        tell(before)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.usage().mode
    }

    pub(crate) fn subscription(&self) -> Option<Subscription> {
        self.usage().subscription.clone()
    }

    fn usage(&self) -> std::sync::MutexGuard<'_, Usage> {
        self.0.usage.lock().unwrap_or_else(PoisonError::into_inner)
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
