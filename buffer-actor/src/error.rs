//! Errors that belong to one partition and that the application sees.

use record_batch::TopicPartition;

use crate::model::EpochEnd;

/// Why a partition gives no records. The others go on.
///
/// The position stays where it is; the error comes again, at growing intervals, until the cause is gone or the
/// application seeks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// The offset is not in the log and `auto.offset.reset` is `none`.
    #[error(
        "{partition}: offset {offset} is out of range and auto.offset.reset is none; seek to an offset that exists"
    )]
    OffsetOutOfRange {
        /// Which partition.
        partition: TopicPartition,
        /// The position that the broker refused.
        offset: i64,
    },
    /// The leader's log ends below the position, or has other records before it, and `auto.offset.reset` is `none`: records that were
    /// read were lost in the election of a leader without them (KIP-320; Java's `LogTruncationException`).
    #[error("{partition}: the log was truncated below the position, offset {offset}: {}", truncation(*leader_epoch, *end))]
    LogTruncated {
        /// Which partition.
        partition: TopicPartition,
        /// The position.
        offset: i64,
        /// Leader epoch of the last record before it, if that is known.
        leader_epoch: Option<i32>,
        /// Where the log that was read and the leader's part; `None` if the leader has nothing of that epoch.
        end: Option<EpochEnd>,
    },
    /// There is no position and `auto.offset.reset` is `none`.
    #[error(
        "{partition}: no position and auto.offset.reset is none; seek to an offset, or set a reset policy"
    )]
    NoOffsetForPartition {
        /// Which partition.
        partition: TopicPartition,
    },
    /// Describe or Read on the topic is not allowed.
    #[error("{partition}: not authorized to read the topic; grant READ on it to this client")]
    TopicAuthorizationFailed {
        /// Which partition.
        partition: TopicPartition,
    },
    /// The broker found its own copy corrupt (CORRUPT_MESSAGE).
    #[error(
        "{partition}: the broker reports a corrupt message at offset {offset}; seek past it, or repair the log"
    )]
    CorruptMessage {
        /// Which partition.
        partition: TopicPartition,
        /// The offset that was asked for.
        offset: i64,
    },
    /// Only parts of a batch ever come.
    #[error(
        "{partition}: the batch at offset {offset} has {needed} bytes, the broker sends at most {allowed}; raise max.partition.fetch.bytes and fetch.max.bytes"
    )]
    RecordTooLarge {
        /// Which partition.
        partition: TopicPartition,
        /// The position.
        offset: i64,
        /// Bytes of the batch.
        needed: u64,
        /// Bytes that were asked for.
        allowed: u64,
    },
    /// Bytes come, but no whole batch at the position or behind it.
    #[error(
        "{partition}: the broker's answers to a fetch of offset {offset} bring nothing that begins or goes on there; seek to another offset, or repair the log"
    )]
    NoProgress {
        /// Which partition.
        partition: TopicPartition,
        /// The position.
        offset: i64,
    },
    /// The brokers do not know the topic, or it has fewer partitions.
    #[error(
        "{partition}: no such topic or partition; create it, or check its name (this client goes on asking for it)"
    )]
    UnknownPartition {
        /// Which partition.
        partition: TopicPartition,
    },
    /// The name can be no topic's.
    #[error("{partition}: the brokers refuse the topic's name")]
    InvalidTopic {
        /// Which partition.
        partition: TopicPartition,
    },
    /// The position cannot be looked up on this broker.
    #[error(
        "{partition}: the broker refused to look up the position (error {error_code}); seek to an offset"
    )]
    LookupRefused {
        /// Which partition.
        partition: TopicPartition,
        /// The broker's code.
        error_code: i16,
    },
    /// An answer that a consumer does not expect.
    #[error("{partition}: the broker answered error {error_code} to a fetch of offset {offset}")]
    UnexpectedError {
        /// Which partition.
        partition: TopicPartition,
        /// The offset that was asked for.
        offset: i64,
        /// The code as sent.
        error_code: i16,
    },
}

impl PartitionError {
    /// Which partition it is about.
    pub const fn partition(&self) -> &TopicPartition {
        match self {
            Self::OffsetOutOfRange { partition, .. }
            | Self::LogTruncated { partition, .. }
            | Self::NoOffsetForPartition { partition }
            | Self::TopicAuthorizationFailed { partition }
            | Self::CorruptMessage { partition, .. }
            | Self::RecordTooLarge { partition, .. }
            | Self::NoProgress { partition, .. }
            | Self::UnknownPartition { partition }
            | Self::InvalidTopic { partition }
            | Self::LookupRefused { partition, .. }
            | Self::UnexpectedError { partition, .. } => partition,
        }
    }
}

fn truncation(leader_epoch: Option<i32>, end: Option<EpochEnd>) -> String {
    let read = leader_epoch.map_or_else(String::new, |epoch| format!(" of leader epoch {epoch}"));
    match end {
        Some(EpochEnd {
            leader_epoch,
            offset,
        }) => format!(
            "the records read before it{read} end at offset {offset} in the leader's log (epoch {leader_epoch}); seek to offset {offset} to go \
             on with those that took their place"
        ),
        None => format!(
            "the leader knows nothing of the records read before it{read}; seek to an offset, or to an end of the log"
        ),
    }
}
