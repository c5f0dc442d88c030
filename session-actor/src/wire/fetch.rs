//! Fetch, the one API whose codec is our own: the crate's makes vectors, strings and maps for each partition of each response.
//!
//! [`FetchRequest`] encodes from the caller's own structures, [`FetchDecoder`] decodes into vectors that it uses again, and
//! records stay where they are in the response.

mod request;
mod response;
mod view;

pub use request::{
    EncodeError, FetchPartition, FetchRequest, FetchTopic, ForgottenPartition, IsolationLevel,
};
pub use response::{EpochEndOffset, FetchDecoder, LeaderIdAndEpoch, PartitionData};
pub use view::{
    AbortedTransaction, AbortedTransactions, FetchResponse, NodeEndpoint, Partition, Topic,
    TopicKey,
};

use kafka_protocol::protocol::VersionRange;

/// The versions of Fetch that this client speaks. Below v4 there are no transactions; above v17 is nothing for a consumer.
pub const VERSIONS: VersionRange = VersionRange { min: 4, max: 17 };

/// First version that identifies topics by id in place of name (KIP-516).
pub const TOPIC_IDS_SINCE: i16 = 13;

/// First version with incremental fetch sessions (KIP-227).
pub const SESSIONS_SINCE: i16 = 7;

/// First version with compact lengths and tagged fields (KIP-482).
const FLEXIBLE_SINCE: i16 = 12;

/// First version with a rack in the request and a preferred read replica in the response (KIP-392).
const RACKS_SINCE: i16 = 11;

/// First version with a log start offset.
const LOG_START_SINCE: i16 = 5;
