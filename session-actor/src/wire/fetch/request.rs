use super::{
    FLEXIBLE_SINCE, LOG_START_SINCE, RACKS_SINCE, SESSIONS_SINCE, TOPIC_IDS_SINCE, VERSIONS,
};
use crate::wire::header::{RequestHeader, TooLong, append_frame};
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::ApiKey;
use uuid::Uuid;

/// First version with the partition's leader epoch (KIP-320).
const LEADER_EPOCH_SINCE: i16 = 9;
/// Last version with a replica id outside of the tagged fields.
const REPLICA_ID_UNTIL: i16 = 14;
/// Replica id of a consumer.
const CONSUMER: i32 = -1;
/// Log start offset and last fetched epoch of a consumer, who has neither.
const NOT_A_REPLICA: i32 = -1;

/// Which records a consumer may see (`isolation.level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All records up to the high watermark.
    #[default]
    ReadUncommitted = 0,
    /// Those up to the last stable offset, which excludes open transactions.
    ReadCommitted = 1,
}

/// A topic as a request names it: by name up to v12, by id since v13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchTopic<'a> {
    /// Name.
    pub name: &'a str,
    /// Id; nil if unknown, which v13 and later cannot carry.
    pub id: Uuid,
}

/// A partition to fetch from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartition<'a> {
    /// Its topic. Neighbours of one topic share an entry.
    pub topic: FetchTopic<'a>,
    /// Its index.
    pub partition: i32,
    /// The leader's epoch as far as we know, -1 for unknown. Sent since v9 (KIP-320).
    pub current_leader_epoch: i32,
    /// The offset to begin at.
    pub fetch_offset: i64,
    /// The most bytes to send, apart from a first batch that is larger (KIP-74).
    pub partition_max_bytes: i32,
}

/// A partition that leaves the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgottenPartition<'a> {
    /// Its topic.
    pub topic: FetchTopic<'a>,
    /// Its index.
    pub partition: i32,
}

/// A Fetch request without its partitions, which come from the caller's own structures when it is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// How long the broker may wait for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// Bytes worth an answer before that.
    pub min_bytes: i32,
    /// The most bytes of the whole answer, apart from a first batch that is larger.
    pub max_bytes: i32,
    /// Which records to see.
    pub isolation_level: IsolationLevel,
    /// The session, 0 for none. Sent since v7 (KIP-227).
    pub session_id: i32,
    /// Epoch of the session: 0 to begin one, -1 for none or to end one.
    pub session_epoch: i32,
    /// `client.rack`, empty for none. Sent since v11 (KIP-392).
    pub rack_id: &'a str,
}

impl FetchRequest<'_> {
    /// Appends the request to `out` as one frame, length and header included. `partitions` and `forgotten` are walked three
    /// times, so cloning them should be cheap. Nothing is appended on an error.
    ///
    /// # Errors
    ///
    /// What the version cannot carry.
    pub fn encode<'p>(
        &self,
        version: i16,
        header: RequestHeader<'_>,
        partitions: impl Iterator<Item = FetchPartition<'p>> + Clone,
        forgotten: impl Iterator<Item = ForgottenPartition<'p>> + Clone,
        out: &mut BytesMut,
    ) -> Result<(), EncodeError> {
        if !(VERSIONS.min..=VERSIONS.max).contains(&version) {
            return Err(EncodeError::Version(version));
        }
        if version < SESSIONS_SINCE && forgotten.clone().next().is_some() {
            return Err(EncodeError::Forgotten(version));
        }
        append_frame(out, |out| {
            header.encode(ApiKey::Fetch, version, version >= FLEXIBLE_SINCE, out)?;
            Encoder { out, version }.request(self, partitions, forgotten)
        })
    }
}

/// Why a request cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A version that this client does not speak.
    #[error("this client does not speak Fetch v{0}")]
    Version(i16),
    /// A session needs v7.
    #[error("Fetch v{0} has no sessions to forget partitions from")]
    Forgotten(i16),
    /// Since v13 topics go by their ids.
    #[error("Fetch v{version} names topics by id, and the id of {topic:?} is not known")]
    NoTopicId {
        /// The version asked for.
        version: i16,
        /// The topic without an id.
        topic: Box<str>,
    },
    /// Something is longer than its field or the frame.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

struct Encoder<'o> {
    out: &'o mut BytesMut,
    version: i16,
}

impl Encoder<'_> {
    fn request<'p>(
        &mut self,
        request: &FetchRequest<'_>,
        partitions: impl Iterator<Item = FetchPartition<'p>> + Clone,
        forgotten: impl Iterator<Item = ForgottenPartition<'p>> + Clone,
    ) -> Result<(), EncodeError> {
        if self.version <= REPLICA_ID_UNTIL {
            self.out.put_i32(CONSUMER);
        }
        self.out.put_i32(request.max_wait_ms);
        self.out.put_i32(request.min_bytes);
        self.out.put_i32(request.max_bytes);
        self.out.put_i8(request.isolation_level as i8);
        if self.version >= SESSIONS_SINCE {
            self.out.put_i32(request.session_id);
            self.out.put_i32(request.session_epoch);
        }
        self.topics(partitions, |partition| partition.topic, Self::partition)?;
        if self.version >= SESSIONS_SINCE {
            self.topics(
                forgotten,
                |forgotten| forgotten.topic,
                |encoder, forgotten| {
                    encoder.out.put_i32(forgotten.partition);
                },
            )?;
        }
        if self.version >= RACKS_SINCE {
            self.string(request.rack_id, "client.rack")?;
        }
        self.no_tags();
        Ok(())
    }

    fn partition(&mut self, partition: &FetchPartition<'_>) {
        self.out.put_i32(partition.partition);
        if self.version >= LEADER_EPOCH_SINCE {
            self.out.put_i32(partition.current_leader_epoch);
        }
        self.out.put_i64(partition.fetch_offset);
        if self.version >= FLEXIBLE_SINCE {
            self.out.put_i32(NOT_A_REPLICA);
        }
        if self.version >= LOG_START_SINCE {
            self.out.put_i64(NOT_A_REPLICA.into());
        }
        self.out.put_i32(partition.partition_max_bytes);
        self.no_tags();
    }

    /// One entry for each run of neighbours of one topic.
    fn topics<'p, P>(
        &mut self,
        partitions: impl Iterator<Item = P> + Clone,
        topic_of: impl Fn(&P) -> FetchTopic<'p>,
        mut write: impl FnMut(&mut Self, &P),
    ) -> Result<(), EncodeError> {
        let by_id = self.version >= TOPIC_IDS_SINCE;
        let same = |one: FetchTopic<'_>, other: FetchTopic<'_>| match by_id {
            true => one.id == other.id,
            false => one.name == other.name,
        };
        let mut topics = 0;
        let mut last = None;
        for topic in partitions.clone().map(|partition| topic_of(&partition)) {
            if !last.is_some_and(|last| same(last, topic)) {
                topics += 1;
            }
            last = Some(topic);
        }
        self.count(topics, "the list of topics")?;
        let mut rest = partitions;
        while let Some(first) = rest.clone().next() {
            let topic = topic_of(&first);
            let run = rest
                .clone()
                .take_while(|next| same(topic_of(next), topic))
                .count();
            self.topic(topic)?;
            self.count(run, "the list of partitions")?;
            for partition in rest.by_ref().take(run) {
                write(self, &partition);
            }
            self.no_tags();
        }
        Ok(())
    }

    fn topic(&mut self, topic: FetchTopic<'_>) -> Result<(), EncodeError> {
        if self.version < TOPIC_IDS_SINCE {
            return self.string(topic.name, "the name of a topic");
        }
        if topic.id.is_nil() {
            return Err(EncodeError::NoTopicId {
                version: self.version,
                topic: topic.name.into(),
            });
        }
        self.out.put_slice(topic.id.as_bytes());
        Ok(())
    }

    fn string(&mut self, text: &str, what: &'static str) -> Result<(), EncodeError> {
        // compact strings are as short as the others (KIP-482)
        let len = i16::try_from(text.len()).map_err(|_| TooLong(what))?;
        if self.version >= FLEXIBLE_SINCE {
            self.unsigned_varint(u32::from(len.unsigned_abs()) + 1);
        } else {
            self.out.put_i16(len);
        }
        self.out.put_slice(text.as_bytes());
        Ok(())
    }

    fn count(&mut self, count: usize, what: &'static str) -> Result<(), EncodeError> {
        let count = i32::try_from(count).map_err(|_| TooLong(what))?;
        if self.version >= FLEXIBLE_SINCE {
            self.unsigned_varint(count.unsigned_abs() + 1);
        } else {
            self.out.put_i32(count);
        }
        Ok(())
    }

    fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.put_u8(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.out.put_u8(value.to_le_bytes()[0]);
    }

    fn no_tags(&mut self) {
        if self.version >= FLEXIBLE_SINCE {
            self.out.put_u8(0);
        }
    }
}
