//! One leased completed fetch: walked batch by batch, decoded no further than the poll needs.

use std::sync::Arc;
use std::time::Instant;

use buffer_actor::messages::Block;
use buffer_actor::{
    Backoff, BatchBuffers, Claim, FetchedRecords, Memory, PartitionId, PartitionState, Portion,
    lend,
};
use bytes::Bytes;
use record_batch::{
    BatchError, Compression, DecodedBatch, Decoder, RecordCursor, TransactionFilter, Verdict,
    entries,
};
use session_actor::wire::fetch::IsolationLevel;

use crate::error::Error;
use crate::records::{Chunk, Mark, Records};

/// A completed fetch as the buffer leases it.
pub(super) type Completed = buffer_actor::Completed<FetchedRecords>;

/// What is left of a completed fetch.
pub(super) struct Part {
    state: Arc<PartitionState>,
    completed: Completed,
    /// Its records field, as it is lent to the application.
    bytes: Bytes,
    isolation: IsolationLevel,
    filter: TransactionFilter,
    /// Where in the records field the next entry begins, bytes.
    at: usize,
    /// The next offset to give.
    position: i64,
    /// The batch that is being given out.
    batch: Option<Opened>,
    given: bool,
    unreadable: Option<Unreadable>,
}

/// A batch of which not all records were given.
struct Opened {
    batch: DecodedBatch,
    cursor: RecordCursor,
    /// On its buffer, if it has one of its own.
    claim: Option<Claim>,
}

/// A batch that cannot be read: nothing behind it is given until the application seeks.
struct Unreadable {
    error: BatchError,
    /// The application is told again from then on.
    next_telling: Option<Instant>,
    tellings: u32,
}

/// What may still be read.
#[derive(Clone, Copy)]
pub(super) struct Allowance {
    /// Records.
    pub(super) records: usize,
    /// Batches to decompress although the budget is used up.
    pub(super) overdraws: usize,
    /// The application kept much before this poll. What a poll gives is not kept yet, however much it is.
    pub(super) copies: bool,
    /// A batch was left as it is, for want of memory.
    pub(super) fell_short: bool,
}

impl Allowance {
    /// Takes note that a batch is to be decompressed, with the budget used up. Returns whether it may be.
    const fn overdraw(&mut self) -> bool {
        let may = self.overdraws > 0;
        if may {
            self.overdraws -= 1;
        } else {
            self.fell_short = true;
        }
        may
    }
}

/// How far a part came.
pub(super) enum Step {
    /// Nothing is left.
    Finished,
    /// What is allowed is used up; or, in a part that cannot be read on, it is not yet time to say so again.
    More,
    /// It cannot be read on. `fresh`: this was found out just now.
    Unreadable { fresh: bool },
}

impl Part {
    pub(super) fn new(
        state: Arc<PartitionState>,
        completed: Completed,
        isolation: IsolationLevel,
    ) -> Self {
        let filter = match isolation {
            IsolationLevel::ReadCommitted => {
                TransactionFilter::read_committed(completed.data.aborted.iter().copied())
            }
            IsolationLevel::ReadUncommitted => TransactionFilter::read_uncommitted(),
        };
        Self {
            bytes: lend(completed.data.bytes.clone(), &state),
            state,
            isolation,
            filter,
            at: 0,
            position: completed.from,
            completed,
            batch: None,
            given: false,
            unreadable: None,
        }
    }

    pub(super) const fn partition(&self) -> PartitionId {
        self.completed.partition
    }

    pub(super) const fn state(&self) -> &Arc<PartitionState> {
        &self.state
    }

    /// No seek, reset or unassignment came in between (I6).
    pub(super) fn is_valid(&self) -> bool {
        self.state.is_valid(self.completed.epoch)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.state.is_paused()
    }

    /// Whether the last [`give`](Self::give) or [`give_whole`](Self::give_whole) gave a record or moved the position.
    pub(super) const fn has_given(&self) -> bool {
        self.given
    }

    /// When the application is told again that it cannot be read on.
    pub(super) fn retold_at(&self) -> Option<Instant> {
        self.unreadable.as_ref()?.next_telling
    }

    /// What is left, for the buffer to keep while the partition is paused.
    pub(super) fn give_back(self) -> Completed {
        Completed {
            from: self.position,
            ..self.completed
        }
    }

    /// The message that stops fetching behind a batch that cannot be read.
    pub(super) const fn block(&self) -> Block {
        Block {
            partition: self.completed.partition,
            epoch: self.completed.epoch,
        }
    }

    /// Gives the records that are allowed, and the position that follows them. After a seek, reset or unassignment, which may
    /// come from another thread while this decodes, it gives nothing: what does not count as given would be given twice.
    pub(super) fn give(
        &mut self,
        records: &mut Records,
        allowance: &mut Allowance,
        now: Instant,
        decoder: &mut Decoder,
        memory: &Memory,
    ) -> Step {
        self.given = false;
        if let Some(unreadable) = &self.unreadable {
            let due = unreadable.next_telling.is_none_or(|at| at <= now);
            return if due {
                Step::Unreadable { fresh: false }
            } else {
                Step::More
            };
        }
        let before = self.position;
        let (mark, at) = (records.mark(), self.at);
        let allowed = *allowance;
        let step = self.read(records, allowance, decoder, memory);
        if self.position > before {
            let leader_epoch = records.leader_epoch_since(mark);
            self.given = self
                .state
                .give(self.completed.epoch, self.position, leader_epoch);
            if !self.given {
                records.truncate(mark);
                *allowance = allowed;
                return Step::Finished;
            }
            records.moved(&self.state, self.position);
            self.count(now, records, mark, at);
            self.state.observe_lag(now, self.position, self.known_end());
        }
        step
    }

    /// Counts what was given since `mark`, when the next entry began at `at`.
    pub(super) fn count(&self, now: Instant, records: &Records, mark: Mark, at: usize) {
        let (count, bytes) = records.pushed_since(mark);
        self.state.consumed(
            now,
            Portion {
                records: count as u64,
                bytes: bytes as u64,
                fetched_bytes: (self.at - at) as u64,
            },
        );
    }

    /// Where the partition ends for this reader, as far as a broker told; -1 before.
    fn known_end(&self) -> i64 {
        match self.isolation {
            IsolationLevel::ReadCommitted => self.state.last_stable_offset(),
            IsolationLevel::ReadUncommitted => self.state.high_watermark(),
        }
    }

    /// Decodes what is allowed into `records`.
    pub(super) fn read(
        &mut self,
        records: &mut Records,
        allowance: &mut Allowance,
        decoder: &mut Decoder,
        memory: &Memory,
    ) -> Step {
        loop {
            if allowance.records == 0 {
                return Step::More;
            }
            match self.next_batch(allowance, decoder, memory) {
                Ok(Found::Batch) => {
                    if let Some(chunk) = self.take(allowance.records) {
                        allowance.records -= chunk.len();
                        records.push(chunk);
                    }
                }
                Ok(Found::NoMemory) => return Step::More,
                Ok(Found::End) => {
                    self.position = self.position.max(self.completed.next);
                    return Step::Finished;
                }
                Err(error) => {
                    self.forget_bytes();
                    self.unreadable = Some(Unreadable {
                        error,
                        next_telling: None,
                        tellings: 0,
                    });
                    return Step::Unreadable { fresh: true };
                }
            }
        }
    }

    /// Gives all of it without decoding: the position moves to its end. What was begun is given from where it stands. Nothing
    /// is given after a seek, reset or unassignment.
    pub(super) fn give_whole(&mut self) {
        self.given = self
            .state
            .give(self.completed.epoch, self.completed.next, None);
    }

    /// The application has all of it from now on, undecoded.
    pub(super) fn hand_over(&mut self) {
        self.completed.data.claim = None;
        if let Some(opened) = &mut self.batch {
            opened.claim = None;
        }
    }

    /// What cannot be read on takes no memory: it may be long until the application seeks.
    fn forget_bytes(&mut self) {
        self.completed.data = FetchedRecords {
            bytes: Bytes::new(),
            aborted: Vec::new(),
            claim: None,
        };
        self.bytes = Bytes::new();
    }

    /// The position goes back to the batch that cannot be read, unless a seek moved it since.
    pub(super) fn take_position_back(&self) {
        self.state.give(self.completed.epoch, self.position, None);
    }

    /// Bytes of batches that were stepped over or decoded.
    pub(super) const fn bytes_read(&self) -> usize {
        self.at
    }

    /// Bytes of batches that are still to be decoded.
    pub(super) fn bytes_left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The offset that follows all of it.
    pub(super) const fn next(&self) -> i64 {
        self.completed.next
    }

    /// Whether a batch of it cannot be read.
    pub(super) const fn is_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// The error to tell now, unless it is too soon after the last time.
    pub(super) fn tell(&mut self, now: Instant, pause: &Backoff) -> Option<Error> {
        let unreadable = self.unreadable.as_mut()?;
        if unreadable.next_telling.is_some_and(|at| at > now) {
            return None;
        }
        // the middle of the jitter: what follows is the application's own timing
        let delay = pause.delay(unreadable.tellings, 200);
        unreadable.tellings = unreadable.tellings.saturating_add(1);
        unreadable.next_telling = Some(now + delay);
        self.error()
    }

    /// Why it cannot be read on.
    pub(super) fn error(&self) -> Option<Error> {
        Some(Error::CorruptBatch {
            partition: self.state.name().clone(),
            position: self.position,
            source: self.unreadable.as_ref()?.error.clone(),
        })
    }

    /// Makes sure that there is a batch to give records of, unless the end is reached. Batches that the application will not
    /// see are stepped over by their headers.
    fn next_batch(
        &mut self,
        allowance: &mut Allowance,
        decoder: &mut Decoder,
        memory: &Memory,
    ) -> Result<Found, BatchError> {
        if self.batch.is_some() {
            return Ok(Found::Batch);
        }
        loop {
            let mut rest = self.bytes.slice(self.at..);
            let Some(mut entry) = entries(&rest).next().transpose()? else {
                return Ok(Found::End);
            };
            let header = *entry.header();
            if header.is_before(self.position) {
                // a broker sends the batch that contains the offset; one wholly below it was given before
                self.at += entry.range().len();
                continue;
            }
            match self.filter.judge(&header) {
                Verdict::Skip => {}
                Verdict::ReadMarker => {
                    let mut buffers = BatchBuffers::new(memory, &self.state);
                    let marker = decoder.decode(&rest, &entry, &mut buffers)?;
                    self.filter.marker(&header, marker.control_type()?);
                }
                Verdict::Deliver => {
                    let length = entry.range().len();
                    let is_compressed = header.compression() != Some(Compression::None);
                    if is_compressed && memory.is_over_limit() && !allowance.overdraw() {
                        return Ok(Found::NoMemory);
                    }
                    let mut buffers = BatchBuffers::new(memory, &self.state);
                    if !is_compressed && allowance.copies && self.would_pin(length) {
                        let own = buffers.copy(&rest[entry.range()]);
                        if let Some(Ok(copied)) = entries(&own).next() {
                            entry = copied;
                            rest = own;
                        }
                    }
                    let batch = decoder.decode(&rest, &entry, &mut buffers)?;
                    self.at += length;
                    // not by the header: a compressed message of magic 0 or 1 carries the offset of its last record
                    let cursor = batch.cursor_at(self.position);
                    if cursor.index() < batch.len() {
                        self.batch = Some(Opened {
                            batch,
                            cursor,
                            claim: buffers.claim(),
                        });
                        return Ok(Found::Batch);
                    }
                    self.position = self.position.max(batch.next_offset());
                    continue;
                }
            }
            self.at += entry.range().len();
            self.position = self.position.max(header.next_offset());
        }
    }

    /// Whether a record of this batch would keep a reply of more than four times its size.
    fn would_pin(&self, batch: usize) -> bool {
        let reply = self.completed.data.claim.as_ref().map_or(0, Claim::bytes);
        (batch as u64).saturating_mul(4) < reply
    }

    /// Up to `room` records of the current batch.
    fn take(&mut self, room: usize) -> Option<Chunk> {
        let Opened {
            batch,
            cursor,
            claim,
        } = self.batch.take()?;
        let mut chunk = Chunk {
            state: Arc::clone(&self.state),
            batch: batch.clone(),
            from: cursor,
            to: batch.end(),
        };
        if chunk.len() <= room {
            self.position = self.position.max(batch.next_offset());
        } else {
            let before_last = batch.cursor_after(cursor, room.saturating_sub(1));
            let mut records = batch.records_from(before_last);
            if let Some(last) = records.next() {
                self.position = self.position.max(last.offset().saturating_add(1));
            }
            chunk.to = records.cursor();
            self.batch = Some(Opened {
                batch,
                cursor: chunk.to,
                claim,
            });
        }
        Some(chunk)
    }
}

/// What [`Part::next_batch`] found.
enum Found {
    Batch,
    /// Decompressing another batch would overdraw the budget.
    NoMemory,
    End,
}
