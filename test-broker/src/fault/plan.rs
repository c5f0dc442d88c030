use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;

use super::FaultId;

/// What faults make of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) before: Moment,
    pub(crate) after: Moment,
    pub(crate) errors: Vec<ForcedError>,
    pub(crate) throttle: Duration,
    pub(crate) answer: Option<CustomAnswer>,
    /// Faults that touch the bytes of the answer, if it is long enough.
    pub(crate) bytes: Vec<FaultId>,
}

/// What happens before, or after, a request is applied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) delay: Duration,
    pub(crate) ending: Option<Ending>,
}

/// How a request ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Silence,
    Close,
}

/// An answer that the broker did not make.
#[derive(Clone, Debug)]
pub(crate) struct CustomAnswer {
    pub(crate) bytes: Bytes,
    /// Whether length and header go before it.
    pub(crate) framed: bool,
    pub(crate) after_applying: bool,
}

/// An error code that is answered whatever is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForcedError {
    pub(crate) error: ResponseError,
    pub(crate) after_applying: bool,
    pub(super) topic: Option<Arc<str>>,
    pub(super) partition: Option<i32>,
}

impl ForcedError {
    /// Whether it stands at the top of answers that have a place for it.
    pub(crate) fn is_top_level(&self) -> bool {
        self.topic.is_none()
    }

    /// Whether it stands at this partition.
    pub(crate) fn is_at(&self, topic: &str, partition: i32) -> bool {
        self.topic.as_deref().is_none_or(|own| own == topic)
            && self.partition.is_none_or(|own| own == partition)
    }

    /// Whether it stands at the topic itself, where topics have a code of their own.
    pub(crate) fn is_at_topic(&self, topic: &str) -> bool {
        self.topic.as_deref().is_none_or(|own| own == topic) && self.partition.is_none()
    }
}
