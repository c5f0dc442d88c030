//! What the application was given, counted once per poll and partition.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::samples::{Sampled, Samples};

/// What was given of one topic, since the consumer was made.
#[derive(Debug, Default)]
pub struct Consumed(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    records: u64,
    bytes: u64,
    fetched_bytes: u64,
    recent_records: Samples,
    recent_bytes: Samples,
}

/// Some records, as they were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Portion {
    /// How many.
    pub records: u64,
    /// Their size, decompressed.
    pub bytes: u64,
    /// Bytes of the batches that were stepped over or opened for them, as they were fetched.
    pub fetched_bytes: u64,
}

/// A reading of [`Consumed`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ConsumedCounts {
    /// Since the beginning.
    pub total: Portion,
    /// Records of each poll.
    pub recent_records: Sampled,
    /// Bytes of each poll, decompressed.
    pub recent_bytes: Sampled,
}

impl Consumed {
    /// Counts what was given.
    pub fn add(&self, now: Instant, portion: Portion) {
        let mut counts = self.lock();
        counts.records += portion.records;
        counts.bytes += portion.bytes;
        counts.fetched_bytes += portion.fetched_bytes;
        counts.recent_records.record(now, portion.records as f64);
        counts.recent_bytes.record(now, portion.bytes as f64);
    }

    /// What was given so far.
    pub fn read(&self, now: Instant) -> ConsumedCounts {
        let counts = self.lock();
        ConsumedCounts {
            total: Portion {
                records: counts.records,
                bytes: counts.bytes,
                fetched_bytes: counts.fetched_bytes,
            },
            recent_records: counts.recent_records.read(now),
            recent_bytes: counts.recent_bytes.read(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
