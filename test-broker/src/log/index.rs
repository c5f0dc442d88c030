/// Bytes between two entries of the index: `log.index.interval.bytes`.
const INTERVAL: u64 = 4096;

/// The sparse offset index of a log. It is needed because the range for which a Fetch answer lists aborted transactions
/// ends at the next *index entry* behind the bytes returned, so that transactions beyond them may be listed too.
#[derive(Debug, Default)]
pub(super) struct OffsetIndex {
    /// Last offset and position of a batch.
    entries: Vec<(i64, u64)>,
    bytes_since_entry: u64,
}

impl OffsetIndex {
    pub(super) fn add(&mut self, last_offset: i64, position: u64, size: usize) {
        if self.bytes_since_entry > INTERVAL {
            self.entries.push((last_offset, position));
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += size as u64;
    }

    /// The offset of the first entry at `position` or behind it.
    pub(super) fn upper_bound(&self, position: u64) -> Option<i64> {
        let at = self.entries.partition_point(|(_, at)| *at < position);
        self.entries.get(at).map(|(offset, _)| *offset)
    }
}
