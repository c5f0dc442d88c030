use bytes::Buf;

use crate::{BatchError, BatchErrorKind, DecodedBatch, RecordProblem};

/// What a control record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlType {
    /// A transaction of the batch's producer was aborted (KIP-98).
    Abort,
    /// A transaction of the batch's producer was committed (KIP-98).
    Commit,
    /// A leader of the metadata quorum was elected (KIP-595).
    LeaderChange,
    /// A snapshot of the metadata log begins (KIP-630).
    SnapshotHeader,
    /// A snapshot of the metadata log ends (KIP-630).
    SnapshotFooter,
    /// The version of the quorum's protocol (KIP-853).
    KRaftVersion,
    /// The voters of the quorum (KIP-853).
    KRaftVoters,
    /// A type that this crate does not know; to be ignored.
    Unknown(i16),
}

impl ControlType {
    fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KRaftVersion,
            6 => Self::KRaftVoters,
            unknown => Self::Unknown(unknown),
        }
    }
}

impl DecodedBatch {
    /// What the record of a control batch says. `None` if this is no control batch, or one without a record, which is
    /// legal.
    ///
    /// # Errors
    /// [`RecordProblem::ControlKey`] if its key is not one of a control record.
    pub fn control_type(&self) -> Result<Option<ControlType>, BatchError> {
        if !self.header().is_control() {
            return Ok(None);
        }
        let Some(record) = self.records().next() else {
            return Ok(None);
        };
        let mut key = record.key().unwrap_or_default();
        let length = key.len();
        match (key.try_get_i16(), key.try_get_i16()) {
            (Ok(0..), Ok(id)) => Ok(Some(ControlType::from_id(id))),
            _ => {
                let problem = RecordProblem::ControlKey { length };
                let kind = BatchErrorKind::InvalidRecord { index: 0, problem };
                Err(BatchError::batch(self.header(), self.is_verified(), kind))
            }
        }
    }
}
