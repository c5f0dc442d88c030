use bytes::Bytes;

use crate::{Headers, TimestampType};

/// A record of a decoded batch, borrowed from it: `Copy`, and made without an allocation.
///
/// Keeping something of it longer than the batch: [`to_owned`](Self::to_owned) copies it, so that a small record does
/// not keep a whole response in memory; [`DecodedBatch::bytes_of`](crate::DecodedBatch::bytes_of) shares the batch's
/// memory instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) timestamp_type: TimestampType,
    pub(crate) leader_epoch: i32,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: Headers<'a>,
}

impl<'a> Record<'a> {
    /// Its offset in the partition.
    #[inline]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Its timestamp in ms since the epoch as it is stored, -1 if it has none. A producer may have set any value.
    #[inline]
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Whose clock the timestamp is from (KIP-32).
    #[inline]
    pub fn timestamp_type(&self) -> TimestampType {
        self.timestamp_type
    }

    /// Leader epoch under which its batch was appended (KIP-320); `None` for magic 0 and 1.
    #[inline]
    pub fn leader_epoch(&self) -> Option<i32> {
        (self.leader_epoch >= 0).then_some(self.leader_epoch)
    }

    /// Its key; `None` is null, which an empty key is not.
    #[inline]
    pub fn key(&self) -> Option<&'a [u8]> {
        self.key
    }

    /// Its value; `None` is null (a tombstone in a compacted topic), which an empty value is not.
    #[inline]
    pub fn value(&self) -> Option<&'a [u8]> {
        self.value
    }

    /// Its headers (KIP-82), parsed when asked for. Magic 0 and 1 have none.
    #[inline]
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    /// Copies the record into memory of its own.
    pub fn to_owned(self) -> OwnedRecord {
        let (key, value) = (self.key.unwrap_or_default(), self.value.unwrap_or_default());
        let headers = self.headers.encoded();
        let mut copy = Vec::with_capacity(key.len() + value.len() + headers.len());
        copy.extend_from_slice(key);
        copy.extend_from_slice(value);
        copy.extend_from_slice(headers);
        let mut copy = Bytes::from(copy);
        let key = copy.split_to(key.len());
        let value = copy.split_to(value.len());
        OwnedRecord {
            offset: self.offset,
            timestamp: self.timestamp,
            timestamp_type: self.timestamp_type,
            leader_epoch: self.leader_epoch,
            key: self.key.map(|_| key),
            value: self.value.map(|_| value),
            headers: copy,
        }
    }
}

/// A record with memory of its own: one allocation of just its size, independent of the batch it came from.
///
/// Key, value and headers share that allocation; cloning any of them copies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    offset: i64,
    timestamp: i64,
    timestamp_type: TimestampType,
    leader_epoch: i32,
    key: Option<Bytes>,
    value: Option<Bytes>,
    headers: Bytes,
}

impl OwnedRecord {
    /// Its offset in the partition.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Its timestamp in ms since the epoch as it is stored, -1 if it has none.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Whose clock the timestamp is from.
    pub fn timestamp_type(&self) -> TimestampType {
        self.timestamp_type
    }

    /// Leader epoch under which its batch was appended; `None` for magic 0 and 1.
    pub fn leader_epoch(&self) -> Option<i32> {
        self.as_record().leader_epoch()
    }

    /// Its key; `None` is null.
    pub fn key(&self) -> Option<&Bytes> {
        self.key.as_ref()
    }

    /// Its value; `None` is null.
    pub fn value(&self) -> Option<&Bytes> {
        self.value.as_ref()
    }

    /// Its headers.
    pub fn headers(&self) -> Headers<'_> {
        Headers::new(&self.headers)
    }

    /// The borrowed view of it, the same as the one it was made from.
    pub fn as_record(&self) -> Record<'_> {
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            timestamp_type: self.timestamp_type,
            leader_epoch: self.leader_epoch,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: self.headers(),
        }
    }
}

impl From<Record<'_>> for OwnedRecord {
    fn from(record: Record<'_>) -> Self {
        record.to_owned()
    }
}
