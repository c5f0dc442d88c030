use bytes::Bytes;
use record_batch::{DecodedBatch, Decoder, FreshBuffers, Record, entries};

use super::PartitionLog;

/// An offset found by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundOffset {
    pub(crate) offset: i64,
    /// In ms; -1 where the question was not about time.
    pub(crate) timestamp: i64,
    pub(crate) leader_epoch: Option<i32>,
}

impl FoundOffset {
    fn of(record: &Record<'_>) -> Self {
        Self {
            offset: record.offset(),
            timestamp: record.timestamp(),
            leader_epoch: record.leader_epoch(),
        }
    }
}

fn decode(bytes: &Bytes, decoder: &mut Decoder) -> Option<DecodedBatch> {
    let entry = entries(bytes).next()?.ok()?;
    decoder.decode(bytes, &entry, &mut FreshBuffers).ok()
}

impl PartitionLog {
    /// The first record whose time is `timestamp` or later. Looks into batches; one that cannot be decoded is passed
    /// over.
    pub(crate) fn find_by_timestamp(
        &self,
        timestamp: i64,
        decoder: &mut Decoder,
    ) -> Option<FoundOffset> {
        self.batches
            .iter()
            .filter(|batch| batch.header.max_timestamp() >= timestamp)
            .find_map(|batch| {
                let batch = decode(&batch.bytes, decoder)?;
                let found = batch.records().find(|record| {
                    record.timestamp() >= timestamp && record.offset() >= self.log_start_offset
                });
                found.map(|record| FoundOffset::of(&record))
            })
    }

    /// The first record with the largest time of all (KIP-734).
    pub(crate) fn find_max_timestamp(&self, decoder: &mut Decoder) -> Option<FoundOffset> {
        let times = self
            .batches
            .iter()
            .map(|batch| batch.header.max_timestamp());
        let largest = times.max().filter(|largest| *largest >= 0)?;
        let mut batches = self.batches.iter();
        let batch = batches.find(|batch| batch.header.max_timestamp() == largest)?;
        let batch = decode(&batch.bytes, decoder)?;
        let found = batch.records().find(|record| record.timestamp() == largest);
        found.map(|record| FoundOffset::of(&record))
    }
}
