use std::fmt;

use bytes::Bytes;

use crate::batch_header::V2_HEADER;
use crate::codec::{CodecError, Codecs, HeaderChecksum};
use crate::{
    BatchError, BatchErrorKind, BatchHeader, Buffers, Compression, DecodedBatch, Entry, crc,
    legacy, v2,
};

/// How batches are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Whether the CRC of each batch, and of each message of magic 0 and 1, is checked: `check.crcs`. On by default.
    pub check_crcs: bool,

    /// The most bytes that one batch may have after decompression; a batch that gives more is an error
    /// ([`BatchErrorKind::TooLarge`]). 64 MiB by default; values above 4 GiB - 1 count as that.
    ///
    /// A batch that is not compressed is as large as it is, and not subject to it. While a buffer grows, an allocator
    /// that cannot do so in place needs up to twice the cap for a moment.
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
    /// from `buffers`, and sealed or, with an error, given back. All memory that is used is bounded by the cap of the
    /// options, whatever the entry claims.
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
        let Some(bytes) = records.get(range.clone()) else {
            let kind = BatchErrorKind::Truncated {
                needed: range.len(),
                present: records.len().saturating_sub(range.start),
            };
            return Err(BatchError::batch(header, false, kind));
        };
        let verified = self.options.check_crcs;
        if verified {
            check_crc(bytes, header).map_err(|kind| BatchError::batch(header, false, kind))?;
        }
        let decoded = if header.magic() == 2 {
            self.decode_v2(records, entry, bytes, buffers)
        } else {
            self.decode_legacy(records, entry, bytes, buffers)
        };
        decoded.map_err(|kind| BatchError::batch(header, verified, kind))
    }

    fn decode_v2(
        &mut self,
        field: &Bytes,
        entry: &Entry,
        batch: &[u8],
        buffers: &mut dyn Buffers,
    ) -> Result<DecodedBatch, BatchErrorKind> {
        let header = entry.header();
        let verified = self.options.check_crcs;
        let records = batch.get(V2_HEADER..).unwrap_or_default();
        let validate = |records: &[u8]| v2::validate(records, header);
        let (records, found) = match compression(header)? {
            Compression::None => {
                let found = validate(records)?;
                let range = entry.range();
                (field.slice(range.start + V2_HEADER..range.end), found)
            }
            codec => self.decompress(codec, header, records, buffers, validate)?,
        };
        Ok(DecodedBatch::v2(*header, records, &found, verified))
    }

    fn decode_legacy(
        &mut self,
        field: &Bytes,
        entry: &Entry,
        message: &[u8],
        buffers: &mut dyn Buffers,
    ) -> Result<DecodedBatch, BatchErrorKind> {
        let header = entry.header();
        let verified = self.options.check_crcs;
        let invalid = |problem| BatchErrorKind::InvalidRecord { index: 0, problem };
        let (fields, _) = legacy::fields(message, 0, header.magic()).map_err(invalid)?;
        let (messages, found) = match compression(header)? {
            Compression::None => {
                let single = legacy::Messages {
                    count: 1,
                    base: 0,
                    last_offset: header.last_offset(),
                };
                (field.slice(entry.range()), single)
            }
            codec => {
                let value = fields.value.unwrap_or_default();
                let validate = |messages: &[u8]| legacy::validate(messages, header, verified);
                self.decompress(codec, header, value, buffers, validate)?
            }
        };
        Ok(DecodedBatch::legacy(*header, messages, &found, verified))
    }

    /// Decompresses into a buffer and lets `validate` see it before it is sealed.
    fn decompress<T>(
        &mut self,
        codec: Compression,
        header: &BatchHeader,
        compressed: &[u8],
        buffers: &mut dyn Buffers,
        validate: impl FnOnce(&[u8]) -> Result<T, BatchErrorKind>,
    ) -> Result<(Bytes, T), BatchErrorKind> {
        // positions in a batch are kept in 32 bits
        let cap = self.options.max_decompressed_bytes.min(u32::MAX as usize);
        let checksum = match header.magic() {
            0 => HeaderChecksum::Ignore,
            _ => HeaderChecksum::Verify,
        };
        let guess = self.codecs.guess(codec, compressed).min(cap);
        let mut output = buffers.take(guess);
        let decompressed = self
            .codecs
            .decompress(codec, checksum, compressed, cap, &mut output)
            .map_err(|error| match error {
                CodecError::TooLarge => BatchErrorKind::TooLarge { codec, cap },
                CodecError::Corrupt(reason) => BatchErrorKind::Decompression {
                    codec,
                    reason: reason.into_owned(),
                },
            });
        match decompressed.and_then(|()| validate(&output)) {
            Ok(found) => Ok((buffers.seal(output), found)),
            Err(error) => {
                buffers.give_back(output);
                Err(error)
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
    let stored = header.crc();
    let computed = match header.magic() {
        2 => crc::of_batch(entry),
        _ => crc::of_message(entry),
    };
    if stored == computed {
        Ok(())
    } else {
        Err(BatchErrorKind::WrongCrc { stored, computed })
    }
}
