//! Every metric, defined once: what it is called, what it means, and where its value comes from. The documentation, the iterator
//! and the export are made of this table.

use std::sync::Arc;
use std::time::Duration;

use buffer_actor::{ConsumedCounts, Sampled};
use coordinator_actor::GroupCounts;
use record_batch::TopicPartition;

use super::snapshot::{Metrics, PartitionMetrics};

/// What a metric is, whatever its value.
#[derive(Debug, Clone, Copy)]
pub struct MetricDefinition {
    name: &'static str,
    group: &'static str,
    kind: MetricKind,
    unit: &'static str,
    is_java: bool,
    meaning: &'static str,
    read: Read,
}

/// How a metric's values follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only ever rises, from 0.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// What a metric has a value for, beside the consumer: its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricScope {
    /// `client-id`.
    Client,
    /// `client-id`, `topic`.
    Topic,
    /// `client-id`, `topic`, `partition`.
    Partition,
}

#[derive(Debug, Clone, Copy)]
enum Read {
    Client(fn(&Metrics) -> Option<f64>),
    Group(fn(&GroupCounts) -> Option<f64>),
    Topic(fn(&ConsumedCounts) -> Option<f64>),
    Partition(fn(&PartitionMetrics) -> Option<f64>),
}

impl MetricDefinition {
    /// Its name: the Java client's, if that has it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The group that it belongs to, as Java has it.
    pub const fn group(&self) -> &'static str {
        self.group
    }

    /// Counter or gauge.
    pub const fn kind(&self) -> MetricKind {
        self.kind
    }

    /// In what it is counted.
    pub const fn unit(&self) -> &'static str {
        self.unit
    }

    /// Whether the Java client has it too, under this name and in this group.
    pub const fn is_java(&self) -> bool {
        self.is_java
    }

    /// What it says.
    pub const fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// What it has values for.
    pub const fn scope(&self) -> MetricScope {
        match self.read {
            Read::Client(_) | Read::Group(_) => MetricScope::Client,
            Read::Topic(_) => MetricScope::Topic,
            Read::Partition(_) => MetricScope::Partition,
        }
    }

    /// The names of its tags.
    pub const fn tags(&self) -> &'static [&'static str] {
        match self.scope() {
            MetricScope::Client => &["client-id"],
            MetricScope::Topic => &["client-id", "topic"],
            MetricScope::Partition => &["client-id", "topic", "partition"],
        }
    }
}

/// A metric's value for one consumer, topic or partition.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MetricValue<'a> {
    /// Which metric.
    pub definition: &'static MetricDefinition,
    /// `client.id`, which may be empty.
    pub client_id: &'a str,
    /// Of a metric by topic or partition.
    pub topic: Option<&'a str>,
    /// Of a metric by partition.
    pub partition: Option<i32>,
    /// A finite number. Of what is not known there is no value at all.
    pub value: f64,
}

/// All metrics, in the order of the documentation.
pub const fn definitions() -> &'static [MetricDefinition] {
    DEFINITIONS
}

impl Metrics {
    /// All values that are known, by the names of the Java client (and a few of our own): the same as the fields, in a form that
    /// can be walked over.
    ///
    /// ```no_run
    /// # async fn example(consumer: consumer_app::Consumer) -> consumer_app::Result<()> {
    /// for metric in consumer.metrics().await?.iter() {
    ///     println!("{}/{} {:?} = {}", metric.definition.group(), metric.definition.name(), metric.topic, metric.value);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = MetricValue<'_>> {
        definitions()
            .iter()
            .flat_map(move |definition| self.values_of(definition))
    }

    /// The value of a metric of the whole consumer; `None` if it is not known, or there is none of this name.
    pub fn get(&self, group: &str, name: &str) -> Option<f64> {
        let named = |known: &&MetricDefinition| {
            known.name == name && known.group == group && known.scope() == MetricScope::Client
        };
        let definition = definitions().iter().find(named)?;
        self.values_of(definition).next().map(|value| value.value)
    }

    fn values_of(
        &self,
        definition: &'static MetricDefinition,
    ) -> impl Iterator<Item = MetricValue<'_>> {
        let client = match definition.read {
            Read::Client(read) => read(self).map(|value| (None, None, value)),
            Read::Group(read) => {
                let value = self.group.as_ref().and_then(read);
                value.map(|value| (None, None, value))
            }
            Read::Topic(_) | Read::Partition(_) => None,
        };
        let topics = match definition.read {
            Read::Topic(read) => Some(self.topics.iter().filter_map(
                move |(topic, counts): (&Arc<str>, &ConsumedCounts)| {
                    Some((Some(&**topic), None, read(counts)?))
                },
            )),
            _ => None,
        };
        let partitions = match definition.read {
            Read::Partition(read) => Some(self.partitions.iter().filter_map(
                move |(name, metrics): (&TopicPartition, &PartitionMetrics)| {
                    Some((Some(name.topic()), Some(name.partition()), read(metrics)?))
                },
            )),
            _ => None,
        };
        let values = client
            .into_iter()
            .chain(topics.into_iter().flatten())
            .chain(partitions.into_iter().flatten());
        values.map(move |(topic, partition, value)| MetricValue {
            definition,
            client_id: &self.client_id,
            topic,
            partition,
            value,
        })
    }
}

const FETCH: &str = "consumer-fetch-manager-metrics";
const COORDINATOR: &str = "consumer-coordinator-metrics";
const CONSUMER: &str = "consumer-metrics";

const fn java(
    group: &'static str,
    name: &'static str,
    kind: MetricKind,
    unit: &'static str,
    meaning: &'static str,
    read: Read,
) -> MetricDefinition {
    MetricDefinition {
        name,
        group,
        kind,
        unit,
        is_java: true,
        meaning,
        read,
    }
}

const fn own(
    name: &'static str,
    kind: MetricKind,
    unit: &'static str,
    meaning: &'static str,
    read: Read,
) -> MetricDefinition {
    MetricDefinition {
        name,
        group: FETCH,
        kind,
        unit,
        is_java: false,
        meaning,
        read,
    }
}

fn seconds(time: Duration) -> Option<f64> {
    Some(time.as_secs_f64())
}

fn per_hour(sampled: &Sampled) -> Option<f64> {
    Some(sampled.frequency() * 3600.0)
}

use MetricKind::{Counter, Gauge};
use Read::{Client, Group, Partition, Topic};

#[rustfmt::skip]
static DEFINITIONS: &[MetricDefinition] = &[
    java(FETCH, "records-consumed-total", Counter, "records", "Records that `poll` gave, or that were decoded of `poll_batches`.", Client(|m| Some(m.records_consumed() as f64))),
    java(FETCH, "records-consumed-rate", Gauge, "records/s", "The same per second.", Client(|m| Some(m.records_consumed_rate()))),
    java(FETCH, "bytes-consumed-total", Counter, "bytes", "Size of those records, decompressed.", Client(|m| Some(m.bytes_consumed() as f64))),
    java(FETCH, "bytes-consumed-rate", Gauge, "bytes/s", "The same per second.", Client(|m| Some(m.bytes_consumed_rate()))),
    java(FETCH, "records-per-request-avg", Gauge, "records", "Records given for each response that brought some.", Client(Metrics::records_per_request)),
    java(FETCH, "fetch-total", Counter, "requests", "Fetch requests that were answered, touches included.", Client(|m| Some(m.fetch_responses as f64))),
    java(FETCH, "fetch-rate", Gauge, "requests/s", "The same per second.", Client(|m| Some(m.fetch.latency.frequency()))),
    java(FETCH, "fetch-latency-avg", Gauge, "ms", "From a request to the last byte of its response; a long poll waits at the broker meanwhile.", Client(|m| m.fetch.latency.avg())),
    java(FETCH, "fetch-latency-max", Gauge, "ms", "The longest.", Client(|m| m.fetch.latency.max)),
    java(FETCH, "fetch-size-avg", Gauge, "bytes", "Bytes of records, as they were sent, in a response that brought some. Java: of what was given, decompressed.", Client(|m| m.fetch.size.avg())),
    java(FETCH, "fetch-size-max", Gauge, "bytes", "The largest.", Client(|m| m.fetch.size.max)),
    java(FETCH, "fetch-throttle-time-avg", Gauge, "ms", "For how long a response says that the broker wants no other (KIP-219).", Client(|m| m.fetch.throttle.avg())),
    java(FETCH, "fetch-throttle-time-max", Gauge, "ms", "The longest.", Client(|m| m.fetch.throttle.max)),
    java(FETCH, "records-lag-max", Gauge, "records", "The largest lag of any assigned partition, the present one included.", Client(Metrics::lag_max)),
    java(FETCH, "records-lead-min", Gauge, "records", "The smallest lead of any assigned partition, the present one included.", Client(Metrics::lead_min)),

    java(FETCH, "records-consumed-total", Counter, "records", "As above, by topic.", Topic(|t| Some(t.total.records as f64))),
    java(FETCH, "records-consumed-rate", Gauge, "records/s", "As above, by topic.", Topic(|t| Some(t.recent_records.rate()))),
    java(FETCH, "bytes-consumed-total", Counter, "bytes", "As above, by topic.", Topic(|t| Some(t.total.bytes as f64))),
    java(FETCH, "bytes-consumed-rate", Gauge, "bytes/s", "As above, by topic.", Topic(|t| Some(t.recent_bytes.rate()))),

    java(FETCH, "records-lag", Gauge, "records", "From the position to the end: the high watermark or, with `read_committed`, the last stable offset. Never below 0; none while either is unknown.", Partition(|p| p.lag.map(|lag| lag as f64))),
    java(FETCH, "records-lag-max", Gauge, "records", "The largest after recent polls, the present one included.", Partition(PartitionMetrics::lag_max)),
    java(FETCH, "records-lag-avg", Gauge, "records", "The mean after recent polls that gave something of it.", Partition(|p| p.recent_lag.avg())),
    java(FETCH, "records-lead", Gauge, "records", "From the beginning of the log to the position.", Partition(|p| p.lead.map(|lead| lead as f64))),
    java(FETCH, "records-lead-min", Gauge, "records", "The smallest after recent polls and answers, the present one included.", Partition(PartitionMetrics::lead_min)),
    java(FETCH, "records-lead-avg", Gauge, "records", "The mean after recent polls and answers.", Partition(|p| p.recent_lead.avg())),
    java(FETCH, "preferred-read-replica", Gauge, "node id", "The follower that is read from since it is nearer than the leader (KIP-392); -1 for the leader.", Partition(|p| Some(f64::from(p.preferred_read_replica.unwrap_or(-1))))),

    java(COORDINATOR, "assigned-partitions", Gauge, "partitions", "How many are assigned.", Client(|m| m.group.map(|_| m.partitions.len() as f64))),
    java(COORDINATOR, "commit-total", Counter, "requests", "Commits that were answered.", Group(|g| Some(g.commits.total as f64))),
    java(COORDINATOR, "commit-rate", Gauge, "requests/s", "The same per second.", Group(|g| Some(g.commits.recent.frequency()))),
    java(COORDINATOR, "commit-latency-avg", Gauge, "ms", "From a commit to its answer.", Group(|g| g.commits.recent.avg())),
    java(COORDINATOR, "commit-latency-max", Gauge, "ms", "The longest.", Group(|g| g.commits.recent.max)),
    java(COORDINATOR, "heartbeat-total", Counter, "requests", "Heartbeats that were answered, of either protocol.", Group(|g| Some(g.heartbeats.total as f64))),
    java(COORDINATOR, "heartbeat-rate", Gauge, "requests/s", "The same per second.", Group(|g| Some(g.heartbeats.recent.frequency()))),
    java(COORDINATOR, "heartbeat-response-time-max", Gauge, "ms", "From a heartbeat to its answer, the longest.", Group(|g| g.heartbeats.recent.max)),
    java(COORDINATOR, "last-heartbeat-seconds-ago", Gauge, "s", "Since the last was sent; none before the first (Java: -1).", Group(|g| g.since_heartbeat.and_then(seconds))),
    java(COORDINATOR, "join-total", Counter, "requests", "Joins that succeeded (classic protocol).", Group(|g| Some(g.joins.total as f64))),
    java(COORDINATOR, "join-rate", Gauge, "requests/s", "The same per second.", Group(|g| Some(g.joins.recent.frequency()))),
    java(COORDINATOR, "join-time-avg", Gauge, "ms", "From a JoinGroup to its answer: it waits for the other members.", Group(|g| g.joins.recent.avg())),
    java(COORDINATOR, "join-time-max", Gauge, "ms", "The longest.", Group(|g| g.joins.recent.max)),
    java(COORDINATOR, "sync-total", Counter, "requests", "Assignments received (classic protocol).", Group(|g| Some(g.syncs.total as f64))),
    java(COORDINATOR, "sync-rate", Gauge, "requests/s", "The same per second.", Group(|g| Some(g.syncs.recent.frequency()))),
    java(COORDINATOR, "sync-time-avg", Gauge, "ms", "From a SyncGroup to its answer: it waits for the leader.", Group(|g| g.syncs.recent.avg())),
    java(COORDINATOR, "sync-time-max", Gauge, "ms", "The longest.", Group(|g| g.syncs.recent.max)),
    java(COORDINATOR, "rebalance-total", Counter, "rebalances", "Rebalances that ended with an assignment.", Group(|g| Some(g.rebalances.total as f64))),
    java(COORDINATOR, "rebalance-rate-per-hour", Gauge, "rebalances/h", "The same per hour.", Group(|g| per_hour(&g.rebalances.recent))),
    java(COORDINATOR, "rebalance-latency-avg", Gauge, "ms", "From the first JoinGroup to the assignment (classic), or from a new target to when the application took notice of it (KIP-848).", Group(|g| g.rebalances.recent.avg())),
    java(COORDINATOR, "rebalance-latency-max", Gauge, "ms", "The longest.", Group(|g| g.rebalances.recent.max)),
    java(COORDINATOR, "rebalance-latency-total", Counter, "ms", "All of them together.", Group(|g| Some(g.rebalance_time.as_secs_f64() * 1000.0))),
    java(COORDINATOR, "last-rebalance-seconds-ago", Gauge, "s", "Since the last ended; none before the first (Java: -1).", Group(|g| g.since_rebalance.and_then(seconds))),
    java(COORDINATOR, "failed-rebalance-total", Counter, "rebalances", "Attempts that were refused or not answered. Java counts the first join of every classic member, which is answered with an id (KIP-394), as one.", Group(|g| Some(g.failed_rebalances as f64))),
    java(COORDINATOR, "failed-rebalance-rate-per-hour", Gauge, "rebalances/h", "The same per hour.", Group(|g| per_hour(&g.recent_failed_rebalances))),
    java(COORDINATOR, "partition-assigned-latency-avg", Gauge, "ms", "How long the rebalance listener's `assigned` took.", Client(|m| m.listener.assigned.avg())),
    java(COORDINATOR, "partition-assigned-latency-max", Gauge, "ms", "The longest.", Client(|m| m.listener.assigned.max)),
    java(COORDINATOR, "partition-revoked-latency-avg", Gauge, "ms", "How long its `revoked` took.", Client(|m| m.listener.revoked.avg())),
    java(COORDINATOR, "partition-revoked-latency-max", Gauge, "ms", "The longest.", Client(|m| m.listener.revoked.max)),
    java(COORDINATOR, "partition-lost-latency-avg", Gauge, "ms", "How long its `lost` took.", Client(|m| m.listener.lost.avg())),
    java(COORDINATOR, "partition-lost-latency-max", Gauge, "ms", "The longest.", Client(|m| m.listener.lost.max)),

    java(CONSUMER, "last-poll-seconds-ago", Gauge, "s", "Since the last poll began; none before the first (Java: -1).", Client(|m| m.polls.since_last.and_then(seconds))),
    java(CONSUMER, "time-between-poll-avg", Gauge, "ms", "From the beginning of a poll to that of the next.", Client(|m| m.polls.time_between.avg())),
    java(CONSUMER, "time-between-poll-max", Gauge, "ms", "The longest: `max.poll.interval.ms` is the limit.", Client(|m| m.polls.time_between.max)),
    java(CONSUMER, "poll-idle-ratio-avg", Gauge, "0 to 1", "The share of the time that is spent in `poll`: near 1 the consumer waits for records, near 0 the application takes the time. Java relates the time of a poll to the sum of it and the time since the poll before began.", Client(|m| m.polls.idle_ratio.avg())),

    own("fetch-requests-total", Counter, "requests", "Fetch requests sent, answered or not.", Client(|m| Some(m.fetch_requests as f64))),
    own("session-touches-total", Counter, "requests", "Requests that only kept a fetch session alive.", Client(|m| Some(m.session_touches as f64))),
    own("sessions-lost-total", Counter, "sessions", "Fetch sessions that had to start over: evicted by the broker, or lost with their connection (KAFKA-17182).", Client(|m| Some(m.sessions_lost as f64))),
    own("fetch-connections-total", Counter, "connections", "Connections made for fetching.", Client(|m| Some(m.fetch_connections as f64))),
    own("bytes-received-total", Counter, "bytes", "Bytes of all fetch responses, as they were sent.", Client(|m| Some(m.bytes_received as f64))),
    own("bytes-fetched-per-byte-consumed", Gauge, "ratio", "Bytes that came for each byte of batches that the application used, both as they were sent; 1 is nothing fetched twice or in vain. What is buffered counts as fetched.", Client(Metrics::fetched_per_byte_consumed)),
    own("messages-per-response", Gauge, "ratio", "Messages between the actors for each response that brought records.", Client(Metrics::messages_per_response)),
    own("buffer-memory-used", Gauge, "bytes", "Of `buffer.memory`: reserved, buffered, or alive in the application's hands.", Client(|m| Some(m.memory_used as f64))),
    own("buffer-memory-free", Gauge, "bytes", "The rest of it.", Client(|m| Some(m.memory_limit.saturating_sub(m.memory_used) as f64))),
    own("buffer-memory-kept", Gauge, "bytes", "What the application keeps of it: of whole replies, where it keeps an uncompressed record of one.", Client(|m| Some(m.memory_kept as f64))),
    own("buffer-memory-depleted-seconds-total", Counter, "s", "For how long a request or a reply waited for memory.", Client(|m| seconds(m.budget_depleted))),
    own("read-ahead-depleted-seconds-total", Counter, "s", "For how long a node's fetch session rested since one of its partitions was at its read-ahead credit: the application is slower than the brokers.", Client(|m| seconds(m.credit_depleted))),
    own("unasked-partitions", Gauge, "partitions", "Partitions that could have been fetched for `2 * fetch.max.wait.ms + request.timeout.ms` or longer and had no request: a fault of this client, which a warning names. It should be 0.", Client(|m| Some(m.unasked_partitions as f64))),
    own("replies-discarded-total", Counter, "responses", "Replies that waited too long for memory and were thrown away.", Client(|m| Some(m.discarded_replies as f64))),
    own("paused-fetches-dropped-total", Counter, "fetches", "Buffered fetches of paused partitions that gave way to others when memory was short; they are fetched again.", Client(|m| Some(m.paused_fetches_dropped as f64))),
    own("replies-overdrawn-total", Counter, "responses", "Replies that were read although the budget was full.", Client(|m| Some(m.overdrawn_replies as f64))),
];
