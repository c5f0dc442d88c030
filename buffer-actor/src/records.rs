//! Records on their way from a reply to the application.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use record_batch::AbortedTransaction;

use crate::error::PartitionError;
use crate::memory::Claim;
use crate::model::Completed;
use crate::shared::PartitionState;

/// The `records` field of one partition of a reply, and what is needed to read it.
#[derive(Clone)]
pub struct FetchedRecords {
    /// A slice of the reply's buffer, which counts against the budget as long as this lives.
    pub bytes: Bytes,
    /// The aborted transactions that overlap it (KIP-98).
    pub aborted: Vec<AbortedTransaction>,
    /// On the whole reply, from when the buffer has it.
    pub claim: Option<Claim>,
}

/// Without what is in them: the state of the buffer is logged after a panic, and records are nobody's to log.
impl fmt::Debug for FetchedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchedRecords")
            .field("bytes", &format_args!("{} bytes", self.bytes.len()))
            .field("aborted", &self.aborted)
            .finish()
    }
}

/// What the reader is given of a partition.
#[derive(Debug)]
pub enum LeasedItem {
    /// Records.
    Data {
        /// The partition.
        state: Arc<PartitionState>,
        /// Its records.
        completed: Completed<FetchedRecords>,
    },
    /// An error that the application must see.
    Error(PartitionError),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States of machines are logged when an actor panics, and so is what they hold.
    #[test]
    fn records_are_not_shown() {
        let fetched = FetchedRecords {
            bytes: Bytes::from_static(b"card 4111"),
            aborted: Vec::new(),
            claim: None,
        };
        let shown = format!("{fetched:?}");
        assert!(!shown.contains("4111"), "{shown}");
        assert!(shown.contains("9 bytes"), "{shown}");
    }
}
