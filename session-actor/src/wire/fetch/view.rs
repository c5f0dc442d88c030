use super::FLEXIBLE_SINCE;
use super::response::{NAME, PartitionData, Span};
use crate::wire::cursor::Cursor;
use crate::wire::error_code::ErrorCode;
use bytes::Bytes;
use std::ops::{Deref, Range};
use uuid::Uuid;

/// A decoded response: views into the decoder and the frame.
#[derive(Debug, Clone, Copy)]
pub struct FetchResponse<'a> {
    /// How long the broker wants to be left alone, in milliseconds (KIP-219).
    pub throttle_time_ms: i32,
    /// An error of the whole response, since v7. Its partitions are then of no use.
    pub error_code: ErrorCode,
    /// The session, 0 for none. Since v7 (KIP-227).
    pub session_id: i32,
    pub(super) version: i16,
    pub(super) frame: &'a Bytes,
    pub(super) topics: &'a [TopicEntry],
    pub(super) partitions: &'a [PartitionData],
    pub(super) node_endpoints: &'a [NodeEndpointEntry],
}

#[derive(Debug)]
pub(super) struct TopicEntry {
    pub(super) key: TopicEntryKey,
    pub(super) partitions: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TopicEntryKey {
    Name(Span),
    Id(Uuid),
}

#[derive(Debug)]
pub(super) struct NodeEndpointEntry {
    pub(super) node_id: i32,
    pub(super) host: Span,
    pub(super) port: i32,
}

impl<'a> FetchResponse<'a> {
    /// Its topics in the broker's order. One that comes twice is given twice.
    pub fn topics(self) -> impl ExactSizeIterator<Item = Topic<'a>> {
        self.topics.iter().map(move |entry| Topic {
            response: self,
            entry,
        })
    }

    /// Number of partitions in all topics.
    pub fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// Where the new leaders listen that partitions name, since v16 (KIP-951).
    pub fn node_endpoints(self) -> impl ExactSizeIterator<Item = NodeEndpoint<'a>> {
        self.node_endpoints.iter().map(move |entry| NodeEndpoint {
            node_id: entry.node_id,
            host: std::str::from_utf8(&self.frame[entry.host.range()]).unwrap_or_default(),
            port: entry.port,
        })
    }
}

/// Where a node listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeEndpoint<'a> {
    /// Node id.
    pub node_id: i32,
    /// Host name or address.
    pub host: &'a str,
    /// TCP port.
    pub port: i32,
}

/// What identifies a topic: its name up to v12, its id since v13 (KIP-516).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicKey<'a> {
    /// Bytes of the name, for comparison; not checked for UTF-8.
    Name(&'a [u8]),
    /// Id.
    Id(Uuid),
}

/// A topic of a response.
#[derive(Debug, Clone, Copy)]
pub struct Topic<'a> {
    response: FetchResponse<'a>,
    entry: &'a TopicEntry,
}

impl<'a> Topic<'a> {
    /// Which topic.
    pub fn key(&self) -> TopicKey<'a> {
        match self.entry.key {
            TopicEntryKey::Name(span) => TopicKey::Name(&self.response.frame[span.range()]),
            TopicEntryKey::Id(id) => TopicKey::Id(id),
        }
    }

    /// Its partitions in the broker's order.
    pub fn partitions(self) -> impl ExactSizeIterator<Item = Partition<'a>> {
        let response = self.response;
        let data = &response.partitions[self.entry.partitions.clone()];
        data.iter().map(move |data| Partition { response, data })
    }
}

/// A partition of a response; its fields are those of [`PartitionData`].
#[derive(Debug, Clone, Copy)]
pub struct Partition<'a> {
    response: FetchResponse<'a>,
    data: &'a PartitionData,
}

impl<'a> Partition<'a> {
    /// Its record batches, a slice of the frame that shares the frame's memory; empty if there are none. The last one may be
    /// cut off.
    pub fn records(&self) -> Bytes {
        self.response.frame.slice(self.data.records.range())
    }

    /// Length of its record batches in bytes.
    pub fn records_len(&self) -> usize {
        self.data.records.len()
    }

    /// Aborted transactions that overlap its records, in the broker's order, which need not be that of their offsets. None
    /// under `read_uncommitted`.
    pub fn aborted_transactions(&self) -> AbortedTransactions<'a> {
        let version = self.response.version;
        let bytes = &self.response.frame[self.data.aborted_transactions.range()];
        AbortedTransactions {
            cursor: Cursor::new(bytes, NAME, version, version >= FLEXIBLE_SINCE),
            left: self.data.aborted_count,
        }
    }
}

impl Deref for Partition<'_> {
    type Target = PartitionData;

    fn deref(&self) -> &PartitionData {
        self.data
    }
}

/// A transaction whose records `read_committed` must not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Its producer.
    pub producer_id: i64,
    /// Its first offset in the partition.
    pub first_offset: i64,
}

/// Parses aborted transactions one by one, where they are in the frame.
#[derive(Debug, Clone)]
pub struct AbortedTransactions<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl Iterator for AbortedTransactions<'_> {
    type Item = AbortedTransaction;

    fn next(&mut self) -> Option<AbortedTransaction> {
        self.left = self.left.checked_sub(1)?;
        // the decoder has been over these bytes, so none of the errors occurs
        let next = AbortedTransaction {
            producer_id: self.cursor.i64("producer_id").ok()?,
            first_offset: self.cursor.i64("first_offset").ok()?,
        };
        self.cursor.skip_tags().ok()?;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for AbortedTransactions<'_> {}
