use super::view::{FetchResponse, NodeEndpointEntry, TopicEntry, TopicEntryKey};
use super::{
    FLEXIBLE_SINCE, LOG_START_SINCE, RACKS_SINCE, SESSIONS_SINCE, TOPIC_IDS_SINCE, VERSIONS,
};
use crate::wire::cursor::Cursor;
use crate::wire::error_code::ErrorCode;
use crate::wire::malformed::{Malformed, Problem};
use bytes::Bytes;

/// Name of the message in Kafka's own schema files.
pub(super) const NAME: &str = "FetchResponse";

/// First version with the endpoints of new leaders (KIP-951).
const NODE_ENDPOINTS_SINCE: i16 = 16;

/// What a response says of one partition, apart from its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionData {
    /// Its index.
    pub partition: i32,
    /// What went wrong.
    pub error_code: ErrorCode,
    /// End of what consumers may see, -1 for unknown.
    pub high_watermark: i64,
    /// End of what `read_committed` may see, -1 for unknown.
    pub last_stable_offset: i64,
    /// First offset there is, -1 for unknown and before v5.
    pub log_start_offset: i64,
    /// The replica to fetch from in the future, if the broker names one (KIP-392).
    pub preferred_read_replica: Option<i32>,
    /// The leader, if the broker asked is none and knows who is (KIP-951).
    pub current_leader: Option<LeaderIdAndEpoch>,
    /// Where the broker's log and ours part, if they do (KIP-595).
    pub diverging_epoch: Option<EpochEndOffset>,
    pub(super) aborted_transactions: Span,
    pub(super) aborted_count: usize,
    pub(super) records: Span,
}

/// A leader and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderIdAndEpoch {
    /// Node id.
    pub leader_id: i32,
    /// Its epoch.
    pub leader_epoch: i32,
}

/// An epoch and the offset at which it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEndOffset {
    /// The largest epoch that both logs have.
    pub epoch: i32,
    /// Its end in the broker's log.
    pub end_offset: i64,
}

/// A part of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    start: usize,
    len: usize,
}

impl Span {
    /// What the cursor has passed since `start`.
    fn since(start: usize, cursor: &Cursor<'_>) -> Self {
        let len = cursor.position() - start;
        Self { start, len }
    }

    /// The `len` bytes that the cursor passed last.
    fn last(len: usize, cursor: &Cursor<'_>) -> Self {
        Self::since(cursor.position() - len, cursor)
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }

    pub(super) fn len(self) -> usize {
        self.len
    }
}

/// Decodes responses into vectors that it uses again.
///
/// A response is taken whole or not at all: every count and length of it was compared with the bytes that are there before any
/// of it is seen.
#[derive(Debug, Default)]
pub struct FetchDecoder {
    topics: Vec<TopicEntry>,
    partitions: Vec<PartitionData>,
    node_endpoints: Vec<NodeEndpointEntry>,
}

impl FetchDecoder {
    /// Decodes `frame`, which is a response without its correlation id. `max_partitions` is the most entries it may have, so
    /// that what is kept of it stays in proportion to what was asked.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use session_actor::wire::fetch::{FetchDecoder, TopicKey};
    ///
    /// let frame = Bytes::from_static(&[
    ///     0, 0, 0, 0, // throttle time
    ///     0, 0, 0, 1, 0, 1, b't', // one topic
    ///     0, 0, 0, 1, 0, 0, 0, 7, 0, 0, // one partition: 7, no error
    ///     0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, // high watermark, last stable offset
    ///     0xff, 0xff, 0xff, 0xff, // no list of aborted transactions
    ///     0, 0, 0, 3, 1, 2, 3, // records
    /// ]);
    /// let mut decoder = FetchDecoder::default();
    /// let response = decoder.decode(4, &frame, 1)?;
    /// for topic in response.topics() {
    ///     assert_eq!(topic.key(), TopicKey::Name(b"t"));
    ///     for partition in topic.partitions() {
    ///         assert_eq!((partition.partition, partition.high_watermark), (7, 9));
    ///         assert_eq!(partition.records(), &frame[frame.len() - 3..]);
    ///     }
    /// }
    /// # Ok::<(), session_actor::wire::Malformed>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first field whose claim does not fit into the bytes there are, or bytes left over behind the last field.
    pub fn decode<'a>(
        &'a mut self,
        version: i16,
        frame: &'a Bytes,
        max_partitions: usize,
    ) -> Result<FetchResponse<'a>, Malformed> {
        self.topics.clear();
        self.partitions.clear();
        self.node_endpoints.clear();
        let mut cursor = Cursor::new(frame, NAME, version, version >= FLEXIBLE_SINCE);
        if !(VERSIONS.min..=VERSIONS.max).contains(&version) {
            return Err(cursor.fault(0, "version", Problem::Version));
        }
        // the response header's
        cursor.skip_tags()?;
        let throttle_time_ms = cursor.i32("throttle_time_ms")?;
        let (error_code, session_id) = match version >= SESSIONS_SINCE {
            true => (cursor.i16("error_code")?, cursor.i32("session_id")?),
            false => (0, 0),
        };
        for _ in 0..list(&mut cursor, least_topic(version), "responses")? {
            self.topic(&mut cursor, max_partitions)?;
        }
        tagged(&mut cursor, |tag, section| match tag {
            0 if version >= NODE_ENDPOINTS_SINCE => self.node_endpoints(section).map(|()| true),
            _ => Ok(false),
        })?;
        cursor.finish("end")?;
        Ok(FetchResponse {
            throttle_time_ms,
            error_code: ErrorCode(error_code),
            session_id,
            version,
            frame,
            topics: &self.topics,
            partitions: &self.partitions,
            node_endpoints: &self.node_endpoints,
        })
    }

    fn topic(&mut self, cursor: &mut Cursor<'_>, max_partitions: usize) -> Result<(), Malformed> {
        let version = cursor.version();
        let key = match version >= TOPIC_IDS_SINCE {
            true => TopicEntryKey::Id(cursor.uuid("topic_id")?),
            false => {
                let len = required(cursor, "topic", Cursor::string)?.len();
                TopicEntryKey::Name(Span::last(len, cursor))
            }
        };
        let position = cursor.position();
        let count = list(cursor, least_partition(version), "partitions")?;
        let first = self.partitions.len();
        if count > max_partitions - first {
            let limit = max_partitions;
            return Err(cursor.fault(position, "partitions", Problem::MoreThanAsked { limit }));
        }
        for _ in 0..count {
            self.partitions.push(partition(cursor)?);
        }
        self.topics.push(TopicEntry {
            key,
            partitions: first..self.partitions.len(),
        });
        cursor.skip_tags()
    }

    fn node_endpoints(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        // node id, host, port, rack, tags
        const LEAST: usize = 4 + 1 + 4 + 1 + 1;
        self.node_endpoints.clear();
        for _ in 0..list(cursor, LEAST, "node_endpoints")? {
            let node_id = cursor.i32("node_id")?;
            let position = cursor.position();
            let host = required(cursor, "host", Cursor::string)?;
            if std::str::from_utf8(host).is_err() {
                return Err(cursor.fault(position, "host", Problem::NotUtf8));
            }
            let host = Span::last(host.len(), cursor);
            let port = cursor.i32("port")?;
            cursor.string("rack")?;
            cursor.skip_tags()?;
            let endpoint = NodeEndpointEntry {
                node_id,
                host,
                port,
            };
            self.node_endpoints.push(endpoint);
        }
        Ok(())
    }
}

fn partition(cursor: &mut Cursor<'_>) -> Result<PartitionData, Malformed> {
    let version = cursor.version();
    let partition = cursor.i32("partition_index")?;
    let error_code = ErrorCode(cursor.i16("error_code")?);
    let high_watermark = cursor.i64("high_watermark")?;
    let last_stable_offset = cursor.i64("last_stable_offset")?;
    let log_start_offset = match version >= LOG_START_SINCE {
        true => cursor.i64("log_start_offset")?,
        false => -1,
    };
    // producer id, first offset, tags
    let least = 16 + usize::from(cursor.is_flexible());
    let aborted_count = cursor.count(least, "aborted_transactions")?.unwrap_or(0);
    let start = cursor.position();
    for _ in 0..aborted_count {
        cursor.take(16, "aborted_transactions")?;
        cursor.skip_tags()?;
    }
    let aborted_transactions = Span::since(start, cursor);
    let preferred_read_replica = match version >= RACKS_SINCE {
        true => Some(cursor.i32("preferred_read_replica")?).filter(|node| *node >= 0),
        false => None,
    };
    let records = cursor.bytes("records")?.unwrap_or_default().len();
    let mut data = PartitionData {
        partition,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        preferred_read_replica,
        current_leader: None,
        diverging_epoch: None,
        aborted_transactions,
        aborted_count,
        records: Span::last(records, cursor),
    };
    tagged(cursor, |tag, section| {
        match tag {
            0 => {
                let epoch = section.i32("diverging_epoch")?;
                let end_offset = section.i64("diverging_epoch")?;
                let diverging = EpochEndOffset { epoch, end_offset };
                data.diverging_epoch = (epoch >= 0).then_some(diverging);
            }
            1 => {
                let leader_id = section.i32("current_leader")?;
                let leader_epoch = section.i32("current_leader")?;
                let leader = LeaderIdAndEpoch {
                    leader_id,
                    leader_epoch,
                };
                data.current_leader = (leader_id >= 0 && leader_epoch >= 0).then_some(leader);
            }
            // for replicas: an end offset and an epoch
            2 => {
                section.take(8 + 4, "snapshot_id")?;
            }
            _ => return Ok(false),
        }
        section.skip_tags()?;
        Ok(true)
    })?;
    Ok(data)
}

/// Reads the tagged fields at the end of a structure. `known` says whether it reads the field, which must then take all of it.
fn tagged<'a>(
    cursor: &mut Cursor<'a>,
    mut known: impl FnMut(u32, &mut Cursor<'a>) -> Result<bool, Malformed>,
) -> Result<(), Malformed> {
    if !cursor.is_flexible() {
        return Ok(());
    }
    for _ in 0..cursor.tags()? {
        let tag = cursor.unsigned_varint("tag")?;
        let mut section = cursor.section("tagged field")?;
        let start = section.position();
        let claimed = section.left();
        if known(tag, &mut section)? && section.left() > 0 {
            let used = section.position() - start;
            let problem = Problem::TagSize { claimed, used };
            return Err(cursor.fault(start, "tagged field", problem));
        }
    }
    Ok(())
}

/// Count of an array that may not be null.
fn list(cursor: &mut Cursor<'_>, least: usize, field: &'static str) -> Result<usize, Malformed> {
    required(cursor, field, |cursor, field| cursor.count(least, field))
}

fn required<'a, T>(
    cursor: &mut Cursor<'a>,
    field: &'static str,
    read: impl FnOnce(&mut Cursor<'a>, &'static str) -> Result<Option<T>, Malformed>,
) -> Result<T, Malformed> {
    let position = cursor.position();
    match read(cursor, field)? {
        Some(value) => Ok(value),
        None => Err(cursor.fault(position, field, Problem::Null)),
    }
}

/// Bytes that a topic takes at the least: its key, the count of its partitions, tags.
fn least_topic(version: i16) -> usize {
    match version {
        TOPIC_IDS_SINCE.. => 16 + 1 + 1,
        FLEXIBLE_SINCE => 1 + 1 + 1,
        _ => 2 + 4,
    }
}

/// Bytes that a partition takes at the least.
fn least_partition(version: i16) -> usize {
    let fixed = 4 + 2 + 8 + 8;
    let log_start = if version >= LOG_START_SINCE { 8 } else { 0 };
    let replica = if version >= RACKS_SINCE { 4 } else { 0 };
    // aborted transactions, records, tags
    let counts = if version >= FLEXIBLE_SINCE {
        1 + 1 + 1
    } else {
        4 + 4
    };
    fixed + log_start + replica + counts
}
