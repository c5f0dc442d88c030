//! What can go wrong with a group, and what to do about it.

use std::sync::Arc;

use record_batch::TopicPartition;
use session_actor::wire::{ErrorCode, WireError};

use crate::assign::AssignError;

/// Why a member cannot be one, or an offset not be committed or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A setting of the group that brokers do not take.
    #[error("group {group} refuses this member: {error}; {advice}")]
    Refused {
        /// `group.id`.
        group: Arc<str>,
        /// What the broker says.
        error: ErrorCode,
        /// What to do about it.
        advice: &'static str,
    },
    /// Another member with the same `group.instance.id` took this one's place.
    #[error("{}", fenced(group, instance_id.as_deref()))]
    Fenced {
        /// `group.id`.
        group: Arc<str>,
        /// `group.instance.id`.
        instance_id: Option<Arc<str>>,
    },
    /// The brokers do not have the group protocol.
    #[error("group {group}: {source}; use group.protocol=classic, or newer brokers")]
    Unsupported {
        /// `group.id`.
        group: Arc<str>,
        /// Which API is lacking where.
        source: WireError,
    },
    /// Not allowed to read these topics.
    #[error(
        "group {group}: not authorized to read a topic that it subscribes to: {error}; grant Read and Describe on it"
    )]
    TopicAuthorizationFailed {
        /// `group.id`.
        group: Arc<str>,
        /// What the broker says.
        error: String,
    },
    /// Nothing of a topic is assigned, since it may not be read or cannot exist.
    #[error(
        "group {group} subscribes to topic {topic}, which cannot be read: {error}; grant Read and Describe on it, or correct its name"
    )]
    TopicRefused {
        /// `group.id`.
        group: Arc<str>,
        /// Which topic.
        topic: Arc<str>,
        /// What the brokers say of it.
        error: ErrorCode,
    },
    /// An offset was not committed, since the group is being rebalanced: the poll that follows brings it up to date, after which
    /// it may be committed again if the partition is still assigned.
    #[error(
        "offsets of group {group} were not committed: it is being rebalanced; poll, then commit what is still assigned"
    )]
    RebalanceInProgress {
        /// `group.id`.
        group: Arc<str>,
    },
    /// An offset was not committed, since this member is not in the group any more and its partitions may belong to another.
    #[error(
        "offsets of group {group} were not committed: this member is not in the group any more{}, its partitions may be another's; \
         poll at least every max.poll.interval.ms, with a smaller max.poll.records or a longer interval",
        says(*error)
    )]
    CommitFailed {
        /// `group.id`.
        group: Arc<str>,
        /// What the broker says; [`ErrorCode::NONE`] if it was not asked.
        error: ErrorCode,
    },
    /// An offset was not committed, since the group did not assign the partition to this member, or took it away: the offset is
    /// another member's to commit, and would set it back.
    #[error(
        "the offset of {partition} was not committed for group {group}: the partition is not assigned to this member, its offset may be \
         another's to commit; commit what is assigned, and in RebalanceListener::revoked what is taken away"
    )]
    NotAssigned {
        /// `group.id`.
        group: Arc<str>,
        /// Which partition.
        partition: TopicPartition,
    },
    /// The broker refuses to commit an offset.
    #[error("the offset of {partition} was not committed for group {group}: {error}")]
    OffsetRefused {
        /// `group.id`.
        group: Arc<str>,
        /// Which partition.
        partition: TopicPartition,
        /// What the broker says.
        error: ErrorCode,
    },
    /// Committed offsets cannot be read.
    #[error("committed offsets of group {group} cannot be read: {error}")]
    OffsetsUnreadable {
        /// `group.id`.
        group: Arc<str>,
        /// What the broker says.
        error: ErrorCode,
    },
    /// No answer within the time that was given.
    #[error("the coordinator of group {group} did not do it within the time given{}", because(last.as_ref()))]
    TimedOut {
        /// `group.id`.
        group: Arc<str>,
        /// What went wrong last.
        last: Option<WireError>,
    },
    /// What members tell each other cannot be written or read, or an assignor is broken.
    #[error("group {group}: {source}")]
    ConsumerProtocol {
        /// `group.id`.
        group: Arc<str>,
        /// What and why.
        source: AssignError,
    },
    /// There is no `group.id`.
    #[error("there is no group: set group.id")]
    NoGroup,
    /// The pattern of a subscription is none.
    #[error("the pattern of the subscription is not valid: {reason}")]
    InvalidPattern {
        /// Where and why.
        reason: String,
    },
}

impl GroupError {
    /// Whether the same call may succeed later.
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::RebalanceInProgress { .. } | Self::TimedOut { .. } => true,
            Self::OffsetRefused { error, .. } | Self::OffsetsUnreadable { error, .. } => {
                error.is_retriable()
            }
            _ => false,
        }
    }
}

fn fenced(group: &str, instance_id: Option<&str>) -> String {
    let instance_id = instance_id.unwrap_or_default();
    format!(
        "group {group}: another member with group.instance.id {instance_id} took the place of this one; every running member needs an id of its own"
    )
}

fn says(error: ErrorCode) -> String {
    match error {
        ErrorCode::NONE => String::new(),
        error => format!(" ({error})"),
    }
}

fn because(last: Option<&WireError>) -> String {
    last.map_or_else(String::new, |error| format!(": {error}"))
}
