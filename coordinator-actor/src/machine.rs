//! The coordinator's decisions: who coordinates the group, membership, commits, committed offsets. No clock, no I/O.

mod auto_commit;
mod classic;
mod commits;
mod consumer;
mod context;
mod finder;
mod membership;
mod offsets;
mod parts;
mod seat;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use buffer_actor::{FetchEpoch, Jitter, PartitionId};
use record_batch::TopicPartition;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};
use session_actor::{ClusterSnapshot, WatchTopics};

use self::auto_commit::AutoCommit;
use self::classic::Classic;
use self::commits::{Commits, Who};
use self::consumer::Consumer;
use self::context::{Context, Verdict};
use self::finder::Finder;
use self::membership::Membership;
use self::offsets::CommittedOffsets;
use self::parts::Parts;
use crate::assign::AssignError;
use crate::config::{GroupConfig, GroupProtocol};
use crate::error::GroupError;
use crate::model::{
    Answer, AskId, CallId, Effect, EventId, GroupMetadata, LastPoll, LeaveOption, Offsets,
    Subscription,
};
use crate::stats::{GroupCounts, GroupStats};

/// See the [module's documentation](self).
#[derive(Debug)]
pub(crate) struct CoordinatorMachine {
    config: GroupConfig,
    finder: Finder,
    member: Box<dyn Membership>,
    commits: Commits,
    committed: CommittedOffsets,
    cluster: Arc<ClusterSnapshot>,
    watched: WatchTopics,
    shown: GroupMetadata,
    last_poll: LastPoll,
    auto_commit: Option<AutoCommit>,
    /// Topics of the subscription that the application has heard it cannot read, and why.
    refused: BTreeMap<Arc<str>, ErrorCode>,
    /// Nothing goes on in the group before the application subscribes anew.
    has_failed: bool,
    closing: Option<Closing>,
    jitter: Jitter,
    asks: u64,
    stats: GroupStats,
}

#[derive(Debug, Clone, Copy)]
struct Closing {
    until: Instant,
    /// What is to be committed was asked for and is not known yet.
    collects: bool,
    is_over: bool,
}

impl CoordinatorMachine {
    /// `now` is when the application last showed itself; `member_id` is the id with which a member of the protocol of KIP-848
    /// joins (KIP-1082).
    pub(crate) fn new(
        config: GroupConfig,
        now: Instant,
        member_id: Arc<str>,
        seed: u64,
    ) -> Result<Self, AssignError> {
        let member: Box<dyn Membership> = match &config.protocol {
            GroupProtocol::Classic {
                assignors,
                session_timeout,
                heartbeat_interval,
            } => Box::new(Classic::new(
                assignors.clone(),
                *session_timeout,
                *heartbeat_interval,
            )?),
            GroupProtocol::Consumer { remote_assignor } => {
                Box::new(Consumer::new(remote_assignor.clone(), member_id))
            }
        };
        let mut finder = Finder::default();
        finder.set_seeds(
            config
                .bootstrap
                .iter()
                .cloned()
                .map(bootstrap_peer)
                .collect(),
        );
        Ok(Self {
            finder,
            member,
            commits: Commits::default(),
            committed: CommittedOffsets::default(),
            cluster: Arc::default(),
            watched: WatchTopics::default(),
            shown: GroupMetadata {
                group_id: Arc::clone(&config.group_id),
                generation_id: -1,
                member_id: "".into(),
                group_instance_id: config.instance_id.clone(),
            },
            last_poll: LastPoll::At(now),
            auto_commit: config
                .auto_commit
                .map(|interval| AutoCommit::new(interval, now)),
            refused: BTreeMap::new(),
            has_failed: false,
            closing: None,
            jitter: Jitter::new(seed),
            asks: 0,
            stats: GroupStats::default(),
            config,
        })
    }

    /// Handles one event and does what follows from it.
    fn handle<R>(
        &mut self,
        now: Instant,
        effects: &mut Vec<Effect>,
        event: impl FnOnce(&mut Parts<'_>, &mut Context<'_>) -> R,
    ) -> R {
        let mut verdict = Verdict::default();
        let mut ended = Vec::new();
        let mut context = Context {
            config: &self.config,
            now,
            last_poll: self.last_poll,
            cluster: &self.cluster,
            coordinator: self.finder.known().cloned(),
            may_leave: self.commits.is_idle(),
            closes_at: self.closing.map(|closing| closing.until),
            verdict: &mut verdict,
            jitter: &mut self.jitter,
            asks: &mut self.asks,
            stats: &mut self.stats,
            effects,
        };
        let mut parts = Parts {
            finder: &mut self.finder,
            member: self.member.as_mut(),
            commits: &mut self.commits,
            committed: &mut self.committed,
            has_failed: &mut self.has_failed,
            auto_commit: &mut self.auto_commit,
            ended: &mut ended,
        };
        let result = event(&mut parts, &mut context);
        parts.settle(&mut context);
        self.tell_news(effects);
        result
    }

    /// What others go by and what changed of it.
    fn tell_news(&mut self, effects: &mut Vec<Effect>) {
        let watched = self.member.watched();
        if self.watched != watched {
            self.watched = watched.clone();
            effects.push(Effect::Watch(watched));
        }
        let (member_id, generation_id) = self.member.shown();
        if (&self.shown.member_id, self.shown.generation_id) != (&member_id, generation_id) {
            self.shown.member_id = member_id;
            self.shown.generation_id = generation_id;
            effects.push(Effect::Identity(self.shown.clone()));
        }
        let is_done = self.member.has_left() && self.commits.is_idle();
        if let Some(closing) = &mut self.closing
            && is_done
            && !closing.collects
            && !closing.is_over
        {
            closing.is_over = true;
            effects.push(Effect::Closed);
        }
    }

    /// When the application last polled; goes before every other event.
    pub(crate) const fn polled(&mut self, last: LastPoll) {
        self.last_poll = last;
    }

    /// Whether the partitions are those that the group assigns.
    pub(crate) fn is_subscribed(&self) -> bool {
        self.member.is_subscribed()
    }

    /// Partitions were taken away that the application still has to let go.
    pub(crate) fn is_handing_over(&self) -> bool {
        self.member.seat().is_handing_over()
    }

    /// What was done so far.
    pub(crate) fn counts(&self, now: Instant) -> GroupCounts {
        self.stats.read(now)
    }

    /// The cluster as metadata knows it.
    pub(crate) fn cluster_changed(
        &mut self,
        now: Instant,
        cluster: Arc<ClusterSnapshot>,
        effects: &mut Vec<Effect>,
    ) {
        let brokers = cluster.brokers.iter();
        let peers = brokers.map(|(node, address)| Peer {
            node: Some(node.0),
            address: address.clone(),
        });
        self.finder.set_seeds(peers.collect());
        self.cluster = cluster;
        self.handle(now, effects, |parts, context| {
            parts.member.cluster_changed(context);
        });
        self.tell_refused(effects);
    }

    /// Of a topic that may not be read nothing is ever assigned: whoever named it has to hear why.
    fn tell_refused(&mut self, effects: &mut Vec<Effect>) {
        let named = self.member.named().into_iter();
        let missing = named.filter_map(|topic| {
            let error = *self.cluster.missing.get(&topic)?;
            Some((topic, error))
        });
        // that there is none of a name yet is no error, as in Java
        let refused: BTreeMap<_, _> = missing.filter(|(_, error)| !error.is_retriable()).collect();
        for (topic, error) in &refused {
            if self.refused.get(topic) != Some(error) {
                effects.push(Effect::Complain(GroupError::TopicRefused {
                    group: Arc::clone(&self.config.group_id),
                    topic: Arc::clone(topic),
                    error: *error,
                }));
            }
        }
        self.refused = refused;
    }

    /// The application wants to read these, as a member of the group.
    pub(crate) fn subscribe(
        &mut self,
        now: Instant,
        subscription: Subscription,
        effects: &mut Vec<Effect>,
    ) -> Result<(), GroupError> {
        self.handle(now, effects, |parts, context| {
            parts.member.subscribe(subscription, context)?;
            parts.recover(context);
            Ok(())
        })?;
        // whoever asks again is told again
        self.refused.clear();
        self.tell_refused(effects);
        Ok(())
    }

    /// The application wants nothing of the group any more.
    pub(crate) fn unsubscribe(
        &mut self,
        now: Instant,
        option: LeaveOption,
        effects: &mut Vec<Effect>,
    ) {
        self.stats.rebalance_is_void();
        self.handle(now, effects, |parts, context| {
            parts.recover(context);
            parts.member.unsubscribe(option, context);
        });
    }

    /// The application wants the group to be rebalanced.
    pub(crate) fn enforce_rebalance(
        &mut self,
        now: Instant,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) {
        self.handle(now, effects, |parts, _| {
            parts.member.enforce_rebalance(reason)
        });
    }

    /// The application has seen an event and done what it wants to do about it.
    pub(crate) fn confirmed(&mut self, now: Instant, event: EventId, effects: &mut Vec<Effect>) {
        self.handle(now, effects, |parts, context| {
            parts.member.seat_mut().confirmed(event, context);
        });
    }

    /// The application wants offsets committed.
    pub(crate) fn commit(
        &mut self,
        now: Instant,
        call: CallId,
        offsets: Offsets,
        effects: &mut Vec<Effect>,
    ) {
        let deadline = now + self.config.api_timeout;
        self.commits.insert(Who::Call(call), offsets, deadline);
        self.handle(now, effects, |_, _| ());
    }

    /// What was processed, as an [`Effect::Collect`] asked for: of these partitions, or of all.
    pub(crate) fn collected(
        &mut self,
        now: Instant,
        partitions: Option<&[TopicPartition]>,
        offsets: Offsets,
        effects: &mut Vec<Effect>,
    ) {
        match (partitions, &mut self.closing) {
            (Some(_), closing) => {
                let until = self.member.seat().deadline().unwrap_or(now);
                let deadline = closing.map_or(until, |closing| closing.until.min(until));
                self.commits.insert(Who::Handover, offsets, deadline);
            }
            (None, Some(closing)) => {
                closing.collects = false;
                self.commits.insert(Who::Close, offsets, closing.until);
            }
            (None, None) => {
                let deadline = now + self.config.api_timeout;
                self.commits.insert(Who::Interval, offsets, deadline);
            }
        }
        self.handle(now, effects, |_, _| ());
    }

    /// A partition starts where the group committed.
    pub(crate) fn look_up(
        &mut self,
        now: Instant,
        lookups: Vec<(PartitionId, FetchEpoch, TopicPartition)>,
        effects: &mut Vec<Effect>,
    ) {
        for (partition, epoch, name) in lookups {
            self.committed.look_up(partition, epoch, name);
        }
        self.handle(now, effects, |_, _| ());
    }

    /// These are assigned now, by whomever: lookups of others are not needed any more.
    pub(crate) fn assigned(&mut self, is_assigned: impl Fn(&TopicPartition) -> bool) {
        self.committed.retain(is_assigned);
    }

    /// The application wants to know what was committed.
    pub(crate) fn fetch_committed(
        &mut self,
        now: Instant,
        call: CallId,
        partitions: Option<Vec<TopicPartition>>,
        effects: &mut Vec<Effect>,
    ) {
        let deadline = now + self.config.api_timeout;
        self.committed.call(call, partitions, deadline);
        self.handle(now, effects, |_, _| ());
    }

    /// Commits what was processed, lets the listener be called, leaves; all of it until `until`.
    pub(crate) fn close(
        &mut self,
        now: Instant,
        option: LeaveOption,
        until: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(closing) = &mut self.closing {
            if closing.is_over {
                effects.push(Effect::Closed);
                return;
            }
            closing.until = closing.until.min(until);
        } else {
            // what a member owns is committed as it gives it up
            let collects = self.config.auto_commit.is_some() && !self.member.is_subscribed();
            if collects {
                effects.push(Effect::Collect(None));
            }
            self.closing = Some(Closing {
                until,
                collects,
                is_over: false,
            });
        }
        self.unsubscribe(now, option, effects);
    }

    /// A request has ended.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        id: AskId,
        answer: Result<Answer, WireError>,
        effects: &mut Vec<Effect>,
    ) {
        self.stats.answered(now, id, &answer);
        self.handle(now, effects, |parts, context| {
            parts.answered(id, answer, context)
        });
    }

    /// Time has passed.
    pub(crate) fn timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if let Some(auto_commit) = &mut self.auto_commit
            && self.closing.is_none()
            && auto_commit.is_due(now, self.commits.has(Who::Interval))
        {
            effects.push(Effect::Collect(None));
        }
        self.handle(now, effects, |_, _| ());
        if let Some(closing) = &mut self.closing
            && closing.until <= now
            && !closing.is_over
        {
            closing.is_over = true;
            effects.push(Effect::Closed);
        }
    }

    /// When [`timeout`](Self::timeout) is due.
    pub(crate) fn poll_timeout(&mut self, now: Instant) -> Option<Instant> {
        let mut verdict = Verdict::default();
        let context = Context {
            config: &self.config,
            now,
            last_poll: self.last_poll,
            cluster: &self.cluster,
            coordinator: self.finder.known().cloned(),
            may_leave: true,
            closes_at: self.closing.map(|closing| closing.until),
            verdict: &mut verdict,
            jitter: &mut self.jitter,
            asks: &mut self.asks,
            stats: &mut self.stats,
            effects: &mut Vec::new(),
        };
        let member = if self.has_failed {
            self.member.seat().due(&context)
        } else {
            self.member.due(&context)
        };
        let closing = self.closing.filter(|closing| !closing.is_over);
        let closing = closing.map(|closing| closing.until);
        let auto_commit = self.auto_commit.as_ref().map(AutoCommit::due);
        let auto_commit = auto_commit.filter(|_| self.closing.is_none());
        let wants_coordinator = (self.member.wants_coordinator() && !self.has_failed)
            || self.commits.wants_coordinator()
            || self.committed.wants_coordinator();
        let finder = self.finder.due(now).filter(|_| wants_coordinator);
        let commits = self.commits.due(now);
        let committed = self.committed.due(now);
        [closing, auto_commit, member, finder, commits, committed]
            .into_iter()
            .flatten()
            .min()
    }
}

/// A bootstrap address.
const fn bootstrap_peer(address: Address) -> Peer {
    Peer {
        node: None,
        address,
    }
}
