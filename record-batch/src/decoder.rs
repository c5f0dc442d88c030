use std::fmt;

use bytes::Bytes;

use crate::batch_header::{V2_CRC_START, V2_HEADER};
use crate::codec::{CodecError, Codecs, HeaderChecksum};
use crate::{
    BatchError, BatchErrorKind, BatchHeader, Buffers, Compression, DecodedBatch, Entry,
    RecordProblem, legacy, v2,
};

/// How batches are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Whether the CRC of each batch, and of each message of magic 0 and 1, is checked: `check.crcs`. On by default.
    pub check_crcs: bool,

    /// The most bytes that one batch may have after decompression; a batch that gives more is an error
    /// ([`BatchErrorKind::TooLarge`]). 64 MiB by default; values above 4 GiB - 1 count as that.
    ///
    /// A batch that is not compressed is as large as it is, and not subject to it.
    pub max_decompressed_bytes: usize,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self {
            check_crcs: true,
            max_decompressed_bytes: 64 << 20,
        }
    }
}

/// Decodes the batches of a `records` field, one at a time. Keep it: it holds the contexts of the codecs, which are
/// expensive to make.
pub struct Decoder {
    options: DecodeOptions,
    codecs: Codecs,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder with nothing allocated yet.
    pub fn new(options: DecodeOptions) -> Self {
        Self {
            options,
            codecs: Codecs::new(),
        }
    }

    /// The options it was made with.
    pub fn options(&self) -> DecodeOptions {
        self.options
    }

    /// Checks the CRC of an entry, decompresses it, and checks each of its records. `entry` must come from
    /// [`entries`](crate::entries) over `records`.
    ///
    /// A batch that is not compressed is not copied: its records borrow `records`. For one that is, a vector is taken
    /// from `buffers`; it comes back sealed in the result, or through [`Buffers::give_back`] with an error. All memory
    /// that is used is bounded by the cap of the options, whatever the entry claims.
    ///
    /// All or nothing: an error of one record of a batch, or of one message in a compressed message of magic 0 or 1, is
    /// an error of the whole entry. Messages of magic 0 or 1 that are not compressed are entries of their own.
    ///
    /// # Errors
    /// What is wrong with the entry, with the offsets that it claims. The entries before and after it are not affected.
    pub fn decode(
        &mut self,
        records: &Bytes,
        entry: &Entry,
        buffers: &mut dyn Buffers,
    ) -> Result<DecodedBatch, BatchError> {
        let header = entry.header();
        let range = entry.range();
        if range.end > records.len() {
            let kind = BatchErrorKind::Truncated {
                needed: range.len(),
                present: records.len().saturating_sub(range.start),
            };
            return Err(BatchError::batch(header, false, kind));
        }
        let bytes = records.slice(range);
        if self.options.check_crcs {
            check_crc(&bytes, header).map_err(|kind| BatchError::batch(header, false, kind))?;
        }
        let decoded = if header.magic() == 2 {
            self.decode_v2(bytes, header, buffers)
        } else {
            self.decode_legacy(bytes, header, buffers)
        };
        decoded.map_err(|kind| BatchError::batch(header, self.options.check_crcs, kind))
    }

    fn decode_v2(
        &mut self,
        batch: Bytes,
        header: &BatchHeader,
        buffers: &mut dyn Buffers,
    ) -> Result<DecodedBatch, BatchErrorKind> {
        let records = batch.slice(V2_HEADER..);
        let records = match compression(header)? {
            Compression::None => records,
            codec => self.decompress(codec, header, &records, buffers)?,
        };
        let count = v2::validate(&records, header)?;
        let verified = self.options.check_crcs;
        Ok(DecodedBatch::v2(*header, records, count, verified))
    }

    fn decode_legacy(
        &mut self,
        message: Bytes,
        header: &BatchHeader,
        buffers: &mut dyn Buffers,
    ) -> Result<DecodedBatch, BatchErrorKind> {
        let invalid = |problem| BatchErrorKind::InvalidRecord { index: 0, problem };
        let verified = self.options.check_crcs;
        let (fields, _) = legacy::fields(&message, 0, header.magic()).map_err(invalid)?;
        let codec = compression(header)?;
        if codec == Compression::None {
            let single = legacy::Messages {
                count: 1,
                base: 0,
                last_offset: header.last_offset(),
            };
            return Ok(DecodedBatch::legacy(*header, message, &single, verified));
        }
        let value = fields.value.unwrap_or_default();
        if value.is_empty() {
            return Err(invalid(RecordProblem::EmptyWrapper));
        }
        let messages = self.decompress(codec, header, value, buffers)?;
        let found = legacy::validate(&messages, header, self.options.check_crcs)?;
        Ok(DecodedBatch::legacy(*header, messages, &found, verified))
    }

    fn decompress(
        &mut self,
        codec: Compression,
        header: &BatchHeader,
        compressed: &[u8],
        buffers: &mut dyn Buffers,
    ) -> Result<Bytes, BatchErrorKind> {
        let cap = self.options.max_decompressed_bytes.min(u32::MAX as usize);
        let checksum = match header.magic() {
            0 => HeaderChecksum::Ignore,
            _ => HeaderChecksum::Verify,
        };
        let guess = self.codecs.guess(codec, compressed.len()).min(cap);
        let mut output = buffers.take(guess);
        match self
            .codecs
            .decompress(codec, checksum, compressed, cap, &mut output)
        {
            Ok(()) => Ok(buffers.seal(output)),
            Err(error) => {
                buffers.give_back(output);
                Err(match error {
                    CodecError::TooLarge => BatchErrorKind::TooLarge { codec, cap },
                    CodecError::Corrupt(reason) => {
                        let reason = reason.into_owned();
                        BatchErrorKind::Decompression { codec, reason }
                    }
                })
            }
        }
    }
}

fn compression(header: &BatchHeader) -> Result<Compression, BatchErrorKind> {
    header
        .compression()
        .ok_or(BatchErrorKind::UnknownCompression {
            codec: header.codec_id(),
            magic: header.magic(),
        })
}

fn check_crc(entry: &[u8], header: &BatchHeader) -> Result<(), BatchErrorKind> {
    let wrong = if header.magic() == 2 {
        let stored = header.crc();
        let computed = crc32c::crc32c(entry.get(V2_CRC_START..).unwrap_or_default());
        (stored != computed).then_some((stored, computed))
    } else {
        legacy::wrong_crc(entry)
    };
    match wrong {
        Some((stored, computed)) => Err(BatchErrorKind::WrongCrc { stored, computed }),
        None => Ok(()),
    }
}
