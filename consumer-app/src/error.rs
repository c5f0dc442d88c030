//! What a call of the consumer can fail with.

use std::sync::Arc;

use buffer_actor::PartitionError;
use buffer_actor::messages::NoPosition;
use coordinator_actor::GroupError;
use coordinator_actor::assign::AssignError;
use record_batch::{BatchError, TopicPartition};
use session_actor::wire::{ErrorCode, WireError};

use crate::config::ConfigErrors;

/// Why a call failed, and what can be done about it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// No broker could be reached for `default.api.timeout.ms`, or what answers is no broker. The consumer goes on trying.
    #[error("no broker can be used: {source}{}", advice(source))]
    Unreachable {
        /// The last failure.
        source: WireError,
    },
    /// A broker is reached and cannot be used: it has no version of an API in common with this client, or its answers cannot be
    /// read. The partitions that it leads give no records, the others go on. The consumer goes on trying, and tells again after
    /// `default.api.timeout.ms`.
    #[error("a broker cannot be used, the partitions that it leads give no records: {source}")]
    BrokerUnusable {
        /// The last failure.
        source: WireError,
    },
    /// One partition gives no records; the others go on. Comes again at growing intervals until the cause is gone or the
    /// application seeks.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A batch of a partition cannot be read. The position stays before it; the other partitions go on; the error comes again
    /// until the application seeks.
    #[error("{partition}: cannot read on at offset {position}: {source}")]
    CorruptBatch {
        /// Which partition.
        partition: TopicPartition,
        /// The position: the next offset that the application would be given.
        position: i64,
        /// Which offsets cannot be read, why, and where to seek to.
        source: BatchError,
    },
    /// Nothing came for 5 s while the application keeps records that take all of `buffer.memory`. Fetching goes on, a small request
    /// at a time; the error comes again, every 5 s, until something comes or enough is dropped. A record keeps the batch that
    /// it came in, an uncompressed one the whole reply: what is to be kept for long is better copied, by
    /// [`to_owned`](crate::Record::to_owned).
    #[error(
        "the application keeps {kept} bytes in records that it was given, most of them of {}, and buffer.memory is {limit}; \
         drop records, copy what is to be kept (to_owned), or raise buffer.memory",
        of(partition)
    )]
    MemoryHeld {
        /// Of which assigned partition most is kept; `None` if it is of partitions that are not assigned any more.
        partition: Option<TopicPartition>,
        /// Bytes that are kept.
        kept: u64,
        /// `buffer.memory`.
        limit: u64,
    },
    /// The partition is not assigned to this consumer, or its position was not found in time.
    #[error(transparent)]
    NoPosition(#[from] NoPosition),
    /// A negative offset.
    #[error("{partition}: cannot seek to offset {offset}; offsets begin at 0")]
    NegativeOffset {
        /// Which partition.
        partition: TopicPartition,
        /// What was asked for.
        offset: i64,
    },
    /// A negative timestamp.
    #[error("{partition}: there is no record of time {timestamp}; times begin at 0, which is 1970")]
    NegativeTimestamp {
        /// Which partition.
        partition: TopicPartition,
        /// What was asked for, in milliseconds.
        timestamp: i64,
    },
    /// Offsets that were asked for are not known. Nothing of the consumer has changed.
    #[error("{}: no offset was told: {error}{}", names(partitions), offsets_advice(*error))]
    OffsetsUnknown {
        /// The partitions that are missing.
        partitions: Vec<TopicPartition>,
        /// What the brokers said last; `REQUEST_TIMED_OUT` if none of them said anything within `default.api.timeout.ms`.
        error: ErrorCode,
    },
    /// The brokers do not show the topic.
    #[error("topic {topic}: {error}; create it, or check its name and the rights of this client")]
    UnknownTopic {
        /// Which topic.
        topic: Arc<str>,
        /// What the brokers say.
        error: ErrorCode,
    },
    /// A topic without a name.
    #[error("a topic needs a name")]
    BlankTopic,
    /// The assignors of a group's member cannot be used together.
    #[error(transparent)]
    Assignors(#[from] AssignError),
    /// The group: membership, commits, committed offsets.
    #[error(transparent)]
    Group(#[from] Box<GroupError>),
    /// Topics are subscribed to and partitions assigned by hand, which a consumer cannot do at the same time.
    #[error(
        "a consumer either subscribes or has partitions assigned by hand; call unsubscribe first"
    )]
    MixedUse,
    /// `poll` without an assignment would wait for ever.
    #[error("nothing is assigned; call subscribe or assign first")]
    NothingAssigned,
    /// The consumer was closed.
    #[error("the consumer is closed")]
    Closed,
    /// An actor of the consumer panicked, by a fault of this crate: the log says which, and how it stood.
    #[error("an actor of the consumer has panicked (see the log); close it and make a new one")]
    Failed,
    /// The thread of the actors could not be started.
    #[error("cannot start the consumer's thread: {0}")]
    Start(String),
}

impl From<GroupError> for Error {
    fn from(error: GroupError) -> Self {
        Self::Group(Box::new(error))
    }
}

fn of(partition: &Option<TopicPartition>) -> String {
    match partition {
        Some(partition) => partition.to_string(),
        None => "partitions that are not assigned any more".to_owned(),
    }
}

/// What to do, where the failure itself does not say it.
const fn advice(failure: &WireError) -> &'static str {
    match failure {
        WireError::Connect { .. } | WireError::Closed { .. } | WireError::Lost { .. } => {
            "; check bootstrap.servers, and whether the brokers run"
        }
        _ => "",
    }
}

/// A few of the names, and how many there are.
fn names(partitions: &[TopicPartition]) -> String {
    const SHOWN: usize = 3;
    let shown = partitions.iter().take(SHOWN).map(ToString::to_string);
    let mut names = shown.collect::<Vec<_>>().join(", ");
    if let Some(more) = partitions.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        names.push_str(&format!(" and {more} more"));
    }
    names
}

const fn offsets_advice(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::UNSUPPORTED_VERSION => "; the brokers are too old to be asked for it",
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            "; check the name, and whether the topic has so many partitions"
        }
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            "; this client needs the right to describe the topic"
        }
        _ => "",
    }
}

impl Error {
    /// Whether the same call may succeed later without anything being done about it.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::MemoryHeld { .. } => true,
            Self::Partition(error) => !matches!(
                error,
                PartitionError::NoOffsetForPartition { .. }
                    | PartitionError::OffsetOutOfRange { .. }
                    | PartitionError::LogTruncated { .. }
                    | PartitionError::InvalidTopic { .. }
            ),
            Self::UnknownTopic { error, .. } | Self::OffsetsUnknown { error, .. } => {
                error.is_retriable()
            }
            Self::Group(error) => error.is_retriable(),
            Self::NoPosition(error) => matches!(error, NoPosition::TimedOut(_)),
            Self::Config(_)
            | Self::BrokerUnusable { .. }
            | Self::CorruptBatch { .. }
            | Self::NegativeOffset { .. }
            | Self::NegativeTimestamp { .. }
            | Self::BlankTopic
            | Self::Assignors(_)
            | Self::MixedUse
            | Self::NothingAssigned
            | Self::Closed
            | Self::Failed
            | Self::Start(_) => false,
        }
    }

    /// Which partition it is about, if it is about one.
    pub const fn partition(&self) -> Option<&TopicPartition> {
        match self {
            Self::Partition(error) => Some(error.partition()),
            Self::CorruptBatch { partition, .. }
            | Self::NegativeOffset { partition, .. }
            | Self::NegativeTimestamp { partition, .. } => Some(partition),
            Self::MemoryHeld { partition, .. } => partition.as_ref(),
            _ => None,
        }
    }
}

/// The result of a call of the consumer.
pub type Result<T> = std::result::Result<T, Error>;
