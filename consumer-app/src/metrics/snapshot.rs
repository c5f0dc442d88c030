//! A reading of all counters at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::messages::BufferStatus;
use buffer_actor::{ConsumedCounts, PartitionState, Sampled, SharedState};
use coordinator_actor::GroupCounts;
use record_batch::TopicPartition;
use session_actor::wire::fetch::IsolationLevel;
use session_actor::{FetchSamples, FetchStats};

use super::application::{ApplicationStats, ListenerMetrics, PollMetrics};

/// A reading of a consumer's counters: typed fields here, and all of it under the Java client's names by
/// [`iter`](Self::iter). Totals count since the consumer was made; what is *recent* is of the last 30 to 60 s, as in Java.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Metrics {
    /// `client.id`, which may be empty.
    pub client_id: Arc<str>,
    /// Fetch requests sent, those that only keep a session alive included.
    pub fetch_requests: u64,
    /// Requests that only kept a session alive.
    pub session_touches: u64,
    /// Fetch responses that were read.
    pub fetch_responses: u64,
    /// Responses that brought records.
    pub data_bearing_responses: u64,
    /// Bytes of all fetch responses as they came over the wire.
    pub bytes_received: u64,
    /// What recent responses were like.
    pub fetch: FetchSamples,
    /// Fetch sessions that had to start over: evicted by the broker, or lost with their connection.
    pub sessions_lost: u64,
    /// Connections made for fetching.
    pub fetch_connections: u64,
    /// Bytes of `buffer.memory` in use: reserved, buffered, or alive in the application's hands.
    pub memory_used: u64,
    /// Bytes of `buffer.memory`.
    pub memory_limit: u64,
    /// Bytes of it that the application keeps: of whole replies, where it keeps an uncompressed record of one.
    pub memory_kept: u64,
    /// For how long a request or a reply waited for memory: the consumer holds all that it may.
    pub budget_depleted: Duration,
    /// For how long a node's session was at rest since one of its partitions was at its read-ahead credit.
    pub credit_depleted: Duration,
    /// Partitions that were fetchable for `2 * fetch.max.wait.ms + request.timeout.ms` or longer and had no request: a fault of this
    /// client, which a warning names. 0 is what it should be.
    pub unasked_partitions: usize,
    /// Messages delivered to the mailboxes of buffer, planner and sessions.
    pub messages: u64,
    /// Replies that waited too long for memory and were thrown away.
    pub discarded_replies: u64,
    /// Completed fetches of paused partitions that were dropped for the sake of others.
    pub paused_fetches_dropped: u64,
    /// Replies that were read although the budget was full.
    pub overdrawn_replies: u64,
    /// What the application was given, by topic, those included that are not assigned any more.
    pub topics: BTreeMap<Arc<str>, ConsumedCounts>,
    /// How far the application is in what is assigned.
    pub partitions: BTreeMap<TopicPartition, PartitionMetrics>,
    /// How the application polls.
    pub polls: PollMetrics,
    /// How long its rebalance listener takes.
    pub listener: ListenerMetrics,
    /// What the coordinator did; `None` without `group.id`.
    pub group: Option<GroupCounts>,
}

/// How far the application is in an assigned partition.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PartitionMetrics {
    /// Records between the position and the end that a reader of this isolation level can reach; never below 0. `None` before a
    /// broker told the end, or while the position is being looked up.
    pub lag: Option<i64>,
    /// Records between the beginning of the log and the position; never below 0. `None` as for the lag.
    pub lead: Option<i64>,
    /// The node id of the follower that is read from in place of the leader, if one is (KIP-392).
    pub preferred_read_replica: Option<i32>,
    /// The lag after recent polls that gave something.
    pub recent_lag: Sampled,
    /// The lead after recent polls and answers.
    pub recent_lead: Sampled,
}

impl PartitionMetrics {
    fn read(state: &PartitionState, isolation: IsolationLevel, now: Instant) -> Self {
        // the position first: an end that is told meanwhile is further on (F067)
        let position = state.offsets().given;
        let end = match isolation {
            IsolationLevel::ReadCommitted => state.last_stable_offset(),
            IsolationLevel::ReadUncommitted => state.high_watermark(),
        };
        let start = state.log_start_offset();
        let recent = state.lags(now);
        let lag = position.filter(|_| end >= 0);
        let lead = position.filter(|_| start >= 0);
        Self {
            lag: lag.map(|position| end.saturating_sub(position.max(start)).max(0)),
            lead: lead.map(|position| position.saturating_sub(start).max(0)),
            preferred_read_replica: state.read_replica().map(|node| node.0),
            recent_lag: recent.lag,
            recent_lead: recent.lead,
        }
    }

    /// The largest lag of the last minute, the present one included.
    pub fn lag_max(&self) -> Option<f64> {
        let present = self.lag.map(|lag| lag as f64);
        present
            .into_iter()
            .chain(self.recent_lag.max)
            .reduce(f64::max)
    }

    /// The smallest lead of the last minute, the present one included.
    pub fn lead_min(&self) -> Option<f64> {
        let present = self.lead.map(|lead| lead as f64);
        present
            .into_iter()
            .chain(self.recent_lead.min)
            .reduce(f64::min)
    }
}

/// Where a reading comes from.
pub(crate) struct Sources {
    pub(crate) client_id: Arc<str>,
    pub(crate) isolation: IsolationLevel,
    pub(crate) stats: Arc<FetchStats>,
    pub(crate) shared: SharedState,
    pub(crate) application: ApplicationStats,
}

impl Sources {
    pub(crate) fn read(
        self,
        now: Instant,
        buffer: &BufferStatus,
        planner_messages: u64,
        group: Option<GroupCounts>,
    ) -> Metrics {
        let fetch = self.stats.counts();
        let topics = self.shared.consumed().into_iter();
        let partitions = self.shared.all().into_iter();
        Metrics {
            client_id: self.client_id,
            fetch_requests: fetch.requests,
            session_touches: fetch.touches,
            fetch_responses: fetch.responses,
            data_bearing_responses: fetch.responses_with_data,
            bytes_received: fetch.bytes_received,
            fetch: self.stats.recent(now),
            sessions_lost: fetch.sessions_lost,
            fetch_connections: fetch.connections,
            memory_used: buffer.memory_used,
            memory_limit: buffer.memory_limit,
            memory_kept: buffer.memory_kept,
            budget_depleted: buffer.budget_depleted,
            credit_depleted: buffer.credit_depleted,
            unasked_partitions: buffer.unasked,
            messages: buffer.messages + planner_messages + fetch.messages,
            discarded_replies: buffer.counters.discarded_replies,
            paused_fetches_dropped: buffer.counters.dropped_paused,
            overdrawn_replies: buffer.counters.overdrawn_replies,
            topics: topics
                .map(|(topic, counts)| (topic, counts.read(now)))
                .collect(),
            partitions: partitions
                .map(|state| {
                    let metrics = PartitionMetrics::read(&state, self.isolation, now);
                    (state.name().clone(), metrics)
                })
                .collect(),
            polls: self.application.polls(now),
            listener: self.application.listener(now),
            group,
        }
    }
}

impl Metrics {
    fn sum(&self, of: impl Fn(&ConsumedCounts) -> f64) -> f64 {
        self.topics.values().map(of).sum()
    }

    /// Records that the application was given.
    pub fn records_consumed(&self) -> u64 {
        self.topics.values().map(|topic| topic.total.records).sum()
    }

    /// Bytes of those records, decompressed.
    pub fn bytes_consumed(&self) -> u64 {
        self.topics.values().map(|topic| topic.total.bytes).sum()
    }

    /// Bytes that came over the wire for each byte of batches that the application used; 1 is a consumer that fetches nothing
    /// twice and nothing in vain. `None` before the first. Both are counted as they were sent, compressed or not; what is
    /// buffered counts as fetched already.
    pub fn fetched_per_byte_consumed(&self) -> Option<f64> {
        let used = self.sum(|topic| topic.total.fetched_bytes as f64);
        (used > 0.0).then(|| self.bytes_received as f64 / used)
    }

    /// Messages between the actors for each response that brought records; `None` before the first.
    pub fn messages_per_response(&self) -> Option<f64> {
        let responses = self.data_bearing_responses;
        (responses > 0).then(|| self.messages as f64 / responses as f64)
    }

    pub(super) fn records_consumed_rate(&self) -> f64 {
        self.sum(|topic| topic.recent_records.rate())
    }

    pub(super) fn bytes_consumed_rate(&self) -> f64 {
        self.sum(|topic| topic.recent_bytes.rate())
    }

    /// Records of the last minute for each of its responses that brought some.
    pub(super) fn records_per_request(&self) -> Option<f64> {
        let records = self.sum(|topic| topic.recent_records.sum);
        let responses = self.fetch.size.count;
        (responses > 0).then(|| records / responses as f64)
    }

    pub(super) fn lag_max(&self) -> Option<f64> {
        let partitions = self.partitions.values();
        partitions
            .filter_map(PartitionMetrics::lag_max)
            .reduce(f64::max)
    }

    pub(super) fn lead_min(&self) -> Option<f64> {
        let partitions = self.partitions.values();
        partitions
            .filter_map(PartitionMetrics::lead_min)
            .reduce(f64::min)
    }
}
