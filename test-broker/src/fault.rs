//! Faults on command: what a broker does wrong, to whom, and how often.

mod armed;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::ApiKey;

pub(crate) use armed::Faults;
pub(crate) use plan::{Ending, ForcedError, Moment, Plan};

/// Something that goes wrong, given to [`TestBroker::inject`](crate::TestBroker::inject).
///
/// By itself a fault hits every request; [`on`](Self::on), [`node`](Self::node), [`topic`](Self::topic) and
/// [`partition`](Self::partition) narrow it down, [`times`](Self::times) limits it. Of several faults that fit, all
/// act, in the order in which they were injected.
///
/// ```
/// use std::time::Duration;
/// use test_broker::{ApiKey, Fault, ResponseError, TestBroker};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), test_broker::Error> {
/// let broker = TestBroker::builder().topic("orders", 1).start_in_memory()?;
///
/// // the next two fetches of a partition are answered with an error
/// let moved = broker.inject(
///     Fault::error(ResponseError::NotLeaderOrFollower)
///         .on(ApiKey::Fetch)
///         .partition("orders", 0)
///         .times(2),
/// );
/// // node 1 is slow until told otherwise
/// let slow = broker.inject(Fault::delay(Duration::from_millis(200)).node(1));
/// // a produced batch is written, but the producer never hears of it
/// broker.inject(Fault::silence().on(ApiKey::Produce).after_applying().times(1));
///
/// broker.remove_fault(slow);
/// assert_eq!(broker.fault_hits(moved), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    node: Option<i32>,
    api: Option<ApiKey>,
    topic: Option<Arc<str>>,
    partition: Option<i32>,
    times: Option<u32>,
    after_applying: bool,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Delay(Duration),
    Silence,
    Close,
    Error(ResponseError),
    Throttle(Duration),
    Truncate(usize),
    Flip { at: usize, mask: u8 },
    FlipRecords { at: usize, mask: u8 },
    Records(Bytes),
    Body(Bytes),
    Raw(Bytes),
}

impl Fault {
    fn new(action: Action) -> Self {
        Self {
            node: None,
            api: None,
            topic: None,
            partition: None,
            times: None,
            after_applying: false,
            action,
        }
    }

    /// The request is taken in this much later; with [`after_applying`](Self::after_applying) the answer leaves this
    /// much later. What follows on the same connection waits too.
    pub fn delay(delay: Duration) -> Self {
        Self::new(Action::Delay(delay))
    }

    /// The request is never answered, nor is anything that follows on its connection, which stays open.
    pub fn silence() -> Self {
        Self::new(Action::Silence)
    }

    /// The connection is closed without an answer.
    pub fn close() -> Self {
        Self::new(Action::Close)
    }

    /// The request is refused with an error code; [`ResponseError::Unknown`] carries codes that have no name.
    ///
    /// Narrowed down to a topic or partition, the code stands there and the rest of the request is served. Else it
    /// stands at the top of answers that have such a field (Fetch from version 7, ApiVersions, InitProducerId, Metadata
    /// from version 13), and at every topic or partition of the others.
    pub fn error(error: ResponseError) -> Self {
        Self::new(Action::Error(error))
    }

    /// The answer carries `throttle_time_ms`, and the connection is not read for that long (KIP-219). A Fetch answer is
    /// empty, as a real broker's is.
    pub fn throttle(time: Duration) -> Self {
        Self::new(Action::Throttle(time))
    }

    /// The first `bytes` bytes of the answer are sent, its length field included, then the connection is closed.
    /// Answers that are not longer are left alone and do not count.
    pub fn truncate(bytes: usize) -> Self {
        Self::new(Action::Truncate(bytes))
    }

    /// The byte at `at` of the answer is XORed with `mask`; its length field is bytes 0 to 3, the correlation id bytes
    /// 4 to 7. Answers that are not so long are left alone and do not count.
    pub fn flip(at: usize, mask: u8) -> Self {
        Self::new(Action::Flip { at, mask })
    }

    /// The byte at `at` of a partition's records in a Fetch answer is XORed with `mask`. Byte 61 is the first of the
    /// records of a v2 batch, under its CRC. Answers without so many bytes of records are left alone and do not count.
    pub fn flip_records(at: usize, mask: u8) -> Self {
        Self::new(Action::FlipRecords { at, mask }).on(ApiKey::Fetch)
    }

    /// A Fetch of a partition is answered at once with these bytes in place of its records, whatever they are.
    pub fn records(records: impl Into<Bytes>) -> Self {
        Self::new(Action::Records(records.into())).on(ApiKey::Fetch)
    }

    /// The request is answered with this body; length and header of the answer are put before it.
    pub fn answer_body(body: impl Into<Bytes>) -> Self {
        Self::new(Action::Body(body.into()))
    }

    /// The request is answered with these bytes and nothing else, not even a length.
    pub fn answer_raw(bytes: impl Into<Bytes>) -> Self {
        Self::new(Action::Raw(bytes.into()))
    }

    /// Only requests of this API.
    pub fn on(mut self, api: ApiKey) -> Self {
        self.api = Some(api);
        self
    }

    /// Only requests to this node.
    pub fn node(mut self, node: i32) -> Self {
        self.node = Some(node);
        self
    }

    /// Only requests that concern this topic. A Fetch concerns all partitions of its session, named or not.
    pub fn topic(mut self, topic: &str) -> Self {
        self.topic = Some(Arc::from(topic));
        self
    }

    /// Only requests that concern this partition.
    pub fn partition(mut self, topic: &str, partition: i32) -> Self {
        self.partition = Some(partition);
        self.topic(topic)
    }

    /// Only this many requests; until it is removed, if it is not called.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The request is applied first: the records are appended, the topic is created, the session is changed.
    pub fn after_applying(mut self) -> Self {
        self.after_applying = true;
        self
    }
}

/// Names an injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);
