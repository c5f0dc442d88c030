//! Checksums of entries; why this crate: docs/decisions/crc.md.

use crate::batch_header::{LEGACY_CRC_START, V2_CRC_START};

/// CRC-32C, which RFC 3720 (iSCSI) made known, of one whole v2 batch: from its attributes to its end.
pub(crate) fn of_batch(batch: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(batch.get(V2_CRC_START..).unwrap_or_default())
}

/// CRC-32 of one whole message of magic 0 or 1: from its magic to its end.
pub(crate) fn of_message(message: &[u8]) -> u32 {
    crc_fast::crc32_iso_hdlc(message.get(LEGACY_CRC_START..).unwrap_or_default())
}
