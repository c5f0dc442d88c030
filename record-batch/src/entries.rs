use std::ops::Range;

use crate::batch_header::{LOG_OVERHEAD, length_field};
use crate::{BatchError, BatchErrorKind, BatchHeader};

/// One entry of a `records` field, whole: a v2 batch, or a message of magic 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    start: usize,
    header: BatchHeader,
}

impl Entry {
    /// Its header, unverified.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Where it stands in the `records` field, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.header.size()
    }
}

/// The beginning of an entry at the end of a `records` field: a broker cuts at its size limit, not between entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of it that are there, at least 1.
    pub present: usize,
    /// Bytes that the whole entry has, if enough is there to tell. A claim, and unverified.
    pub needed: Option<usize>,
}

/// Walks over the entries of a `records` field by their headers; see [`entries`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    records: &'a [u8],
    at: usize,
    tail: Option<Tail>,
    ended: bool,
}

/// Walks over the entries of the `records` field of one partition in a Fetch response. Versions may be mixed.
///
/// Only headers are read: no CRC, no decompression. A cut entry at the end of the bytes ends the walk without an error
/// ([`Entries::tail`]); an entry that cannot be right gives an error and ends the walk too, since what comes behind it
/// cannot be found.
///
/// ```
/// // the 8 bytes that are here could be the beginning of a batch
/// let mut walk = record_batch::entries(&[0; 8]);
/// assert!(walk.next().is_none());
/// assert_eq!(walk.tail().map(|tail| tail.present), Some(8));
/// ```
pub fn entries(records: &[u8]) -> Entries<'_> {
    Entries {
        records,
        at: 0,
        tail: None,
        ended: false,
    }
}

impl Entries<'_> {
    /// Bytes of whole entries walked over so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The cut entry behind the last whole one. Known when the walk has ended.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// The next entry, `None` at the end of the data.
    fn advance(&mut self) -> Result<Option<Entry>, BatchError> {
        let rest = self.records.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        match BatchHeader::parse(rest) {
            Ok(header) if header.size() <= rest.len() => {
                let start = self.at;
                self.at += header.size();
                Ok(Some(Entry { start, header }))
            }
            Err(error) if !matches!(error.kind(), BatchErrorKind::Truncated { .. }) => Err(error),
            _ => {
                self.tail = Some(Tail {
                    present: rest.len(),
                    needed: length_field(rest)
                        .and_then(|length| usize::try_from(length).ok())
                        .map(|length| LOG_OVERHEAD + length),
                });
                Ok(None)
            }
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let entry = self.advance().transpose();
        self.ended = !matches!(entry, Some(Ok(_)));
        entry
    }
}

impl std::iter::FusedIterator for Entries<'_> {}
