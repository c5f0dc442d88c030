use std::fmt;

use bytes::Buf;

use crate::{BatchError, BatchErrorKind};

/// Bytes of an entry before the part that its length field counts: offset and length.
pub(crate) const LOG_OVERHEAD: usize = 12;
/// Bytes of an entry that must be there to tell its magic.
pub(crate) const UP_TO_MAGIC: usize = 17;
/// Bytes of a v2 batch before its records.
pub(crate) const V2_HEADER: usize = 61;
/// First byte of a v2 batch that its CRC covers.
pub(crate) const V2_CRC_START: usize = 21;
/// First byte of a message of magic 0 or 1 that its CRC covers: the magic.
pub(crate) const LEGACY_CRC_START: usize = 16;
/// Bytes of a message of magic 0 before the length of its key.
pub(crate) const V0_HEADER: usize = 18;
/// Bytes of a message of magic 1 before the length of its key.
pub(crate) const V1_HEADER: usize = 26;

/// Bytes of the lengths of key and value behind the header of a message of magic 0 or 1.
const KEY_AND_VALUE_LENGTH: usize = 8;

pub(crate) const CODEC_MASK: u8 = 0b0000_0111;
pub(crate) const LOG_APPEND_TIME: u8 = 0b0000_1000;
const TRANSACTIONAL: u8 = 0b0001_0000;
const CONTROL: u8 = 0b0010_0000;
const DELETE_HORIZON: u8 = 0b0100_0000;

/// The length field of the entry that `bytes` begins with: the bytes of it behind that field.
pub(crate) fn length_field(bytes: &[u8]) -> Option<i32> {
    let (_, rest) = bytes.split_at_checked(size_of::<i64>())?;
    rest.first_chunk().map(|length| i32::from_be_bytes(*length))
}

/// Compression codec of a batch (`compression.type` of a producer): bits 0 to 2 of its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip members.
    Gzip,
    /// One bare snappy block, or an xerial stream of blocks.
    Snappy,
    /// lz4 frames.
    Lz4,
    /// zstd frames; from magic 2 on (KIP-110).
    Zstd,
}

impl Compression {
    /// The codec of a number in the attributes; `None` for 5, 6 and 7, which no codec has.
    pub fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The number of the codec in the attributes.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        })
    }
}

/// Whose clock the timestamps of a batch are from (`message.timestamp.type` of its topic, KIP-32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// Messages of magic 0 have no timestamp.
    NoTimestamp,
    /// The producer's clock, or what the application gave it.
    CreateTime,
    /// The broker's clock at the append.
    LogAppendTime,
}

impl fmt::Display for TimestampType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTimestamp => "NoTimestampType",
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        })
    }
}

/// The fixed part of an entry of a `records` field: of a v2 batch, or of a message of magic 0 or 1.
///
/// Nothing in it is verified: the CRC is checked when the batch is decoded. It suffices to step over an entry: one that
/// is aborted, a control batch, or already consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    base_offset: i64,
    length: i32,
    partition_leader_epoch: i32,
    magic: u8,
    crc: u32,
    attributes: u8,
    last_offset_delta: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    record_count: i32,
}

impl BatchHeader {
    /// Reads the header of the entry that `bytes` begins with. The rest of the entry need not be there.
    ///
    /// # Errors
    /// [`BatchErrorKind::UnknownMagic`], [`BatchErrorKind::LengthTooSmall`], or [`BatchErrorKind::Truncated`] if
    /// `bytes` ends within the header.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let offset = bytes.first_chunk().map_or(-1, |b| i64::from_be_bytes(*b));
        let error = |kind| BatchError::entry(offset, kind);
        let truncated = |needed| {
            let present = bytes.len();
            error(BatchErrorKind::Truncated { needed, present })
        };
        let at_least = |found: i32, smallest: usize| {
            let smallest = smallest as i32;
            if found < smallest {
                Err(error(BatchErrorKind::LengthTooSmall { found, smallest }))
            } else {
                Ok(())
            }
        };

        let length = length_field(bytes).ok_or(truncated(UP_TO_MAGIC))?;
        at_least(length, V0_HEADER + KEY_AND_VALUE_LENGTH - LOG_OVERHEAD)?;
        let magic = *bytes.get(UP_TO_MAGIC - 1).ok_or(truncated(UP_TO_MAGIC))?;
        let (header, behind) = match magic {
            0 => (V0_HEADER, KEY_AND_VALUE_LENGTH),
            1 => (V1_HEADER, KEY_AND_VALUE_LENGTH),
            2 => (V2_HEADER, 0),
            unknown => {
                let found = unknown.cast_signed();
                return Err(error(BatchErrorKind::UnknownMagic { found }));
            }
        };
        at_least(length, header + behind - LOG_OVERHEAD)?;
        let fields = bytes.get(..header).ok_or(truncated(header))?;
        Ok(match magic {
            2 => Self::v2(fields),
            _ => Self::legacy(magic, fields),
        })
    }

    /// Reads the [`V2_HEADER`] bytes of a header.
    fn v2(mut fields: &[u8]) -> Self {
        Self {
            base_offset: fields.get_i64(),
            length: fields.get_i32(),
            partition_leader_epoch: fields.get_i32(),
            magic: fields.get_u8(),
            crc: fields.get_u32(),
            attributes: fields.get_u16().to_be_bytes()[1],
            last_offset_delta: fields.get_i32(),
            base_timestamp: fields.get_i64(),
            max_timestamp: fields.get_i64(),
            producer_id: fields.get_i64(),
            producer_epoch: fields.get_i16(),
            base_sequence: fields.get_i32(),
            record_count: fields.get_i32(),
        }
    }

    /// Reads the [`V0_HEADER`] or [`V1_HEADER`] bytes of a header.
    fn legacy(magic: u8, mut fields: &[u8]) -> Self {
        let base_offset = fields.get_i64();
        let length = fields.get_i32();
        let crc = fields.get_u32();
        fields.advance(size_of_val(&magic));
        let attributes = fields.get_u8();
        let timestamp = if magic == 0 { -1 } else { fields.get_i64() };
        Self {
            base_offset,
            length,
            partition_leader_epoch: -1,
            magic,
            crc,
            attributes,
            last_offset_delta: 0,
            base_timestamp: timestamp,
            max_timestamp: timestamp,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: -1,
        }
    }

    /// Offset of the first record that the batch was written with; compaction may have removed it. Of a message of
    /// magic 0 or 1: its offset, which for a compressed one is that of its *last* record.
    pub fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Offset of the last record that the batch was written with, whether or not compaction left it there. Below the
    /// base offset if a faulty producer wrote a negative `lastOffsetDelta`.
    pub fn last_offset(&self) -> i64 {
        self.base_offset
            .saturating_add(i64::from(self.last_offset_delta))
    }

    /// The offset to fetch after this entry: last offset + 1. Never the last record + 1, since compaction may have
    /// removed records at the end, or all of them.
    pub fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// Whether all that it holds lies below `position` and was consumed already, so that it need not be decoded. A batch
    /// with a negative `lastOffsetDelta` is so only if its base offset is: its records must not go missing silently.
    ///
    /// As unverified as the rest of the header. A broker sends such a batch only to somebody who moved on meanwhile; to
    /// decode it all the same and begin at [`DecodedBatch::cursor_at`](crate::DecodedBatch::cursor_at) costs little.
    pub fn is_before(&self, position: i64) -> bool {
        self.last_offset().max(self.base_offset) < position
    }

    /// `lastOffsetDelta`, 0 for a message of magic 0 or 1.
    pub fn last_offset_delta(&self) -> i32 {
        self.last_offset_delta
    }

    /// Size of the whole entry in bytes, its offset and length fields included.
    pub fn size(&self) -> usize {
        usize::try_from(self.length).map_or(LOG_OVERHEAD, |length| LOG_OVERHEAD + length)
    }

    /// Leader epoch under which a broker appended the batch; `None` if there is none (magic 0 and 1, or -1).
    pub fn partition_leader_epoch(&self) -> Option<i32> {
        (self.partition_leader_epoch >= 0).then_some(self.partition_leader_epoch)
    }

    /// Version of the entry's format: 0, 1 or 2.
    pub fn magic(&self) -> u8 {
        self.magic
    }

    /// The stored checksum: CRC-32C for magic 2, CRC-32 for 0 and 1.
    pub fn crc(&self) -> u32 {
        self.crc
    }

    /// The codec, if the attributes name one that exists and that entries of this magic can have.
    pub fn compression(&self) -> Option<Compression> {
        match Compression::from_id(self.codec_id()) {
            Some(Compression::Zstd) if self.magic < 2 => None,
            codec => codec,
        }
    }

    /// Bits 0 to 2 of the attributes, as they are.
    pub fn codec_id(&self) -> u8 {
        self.attributes & CODEC_MASK
    }

    /// Whose clock the timestamps are from.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.magic == 0 {
            TimestampType::NoTimestamp
        } else if self.attributes & LOG_APPEND_TIME != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// The timestamp from which the records' deltas count, in ms, as stored; -1 if there is none.
    pub fn base_timestamp(&self) -> i64 {
        self.base_timestamp
    }

    /// The largest timestamp of the batch in ms, or under LogAppendTime the one of every record; -1 if there is none.
    /// Of a message of magic 1: its timestamp.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// The time in ms from which the cleaner may remove tombstones and markers of this batch, if it is set (KIP-534).
    /// It then stands where the base timestamp was.
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.magic == 2 && self.attributes & DELETE_HORIZON != 0).then_some(self.base_timestamp)
    }

    /// Whether the batch belongs to a transaction (KIP-98).
    pub fn is_transactional(&self) -> bool {
        self.magic == 2 && self.attributes & TRANSACTIONAL != 0
    }

    /// Whether the batch carries a control record, such as the end of a transaction; never given to an application.
    pub fn is_control(&self) -> bool {
        self.magic == 2 && self.attributes & CONTROL != 0
    }

    /// The idempotent or transactional producer, if there is one (KIP-98).
    pub fn producer_id(&self) -> Option<i64> {
        (self.producer_id >= 0).then_some(self.producer_id)
    }

    /// The producer's epoch, -1 without a producer id.
    pub fn producer_epoch(&self) -> i16 {
        self.producer_epoch
    }

    /// The sequence number of the first record, -1 without one; 0 comes after 2^31 - 1.
    pub fn base_sequence(&self) -> i32 {
        self.base_sequence
    }

    /// The record count as it is stored: unverified, may be negative. `None` for magic 0 and 1, where a compressed
    /// message does not say how many are in it.
    pub fn record_count(&self) -> Option<i32> {
        (self.magic == 2).then_some(self.record_count)
    }
}
