//! What leaders are being asked (ListOffsets, OffsetForLeaderEpoch), for positions and for questions of the application: one entry a
//! partition and asker, the newest counts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use buffer_actor::{Backoff, FetchEpoch, Jitter, Lookup, NodeId, PartitionId, ResetTo, Sought};
use record_batch::TopicPartition;
use session_actor::ClusterSnapshot;

use super::queries::QueryId;
use crate::offsets::OffsetSpec;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lookups {
    retry: Backoff,
    jitter: Jitter,
    pending: BTreeMap<Key, Pending>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    asked: Asked,
    failures: u32,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// To be asked as soon as its leader is known.
    Due,
    InFlight,
    Resting(Instant),
}

/// A position has one lookup at a time, a question one for each of its partitions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Position(PartitionId),
    Query(QueryId, TopicPartition),
}

/// One partition of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) asker: Asker,
    pub(crate) name: TopicPartition,
    pub(crate) wanted: Wanted,
    pub(crate) leader_epoch: i32,
}

/// Who wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The buffer, as long as the partition is in this epoch: a seek always wins.
    Position(PartitionId, FetchEpoch),
    /// The application.
    Query(QueryId),
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Offset(OffsetSpec),
    /// Of the first record that is no older than this when the broker is asked.
    Since(Duration),
    /// Where the records of this leader epoch end (KIP-320).
    EpochEnd(i32),
}

/// By which request something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Api {
    ListOffsets,
    OffsetForLeaderEpoch,
}

impl Wanted {
    const fn api(self) -> Api {
        match self {
            Self::Offset(_) | Self::Since(_) => Api::ListOffsets,
            Self::EpochEnd(_) => Api::OffsetForLeaderEpoch,
        }
    }
}

impl Asked {
    fn key(&self) -> Key {
        match self.asker {
            Asker::Position(partition, _) => Key::Position(partition),
            Asker::Query(query) => Key::Query(query, self.name.clone()),
        }
    }
}

impl From<Lookup> for Asked {
    fn from(lookup: Lookup) -> Self {
        Self {
            asker: Asker::Position(lookup.partition, lookup.epoch),
            name: lookup.name,
            wanted: match lookup.sought {
                Sought::End(ResetTo::Earliest) => Wanted::Offset(OffsetSpec::Earliest),
                Sought::End(ResetTo::Latest) => Wanted::Offset(OffsetSpec::Latest),
                Sought::End(ResetTo::Since(age)) => Wanted::Since(age),
                Sought::EpochEnd(leader_epoch) => Wanted::EpochEnd(leader_epoch),
            },
            leader_epoch: -1,
        }
    }
}

impl Lookups {
    pub(super) const fn new(retry: Backoff, seed: u64) -> Self {
        Self {
            retry,
            jitter: Jitter::new(seed),
            pending: BTreeMap::new(),
        }
    }

    /// Begins a lookup; one in flight for the same partition and asker does not count any more.
    pub(super) fn insert(&mut self, asked: Asked) {
        let pending = Pending {
            failures: 0,
            phase: Phase::Due,
            asked,
        };
        self.pending.insert(pending.asked.key(), pending);
    }

    /// The position of a partition is not wanted any more.
    pub(super) fn remove_position(&mut self, partition: PartitionId) {
        self.pending.remove(&Key::Position(partition));
    }

    /// A question is over.
    pub(super) fn remove_query(&mut self, query: QueryId) {
        self.pending
            .retain(|_, pending| pending.asked.asker != Asker::Query(query));
    }

    /// Takes what can be asked now, by leader and request. Returns whether something is due whose leader is unknown.
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        snapshot: &ClusterSnapshot,
    ) -> (BTreeMap<(NodeId, Api), Vec<Asked>>, bool) {
        let mut by_leader: BTreeMap<(NodeId, Api), Vec<Asked>> = BTreeMap::new();
        let mut leaderless = false;
        for pending in self.pending.values_mut() {
            match pending.phase {
                Phase::InFlight => continue,
                Phase::Resting(until) if until > now => continue,
                Phase::Resting(_) | Phase::Due => {}
            }
            if let Some((node, leader_epoch)) = leader(snapshot, &pending.asked.name) {
                pending.phase = Phase::InFlight;
                pending.asked.leader_epoch = leader_epoch;
                by_leader
                    .entry((node, pending.asked.wanted.api()))
                    .or_default()
                    .push(pending.asked.clone());
            } else {
                pending.phase = Phase::Due;
                leaderless = true;
            }
        }
        (by_leader, leaderless)
    }

    /// Whether something waits for a leader to be known.
    pub(super) fn is_leaderless(&self, snapshot: &ClusterSnapshot) -> bool {
        let mut due = self
            .pending
            .values()
            .filter(|pending| pending.phase == Phase::Due);
        due.any(|pending| leader(snapshot, &pending.asked.name).is_none())
    }

    /// The lookup succeeded. Returns whether it still counts.
    pub(super) fn finish(&mut self, asked: &Asked) -> bool {
        let key = asked.key();
        let counts = self.counts(&key, asked);
        if counts {
            self.pending.remove(&key);
        }
        counts
    }

    /// The lookup failed and is tried again after a pause. Returns whether it still counts.
    pub(super) fn retry(&mut self, now: Instant, asked: &Asked) -> bool {
        let random = self.jitter.next();
        let key = asked.key();
        if !self.counts(&key, asked) {
            return false;
        }
        if let Some(pending) = self.pending.get_mut(&key) {
            let delay = self.retry.delay(pending.failures, random);
            pending.failures = pending.failures.saturating_add(1);
            pending.phase = Phase::Resting(now + delay);
        }
        true
    }

    fn counts(&self, key: &Key, asked: &Asked) -> bool {
        let pending = self.pending.get(key);
        pending.is_some_and(|pending| pending.asked.asker == asked.asker)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.pending
            .values()
            .filter_map(|pending| match pending.phase {
                Phase::Resting(until) => Some(until),
                Phase::Due | Phase::InFlight => None,
            })
            .min()
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &str> {
        self.pending
            .values()
            .map(|pending| pending.asked.name.topic())
    }
}

/// The leader of a partition, if it can be reached, and its epoch.
fn leader(snapshot: &ClusterSnapshot, name: &TopicPartition) -> Option<(NodeId, i32)> {
    let leader = snapshot.leader(name.topic(), name.partition());
    leader.filter(|(node, _)| snapshot.brokers.contains_key(node))
}
