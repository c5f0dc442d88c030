//! The decisions of metadata: what to ask, what an answer changes, what the application must hear. No clock, no I/O.

mod epochs;
mod merge;
mod offsets;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Backoff, EpochAnswer, FetchEpoch, Lookup, NodeId, PartitionError, PartitionId};
use record_batch::TopicPartition;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};
use session_actor::{ClusterSnapshot, WatchTopics};

use super::listing::{Answer, Listings};
use super::lookups::{Api, Asked, Asker, Lookups, Wanted};
use super::queries::{Ended, Listed, OffsetsUnknown, Queries, QueryId};
use super::refresh::Refresh;
use super::topic_ids::TopicIds;
use super::troubles::{REPORT_AFTER, Troubles};
use super::turns::{Kind, Topics, Turns};
use super::view::View;
use super::watch::Watch;
use crate::offsets::{ListedOffset, OffsetSpec};

/// So often in a row a broker must be of no use before the application hears of it: one broken answer is no news.
const FAILURES_BEFORE_TOLD: u32 = 3;

/// What metadata needs to know of the configuration. Names are those of the Java client's keys.
#[derive(Debug, Clone)]
pub(crate) struct MetadataConfig {
    /// `bootstrap.servers`.
    pub(crate) bootstrap: Vec<Address>,
    /// `metadata.recovery.strategy` and `metadata.recovery.rebootstrap.trigger.ms`: begin again with them when no known broker answers
    /// (KIP-899), and before any is asked when none has for so long (KIP-1102). `None`: never.
    pub(crate) rebootstrap: Option<Duration>,
    /// `retry.backoff.ms` and `.max.ms`.
    pub(crate) retry: Backoff,
    /// `reconnect.backoff.ms` and `.max.ms`.
    pub(crate) reconnect: Backoff,
    /// `request.timeout.ms`.
    pub(crate) request_timeout: Duration,
    /// `default.api.timeout.ms`.
    pub(crate) api_timeout: Duration,
    /// `metadata.max.age.ms`.
    pub(crate) max_age: Duration,
}

/// The answer of a broker for one partition of a ListOffsets request; `None` if there is no such offset.
pub(crate) type Offset = Result<Option<ListedOffset>, ErrorCode>;

/// The answer of a broker for one partition of an OffsetForLeaderEpoch request.
pub(crate) type End = Result<EpochAnswer, ErrorCode>;

/// What the shell must ask or tell.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    /// Ask this peer for metadata of these topics.
    AskMetadata {
        peer: Peer,
        topics: Topics,
        /// Those that do not exist may be created (`allow.auto.create.topics`).
        may_create: bool,
        limit: Duration,
    },
    /// Ask this leader for offsets.
    AskOffsets { peer: Peer, asked: Vec<Asked> },
    /// Ask this leader where epochs end.
    AskEpochs { peer: Peer, asked: Vec<Asked> },
    /// To Fetch and everyone who looks: this is the cluster now.
    Publish(Arc<ClusterSnapshot>),
    /// To the buffer.
    Found(Vec<(PartitionId, FetchEpoch, i64)>),
    /// To the buffer.
    EpochsEnd(Vec<(PartitionId, FetchEpoch, EpochAnswer)>),
    /// To the buffer: this topic was deleted and created again, and these are its partitions.
    Recreated(Arc<str>, Vec<PartitionId>),
    /// To the buffer: tell the application.
    Report(TopicPartition, PartitionError),
    /// To the application: no broker was reachable for `default.api.timeout.ms`, or what answers is no broker.
    Unreachable(WireError),
    /// To the application: a broker is reached and cannot be used.
    Unusable(WireError),
    /// To whoever asked for offsets.
    Listed(QueryId, Result<Listed, OffsetsUnknown>),
    /// To those who asked for all topics.
    Topics(Vec<QueryId>, Answer),
    /// To whoever asked: how many partitions a topic has, or why that is not known.
    Partitions(Arc<str>, Result<usize, PartitionsUnknown>),
    /// For the log.
    Missing(Arc<str>, ErrorCode),
}

/// Why the partitions of a topic are not known.
#[derive(Debug, Clone)]
pub(crate) enum PartitionsUnknown {
    /// The brokers say so.
    Refused(ErrorCode),
    /// No broker could be asked.
    Unreachable(WireError),
}

/// Somebody wants to know a topic's partitions.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// No longer than until then.
    until: Instant,
    /// No longer than until then once the brokers said that there is no such topic.
    unknown_until: Option<Instant>,
    error: ErrorCode,
}

/// See the [module's documentation](super).
#[derive(Debug)]
pub(super) struct MetadataMachine {
    config: MetadataConfig,
    snapshot: Arc<ClusterSnapshot>,
    assigned: BTreeMap<PartitionId, TopicPartition>,
    /// Topics that somebody asked about, and until when.
    questions: BTreeMap<Arc<str>, Question>,
    /// Topics and partitions that metadata does not show.
    troubles: Troubles,
    topic_ids: TopicIds,
    watch: Watch,
    turns: Turns,
    refresh: Refresh,
    lookups: Lookups,
    queries: Queries,
    listings: Listings,
    refreshed: Option<Instant>,
    /// Since when nobody could be reached, while somebody is wanted.
    silent_since: Option<Instant>,
    last_error: Option<WireError>,
    /// Lookups in a row that failed on the way.
    failed_lookups: u32,
    /// Of a broker that cannot be used the application need not hear again before.
    told_unusable: Option<Instant>,
}

impl MetadataMachine {
    pub(super) fn new(config: MetadataConfig, seed: u64) -> Self {
        Self {
            refresh: Refresh::new(config.retry, config.reconnect, config.request_timeout, seed),
            lookups: Lookups::new(config.retry, seed),
            queries: Queries::default(),
            listings: Listings::default(),
            config,
            snapshot: Arc::default(),
            assigned: BTreeMap::new(),
            questions: BTreeMap::new(),
            troubles: Troubles::default(),
            topic_ids: TopicIds::default(),
            watch: Watch::default(),
            turns: Turns::default(),
            refreshed: None,
            silent_since: None,
            last_error: None,
            failed_lookups: 0,
            told_unusable: None,
        }
    }

    #[cfg(test)]
    pub(super) fn snapshot(&self) -> Arc<ClusterSnapshot> {
        Arc::clone(&self.snapshot)
    }

    #[cfg(test)]
    pub(super) const fn config(&self) -> &MetadataConfig {
        &self.config
    }

    /// The assignment changed: topics that were not known are asked for.
    pub(super) fn assignment(
        &mut self,
        now: Instant,
        added: Vec<(PartitionId, TopicPartition)>,
        removed: &[PartitionId],
        effects: &mut Vec<Effect>,
    ) {
        for id in removed {
            self.lookups.remove_position(*id);
            if let Some(name) = self.assigned.remove(id) {
                self.troubles.remove(&name);
            }
        }
        for (id, name) in added {
            if self
                .snapshot
                .leader(name.topic(), name.partition())
                .is_none()
            {
                self.turns.want(Kind::Names);
            }
            self.assigned.insert(id, name);
        }
        self.act(now, effects);
    }

    /// A group needs to know these, in place of those of before.
    pub(super) fn watch(&mut self, now: Instant, topics: WatchTopics, effects: &mut Vec<Effect>) {
        let former = self.watch.topics();
        let (lists, listed) = (topics.all && !former.all, former.all && !topics.all);
        if lists {
            self.turns.want(Kind::All);
        } else if !topics.names.is_subset(&former.names) {
            self.turns.want(Kind::Names);
        }
        self.watch.replace(topics);
        let mut next = ClusterSnapshot::clone(&self.snapshot);
        if listed {
            let wanted = self.names();
            next.topics
                .retain(|name, _| wanted.binary_search(name).is_ok());
        }
        self.publish(next, effects);
        self.act(now, effects);
    }

    /// Somebody met a sign that leaders, addresses or ids have changed.
    pub(super) fn stale(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.turns.want(Kind::Names);
        self.act(now, effects);
    }

    /// As [`stale`](Self::stale), of a node that may not answer.
    pub(super) fn stale_at(&mut self, now: Instant, node: NodeId, effects: &mut Vec<Effect>) {
        if let Some(address) = self.snapshot.brokers.get(&node) {
            self.refresh.doubt(address.clone());
        }
        self.stale(now, effects);
    }

    /// Somebody wants to know how many partitions a topic has.
    pub(super) fn ask_partitions(
        &mut self,
        now: Instant,
        topic: Arc<str>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(known) = self.snapshot.topics.get(&topic) {
            effects.push(Effect::Partitions(topic, Ok(known.partitions.len())));
            return;
        }
        let until = now + self.config.api_timeout;
        let question = Question {
            until,
            unknown_until: None,
            error: ErrorCode::LEADER_NOT_AVAILABLE,
        };
        self.questions.entry(topic).or_insert(question).until = until;
        self.turns.want(Kind::Names);
        self.act(now, effects);
    }

    /// Tells everybody who waits for a broker that there is none.
    fn unreachable(&mut self, error: WireError, effects: &mut Vec<Effect>) {
        for topic in std::mem::take(&mut self.questions).into_keys() {
            let why = PartitionsUnknown::Unreachable(error.clone());
            effects.push(Effect::Partitions(topic, Err(why)));
        }
        let ended = self.queries.unreachable(&error);
        self.end_queries(ended, effects);
        end_listings(self.listings.end(), Some(error.clone()), effects);
        effects.push(Effect::Unreachable(error));
    }

    /// Leaders are to be asked.
    pub(super) fn look_up(
        &mut self,
        now: Instant,
        lookups: Vec<Lookup>,
        effects: &mut Vec<Effect>,
    ) {
        for lookup in lookups {
            self.lookups.insert(lookup.into());
        }
        self.act(now, effects);
    }

    /// The application wants to know offsets; `wanted` is not empty.
    pub(super) fn list_offsets(
        &mut self,
        now: Instant,
        id: QueryId,
        wanted: BTreeMap<TopicPartition, OffsetSpec>,
        effects: &mut Vec<Effect>,
    ) {
        let until = now + self.config.api_timeout;
        self.queries.begin(id, until, wanted.keys().cloned());
        for (name, spec) in wanted {
            self.lookups.insert(Asked {
                asker: Asker::Query(id),
                name,
                wanted: Wanted::Offset(spec),
                leader_epoch: -1,
            });
        }
        self.act(now, effects);
    }

    /// The application wants to know all topics.
    pub(super) fn list_topics(&mut self, now: Instant, id: QueryId, effects: &mut Vec<Effect>) {
        self.listings.begin(id, now + self.config.api_timeout);
        self.turns.want(Kind::All);
        self.act(now, effects);
    }

    fn end_queries(&mut self, ended: impl IntoIterator<Item = Ended>, effects: &mut Vec<Effect>) {
        for (id, result) in ended {
            self.lookups.remove_query(id);
            effects.push(Effect::Listed(id, result));
        }
    }

    /// A request for metadata ended.
    pub(super) fn refreshed(
        &mut self,
        now: Instant,
        result: Result<View, WireError>,
        effects: &mut Vec<Effect>,
    ) {
        match result {
            Ok(view) => {
                self.reachable();
                self.refreshed = Some(now);
                let complete = self.merge(now, view, effects);
                self.refresh.succeeded(now, complete);
            }
            Err(error) => {
                self.turns.failed();
                let hopeless = !error.is_retriable();
                self.last_error = Some(error.clone());
                let rounds = self.refresh.failed_rounds();
                let bootstrap = self.bootstrap();
                self.refresh.failed(now, &self.snapshot, &bootstrap);
                // what answers is no broker, or not one that we can speak with: waiting does not help
                if hopeless && self.refresh.failed_rounds() > rounds && rounds == 0 {
                    self.unreachable(error, effects);
                }
            }
        }
        self.act(now, effects);
    }

    /// A broker answered that this client shall forget the brokers that it knows (KIP-1102).
    pub(super) fn rebootstrap(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.turns.failed();
        // without permission to begin again it is an answer of no use, as in the Java client
        if self.config.rebootstrap.is_some() {
            self.refresh.distrust(&self.snapshot);
        }
        let bootstrap = self.bootstrap();
        self.refresh.failed(now, &self.snapshot, &bootstrap);
        self.act(now, effects);
    }

    /// A node was reached, or not, by somebody else; `failures` times in a row it was of no use.
    pub(super) fn node_reached(
        &mut self,
        now: Instant,
        failure: Option<WireError>,
        failures: u32,
        effects: &mut Vec<Effect>,
    ) {
        match failure {
            None => self.reachable(),
            Some(error) => {
                self.unusable(now, &error, failures, effects);
                self.last_error = Some(error);
            }
        }
    }

    /// Tells of a broker that is there and cannot be used, while others may be: of what will not pass by itself, and seldom.
    fn unusable(
        &mut self,
        now: Instant,
        error: &WireError,
        failures: u32,
        effects: &mut Vec<Effect>,
    ) {
        let told = self.told_unusable.is_some_and(|at| now < at);
        if !error.is_retriable() && failures >= FAILURES_BEFORE_TOLD && !told {
            self.told_unusable = Some(now + self.config.api_timeout);
            effects.push(Effect::Unusable(error.clone()));
        }
    }

    fn reachable(&mut self) {
        self.silent_since = None;
        self.last_error = None;
    }

    fn report_after(&self) -> Duration {
        REPORT_AFTER.min(self.config.api_timeout / 2)
    }

    /// The next moment at which [`timeout`](Self::timeout) has something to do.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let age = self
            .refreshed
            .filter(|_| !self.assigned.is_empty() || !self.watch.is_empty())
            .map(|at| at + self.config.max_age);
        let silence = self.silent_since.map(|at| at + self.config.api_timeout);
        let report = self.troubles.next_report();
        let question = self
            .questions
            .values()
            .flat_map(|question| [Some(question.until), question.unknown_until])
            .flatten()
            .min();
        [
            question,
            age,
            silence,
            report,
            self.watch.next_gone(),
            self.queries.poll_timeout(),
            self.listings.poll_timeout(),
            self.refresh.poll_timeout(),
            self.lookups.poll_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Time has passed.
    pub(super) fn timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self
            .refreshed
            .is_some_and(|at| at + self.config.max_age <= now)
        {
            self.refreshed = Some(now);
            self.turns.want(if self.watch.topics().all {
                Kind::All
            } else {
                Kind::Names
            });
        }
        let mut gone = self.watch.gone(now);
        // of what is assigned the application hears first
        gone.retain(|topic| !self.is_assigned(topic));
        let watched = self.watch.clone();
        let is_asked_for = |topic: &str| watched.is_asked_for(topic);
        gone.extend(self.troubles.report(now, is_asked_for, effects));
        self.forget(&gone, effects);
        if self
            .silent_since
            .is_some_and(|at| at + self.config.api_timeout <= now)
        {
            self.silent_since = Some(now);
            if let Some(error) = self.last_error.clone() {
                self.unreachable(error, effects);
            }
        }
        self.answer_questions(now, effects);
        let overdue = self.queries.overdue(now);
        self.end_queries(overdue, effects);
        let overdue = self.listings.overdue(now);
        end_listings(overdue, self.last_error.clone(), effects);
        self.act(now, effects);
    }

    /// Asks whatever can be asked now.
    fn act(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let (by_leader, leaderless) = self.lookups.dispatch(now, &self.snapshot);
        if leaderless {
            self.turns.want(Kind::Names);
        }
        for ((node, api), asked) in by_leader {
            if let Some(address) = self.snapshot.brokers.get(&node) {
                let peer = Peer {
                    node: Some(node.0),
                    address: address.clone(),
                };
                effects.push(match api {
                    Api::ListOffsets => Effect::AskOffsets { peer, asked },
                    Api::OffsetForLeaderEpoch => Effect::AskEpochs { peer, asked },
                });
            }
        }
        let bootstrap = self.bootstrap();
        self.refresh.want(!self.turns.is_empty());
        let trigger = self.config.rebootstrap.unwrap_or_default();
        let attempt = self.refresh.next(now, &self.snapshot, &bootstrap, trigger);
        if let Some(attempt) = attempt {
            self.silent_since.get_or_insert(now);
            let topics = self.next_topics();
            effects.push(Effect::AskMetadata {
                peer: attempt.peer,
                may_create: self.may_create(&topics),
                topics,
                limit: attempt.limit,
            });
        }
    }

    /// Whom to begin again with.
    fn bootstrap(&self) -> Vec<Address> {
        if self.config.rebootstrap.is_some() || self.snapshot.brokers.is_empty() {
            self.config.bootstrap.clone()
        } else {
            Vec::new()
        }
    }

    /// What the next request is about.
    fn next_topics(&mut self) -> Topics {
        match self.turns.begin() {
            Kind::Names => Topics::Names(self.names()),
            Kind::Ids => Topics::Ids(self.watch.topics().ids.iter().copied().collect()),
            Kind::All => {
                self.listings.asked();
                Topics::All
            }
        }
    }

    /// A topic that a pattern found and that is not there any more was deleted: it does not come back because its readers look for it.
    fn may_create(&self, topics: &Topics) -> bool {
        match topics {
            Topics::Names(names) => names.iter().all(|name| self.watch.is_asked_for(name)),
            Topics::Ids(_) | Topics::All => false,
        }
    }

    /// What somebody needs to know of, as far as names are known; sorted.
    fn names(&self) -> Vec<Arc<str>> {
        let watched = self.watch.topics();
        let with_id = self.snapshot.topics.iter();
        let with_id = with_id.filter(|(_, known)| watched.ids.contains(&known.topic.id));
        let mut names: Vec<Arc<str>> = self
            .assigned
            .values()
            .map(TopicPartition::topic)
            .chain(self.lookups.topics())
            .map(Arc::from)
            .chain(self.questions.keys().cloned())
            .chain(watched.names.iter().cloned())
            .chain(with_id.map(|(name, _)| Arc::clone(name)))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Tells those who wait for a list of topics that none will come.
fn end_listings(ended: Vec<QueryId>, error: Option<WireError>, effects: &mut Vec<Effect>) {
    if !ended.is_empty() {
        effects.push(Effect::Topics(ended, Err(error)));
    }
}
