//! Records on their way from a reply to the application.

use std::sync::Arc;

use bytes::Bytes;
use record_batch::AbortedTransaction;

use crate::error::PartitionError;
use crate::model::Completed;
use crate::shared::PartitionState;

/// The `records` field of one partition of a reply, and what is needed to read it.
#[derive(Debug, Clone)]
pub struct FetchedRecords {
    /// A slice of the reply's buffer, which counts against the budget as long as this lives.
    pub bytes: Bytes,
    /// The aborted transactions that overlap it (KIP-98).
    pub aborted: Vec<AbortedTransaction>,
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
