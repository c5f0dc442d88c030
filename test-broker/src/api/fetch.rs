//! Fetch: reads partitions, waits for data, answers within a session (KIP-227).

mod answer;
mod delayed;
mod encode;
mod read;

use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use uuid::Uuid;

use super::{RequestContext, Step};
use crate::cluster::{Cluster, PartitionId};
use crate::log::Isolation;
use crate::session_cache::{FetchContext, FetchMetadata, FetchParameters, PartitionKey};
use crate::wire::Payload;

pub(crate) use delayed::DelayedFetch;
use encode::{FetchAnswer, Named};
use read::PartitionRead;

/// Topics go by id from here on (KIP-516).
const TOPIC_IDS: i16 = 13;
/// Followers answer consumers from here on (KIP-392).
const FOLLOWER_FETCHING: i16 = 11;
/// Leaders other than this node are told from here on (KIP-951).
const LEADER_HINTS: i16 = 16;
/// Before that, answers have no error code at the top, and there are no sessions.
const SESSIONS: i16 = 7;

/// A Fetch request that was taken in: its session is changed, its partitions are known.
#[derive(Debug)]
pub(super) struct Fetch {
    context: RequestContext,
    session: FetchContext,
    partitions: Vec<Asked>,
    /// The smaller of what the request and the broker allow.
    max_bytes: i32,
    min_bytes: usize,
    max_wait: Duration,
    isolation: Isolation,
    rack: String,
}

/// A partition to read.
#[derive(Debug)]
struct Asked {
    key: PartitionKey,
    parameters: FetchParameters,
    standing: Standing,
}

/// What is known of a partition before it is read.
#[derive(Debug)]
enum Standing {
    /// It is read, and waited for.
    Readable(PartitionId),
    /// It is answered with an error code that does not keep the request from waiting for others.
    Failed(i16),
    /// A fault answers it.
    Injected(Injected),
}

#[derive(Debug)]
enum Injected {
    Error(i16),
    Records(bytes::Bytes),
}

pub(super) fn handle(
    cluster: &mut Cluster,
    context: &RequestContext,
    request: &FetchRequest,
) -> Step {
    if let Some(forced) = context.forced_at_top() {
        let error = forced.error.code();
        if context.version >= SESSIONS {
            return Step::Answer(encode::error_frame(context, error));
        }
    }
    let Some(isolation) = Isolation::from_level(request.isolation_level) else {
        return Step::Answer(refuse(context, request, ResponseError::UnknownServerError));
    };
    let fetch = Fetch::begin(cluster, context, request, isolation);
    let reads = fetch.read(cluster);
    let size: usize = reads.iter().map(|read| read.data.size).sum();
    let at_once = fetch.max_wait.is_zero()
        || size >= fetch.min_bytes
        || fetch.partitions.iter().all(Asked::is_failed)
        || reads.iter().any(|read| read.urgent);
    if at_once {
        return Step::Answer(fetch.answer(cluster, reads));
    }
    let delayed = DelayedFetch::new(fetch, &reads);
    if delayed.is_complete(cluster) {
        Step::Answer(delayed.answer(cluster))
    } else {
        Step::Wait(Box::new(delayed))
    }
}

impl Asked {
    /// Whether there is nothing to wait for.
    fn is_failed(&self) -> bool {
        matches!(self.standing, Standing::Failed(_))
    }
}

impl Fetch {
    fn begin(
        cluster: &mut Cluster,
        context: &RequestContext,
        request: &FetchRequest,
        isolation: Isolation,
    ) -> Self {
        let uses_topic_ids = context.version >= TOPIC_IDS;
        let named = named_partitions(cluster, request, uses_topic_ids);
        let forgotten = forgotten_partitions(cluster, request, uses_topic_ids);
        let replica = match context.version {
            ..15 => request.replica_id.0,
            _ => request.replica_state.replica_id.0,
        };
        let metadata = FetchMetadata {
            session_id: request.session_id,
            epoch: request.session_epoch,
            privileged: replica >= 0,
            uses_topic_ids,
        };
        let topics = &cluster.topics;
        let (session, partitions) = match cluster.nodes.get_mut(&context.node) {
            Some(node) => {
                let cache = &mut node.sessions;
                let session = cache.begin(metadata, named, &forgotten, context.now);
                let partitions =
                    cache.partitions(&session, |id| topics.name_of(id).map(Arc::clone));
                (session, partitions)
            }
            None => (FetchContext::Sessionless(Vec::new()), Vec::new()),
        };
        let partitions = partitions
            .into_iter()
            .map(|(key, parameters)| Asked {
                standing: standing(cluster, context, &key),
                key,
                parameters,
            })
            .collect();
        let max_bytes = request.max_bytes.min(cluster.settings.fetch_max_bytes);
        Self {
            context: context.clone(),
            session,
            partitions,
            max_bytes,
            min_bytes: usize::try_from(request.min_bytes.min(max_bytes)).unwrap_or(0),
            max_wait: Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)),
            isolation,
            rack: request.rack_id.to_string(),
        }
    }
}

/// An error of the request as a whole: at the top where the version has a place for it, and before topic ids at each
/// partition too.
fn refuse(context: &RequestContext, request: &FetchRequest, error: ResponseError) -> Payload {
    let by_name = context.version < TOPIC_IDS;
    let topics = request.topics.iter().filter(|_| by_name);
    let partitions = topics.flat_map(|topic| {
        let name: Arc<str> = Arc::from(topic.topic.as_str());
        topic.partitions.iter().map(move |asked| Named {
            topic: Arc::clone(&name),
            topic_id: topic.topic_id,
            partition: asked.partition,
            read: PartitionRead::unread(error.code()),
            current_leader: None,
        })
    });
    let answer = FetchAnswer {
        error: error.code(),
        session_id: request.session_id,
        partitions: partitions.collect(),
        endpoints: Vec::new(),
    };
    answer.into_frame(context)
}

fn standing(cluster: &mut Cluster, context: &RequestContext, key: &PartitionKey) -> Standing {
    let Some(name) = key.topic.as_deref() else {
        return Standing::Failed(ResponseError::UnknownTopicId.code());
    };
    if let Some(forced) = context.forced_at(name, key.partition) {
        return Standing::Injected(Injected::Error(forced.error.code()));
    }
    let records = cluster
        .faults
        .records_for(context.node, name, key.partition);
    if let Some(records) = records {
        return Standing::Injected(Injected::Records(records));
    }
    let topic = cluster.topics.get(name);
    match topic.filter(|topic| topic.partition(key.partition).is_some()) {
        Some(topic) => Standing::Readable((topic.id, key.partition)),
        None => Standing::Failed(ResponseError::UnknownTopicOrPartition.code()),
    }
}

fn key(cluster: &Cluster, name: &str, id: Uuid, partition: i32, by_id: bool) -> PartitionKey {
    let topic = match by_id {
        true => cluster.topics.name_of(id).map(Arc::clone),
        false => match cluster.topics.get(name) {
            Some(topic) => Some(Arc::clone(&topic.name)),
            None => Some(Arc::from(name)),
        },
    };
    PartitionKey {
        topic,
        topic_id: id,
        partition,
    }
}

fn named_partitions(
    cluster: &Cluster,
    request: &FetchRequest,
    by_id: bool,
) -> Vec<(PartitionKey, FetchParameters)> {
    let mut named = Vec::new();
    for topic in &request.topics {
        for asked in &topic.partitions {
            let key = key(
                cluster,
                &topic.topic,
                topic.topic_id,
                asked.partition,
                by_id,
            );
            let parameters = FetchParameters {
                fetch_offset: asked.fetch_offset,
                max_bytes: asked.partition_max_bytes,
                // Fetch takes any negative epoch for none
                current_leader_epoch: asked.current_leader_epoch.max(-1),
                last_fetched_epoch: asked.last_fetched_epoch.max(-1),
            };
            named.push((key, parameters));
        }
    }
    named
}

fn forgotten_partitions(
    cluster: &Cluster,
    request: &FetchRequest,
    by_id: bool,
) -> Vec<PartitionKey> {
    let topics = request.forgotten_topics_data.iter();
    topics
        .flat_map(|topic| {
            let partitions = topic.partitions.iter();
            partitions.map(|p| key(cluster, &topic.topic, topic.topic_id, *p, by_id))
        })
        .collect()
}
