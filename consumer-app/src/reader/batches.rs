//! Completed fetches given undecoded, to be decoded on other threads.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use buffer_actor::{Memory, SharedState};
use record_batch::{DecodeOptions, Decoder, TopicPartition};

use super::part::{Allowance, Part, Step};
use crate::error::Error;
use crate::metrics::application::clock;
use crate::records::{PartitionRecords, Records};

/// What one [`poll_batches`](crate::Consumer::poll_batches) gives: whole batches as the broker stored them, still compressed if
/// they were.
#[derive(Debug, Default)]
pub struct Batches {
    partitions: Vec<PartitionBatches>,
}

impl Batches {
    pub(super) fn push(&mut self, batches: PartitionBatches) {
        self.partitions.push(batches);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Bytes of all batches as they came, before decompression.
    pub fn bytes(&self) -> usize {
        self.partitions.iter().map(PartitionBatches::bytes).sum()
    }

    /// The batches of each partition, for as many threads as there are.
    pub fn into_partitions(self) -> impl Iterator<Item = PartitionBatches> {
        self.partitions.into_iter()
    }
}

/// Batches of one partition. `Send + 'static`: to be decoded anywhere, also after the consumer is gone.
pub struct PartitionBatches {
    part: Box<Part>,
    options: DecodeOptions,
    memory: Memory,
    failures: Failures,
    shared: SharedState,
}

thread_local! {
    /// The contexts of the codecs are expensive to make: each thread keeps them.
    static DECODER: RefCell<Option<Decoder>> = const { RefCell::new(None) };
}

impl PartitionBatches {
    pub(super) fn new(
        mut part: Box<Part>,
        options: DecodeOptions,
        memory: Memory,
        failures: Failures,
        shared: SharedState,
    ) -> Self {
        part.hand_over();
        Self {
            part,
            options,
            memory,
            failures,
            shared,
        }
    }

    /// Which partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        self.part.state().name()
    }

    /// Bytes as they came, before decompression.
    pub fn bytes(&self) -> usize {
        self.part.bytes_left()
    }

    /// The offset that follows all of them.
    pub fn next_offset(&self) -> i64 {
        self.part.next()
    }

    /// Checks, decompresses and opens all batches. What it makes counts against `buffer.memory` until it is dropped.
    ///
    /// # Errors
    /// A batch cannot be read; the error has the records before it. The consumer's next poll says so as well, its position at that
    /// batch, until the application seeks.
    pub fn decode(mut self) -> Result<PartitionRecords, DecodeFailed> {
        let name = self.topic_partition().clone();
        let mut records = Records::default();
        // memory is what this is asked to use
        let mut all = Allowance {
            records: usize::MAX,
            overdraws: usize::MAX,
            copies: self.memory.is_much_kept(),
            fell_short: false,
        };
        let (mark, at) = (records.mark(), self.part.bytes_read());
        let step = DECODER.with_borrow_mut(|kept| {
            let decoder = match kept {
                Some(decoder) if decoder.options() == self.options => decoder,
                other => other.insert(Decoder::new(self.options)),
            };
            self.part
                .read(&mut records, &mut all, decoder, &self.memory)
        });
        self.part.count(clock(), &records, mark, at);
        match step {
            Step::Unreadable { .. } if self.part.is_valid() => {
                let source = self.part.error();
                self.failures.push(*self.part);
                self.shared.notify();
                match source {
                    Some(source) => Err(DecodeFailed {
                        decoded: records.into_partition(name),
                        source: Box::new(source),
                    }),
                    None => Ok(records.into_partition(name)),
                }
            }
            _ => Ok(records.into_partition(name)),
        }
    }
}

impl fmt::Debug for PartitionBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionBatches")
            .field("partition", self.topic_partition())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// A batch that cannot be read, and what came before it.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct DecodeFailed {
    /// The good records before it.
    pub decoded: PartitionRecords,
    /// Which batch, why, and where to seek to.
    pub source: Box<Error>,
}

/// Parts that turned out to be unreadable, on their way back to the reader.
#[derive(Clone, Default)]
pub(super) struct Failures(Arc<Mutex<Vec<Part>>>);

impl Failures {
    fn push(&self, part: Part) {
        self.lock().push(part);
    }

    pub(super) fn take(&self) -> Vec<Part> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
