use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use record_batch::{
    BatchError, BatchErrorKind, BatchHeader, Compression, ControlType, Decoder, FreshBuffers,
    entries, produced,
};

use super::{AbortedRange, AbortedTransaction, PartitionLog, StoredBatch};

/// What the topic's configuration says about produced batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProduceLimits {
    /// `max.message.bytes`.
    pub(crate) max_message_bytes: usize,
    /// The broker's time in ms, if `message.timestamp.type` is LogAppendTime.
    pub(crate) log_append_time: Option<i64>,
}

/// Where a produced batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    /// The largest timestamp of a batch that was there already: an idempotent producer sent it again.
    pub(crate) duplicate: Option<i64>,
}

/// Why a batch is not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AppendError {
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error("a partition must be given one whole record batch of magic 2, and no more")]
    NotOneBatch,
    #[error("the base offset of a produced batch is {0}, it must be 0")]
    BaseOffset(i64),
    #[error("a batch of {size} bytes, max.message.bytes is {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("clients are not allowed to write control records")]
    Control,
    #[error("transactional records without a transaction coordinator")]
    Transactional,
    #[error("a batch of an idempotent producer without a sequence number")]
    NoSequence,
    #[error("zstd needs Produce version 7 or later")]
    Zstd,
    #[error("producer {producer_id}: {error}")]
    Producer {
        producer_id: i64,
        error: ResponseError,
    },
    #[error(
        "an entry of offsets up to {last_offset} cannot be appended to a log that ends at {log_end}"
    )]
    BehindTheEnd { last_offset: i64, log_end: i64 },
    #[error("the bytes end within an entry: {present} bytes of it are there")]
    Cut { present: usize },
}

impl AppendError {
    /// The error that a producer is told.
    pub(crate) fn response_error(&self) -> ResponseError {
        match self {
            Self::Batch(error) => match error.kind() {
                BatchErrorKind::WrongCrc { .. }
                | BatchErrorKind::LengthTooSmall { .. }
                | BatchErrorKind::UnknownMagic { .. } => ResponseError::CorruptMessage,
                _ => ResponseError::InvalidRecord,
            },
            Self::TooLarge { .. } => ResponseError::MessageTooLarge,
            // no transaction coordinator, so that no transactional id is known
            Self::Transactional => ResponseError::InvalidProducerIdMapping,
            Self::Zstd => ResponseError::UnsupportedCompressionType,
            Self::Producer { error, .. } => *error,
            Self::Cut { .. } => ResponseError::CorruptMessage,
            Self::NotOneBatch
            | Self::BaseOffset(_)
            | Self::Control
            | Self::NoSequence
            | Self::BehindTheEnd { .. } => ResponseError::InvalidRecord,
        }
    }

    /// What a producer is told besides: a real broker finds words for a magic that it does not know, and for nothing else
    /// that is refused here.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Self::Batch(error) if matches!(error.kind(), BatchErrorKind::UnknownMagic { .. }) => {
                Some(error.to_string())
            }
            _ => None,
        }
    }

    /// Whether the answer tells the start of the log all the same, as a real broker's does for what it finds late.
    pub(crate) fn tells_log_start(&self) -> bool {
        match self {
            Self::NotOneBatch | Self::TooLarge { .. } | Self::Transactional | Self::Zstd => false,
            error => error.response_error() != ResponseError::CorruptMessage,
        }
    }
}

impl PartitionLog {
    /// Appends a batch that a client produced: checks it, gives it its offsets, remembers its sequence numbers.
    pub(crate) fn append_produced(
        &mut self,
        batch: &Bytes,
        leader_epoch: i32,
        limits: ProduceLimits,
        decoder: &mut Decoder,
    ) -> Result<Appended, AppendError> {
        let header = check_produced(batch, limits, decoder)?;
        let batch = batch.get(..header.size()).unwrap_or_default();
        if let Some(producer_id) = header.producer_id() {
            let checked = self.producers.check(&header);
            let repeated = checked.map_err(|error| AppendError::Producer { producer_id, error })?;
            if let Some(known) = repeated {
                return Ok(Appended {
                    base_offset: known.base_offset,
                    duplicate: Some(known.max_timestamp),
                });
            }
        }
        let base_offset = self.log_end_offset;
        let mut stored = BytesMut::from(batch);
        let time = limits.log_append_time;
        let header = produced::assign_offsets(&mut stored, base_offset, leader_epoch, time)?;
        self.push(header, stored.freeze(), None);
        Ok(Appended {
            base_offset,
            duplicate: None,
        })
    }

    /// Appends entries as they are, with the offsets and epochs that they carry: of any magic, compacted, transactional,
    /// control, even with a wrong CRC. All or nothing.
    pub(crate) fn append_as_is(
        &mut self,
        bytes: &Bytes,
        decoder: &mut Decoder,
    ) -> Result<(), AppendError> {
        let mut walk = entries(bytes);
        let mut checked = Vec::new();
        let mut log_end = self.log_end_offset;
        for entry in walk.by_ref() {
            let entry = entry?;
            let header = *entry.header();
            let first = match header.magic() {
                2 => header.base_offset(),
                // a compressed message carries the offset of its last record
                _ => header.last_offset(),
            };
            if first < log_end || header.last_offset() < first {
                let last_offset = header.last_offset();
                return Err(AppendError::BehindTheEnd {
                    last_offset,
                    log_end,
                });
            }
            log_end = header.next_offset();
            let control = match header.is_control() {
                true => decoder
                    .decode(bytes, &entry, &mut FreshBuffers)?
                    .control_type()?,
                false => None,
            };
            checked.push((header, bytes.slice(entry.range()), control));
        }
        if let Some(tail) = walk.tail() {
            let present = tail.present;
            return Err(AppendError::Cut { present });
        }
        for (header, bytes, control) in checked {
            if let Some(epoch) = header.partition_leader_epoch() {
                self.epochs.assign(epoch, header.base_offset());
            }
            self.push(header, bytes, control);
        }
        Ok(())
    }

    fn push(&mut self, header: BatchHeader, bytes: Bytes, control: Option<ControlType>) {
        self.log_end_offset = header.next_offset();
        self.track(&header, control);
        let position = self.end_position;
        self.index.add(header.last_offset(), position, bytes.len());
        self.end_position += bytes.len() as u64;
        self.batches.push_back(StoredBatch {
            header,
            position,
            bytes,
        });
        self.producers.settle(self.high_watermark());
    }

    /// Follows producers and transactions.
    pub(super) fn track(&mut self, header: &BatchHeader, control: Option<ControlType>) {
        if !header.is_control() {
            self.producers.data(header);
            return;
        }
        if !matches!(control, Some(ControlType::Abort | ControlType::Commit)) {
            return;
        }
        let ended = self.producers.marker(header);
        let (Some(ended), Some(producer_id), Some(ControlType::Abort)) =
            (ended, header.producer_id(), control)
        else {
            return;
        };
        self.aborted.push(AbortedRange {
            transaction: AbortedTransaction {
                producer_id,
                first_offset: ended.first_offset,
            },
            last_offset: header.last_offset(),
            last_stable_offset: ended.last_stable_offset,
        });
    }
}

/// What a broker checks of a batch from a client, in its order. The beginning of another batch behind it is left out.
fn check_produced(
    records: &Bytes,
    limits: ProduceLimits,
    decoder: &mut Decoder,
) -> Result<BatchHeader, AppendError> {
    let mut walk = entries(records);
    let entry = walk.next().ok_or(AppendError::NotOneBatch)??;
    let header = entry.header();
    if header.magic() != 2 || walk.next().is_some() {
        return Err(AppendError::NotOneBatch);
    }
    if header.base_offset() != 0 {
        return Err(AppendError::BaseOffset(header.base_offset()));
    }
    let (size, limit) = (header.size(), limits.max_message_bytes);
    if size > limit {
        return Err(AppendError::TooLarge { size, limit });
    }
    let batch = records.slice(entry.range());
    let header = produced::validate(&batch)?;
    if header.is_control() {
        return Err(AppendError::Control);
    }
    if header.is_transactional() {
        return Err(AppendError::Transactional);
    }
    if header.producer_id().is_some() && header.base_sequence() < 0 {
        return Err(AppendError::NoSequence);
    }
    decoder.decode(records, &entry, &mut FreshBuffers)?;
    Ok(header)
}

/// Whether a produced batch can only be read by clients that know zstd (KIP-110).
pub(crate) fn is_zstd(batch: &[u8]) -> bool {
    let codec = BatchHeader::parse(batch).map(|header| header.compression());
    codec == Ok(Some(Compression::Zstd))
}

/// Whether a produced batch belongs to a transaction.
pub(crate) fn is_transactional(batch: &[u8]) -> bool {
    BatchHeader::parse(batch).is_ok_and(|header| header.is_transactional())
}
