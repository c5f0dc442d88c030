use std::iter::FusedIterator;

use bytes::Bytes;

use crate::marks::Marks;
use crate::{BatchHeader, Headers, Record, TimestampType, legacy, v2};

/// A batch that was checked and decompressed; iterating over its records cannot fail.
///
/// It holds the bytes that its records borrow: a slice of the response if the batch was not compressed, a buffer of its
/// own otherwise. Cloning it copies no record.
#[derive(Clone, Debug)]
pub struct DecodedBatch {
    header: BatchHeader,
    bytes: Bytes,
    count: u32,
    /// What a record's offset counts from.
    base: i64,
    last_offset: i64,
    verified: bool,
    marks: Marks,
}

impl DecodedBatch {
    pub(crate) fn v2(
        header: BatchHeader,
        bytes: Bytes,
        records: &v2::Validated,
        verified: bool,
    ) -> Self {
        Self {
            header,
            bytes,
            count: records.count,
            base: header.base_offset(),
            last_offset: header.last_offset(),
            verified,
            marks: records.marks,
        }
    }

    pub(crate) fn legacy(
        header: BatchHeader,
        bytes: Bytes,
        messages: &legacy::Messages,
        verified: bool,
    ) -> Self {
        Self {
            header,
            bytes,
            count: messages.count,
            base: messages.base,
            last_offset: messages.last_offset.max(header.last_offset()),
            verified,
            marks: Marks::NONE,
        }
    }

    /// The header of the entry it was decoded from.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Number of its records. 0 is legal: compaction may leave an empty batch.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The last offset that it covers, which need not be that of its last record.
    pub fn last_offset(&self) -> i64 {
        self.last_offset
    }

    /// The position behind it: last offset + 1.
    pub fn next_offset(&self) -> i64 {
        self.last_offset.saturating_add(1)
    }

    /// Whether its CRC was checked.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// The bytes of its records, decompressed. Dropping all clones of them, of this batch, and of what was made from
    /// it by [`bytes_of`](Self::bytes_of), releases the buffer.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Shares a part of a record of this batch, such as its value, instead of copying it. The part keeps the buffer
    /// of the whole batch in memory, or of the whole response if the batch was not compressed.
    ///
    /// `None` if `part` is not from this batch.
    pub fn bytes_of(&self, part: &[u8]) -> Option<Bytes> {
        let start = (part.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        let end = start.checked_add(part.len())?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// Iterates over all records.
    pub fn records(&self) -> Records<'_> {
        self.records_from(RecordCursor::default())
    }

    /// Iterates over the records from `cursor` on, which must be from this batch; with one of another batch it is
    /// unspecified which records come.
    pub fn records_from(&self, cursor: RecordCursor) -> Records<'_> {
        self.records_between(cursor, self.end())
    }

    /// Iterates over the records from the cursor `from` on and before the cursor `to`; see
    /// [`records_from`](Self::records_from).
    pub fn records_between(&self, from: RecordCursor, to: RecordCursor) -> Records<'_> {
        let appended = match self.header.timestamp_type() {
            TimestampType::LogAppendTime => Some(self.header.max_timestamp()),
            _ => None,
        };
        Records {
            bytes: &self.bytes,
            at: from.at as usize,
            index: from.index,
            end: to.index,
            base: self.base,
            base_timestamp: self.header.base_timestamp(),
            appended,
            timestamp_type: self.header.timestamp_type(),
            leader_epoch: self.header.partition_leader_epoch().unwrap_or(-1),
            magic: self.header.magic(),
        }
    }

    /// The cursor behind all records.
    pub fn end(&self) -> RecordCursor {
        // at most u32::MAX bytes, Decoder sees to it
        RecordCursor::new(self.bytes.len() as u32, self.count)
    }

    /// The cursor behind `count` records from `cursor` on, which must be from this batch; [`end`](Self::end) if there are
    /// fewer. In a batch of magic 2 it takes a walk over 32 of its records at most, or an eighth of them.
    pub fn cursor_after(&self, cursor: RecordCursor, count: usize) -> RecordCursor {
        let index = cursor.index().saturating_add(count);
        if index >= self.len() {
            return self.end();
        }
        let mark = self.marks.before(index as u32);
        let nearest = if mark.index > cursor.index {
            mark
        } else {
            cursor
        };
        let mut records = self.records_from(nearest);
        while records.cursor().index() < index && records.next().is_some() {}
        records.cursor()
    }

    /// The cursor of the first record whose offset is not below `offset`: a broker sends the whole batch that contains
    /// the offset asked for.
    pub fn cursor_at(&self, offset: i64) -> RecordCursor {
        let mut records = self.records();
        loop {
            let cursor = records.cursor();
            match records.next() {
                Some(record) if record.offset < offset => {}
                _ => return cursor,
            }
        }
    }
}

/// A place between the records of a batch: where to go on after some of them were handed out. A plain value, of use
/// only with the batch it is from. The default is before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCursor {
    at: u32,
    index: u32,
}

impl RecordCursor {
    pub(crate) const fn new(at: u32, index: u32) -> Self {
        Self { at, index }
    }

    /// Number of records before it.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Bytes of the records before it, decompressed.
    pub fn bytes(&self) -> usize {
        self.at as usize
    }
}

/// Iterates over the records of a batch; see [`DecodedBatch::records`]. [`cursor`](Self::cursor) tells at any time
/// where to go on.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    index: u32,
    end: u32,
    base: i64,
    base_timestamp: i64,
    appended: Option<i64>,
    timestamp_type: TimestampType,
    leader_epoch: i32,
    magic: u8,
}

impl<'a> Records<'a> {
    /// The next record of magic 0 or 1, and where the one after it begins. Out of line, so that the walk over magic 2
    /// stays small enough to become part of the caller's loop.
    #[inline(never)]
    fn message(&self) -> Option<(Record<'a>, usize)> {
        // cannot fail: the batch was validated
        let (fields, next) = legacy::fields(self.bytes, self.at, self.magic).ok()?;
        let record = Record {
            offset: self.base.wrapping_add(fields.offset),
            timestamp: self.appended.unwrap_or(fields.timestamp),
            timestamp_type: self.timestamp_type,
            leader_epoch: self.leader_epoch,
            key: fields.key,
            value: fields.value,
            headers: Headers::new(&[]),
        };
        Some((record, next))
    }

    /// Where it stands: before the record that comes next.
    pub fn cursor(&self) -> RecordCursor {
        RecordCursor {
            // a batch has at most u32::MAX bytes, Decoder sees to it
            at: self.at as u32,
            index: self.index,
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Record<'a>> {
        if self.index >= self.end {
            return None;
        }
        if self.magic < 2 {
            let (record, next) = self.message()?;
            self.at = next;
            self.index += 1;
            return Some(record);
        }
        // cannot fail: the batch was validated
        let (fields, next) = v2::fields(self.bytes, self.at).ok()?;
        self.at = next;
        self.index += 1;
        let timestamp = self.base_timestamp.wrapping_add(fields.timestamp_delta);
        Some(Record {
            offset: self.base.wrapping_add(i64::from(fields.offset_delta)),
            timestamp: self.appended.unwrap_or(timestamp),
            timestamp_type: self.timestamp_type,
            leader_epoch: self.leader_epoch,
            key: fields.key,
            value: fields.value,
            headers: Headers::new(fields.headers),
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.index) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Records<'_> {}
impl FusedIterator for Records<'_> {}

impl<'a> IntoIterator for &'a DecodedBatch {
    type Item = Record<'a>;
    type IntoIter = Records<'a>;

    fn into_iter(self) -> Records<'a> {
        self.records()
    }
}
