//! What happens to a log other than an append: truncation, deletion, and the rewriting that a cleaner does.

use record_batch::{Decoder, FreshBuffers, entries};

use super::index::OffsetIndex;
use super::producers::Producers;
use super::{OutOfRange, PartitionLog};

impl PartitionLog {
    /// Cuts the log so that it ends at `offset`, as an unclean election does. A batch that contains the offset goes too.
    pub(crate) fn truncate(&mut self, offset: i64, decoder: &mut Decoder) {
        if offset >= self.log_end_offset {
            return;
        }
        let offset = offset.max(self.log_start_offset);
        self.batches.truncate(self.batch_at(offset));
        self.log_end_offset = offset;
        self.held_high_watermark = self.held_high_watermark.map(|held| held.min(offset));
        self.epochs.truncate_to(offset);
        self.rebuild(decoder);
    }

    /// Moves the start of the log up to `offset`, as DeleteRecords and retention do.
    ///
    /// # Errors
    /// If the offset lies behind the high watermark.
    pub(crate) fn delete_records(&mut self, offset: i64) -> Result<(), OutOfRange> {
        if offset > self.high_watermark() {
            return Err(OutOfRange);
        }
        if offset > self.log_start_offset {
            self.log_start_offset = offset;
            self.batches.drain(..self.batch_at(offset));
            self.epochs.start_at(offset);
            self.producers.start_at(offset);
        }
        Ok(())
    }

    /// Removes the batches whose base offset is given, which leaves gaps; the number of those that were there.
    pub(crate) fn remove_batches(&mut self, base_offsets: &[i64], decoder: &mut Decoder) -> usize {
        let before = self.batches.len();
        self.batches
            .retain(|batch| !base_offsets.contains(&batch.header.base_offset()));
        self.rebuild(decoder);
        before - self.batches.len()
    }

    /// Computes anew what follows from the batches.
    pub(super) fn rebuild(&mut self, decoder: &mut Decoder) {
        self.producers = Producers::default();
        self.index = OffsetIndex::default();
        self.aborted.clear();
        self.end_position = 0;
        let mut headers = Vec::with_capacity(self.batches.len());
        for batch in &mut self.batches {
            batch.position = self.end_position;
            let size = batch.bytes.len();
            self.end_position += size as u64;
            self.index
                .add(batch.header.last_offset(), batch.position, size);
            let control = batch.header.is_control().then(|| {
                let entry = entries(&batch.bytes).next()?.ok()?;
                let decoded = decoder
                    .decode(&batch.bytes, &entry, &mut FreshBuffers)
                    .ok()?;
                decoded.control_type().ok()?
            });
            headers.push((batch.header, control.flatten()));
        }
        for (header, control) in headers {
            self.track(&header, control);
        }
        self.producers.settle(self.high_watermark());
    }
}
