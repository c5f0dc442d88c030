use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use uuid::Uuid;

use super::SessionCache;
use super::session::{FetchParameters, Identity, PartitionKey, SessionPartition, next_epoch};

/// Session id of an answer without a session.
const NO_SESSION: i32 = 0;
/// Epoch of a request for a full answer and a new session.
const INITIAL_EPOCH: i32 = 0;
/// Epoch of a request for a full answer and no session.
const FINAL_EPOCH: i32 = -1;

/// The session fields of a Fetch request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchMetadata {
    pub(crate) session_id: i32,
    pub(crate) epoch: i32,
    /// Whether the request comes from a follower.
    pub(crate) privileged: bool,
    /// Whether it names topics by id: version 13 and later.
    pub(crate) uses_topic_ids: bool,
}

/// How a Fetch request is to be answered.
#[derive(Debug)]
pub(crate) enum FetchContext {
    /// With a top-level error and no partition.
    Error(ResponseError),
    /// With all partitions and no session.
    Sessionless(Vec<(PartitionKey, FetchParameters)>),
    /// With all partitions, and a new session if the cache grants one.
    Full {
        metadata: FetchMetadata,
        partitions: Vec<(PartitionKey, FetchParameters)>,
    },
    /// With the partitions of a session that have something to tell.
    Incremental { session_id: i32, next_epoch: i32 },
}

/// What reading one partition brought, as far as sessions are concerned.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) key: PartitionKey,
    pub(crate) has_records: bool,
    pub(crate) high_watermark: i64,
    pub(crate) log_start_offset: i64,
    pub(crate) error: bool,
    /// A preferred read replica (KIP-392) or a diverging epoch is told.
    pub(crate) hint: bool,
}

/// The session fields of the answer, and which outcomes it names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) error: Option<ResponseError>,
    pub(crate) session_id: i32,
    /// Parallel to the outcomes.
    pub(crate) named: Vec<bool>,
}

impl Answer {
    pub(super) fn empty(error: Option<ResponseError>, session_id: i32) -> Self {
        Self {
            error,
            session_id,
            named: Vec::new(),
        }
    }
}

impl SessionCache {
    /// Takes a request in: changes and touches its session, or removes it. `named` and `forgotten` are what the
    /// request says about partitions.
    pub(crate) fn begin(
        &mut self,
        metadata: FetchMetadata,
        mut named: Vec<(PartitionKey, FetchParameters)>,
        forgotten: &[PartitionKey],
        now: Duration,
    ) -> FetchContext {
        if matches!(metadata.epoch, INITIAL_EPOCH | FINAL_EPOCH) {
            if metadata.session_id != NO_SESSION {
                self.remove(metadata.session_id);
            }
            drop_repeated(&mut named);
            return match metadata.epoch {
                FINAL_EPOCH => FetchContext::Sessionless(named),
                _ => FetchContext::Full {
                    metadata,
                    partitions: named,
                },
            };
        }
        let session_id = metadata.session_id;
        let Some(session) = self.session_mut(session_id) else {
            return FetchContext::Error(ResponseError::FetchSessionIdNotFound);
        };
        if session.epoch != metadata.epoch {
            return FetchContext::Error(ResponseError::InvalidFetchSessionEpoch);
        }
        if session.uses_topic_ids != metadata.uses_topic_ids {
            return FetchContext::Error(ResponseError::FetchSessionTopicIdError);
        }
        for (key, parameters) in &named {
            session.update(key.clone(), *parameters);
        }
        for key in forgotten {
            session.forget(&key.identity());
        }
        if session.len() == 0 {
            self.remove(session_id);
            drop_repeated(&mut named);
            return FetchContext::Sessionless(named);
        }
        let next_epoch = next_epoch(session.epoch);
        session.epoch = next_epoch;
        if let Some(shard) = self.shard_mut(session_id) {
            shard.touch(session_id, now);
        }
        FetchContext::Incremental {
            session_id,
            next_epoch,
        }
    }

    /// The partitions to read, in order: that of the request, or that of the session, whose names are resolved as far
    /// as they were not.
    pub(crate) fn partitions(
        &mut self,
        context: &FetchContext,
        resolve: impl Fn(Uuid) -> Option<Arc<str>>,
    ) -> Vec<(PartitionKey, FetchParameters)> {
        match context {
            FetchContext::Error(_) => Vec::new(),
            FetchContext::Sessionless(partitions) | FetchContext::Full { partitions, .. } => {
                partitions.clone()
            }
            FetchContext::Incremental { session_id, .. } => {
                let Some(session) = self.session_mut(*session_id) else {
                    return Vec::new();
                };
                session
                    .partitions_mut()
                    .map(|partition| {
                        if partition.key.topic.is_none() {
                            partition.key.topic = resolve(partition.key.topic_id);
                        }
                        (partition.key.clone(), partition.parameters)
                    })
                    .collect()
            }
        }
    }

    /// Decides what the answer names and remembers what the client is told with it.
    pub(crate) fn answer(
        &mut self,
        context: &FetchContext,
        outcomes: &[Outcome],
        now: Duration,
    ) -> Answer {
        let all = |session_id| Answer {
            error: None,
            session_id,
            named: vec![true; outcomes.len()],
        };
        match context {
            FetchContext::Error(error) => Answer::empty(Some(*error), NO_SESSION),
            FetchContext::Sessionless(_) => all(NO_SESSION),
            FetchContext::Full {
                metadata,
                partitions,
            } => {
                let cached = cached_partitions(partitions, outcomes);
                let (privileged, ids) = (metadata.privileged, metadata.uses_topic_ids);
                let session = self.create(privileged, ids, cached, now);
                all(session.unwrap_or(NO_SESSION))
            }
            FetchContext::Incremental {
                session_id,
                next_epoch,
            } => self.answer_incremental(*session_id, *next_epoch, outcomes),
        }
    }

    fn answer_incremental(
        &mut self,
        session_id: i32,
        next_epoch: i32,
        outcomes: &[Outcome],
    ) -> Answer {
        let mut named = Vec::with_capacity(outcomes.len());
        let Some(session) = self.session_mut(session_id) else {
            // evicted while the request waited: it is answered all the same, the next one learns of it
            named.extend(outcomes.iter().map(|o| o.has_records || o.error || o.hint));
            return Answer {
                error: None,
                session_id,
                named,
            };
        };
        if session.epoch != next_epoch {
            let error = ResponseError::InvalidFetchSessionEpoch;
            return Answer::empty(Some(error), session_id);
        }
        for outcome in outcomes {
            let identity = outcome.key.identity();
            let Some(partition) = session.get_mut(&identity) else {
                named.push(false);
                continue;
            };
            let news = partition.tell(outcome);
            named.push(news);
            if news && outcome.has_records {
                session.move_to_end(&identity);
            }
        }
        Answer {
            error: None,
            session_id,
            named,
        }
    }

    /// The answer to a throttled client: empty. The epoch of its session is consumed (KIP-219).
    pub(crate) fn answer_throttled(&self, context: &FetchContext) -> Answer {
        match context {
            FetchContext::Incremental {
                session_id,
                next_epoch,
            } => {
                let raced = self
                    .session(*session_id)
                    .is_some_and(|session| session.epoch != *next_epoch);
                let error = raced.then_some(ResponseError::InvalidFetchSessionEpoch);
                Answer::empty(error, *session_id)
            }
            _ => Answer::empty(None, NO_SESSION),
        }
    }
}

/// A partition that a request names twice counts once: at its first place, with its last parameters.
fn drop_repeated(named: &mut Vec<(PartitionKey, FetchParameters)>) {
    let mut places: HashMap<Identity, usize> = HashMap::with_capacity(named.len());
    let mut kept: Vec<(PartitionKey, FetchParameters)> = Vec::with_capacity(named.len());
    for (key, parameters) in named.drain(..) {
        let place = *places.entry(key.identity()).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(first) => first.1 = parameters,
            None => kept.push((key, parameters)),
        }
    }
    *named = kept;
}

/// The partitions of a new session: in the order of the answer, with the values of that answer.
fn cached_partitions(
    partitions: &[(PartitionKey, FetchParameters)],
    outcomes: &[Outcome],
) -> Vec<SessionPartition> {
    let parameters: HashMap<_, _> = partitions
        .iter()
        .map(|(key, parameters)| (key.identity(), *parameters))
        .collect();
    outcomes
        .iter()
        .filter_map(|outcome| {
            Some(SessionPartition {
                key: outcome.key.clone(),
                parameters: *parameters.get(&outcome.key.identity())?,
                high_watermark: outcome.high_watermark,
                log_start_offset: outcome.log_start_offset,
            })
        })
        .collect()
}

impl SessionPartition {
    /// Whether there is something to tell the client; remembers what it is told.
    fn tell(&mut self, outcome: &Outcome) -> bool {
        let mut news = outcome.has_records || outcome.hint;
        if self.high_watermark != outcome.high_watermark {
            self.high_watermark = outcome.high_watermark;
            news = true;
        }
        if self.log_start_offset != outcome.log_start_offset {
            self.log_start_offset = outcome.log_start_offset;
            news = true;
        }
        if outcome.error {
            // so that the partition is named again when the error is gone
            self.high_watermark = -1;
            news = true;
        }
        news
    }
}
