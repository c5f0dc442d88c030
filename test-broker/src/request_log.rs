//! What the broker was asked, for tests to look at.

use std::collections::VecDeque;
use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use record_batch::TopicPartition;

/// A request that a node took in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The node.
    pub node: i32,
    /// The connection, numbered from 0 over all nodes in the order in which they were accepted.
    pub connection: u64,
    /// Which API.
    pub api_key: ApiKey,
    /// Its version.
    pub api_version: i16,
    /// The client's number for the request.
    pub correlation_id: i32,
    /// What the client calls itself: `client.id`.
    pub client_id: Option<String>,
    /// When it was taken in, by tokio's time since the broker was started.
    pub time: Duration,
    /// What it asked for.
    pub summary: RequestSummary,
}

impl RequestRecord {
    /// What a Fetch request asked for.
    pub fn fetch(&self) -> Option<&FetchSummary> {
        match &self.summary {
            RequestSummary::Fetch(fetch) => Some(fetch),
            _ => None,
        }
    }
}

/// What a request asked for, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestSummary {
    /// Fetch.
    Fetch(FetchSummary),
    /// Produce.
    Produce {
        /// 0, 1, or -1 for all.
        acks: i16,
        /// The partitions and the bytes of records for each.
        partitions: Vec<(TopicPartition, usize)>,
    },
    /// ListOffsets.
    ListOffsets {
        /// 0 read_uncommitted, 1 read_committed.
        isolation_level: i8,
        /// The partitions, with the current leader epoch (-1 unchecked) and the timestamp asked for.
        partitions: Vec<(TopicPartition, i32, i64)>,
    },
    /// OffsetForLeaderEpoch.
    OffsetForLeaderEpoch {
        /// The partitions, with the current leader epoch (-1 unchecked) and the epoch asked for.
        partitions: Vec<(TopicPartition, i32, i32)>,
    },
    /// Metadata.
    Metadata {
        /// The topics, or their ids where they are asked for by id; `None` for all.
        topics: Option<Vec<String>>,
        /// Whether topics that do not exist may be created.
        allow_auto_topic_creation: bool,
    },
    /// FindCoordinator.
    FindCoordinator {
        /// 0 group, 1 transaction, 2 share group.
        key_type: i8,
        /// The groups asked for.
        keys: Vec<String>,
    },
    /// JoinGroup.
    JoinGroup {
        /// The group.
        group: String,
        /// The member's id; empty for one that has none yet.
        member: String,
        /// `group.instance.id` of a static member (KIP-345).
        instance: Option<String>,
        /// The names of the protocols it could use, the best first.
        protocols: Vec<String>,
        /// Why it joins (KIP-800).
        reason: Option<String>,
    },
    /// SyncGroup.
    SyncGroup {
        /// The group.
        group: String,
        /// The member's id.
        member: String,
        /// The generation.
        generation: i32,
        /// How many members it assigns something to; 0 if it is not the leader.
        assigns: usize,
    },
    /// Heartbeat.
    Heartbeat {
        /// The group.
        group: String,
        /// The member's id.
        member: String,
        /// The generation.
        generation: i32,
    },
    /// LeaveGroup.
    LeaveGroup {
        /// The group.
        group: String,
        /// The ids of the members that leave; empty for those named by their instance ids.
        members: Vec<String>,
    },
    /// ConsumerGroupHeartbeat (KIP-848). What is `None` is said to be as before.
    ConsumerGroupHeartbeat {
        /// The group.
        group: String,
        /// The member's id.
        member: String,
        /// The member epoch: 0 joins, -1 leaves, -2 leaves for a while (static members).
        epoch: i32,
        /// `group.instance.id` of a static member (KIP-345).
        instance: Option<String>,
        /// The topics that it subscribes to.
        topics: Option<Vec<String>>,
        /// The pattern of topics that it subscribes to.
        regex: Option<String>,
        /// The assignor that it asks for.
        assignor: Option<String>,
        /// The partitions that it owns; where a topic id is unknown, the topic is that id.
        owned: Option<Vec<TopicPartition>>,
    },
    /// OffsetCommit.
    OffsetCommit {
        /// The group.
        group: String,
        /// The member's id; empty for a consumer that does not take part in the group.
        member: String,
        /// Generation or member epoch; -1 for a consumer that does not take part in the group.
        generation: i32,
        /// The partitions and their offsets.
        offsets: Vec<(TopicPartition, i64)>,
    },
    /// OffsetFetch.
    OffsetFetch {
        /// The groups asked for.
        groups: Vec<String>,
        /// Whether offsets of transactions that are still open are to be waited for (KIP-447).
        require_stable: bool,
    },
    /// Another API.
    Other,
}

/// What a Fetch request asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchSummary {
    /// The session (KIP-227), 0 for none.
    pub session_id: i32,
    /// 0 asks for a new session, -1 for none, larger ones are incremental.
    pub session_epoch: i32,
    /// The partitions that the request names, in its order; those of its session that it does not name are not here.
    pub partitions: Vec<FetchPartitionSummary>,
    /// The partitions that leave the session.
    pub forgotten: Vec<TopicPartition>,
    /// `fetch.max.wait.ms`.
    pub max_wait_ms: i32,
    /// `fetch.min.bytes`.
    pub min_bytes: i32,
    /// The most bytes of the answer.
    pub max_bytes: i32,
    /// 0 read_uncommitted, 1 read_committed.
    pub isolation_level: i8,
    /// `client.rack`, empty for none.
    pub rack: String,
}

/// A partition that a Fetch request names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchPartitionSummary {
    /// The partition; where the request names a topic id that is unknown, the topic is that id.
    pub partition: TopicPartition,
    /// The offset asked for.
    pub fetch_offset: i64,
    /// The most bytes of this partition.
    pub max_bytes: i32,
    /// The leader epoch that the client knows, -1 for none.
    pub current_leader_epoch: i32,
}

/// The last requests, oldest first.
#[derive(Debug)]
pub(crate) struct RequestLog {
    records: VecDeque<RequestRecord>,
    capacity: usize,
}

impl RequestLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            records: VecDeque::new(),
            capacity,
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.capacity > 0
    }

    pub(crate) fn push(&mut self, record: RequestRecord) {
        if self.capacity == 0 {
            return;
        }
        if self.records.len() >= self.capacity {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }

    pub(crate) fn records(&mut self) -> &[RequestRecord] {
        self.records.make_contiguous()
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }
}
