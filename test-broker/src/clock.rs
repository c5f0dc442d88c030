use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The clock from which records without a timestamp, and topics of LogAppendTime, get theirs.
///
/// Nothing else in the broker reads it: waiting goes by tokio's time.
///
/// ```
/// use test_broker::{Clock, TestBroker};
///
/// // timestamps that do not change from run to run
/// let broker = TestBroker::builder().clock(Clock::new(|| 1_700_000_000_000));
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock that gives what `now` gives: ms since the epoch.
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The clock of the system; the default.
    pub fn system() -> Self {
        Self::new(|| {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
            millis(since_epoch.unwrap_or_default())
        })
    }

    /// A clock that shows `epoch_ms` now and goes on with tokio's time, paused or not. To be called within a runtime.
    pub fn starting_at(epoch_ms: i64) -> Self {
        let start = Instant::now();
        Self::new(move || epoch_ms.saturating_add(millis(start.elapsed())))
    }

    pub(crate) fn now(&self) -> i64 {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
