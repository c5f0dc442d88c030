//! What a poll gives: records as borrowed views.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffer_actor::{PartitionState, SharedState};
use bytes::Bytes;
use record_batch::{
    DecodedBatch, Headers, OwnedRecord, RecordCursor, TimestampType, TopicPartition,
};

/// A record, as a view into the batch that it came in. `Copy`: it allocates nothing and owns nothing.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    partition: &'a TopicPartition,
    batch: &'a DecodedBatch,
    inner: record_batch::Record<'a>,
}

impl<'a> Record<'a> {
    /// Its topic.
    pub fn topic(&self) -> &'a str {
        self.partition.topic()
    }

    /// Its partition's index.
    pub fn partition(&self) -> i32 {
        self.partition.partition()
    }

    /// Topic and partition.
    pub const fn topic_partition(&self) -> &'a TopicPartition {
        self.partition
    }

    /// Its offset in the partition.
    pub fn offset(&self) -> i64 {
        self.inner.offset()
    }

    /// Milliseconds since 1970 UTC, -1 if it has none; see [`timestamp_type`](Self::timestamp_type).
    pub fn timestamp(&self) -> i64 {
        self.inner.timestamp()
    }

    /// Who set the time: the producer, or the broker when it appended the record.
    pub fn timestamp_type(&self) -> TimestampType {
        self.inner.timestamp_type()
    }

    /// The epoch of the leader that appended it, if its format has one (KIP-320).
    pub fn leader_epoch(&self) -> Option<i32> {
        self.inner.leader_epoch()
    }

    /// Its key; `None` is null, which an empty key is not.
    pub fn key(&self) -> Option<&'a [u8]> {
        self.inner.key()
    }

    /// Its value; `None` is null (a tombstone in a compacted topic), which an empty value is not.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.inner.value()
    }

    /// Its headers, parsed as they are iterated: in their order, repeated names kept.
    pub fn headers(&self) -> Headers<'a> {
        self.inner.headers()
    }

    /// The record by itself, copied: it keeps nothing else in memory.
    pub fn to_owned(self) -> OwnedRecord {
        self.inner.to_owned()
    }

    /// The value as shared bytes, without a copy. They keep the batch's buffer in memory, which counts against `buffer.memory`
    /// as long as they live: for a record that is kept for long, [`to_owned`](Self::to_owned) is the better way.
    pub fn value_bytes(&self) -> Option<Bytes> {
        self.batch.bytes_of(self.inner.value()?)
    }
}

impl std::fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record")
            .field("partition", &format_args!("{}", self.partition))
            .field("offset", &self.offset())
            .field("key", &self.key().map(|key| key.len()))
            .field("value", &self.value().map(|value| value.len()))
            .finish()
    }
}

/// Some records of one batch.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) state: Arc<PartitionState>,
    pub(crate) batch: DecodedBatch,
    pub(crate) from: RecordCursor,
    pub(crate) to: RecordCursor,
}

impl Chunk {
    pub(crate) fn len(&self) -> usize {
        self.to.index().saturating_sub(self.from.index())
    }

    /// Of these records, decompressed.
    fn bytes(&self) -> usize {
        self.to.bytes().saturating_sub(self.from.bytes())
    }
}

/// A place in [`Records`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    chunks: usize,
    len: usize,
    bytes: usize,
}

/// The records of one poll. Owned: it may outlive the consumer, move to other threads, and be iterated again. Its buffers count
/// against `buffer.memory` until it is dropped.
///
/// Records of one partition come in the order of their offsets; partitions follow one another.
#[derive(Debug, Clone, Default)]
pub struct Records {
    chunks: Vec<Chunk>,
    len: usize,
    bytes: usize,
    next_offsets: Vec<(Arc<PartitionState>, i64)>,
    assigned: Option<SharedState>,
}

impl Records {
    pub(crate) fn new(assigned: SharedState) -> Self {
        Self {
            assigned: Some(assigned),
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, chunk: Chunk) {
        self.len += chunk.len();
        self.bytes += chunk.bytes();
        self.chunks.push(chunk);
    }

    /// Where it ends now.
    pub(crate) const fn mark(&self) -> Mark {
        Mark {
            chunks: self.chunks.len(),
            len: self.len,
            bytes: self.bytes,
        }
    }

    /// Takes out again what was pushed since.
    pub(crate) fn truncate(&mut self, mark: Mark) {
        self.chunks.truncate(mark.chunks);
        self.len = mark.len;
        self.bytes = mark.bytes;
    }

    /// Records, and their bytes, that were pushed since.
    pub(crate) const fn pushed_since(&self, mark: Mark) -> (usize, usize) {
        (self.len - mark.len, self.bytes - mark.bytes)
    }

    /// Leader epoch of the newest batch that was pushed since.
    pub(crate) fn leader_epoch_since(&self, mark: Mark) -> Option<i32> {
        let chunk = self.chunks.get(mark.chunks..)?.last()?;
        chunk.batch.header().partition_leader_epoch()
    }

    /// This poll moved the position of a partition to `next`. Each has one turn in a poll.
    pub(crate) fn moved(&mut self, state: &Arc<PartitionState>, next: i64) {
        self.next_offsets.push((Arc::clone(state), next));
    }

    /// Whether this poll moved a position, be it without a record: past control batches, or batches emptied by compaction.
    pub(crate) fn has_moved(&self) -> bool {
        !self.next_offsets.is_empty()
    }

    /// How many records.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none. A poll that waited in vain gives none, and so may one that stepped over offsets without a
    /// record (transaction markers, compacted batches).
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All records.
    pub fn iter(&self) -> RecordsIter<'_> {
        RecordsIter::over(&self.chunks)
    }

    /// For each assigned partition the offset that follows what was given, also for those that gave nothing. Partitions whose
    /// position is still being looked up are absent.
    pub fn next_offsets(&self) -> BTreeMap<TopicPartition, i64> {
        let assigned = self.assigned.iter().flat_map(SharedState::all);
        let mut offsets: BTreeMap<TopicPartition, i64> = assigned
            .filter_map(|state| Some((state.name().clone(), state.offsets().given?)))
            .collect();
        for (state, next) in &self.next_offsets {
            offsets.insert(state.name().clone(), *next);
        }
        offsets
    }

    /// The records by partition, for work on several threads.
    pub fn by_partition(self) -> impl Iterator<Item = PartitionRecords> {
        let mut partitions: Vec<PartitionRecords> = Vec::new();
        for chunk in self.chunks {
            match partitions.last_mut() {
                Some(last) if last.partition == *chunk.state.name() => last.chunks.push(chunk),
                _ => partitions.push(PartitionRecords {
                    partition: chunk.state.name().clone(),
                    chunks: vec![chunk],
                }),
            }
        }
        partitions.into_iter()
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = Record<'a>;
    type IntoIter = RecordsIter<'a>;

    fn into_iter(self) -> RecordsIter<'a> {
        self.iter()
    }
}

impl Records {
    /// The records as those of one partition, which all of them are.
    pub(crate) fn into_partition(self, partition: TopicPartition) -> PartitionRecords {
        PartitionRecords {
            partition,
            chunks: self.chunks,
        }
    }
}

/// Iterates over [`Records`].
#[derive(Debug, Clone)]
pub struct RecordsIter<'a> {
    chunks: std::slice::Iter<'a, Chunk>,
    current: Option<Current<'a>>,
}

#[derive(Debug, Clone)]
struct Current<'a> {
    partition: &'a TopicPartition,
    batch: &'a DecodedBatch,
    records: record_batch::Records<'a>,
}

impl<'a> RecordsIter<'a> {
    fn over(chunks: &'a [Chunk]) -> Self {
        Self {
            chunks: chunks.iter(),
            current: None,
        }
    }

    /// Goes on to the next chunk. Out of line, so that the walk over its records becomes part of the caller's loop.
    #[inline(never)]
    fn advance(&mut self) -> Option<()> {
        let chunk = self.chunks.next()?;
        self.current = Some(Current {
            partition: chunk.state.name(),
            batch: &chunk.batch,
            records: chunk.batch.records_between(chunk.from, chunk.to),
        });
        Some(())
    }
}

impl<'a> Iterator for RecordsIter<'a> {
    type Item = Record<'a>;

    // a call would pass each record through memory, which costs more than all else that is done for it
    #[inline(always)]
    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(inner) = current.records.next()
            {
                return Some(Record {
                    partition: current.partition,
                    batch: current.batch,
                    inner,
                });
            }
            self.advance()?;
        }
    }
}

/// The records of one partition of a poll. `Send + Sync + 'static`.
#[derive(Debug, Clone)]
pub struct PartitionRecords {
    partition: TopicPartition,
    chunks: Vec<Chunk>,
}

impl PartitionRecords {
    /// Which partition.
    pub const fn topic_partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Its records, in the order of their offsets.
    pub fn iter(&self) -> RecordsIter<'_> {
        RecordsIter::over(&self.chunks)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Chunk::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
