//! The log of one partition: batches as they were produced, in memory.
//!
//! There is one log per partition, not one per replica: followers read the same bytes, up to an end of their own if a
//! test holds them back. There are no segments, so that a read is never cut short at the end of one.

mod append;
mod compact;
mod edit;
mod epochs;
mod index;
mod lookup;
mod producers;
mod read;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::Bytes;
use record_batch::{AbortedTransaction, BatchHeader};

pub(crate) use append::{AppendError, ProduceLimits, is_transactional, is_zstd};
pub(crate) use epochs::EpochEndOffset;
pub(crate) use lookup::FoundOffset;
pub(crate) use read::{Isolation, OutOfRange, ReadData, ReadLimits};

use epochs::LeaderEpochs;
use index::OffsetIndex;
use producers::Producers;

/// One entry of the log, whole, with the offsets under which it stands there.
#[derive(Clone, Debug)]
struct StoredBatch {
    header: BatchHeader,
    /// Bytes of the log before it.
    position: u64,
    bytes: Bytes,
}

/// An aborted transaction, as the transaction index of a segment holds it.
#[derive(Clone, Copy, Debug)]
struct AbortedRange {
    transaction: AbortedTransaction,
    /// Offset of the ABORT marker.
    last_offset: i64,
    /// The last stable offset once the marker was there.
    last_stable_offset: i64,
}

/// The log of one partition.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    batches: VecDeque<StoredBatch>,
    log_start_offset: i64,
    log_end_offset: i64,
    /// Set while a test keeps the high watermark from following the end of the log.
    held_high_watermark: Option<i64>,
    /// Bytes of all batches that were ever appended and not truncated.
    end_position: u64,
    epochs: LeaderEpochs,
    producers: Producers,
    aborted: Vec<AbortedRange>,
    index: OffsetIndex,
}

impl PartitionLog {
    pub(crate) fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    pub(crate) fn log_end_offset(&self) -> i64 {
        self.log_end_offset
    }

    /// Every replica is in sync at once, so that the high watermark is the end of the log unless it is held.
    pub(crate) fn high_watermark(&self) -> i64 {
        self.held_high_watermark
            .unwrap_or(self.log_end_offset)
            .clamp(self.log_start_offset, self.log_end_offset)
    }

    /// The first offset of the earliest transaction that is open, or whose end is not below the high watermark; the
    /// high watermark if there is none.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        let high_watermark = self.high_watermark();
        self.producers
            .first_unstable_offset(high_watermark)
            .unwrap_or(high_watermark)
            .min(high_watermark)
    }

    /// Keeps the high watermark where it is while the log grows; releasing it moves it to the end.
    pub(crate) fn hold_high_watermark(&mut self, hold: bool) {
        self.held_high_watermark = hold.then(|| self.high_watermark());
    }

    pub(crate) fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// Where a leader of `epoch` begins to write.
    pub(crate) fn begin_epoch(&mut self, epoch: i32) {
        self.epochs.assign(epoch, self.log_end_offset);
    }

    /// The end of the log under a leader epoch, by which clients find out about truncation (KIP-320).
    pub(crate) fn end_offset_for(&self, epoch: i32) -> Option<EpochEndOffset> {
        self.epochs.end_offset_for(epoch, self.log_end_offset)
    }

    /// Index of the first batch that ends at `offset` or behind it.
    fn batch_at(&self, offset: i64) -> usize {
        self.batches
            .partition_point(|batch| batch.header.last_offset() < offset)
    }

    /// Bytes of the log before the batch that contains `offset` or follows it.
    pub(crate) fn position_of(&self, offset: i64) -> u64 {
        let batch = self.batches.get(self.batch_at(offset));
        batch.map_or(self.end_position, |batch| batch.position)
    }
}
