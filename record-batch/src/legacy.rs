//! Messages of magic 0 and 1 (KIP-32), alone or in a compressed wrapper: where their fields are, and whether they are
//! what they claim to be.

use bytes::Buf;

use crate::batch_header::{
    CODEC_MASK, LEGACY_CRC_START, LOG_OVERHEAD, V0_HEADER, V1_HEADER, length_field,
};
use crate::{BatchErrorKind, BatchHeader, RecordProblem, crc};

/// The fields of one message, as they stand in it.
pub(crate) struct Fields<'a> {
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
}

/// Finds the fields of the message that begins at byte `at`, and the byte at which the next one begins.
pub(crate) fn fields(
    messages: &[u8],
    at: usize,
    magic: u8,
) -> Result<(Fields<'_>, usize), RecordProblem> {
    let message = message(messages, at)?;
    let fixed = if magic == 0 { V0_HEADER } else { V1_HEADER };
    let Some((mut header, mut rest)) = message.split_at_checked(fixed) else {
        let field = "size";
        let length = (message.len() - LOG_OVERHEAD) as i64;
        let left = messages.len() - at;
        return Err(RecordProblem::Length {
            field,
            length,
            left,
        });
    };
    let offset = header.get_i64();
    header.advance(fixed - size_of::<i64>() - usize::from(magic) * size_of::<i64>());
    let timestamp = if magic == 0 { -1 } else { header.get_i64() };
    let key = sized(&mut rest, "key length")?;
    let value = sized(&mut rest, "value length")?;
    if !rest.is_empty() {
        let left = rest.len();
        return Err(RecordProblem::BytesLeft { left });
    }
    let fields = Fields {
        offset,
        timestamp,
        key,
        value,
    };
    Ok((fields, at + message.len()))
}

/// The message that begins at byte `at`, from its offset to its end.
fn message(messages: &[u8], at: usize) -> Result<&[u8], RecordProblem> {
    let rest = messages.get(at..).unwrap_or_default();
    let field = "size";
    let size = length_field(rest).ok_or(RecordProblem::Length {
        field,
        length: LOG_OVERHEAD as i64,
        left: rest.len(),
    })?;
    usize::try_from(size)
        .ok()
        .and_then(|size| rest.get(..LOG_OVERHEAD + size))
        .ok_or(RecordProblem::Length {
            field,
            length: i64::from(size),
            left: rest.len() - LOG_OVERHEAD,
        })
}

/// Reads a length of 4 bytes and as many bytes; `None` is the length -1.
fn sized<'a>(rest: &mut &'a [u8], field: &'static str) -> Result<Option<&'a [u8]>, RecordProblem> {
    let left = rest.len();
    let (length, bytes) = rest.split_first_chunk().ok_or(RecordProblem::Length {
        field,
        length: size_of::<i32>() as i64,
        left,
    })?;
    let length = i32::from_be_bytes(*length);
    if length == -1 {
        *rest = bytes;
        return Ok(None);
    }
    let (taken, bytes) = usize::try_from(length)
        .ok()
        .and_then(|length| bytes.split_at_checked(length))
        .ok_or(RecordProblem::Length {
            field,
            length: i64::from(length),
            left: bytes.len(),
        })?;
    *rest = bytes;
    Ok(Some(taken))
}

/// The messages in a wrapper.
pub(crate) struct Messages {
    pub(crate) count: u32,
    /// What to add to the offset of a message to get that of its record.
    pub(crate) base: i64,
    pub(crate) last_offset: i64,
}

/// Checks all messages that were compressed into the value of a wrapper, so that reading them afterwards cannot fail.
///
/// Offsets in a wrapper of magic 1 count from the first message written into it, and the wrapper has the absolute
/// offset of the last one (KIP-31). Some producers leave the wrapper at 0: what is in it then counts from 0.
pub(crate) fn validate(
    messages: &[u8],
    wrapper: &BatchHeader,
    check_crcs: bool,
) -> Result<Messages, BatchErrorKind> {
    let invalid = |index: u32, problem| BatchErrorKind::InvalidRecord {
        index: index as usize,
        problem,
    };
    let most = wrapper.last_offset();
    let (mut at, mut count) = (0, 0u32);
    let (mut first, mut last): (_, Option<i64>) = (None, None);
    while at < messages.len() {
        let (offset, next) =
            check(messages, at, wrapper, check_crcs).map_err(|problem| invalid(count, problem))?;
        let rises = offset > last.unwrap_or(-1);
        let beyond = wrapper.magic() == 0 && most != 0 && offset > most;
        if !rises || beyond {
            let problem = RecordProblem::Offset {
                offset,
                least: last.map_or(0, |last| last.saturating_add(1)),
                most,
            };
            return Err(invalid(count, problem));
        }
        first = first.or(Some(offset));
        last = Some(offset);
        at = next;
        count = count.saturating_add(1);
    }
    let (Some(first), Some(last)) = (first, last) else {
        return Err(invalid(0, RecordProblem::EmptyWrapper));
    };
    let relative = wrapper.magic() == 1 && most != 0;
    // both are at least 0, and so is `last`
    let base = if relative {
        most.saturating_sub(last)
    } else {
        0
    };
    if base.saturating_add(first) < 0 {
        let problem = RecordProblem::Offset {
            offset: base.saturating_add(first),
            least: 0,
            most,
        };
        return Err(invalid(0, problem));
    }
    Ok(Messages {
        count,
        base,
        last_offset: base.saturating_add(last),
    })
}

/// Checks the message at byte `at`; returns its offset, as it stands there, and where the next one begins.
fn check(
    messages: &[u8],
    at: usize,
    wrapper: &BatchHeader,
    check_crcs: bool,
) -> Result<(i64, usize), RecordProblem> {
    let message = message(messages, at)?;
    if let Some([found, attributes]) = message
        .get(LEGACY_CRC_START..)
        .and_then(<[u8]>::first_chunk)
    {
        if *found != wrapper.magic() {
            return Err(RecordProblem::InnerMagic {
                found: found.cast_signed(),
                wrapper: wrapper.magic(),
            });
        }
        let codec = attributes & CODEC_MASK;
        if codec != 0 {
            return Err(RecordProblem::NestedCompression { codec });
        }
    }
    if check_crcs {
        let stored = message
            .get(LOG_OVERHEAD..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |crc| u32::from_be_bytes(*crc));
        let computed = crc::of_message(message);
        if stored != computed {
            return Err(RecordProblem::WrongCrc { stored, computed });
        }
    }
    let (fields, next) = fields(messages, at, wrapper.magic())?;
    Ok((fields.offset, next))
}
