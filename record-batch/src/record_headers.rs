use std::fmt;
use std::str::Utf8Error;

use crate::reader::Reader;
use crate::v2;

/// The headers of a record (KIP-82), in the order in which they were added; names may repeat, values may be null.
///
/// `Copy`, and parsed as it is iterated.
///
/// ```
/// fn trace_id<'a>(record: &record_batch::Record<'a>) -> Option<&'a [u8]> {
///     for header in record.headers() {
///         println!("{:?} = {:?}", header.key_str(), header.value());
///     }
///     record.headers().last("trace-id").and_then(|header| header.value())
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    /// Header count and headers as they stand in a record that was validated; empty if there are none.
    encoded: &'a [u8],
}

impl<'a> Headers<'a> {
    #[inline(always)]
    pub(crate) fn new(encoded: &'a [u8]) -> Self {
        Self { encoded }
    }

    pub(crate) fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Number of headers.
    pub fn len(&self) -> usize {
        self.iter().left
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over them in their order.
    pub fn iter(&self) -> HeadersIter<'a> {
        let mut reader = Reader::new(self.encoded, 0);
        let left = v2::header_count(&mut reader).unwrap_or_default();
        HeadersIter { reader, left }
    }

    /// The last header of that name, as Java's `lastHeader`: the one that counts where a name repeats.
    pub fn last(&self, name: &str) -> Option<RecordHeader<'a>> {
        self.iter()
            .filter(|header| header.key == name.as_bytes())
            .last()
    }
}

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Headers<'a> {
    type Item = RecordHeader<'a>;
    type IntoIter = HeadersIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates over the headers of a record; see [`Headers::iter`].
#[derive(Clone)]
pub struct HeadersIter<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl fmt::Debug for HeadersIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> Iterator for HeadersIter<'a> {
    type Item = RecordHeader<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // cannot fail: the record was validated
        let (key, value) = v2::header(&mut self.reader).ok()?;
        Some(RecordHeader { key, value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for HeadersIter<'_> {}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    key: &'a [u8],
    value: Option<&'a [u8]>,
}

impl<'a> RecordHeader<'a> {
    /// Its name as it was sent, which need not be UTF-8.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Its name as text.
    ///
    /// # Errors
    /// If it is not UTF-8, as names should be; [`key`](Self::key) has the bytes.
    pub fn key_str(&self) -> Result<&'a str, Utf8Error> {
        std::str::from_utf8(self.key)
    }

    /// Its value; `None` is null, which an empty value is not.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.value
    }
}
