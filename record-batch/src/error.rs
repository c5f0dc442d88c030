use std::fmt;

use crate::{BatchHeader, Compression};

/// An entry of a `records` field that cannot be read: which offsets it covers, what is wrong, and whether the offsets
/// can be relied on.
///
/// The crate does not know topic and partition; whoever does wraps this error and adds them. What a user can do is to
/// seek to [`step_over`](Self::step_over); until then the error repeats, since nothing in the bytes changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {kind}{}", Offsets(self), Advice(self))]
#[non_exhaustive]
pub struct BatchError {
    base_offset: i64,
    last_offset: Option<i64>,
    verified: bool,
    kind: BatchErrorKind,
}

impl BatchError {
    /// An error of an entry whose header could not be read beyond its first field.
    pub(crate) fn entry(base_offset: i64, kind: BatchErrorKind) -> Self {
        Self {
            base_offset,
            last_offset: None,
            verified: false,
            kind,
        }
    }

    /// An error of an entry with a header; `verified` if its CRC was checked and is right.
    pub(crate) fn batch(header: &BatchHeader, verified: bool, kind: BatchErrorKind) -> Self {
        Self {
            base_offset: header.base_offset(),
            last_offset: Some(header.last_offset()),
            verified,
            kind,
        }
    }

    /// The first offset that the entry claims: the base offset of a batch, the offset of a message of magic 0 or 1
    /// (which, for a compressed one, is the offset of its *last* record).
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// The last offset that the entry claims; `None` if its header is too broken to tell.
    pub fn last_offset(&self) -> Option<i64> {
        self.last_offset
    }

    /// Whether a checksum vouches for the offsets. False if the CRC is wrong, was not checked, or does not cover them
    /// (the base offset is never under it; what is wrong there would show as a gap or an overlap).
    pub fn offsets_verified(&self) -> bool {
        self.verified
    }

    /// The offset behind the entry, to which the application may seek to go on without it; `None` if the header is
    /// too broken to tell where the entry ends.
    pub fn step_over(&self) -> Option<i64> {
        // a negative lastOffsetDelta must not lead back into the batch
        self.last_offset
            .map(|last| last.max(self.base_offset).saturating_add(1))
    }

    /// What is wrong, with the numbers.
    pub fn kind(&self) -> &BatchErrorKind {
        &self.kind
    }
}

struct Offsets<'a>(&'a BatchError);

impl fmt::Display for Offsets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.last_offset {
            Some(last) if last == self.0.base_offset => write!(f, "batch at offset {last}")?,
            Some(last) => write!(f, "batch of offsets {} to {last}", self.0.base_offset)?,
            None => write!(f, "entry at offset {}", self.0.base_offset)?,
        }
        if self.0.verified {
            Ok(())
        } else {
            f.write_str(" (offsets unverified)")
        }
    }
}

struct Advice<'a>(&'a BatchError);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.step_over() {
            Some(next) => write!(f, "; seek to {next} to step over it"),
            None => Ok(()),
        }
    }
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchErrorKind {
    /// The magic byte is none of 0, 1 and 2.
    #[error("unknown magic {found}, known are 0, 1 and 2")]
    UnknownMagic {
        /// The magic byte found.
        found: i8,
    },

    /// The length field is negative or smaller than the fixed part of an entry of this magic.
    #[error("length field is {found}, the smallest possible is {smallest}")]
    LengthTooSmall {
        /// The value of the length field.
        found: i32,
        /// The smallest length of an entry of its magic, in bytes after the length field.
        smallest: i32,
    },

    /// Fewer bytes than the entry's length field says where a whole entry is needed.
    #[error("{needed} bytes needed, {present} present")]
    Truncated {
        /// Size of the whole entry in bytes.
        needed: usize,
        /// Bytes there.
        present: usize,
    },

    /// More bytes than one batch where exactly one is needed.
    #[error("{extra} bytes behind the batch")]
    MoreThanOneBatch {
        /// Bytes behind the first batch.
        extra: usize,
    },

    /// The stored checksum is not that of the bytes.
    #[error("CRC is {computed:#010x}, stored is {stored:#010x}")]
    WrongCrc {
        /// The checksum in the header.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },

    /// The codec in the attributes is not one that this magic can have.
    #[error("codec {codec} is not known in entries of magic {magic}")]
    UnknownCompression {
        /// The number in bits 0 to 2 of the attributes.
        codec: u8,
        /// The magic of the entry.
        magic: u8,
    },

    /// The record count is negative, or more than the bytes can hold.
    #[error("record count is {count}, {bytes} bytes of records hold at most {most}")]
    ImpossibleRecordCount {
        /// The record count in the header.
        count: i32,
        /// Bytes of records, after decompression.
        bytes: usize,
        /// The most records that these can hold.
        most: usize,
    },

    /// The last offset is beyond the range of offsets.
    #[error("lastOffsetDelta {last_offset_delta} leads beyond the largest offset")]
    OffsetOverflow {
        /// The last offset delta in the header.
        last_offset_delta: i32,
    },

    /// A produced batch whose record count does not agree with its last offset delta.
    #[error("record count is {count}, lastOffsetDelta {last_offset_delta}")]
    CountAgainstOffsets {
        /// The record count in the header.
        count: i32,
        /// The last offset delta in the header, which must be `count - 1`.
        last_offset_delta: i32,
    },

    /// The compressed bytes are not what their codec writes.
    #[error("cannot decompress {codec}: {reason}")]
    Decompression {
        /// The codec.
        codec: Compression,
        /// What the codec found.
        reason: String,
    },

    /// Decompression would give more bytes than the configured cap.
    #[error("{codec} gives more than the {cap} bytes allowed for a decompressed batch")]
    TooLarge {
        /// The codec.
        codec: Compression,
        /// The cap that was configured, in bytes.
        cap: usize,
    },

    /// A record does not parse.
    #[error("record {index} of the batch: {problem}")]
    InvalidRecord {
        /// Which record of the batch, from 0.
        index: usize,
        /// What is wrong with it.
        problem: RecordProblem,
    },

    /// Bytes are left behind the last record.
    #[error("{left} bytes left behind the last of {count} records")]
    BytesLeft {
        /// Number of bytes.
        left: usize,
        /// The record count in the header.
        count: i32,
    },
}

impl BatchErrorKind {
    /// Whether nothing is wrong with the bytes but this crate does not know their magic or codec.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self,
            Self::UnknownMagic { .. } | Self::UnknownCompression { .. }
        )
    }

    /// Whether the batch may be sound, and only the configured cap on decompressed bytes forbids to read it.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// Whether the bytes contradict themselves: neither unsupported nor too large.
    pub fn is_corrupt(&self) -> bool {
        !self.is_unsupported() && !self.is_too_large()
    }
}

/// What is wrong with one record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordProblem {
    /// A varint is longer than its type allows, or its bytes end before it does.
    #[error("{field}: not a varint")]
    Varint {
        /// The field.
        field: &'static str,
    },

    /// A length is negative where none may be, or longer than what is left.
    #[error("{field}: {length} bytes claimed, {left} left")]
    Length {
        /// The field.
        field: &'static str,
        /// The length that it claims.
        length: i64,
        /// Bytes left for it.
        left: usize,
    },

    /// The header count is negative, or more than the bytes can hold.
    #[error("{count} headers claimed in {left} bytes")]
    HeaderCount {
        /// The count.
        count: i32,
        /// Bytes left for them.
        left: usize,
    },

    /// The record's fields end before its length does.
    #[error("{left} bytes left behind its last field")]
    BytesLeft {
        /// Number of bytes.
        left: usize,
    },

    /// Offsets within a batch must rise and lie between its base and its last offset: the position of a consumer
    /// could not be told otherwise.
    #[error("offset {offset} is not between {least} and {most}")]
    Offset {
        /// The record's offset.
        offset: i64,
        /// The smallest that may stand here: the offset before it plus one, or the base offset.
        least: i64,
        /// The last offset of the batch.
        most: i64,
    },

    /// The magic of a message in a compressed one is not that of its wrapper.
    #[error("magic {found} in a wrapper of magic {wrapper}")]
    InnerMagic {
        /// The magic of the inner message.
        found: i8,
        /// The magic of the wrapper.
        wrapper: u8,
    },

    /// A message in a compressed one is compressed again.
    #[error("compressed again, with codec {codec}")]
    NestedCompression {
        /// The codec of the inner message.
        codec: u8,
    },

    /// The stored checksum of a message of magic 0 or 1 is not that of its bytes.
    #[error("CRC is {computed:#010x}, stored is {stored:#010x}")]
    WrongCrc {
        /// The checksum in the message.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },

    /// The key of a control record is shorter than 4 bytes, or its version is negative.
    #[error("not the key of a control record, of {length} bytes")]
    ControlKey {
        /// Length of the key.
        length: usize,
    },

    /// A compressed message without messages in it.
    #[error("compressed message without messages in it")]
    EmptyWrapper,
}
