//! Records of a v2 batch (KIP-98): where their fields are, and whether they are what they claim to be.

use crate::marks::Marks;
use crate::reader::Reader;
use crate::{BatchErrorKind, BatchHeader, RecordProblem};

/// No record is smaller: seven fields of one byte each.
const SMALLEST_RECORD: usize = 7;
/// No header of a record is smaller: two lengths of one byte each.
const SMALLEST_HEADER: usize = 2;

/// Bytes of a record that hold its fields up to the length of its key, if their varints are short.
const HEAD: usize = 16;

/// The fields of one record, as they stand in the batch.
pub(crate) struct Fields<'a> {
    pub(crate) timestamp_delta: i64,
    pub(crate) offset_delta: i32,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    /// The header count and the headers, not looked at.
    pub(crate) headers: &'a [u8],
}

/// Finds the fields of the record that begins at byte `at`, and the byte at which the next one begins.
#[inline(always)]
pub(crate) fn fields(records: &[u8], at: usize) -> Result<(Fields<'_>, usize), RecordProblem> {
    match short_fields(records, at) {
        Some(found) => Ok(found),
        None => any_fields(records, at),
    }
}

/// [`fields`] of the usual record: no varint of it is longer than three bytes. `None` is no verdict.
///
/// The head of a record is taken at once, so that its bytes need no check each; this walk is the cost of a record.
#[inline(always)]
fn short_fields(records: &[u8], at: usize) -> Option<(Fields<'_>, usize)> {
    let record = records.get(at..)?;
    let head = record.first_chunk::<HEAD>()?;
    let (length, start) = short_varint(head, 0)?;
    let (timestamp_delta, next) = short_varint(head, start + 1)?;
    let (offset_delta, next) = short_varint(head, next)?;
    let (key_length, key_start) = short_varint(head, next)?;
    let end = start + short_length(length)?;
    let body = record.get(..end)?;
    let (key, next) = short_sized(body, key_start, key_length)?;
    let head = body.get(next..)?.first_chunk::<4>()?;
    let (value_length, start) = short_varint(head, 0)?;
    let (value, next) = short_sized(body, next + start, value_length)?;
    let headers = body.get(next..)?;
    let fields = Fields {
        timestamp_delta: i64::from(zigzag(timestamp_delta)),
        offset_delta: zigzag(offset_delta),
        key,
        value,
        headers,
    };
    Some((fields, at + end))
}

#[inline(always)]
fn zigzag(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[inline(always)]
fn short_length(value: u32) -> Option<usize> {
    (value & 1 == 0).then_some((value >> 1) as usize)
}

#[inline(always)]
fn short_sized(body: &[u8], start: usize, value: u32) -> Option<(Option<&[u8]>, usize)> {
    if value == 1 {
        return Some((None, start));
    }
    let end = start + short_length(value)?;
    Some((Some(body.get(start..end)?), end))
}

#[inline(always)]
fn short_varint<const N: usize>(head: &[u8; N], at: usize) -> Option<(u32, usize)> {
    let first = *head.get(at)? as u32;
    if first < 0x80 {
        return Some((first, at + 1));
    }
    let second = *head.get(at + 1)? as u32;
    if second < 0x80 {
        return Some((first & 0x7f | second << 7, at + 2));
    }
    let third = *head.get(at + 2)? as u32;
    if third < 0x80 {
        return Some((first & 0x7f | (second & 0x7f) << 7 | third << 14, at + 3));
    }
    None
}

/// [`fields`] of any record, and what is wrong with one that is none.
#[cold]
#[inline(never)]
fn any_fields(records: &[u8], at: usize) -> Result<(Fields<'_>, usize), RecordProblem> {
    let mut reader = Reader::new(records, at);
    let body = sized(&mut reader, "record length")?.ok_or(RecordProblem::Length {
        field: "record length",
        length: -1,
        left: reader.left(),
    })?;
    let next = reader.at();

    let mut reader = Reader::new(body, 0);
    let field = "attributes";
    reader.byte().ok_or(RecordProblem::Varint { field })?;
    let field = "timestampDelta";
    let timestamp_delta = reader.varlong().ok_or(RecordProblem::Varint { field })?;
    let field = "offsetDelta";
    let offset_delta = reader.varint().ok_or(RecordProblem::Varint { field })?;
    let key = sized(&mut reader, "key length")?;
    let value = sized(&mut reader, "value length")?;
    let headers = reader.rest();
    let fields = Fields {
        timestamp_delta,
        offset_delta,
        key,
        value,
        headers,
    };
    Ok((fields, next))
}

/// Reads a length and as many bytes; `None` is the length -1.
fn sized<'a>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<Option<&'a [u8]>, RecordProblem> {
    let length = reader.varint().ok_or(RecordProblem::Varint { field })?;
    if length == -1 {
        return Ok(None);
    }
    let problem = RecordProblem::Length {
        field,
        length: i64::from(length),
        left: reader.left(),
    };
    // a negative length becomes one that is too long
    let taken = reader.take(length.cast_unsigned() as usize);
    taken.map(Some).ok_or(problem)
}

/// Reads the header count that `headers` begins with.
pub(crate) fn header_count(reader: &mut Reader<'_>) -> Result<usize, RecordProblem> {
    let field = "header count";
    let count = reader.varint().ok_or(RecordProblem::Varint { field })?;
    let left = reader.left();
    usize::try_from(count)
        .ok()
        .filter(|count| *count <= left / SMALLEST_HEADER)
        .ok_or(RecordProblem::HeaderCount { count, left })
}

/// Reads one header: its key and its value.
pub(crate) fn header<'a>(
    reader: &mut Reader<'a>,
) -> Result<(&'a [u8], Option<&'a [u8]>), RecordProblem> {
    let field = "header key length";
    let key = sized(reader, field)?.ok_or(RecordProblem::Length {
        field,
        length: -1,
        left: reader.left(),
    })?;
    let value = sized(reader, "header value length")?;
    Ok((key, value))
}

/// What the records of a batch are found to be.
pub(crate) struct Validated {
    pub(crate) count: u32,
    pub(crate) marks: Marks,
}

/// Checks all records of a batch, so that reading them afterwards cannot fail.
pub(crate) fn validate(records: &[u8], header: &BatchHeader) -> Result<Validated, BatchErrorKind> {
    let count = header.record_count().unwrap_or_default();
    let most = records.len() / SMALLEST_RECORD;
    let Some(number) = u32::try_from(count)
        .ok()
        .filter(|number| *number as usize <= most)
    else {
        return Err(BatchErrorKind::ImpossibleRecordCount {
            count,
            bytes: records.len(),
            most,
        });
    };
    let (base, last_delta) = (header.base_offset(), header.last_offset_delta());
    if base.checked_add(last_delta.into()).is_none() {
        let last_offset_delta = last_delta;
        return Err(BatchErrorKind::OffsetOverflow { last_offset_delta });
    }
    let mut at = 0;
    let mut least_delta = 0;
    let mut marks = Marks::new(number);
    let mut marked = 0;
    while marked < number {
        marks.set(marked, at);
        let next_mark = number.min(marked.saturating_add(marks.stride()));
        for index in marked..next_mark {
            let record = check(records, at, least_delta, last_delta, base);
            (at, least_delta) = record.map_err(|problem| BatchErrorKind::InvalidRecord {
                index: index as usize,
                problem,
            })?;
        }
        marked = next_mark;
    }
    match records.len() - at {
        0 => Ok(Validated {
            count: number,
            marks,
        }),
        left => Err(BatchErrorKind::BytesLeft { left, count }),
    }
}

/// Checks the record at byte `at`; returns where the next one begins and the least offset delta it may have.
#[inline(always)]
fn check(
    records: &[u8],
    at: usize,
    least_delta: i64,
    last_delta: i32,
    base: i64,
) -> Result<(usize, i64), RecordProblem> {
    let (fields, next) = fields(records, at)?;
    let delta = i64::from(fields.offset_delta);
    if delta < least_delta || delta > i64::from(last_delta) {
        return Err(RecordProblem::Offset {
            offset: base.saturating_add(delta),
            least: base.saturating_add(least_delta),
            most: base.saturating_add(last_delta.into()),
        });
    }
    if fields.headers != [0] {
        check_headers(fields.headers)?;
    }
    Ok((next, delta + 1))
}

fn check_headers(headers: &[u8]) -> Result<(), RecordProblem> {
    let mut reader = Reader::new(headers, 0);
    for _ in 0..header_count(&mut reader)? {
        header(&mut reader)?;
    }
    match reader.left() {
        0 => Ok(()),
        left => Err(RecordProblem::BytesLeft { left }),
    }
}

#[cfg(test)]
mod tests;
