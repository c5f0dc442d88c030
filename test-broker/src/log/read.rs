use bytes::Bytes;
use record_batch::AbortedTransaction;

use super::PartitionLog;

/// How far a consumer may read: `isolation.level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// To the high watermark.
    ReadUncommitted,
    /// To the last stable offset; aborted transactions are listed.
    ReadCommitted,
}

impl Isolation {
    /// `None` for a level that there is not.
    pub(crate) fn from_level(level: i8) -> Option<Self> {
        match level {
            0 => Some(Self::ReadUncommitted),
            1 => Some(Self::ReadCommitted),
            _ => None,
        }
    }
}

/// The limits of one read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    pub(crate) max_bytes: usize,
    /// Whether the first batch is given whole even if it is larger (KIP-74).
    pub(crate) at_least_one: bool,
    pub(crate) isolation: Isolation,
    /// The end of the log at the replica that reads, if it lags.
    pub(crate) replica_end: Option<i64>,
}

/// What one read brought.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadData {
    /// Whole batches; the last one may be cut.
    pub(crate) records: Vec<Bytes>,
    pub(crate) size: usize,
    /// Aborted transactions of the range; `None` under read_uncommitted.
    pub(crate) aborted: Option<Vec<AbortedTransaction>>,
}

/// The offset lies outside of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange;

impl PartitionLog {
    /// The end of what a reader of this isolation sees.
    pub(crate) fn end_for(&self, isolation: Isolation, replica_end: Option<i64>) -> i64 {
        let end = match isolation {
            Isolation::ReadUncommitted => self.high_watermark(),
            Isolation::ReadCommitted => self.last_stable_offset(),
        };
        end.min(replica_end.unwrap_or(end))
    }

    /// Reads from the batch that contains `offset`, or follows it, so that data may begin below it. Bytes are cut at
    /// the limit, not between batches.
    pub(crate) fn read(&self, offset: i64, limits: ReadLimits) -> Result<ReadData, OutOfRange> {
        let end = limits.replica_end.unwrap_or(self.log_end_offset);
        if offset < self.log_start_offset || offset > end {
            return Err(OutOfRange);
        }
        let visible_end = self.end_for(limits.isolation, limits.replica_end);
        let aborted = (limits.isolation == Isolation::ReadCommitted).then(Vec::new);
        let empty = ReadData {
            aborted,
            ..ReadData::default()
        };
        if offset >= visible_end {
            return Ok(empty);
        }
        let first = self.batch_at(offset);
        let Some(batch) = self.batches.get(first) else {
            return Ok(empty);
        };
        let start = batch.position;
        let visible = self.position_of(visible_end).saturating_sub(start);
        let visible = usize::try_from(visible).unwrap_or(usize::MAX);
        let limit = match limits.at_least_one {
            true => limits.max_bytes.max(batch.bytes.len()),
            // a cut first batch is of no use to anybody; later versions than 2 get nothing instead
            false if limits.max_bytes < batch.bytes.len() => return Ok(empty),
            false => limits.max_bytes,
        };
        let mut data = empty;
        let mut left = visible.min(limit);
        for batch in self.batches.range(first..) {
            if left == 0 {
                break;
            }
            let taken = batch.bytes.len().min(left);
            data.records.push(batch.bytes.slice(..taken));
            data.size += taken;
            left -= taken;
        }
        if let Some(aborted) = &mut data.aborted {
            let upper = self.index.upper_bound(start + data.size as u64);
            self.list_aborted(offset, upper.unwrap_or(self.log_end_offset), aborted);
        }
        Ok(data)
    }

    /// The order is that of the markers, not that of the first offsets.
    fn list_aborted(&self, offset: i64, upper: i64, list: &mut Vec<AbortedTransaction>) {
        for range in &self.aborted {
            if range.last_offset >= offset && range.transaction.first_offset < upper {
                list.push(range.transaction);
            }
            if range.last_stable_offset >= upper {
                break;
            }
        }
    }
}
