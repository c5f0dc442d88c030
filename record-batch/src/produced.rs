//! What a broker does with a produced batch: checks it and puts it into its log.

use crate::batch_header::{LOG_OVERHEAD, UP_TO_MAGIC};
use crate::{BatchError, BatchErrorKind, BatchHeader, crc};

/// Checks what a broker checks before it appends: that `batch` is one whole v2 batch and nothing else, its CRC, and
/// that its record count agrees with its last offset delta.
///
/// # Errors
/// The first thing that is wrong.
pub fn validate(batch: &[u8]) -> Result<BatchHeader, BatchError> {
    let header = one_batch(batch)?;
    let fail = |verified, kind| Err(BatchError::batch(&header, verified, kind));
    let computed = crc::of_batch(batch);
    if computed != header.crc() {
        let stored = header.crc();
        return fail(false, BatchErrorKind::WrongCrc { stored, computed });
    }
    let last_offset_delta = header.last_offset_delta();
    match header.record_count() {
        Some(count) if count > 0 && count - 1 == last_offset_delta => Ok(header),
        count => {
            let count = count.unwrap_or_default();
            let kind = BatchErrorKind::CountAgainstOffsets {
                count,
                last_offset_delta,
            };
            fail(true, kind)
        }
    }
}

/// Gives one v2 batch its place in a log: base offset and leader epoch, neither of which is under the CRC, and with
/// `log_append_time` (in ms) the broker's timestamp for all its records, which is, so that the CRC is computed anew.
///
/// Returns the header as it is now.
///
/// # Errors
/// If `batch` is not one whole v2 batch; it is unchanged then.
pub fn assign_offsets(
    batch: &mut [u8],
    base_offset: i64,
    leader_epoch: i32,
    log_append_time: Option<i64>,
) -> Result<BatchHeader, BatchError> {
    one_batch(batch)?;
    put(batch, 0, base_offset.to_be_bytes());
    put(batch, LOG_OVERHEAD, leader_epoch.to_be_bytes());
    if let Some(timestamp) = log_append_time {
        const LOW_ATTRIBUTES: usize = 22;
        const MAX_TIMESTAMP: usize = 35;
        if let Some(attributes) = batch.get_mut(LOW_ATTRIBUTES) {
            *attributes |= crate::batch_header::LOG_APPEND_TIME;
        }
        put(batch, MAX_TIMESTAMP, timestamp.to_be_bytes());
        write_crc(batch)?;
    }
    BatchHeader::parse(batch)
}

/// Computes the CRC of one v2 batch anew and stores it.
///
/// # Errors
/// If `batch` is not one whole v2 batch; it is unchanged then.
pub fn write_crc(batch: &mut [u8]) -> Result<(), BatchError> {
    one_batch(batch)?;
    let crc = crc::of_batch(batch);
    put(batch, UP_TO_MAGIC, crc.to_be_bytes());
    Ok(())
}

fn one_batch(batch: &[u8]) -> Result<BatchHeader, BatchError> {
    let header = BatchHeader::parse(batch)?;
    let fail = |kind| Err(BatchError::batch(&header, false, kind));
    let (needed, present) = (header.size(), batch.len());
    if header.magic() != 2 {
        let found = header.magic().cast_signed();
        return fail(BatchErrorKind::UnknownMagic { found });
    }
    if present < needed {
        return fail(BatchErrorKind::Truncated { needed, present });
    }
    if present > needed {
        let extra = present - needed;
        return fail(BatchErrorKind::MoreThanOneBatch { extra });
    }
    Ok(header)
}

fn put<const N: usize>(batch: &mut [u8], at: usize, field: [u8; N]) {
    if let Some(place) = batch.get_mut(at..at + N) {
        place.copy_from_slice(&field);
    }
}
