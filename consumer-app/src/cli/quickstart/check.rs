//! Whether what was read is what was produced: every offset of every partition, once and in order, and all lengths by
//! a checksum. No I/O.

#[cfg(test)]
mod tests;

use crate::cli::tally::Tally;

/// What was produced, and how much of it has been read.
#[derive(Debug, Clone, Default)]
pub(super) struct Check {
    partitions: Vec<Partition>,
    expected: Tally,
    seen: Tally,
}

#[derive(Debug, Clone, Copy, Default)]
struct Partition {
    /// The next offset to be read.
    next: i64,
    /// The next offset to be produced.
    end: i64,
}

/// What was read is not what was produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("offset {got} of partition {partition} came where {expected} was due")]
    OutOfOrder {
        partition: i32,
        expected: i64,
        got: i64,
    },
    #[error("offset {got} of partition {partition} came, of which only {end} were produced")]
    NeverProduced { partition: i32, end: i64, got: i64 },
    #[error("partition {partition} ended at offset {got}, {end} were produced")]
    Missing {
        partition: usize,
        end: i64,
        got: i64,
    },
    #[error(
        "the checksum is {got} over {got_bytes} bytes, that of what was produced {expected} over {expected_bytes}"
    )]
    Checksum {
        expected: u64,
        expected_bytes: u64,
        got: u64,
        got_bytes: u64,
    },
}

impl Check {
    /// Nothing was produced yet.
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            partitions: vec![Partition::default(); partitions],
            ..Self::default()
        }
    }

    /// A record was produced, at the next offset of its partition.
    pub(super) fn produced(&mut self, partition: usize, key: usize, value: usize) {
        let Some(partition) = self.partitions.get_mut(partition) else {
            return;
        };
        self.expected.count(partition.end, key, value);
        partition.end += 1;
    }

    /// A record was read.
    pub(super) fn record(
        &mut self,
        partition: i32,
        offset: i64,
        key: usize,
        value: usize,
    ) -> Result<(), Mismatch> {
        let index = usize::try_from(partition).unwrap_or(usize::MAX);
        let Some(Partition { next, end }) = self.partitions.get_mut(index) else {
            return Err(Mismatch::NeverProduced {
                partition,
                end: 0,
                got: offset,
            });
        };
        if offset != *next {
            return Err(Mismatch::OutOfOrder {
                partition,
                expected: *next,
                got: offset,
            });
        }
        if offset >= *end {
            return Err(Mismatch::NeverProduced {
                partition,
                end: *end,
                got: offset,
            });
        }
        *next += 1;
        self.seen.count(offset, key, value);
        Ok(())
    }

    /// What has been read.
    pub(super) fn seen(&self) -> Tally {
        self.seen
    }

    /// Whether as many records have been read as were produced.
    pub(super) fn is_complete(&self) -> bool {
        self.seen.records >= self.expected.records
    }

    /// What was read in all, if it is what was produced.
    pub(super) fn finish(&self) -> Result<Tally, Mismatch> {
        for (partition, &Partition { next, end }) in self.partitions.iter().enumerate() {
            if next != end {
                return Err(Mismatch::Missing {
                    partition,
                    end,
                    got: next,
                });
            }
        }
        if self.seen == self.expected {
            return Ok(self.seen);
        }
        Err(Mismatch::Checksum {
            expected: self.expected.checksum,
            expected_bytes: self.expected.bytes,
            got: self.seen.checksum,
            got_bytes: self.seen.bytes,
        })
    }
}
