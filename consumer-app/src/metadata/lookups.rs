//! Positions that are being looked up (ListOffsets): one entry a partition, the newest lookup counts.

use std::collections::BTreeMap;
use std::time::Instant;

use buffer_actor::{Backoff, FetchEpoch, Jitter, Lookup, NodeId, PartitionId};
use session_actor::ClusterSnapshot;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lookups {
    retry: Backoff,
    jitter: Jitter,
    pending: BTreeMap<PartitionId, Pending>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    lookup: Lookup,
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

/// One partition of a ListOffsets request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) lookup: Lookup,
    pub(crate) leader_epoch: i32,
}

impl Lookups {
    pub(super) const fn new(retry: Backoff, seed: u64) -> Self {
        Self {
            retry,
            jitter: Jitter::new(seed),
            pending: BTreeMap::new(),
        }
    }

    /// Begins a lookup; one in flight for the partition does not count any more.
    pub(super) fn insert(&mut self, lookup: Lookup) {
        self.pending.insert(
            lookup.partition,
            Pending {
                lookup,
                failures: 0,
                phase: Phase::Due,
            },
        );
    }

    pub(super) fn remove(&mut self, partition: PartitionId) {
        self.pending.remove(&partition);
    }

    /// Takes what can be asked now, by leader. Returns whether something is due whose leader is unknown.
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        snapshot: &ClusterSnapshot,
    ) -> (BTreeMap<NodeId, Vec<Asked>>, bool) {
        let mut by_leader: BTreeMap<NodeId, Vec<Asked>> = BTreeMap::new();
        let mut leaderless = false;
        for pending in self.pending.values_mut() {
            match pending.phase {
                Phase::InFlight => continue,
                Phase::Resting(until) if until > now => continue,
                Phase::Resting(_) | Phase::Due => {}
            }
            let name = &pending.lookup.name;
            let leader = snapshot
                .leader(name.topic(), name.partition())
                .filter(|(node, _)| snapshot.brokers.contains_key(node));
            if let Some((node, leader_epoch)) = leader {
                pending.phase = Phase::InFlight;
                by_leader.entry(node).or_default().push(Asked {
                    lookup: pending.lookup.clone(),
                    leader_epoch,
                });
            } else {
                pending.phase = Phase::Due;
                leaderless = true;
            }
        }
        (by_leader, leaderless)
    }

    /// The lookup succeeded. Returns whether it still counts.
    pub(super) fn finish(&mut self, partition: PartitionId, epoch: FetchEpoch) -> bool {
        let current = self
            .pending
            .get(&partition)
            .is_some_and(|pending| pending.lookup.epoch == epoch);
        if current {
            self.pending.remove(&partition);
        }
        current
    }

    /// The lookup failed and is tried again after a pause. Returns whether it still counts.
    pub(super) fn retry(
        &mut self,
        now: Instant,
        partition: PartitionId,
        epoch: FetchEpoch,
    ) -> bool {
        let random = self.jitter.next();
        let Some(pending) = self.pending.get_mut(&partition) else {
            return false;
        };
        if pending.lookup.epoch != epoch {
            return false;
        }
        let delay = self.retry.delay(pending.failures, random);
        pending.failures = pending.failures.saturating_add(1);
        pending.phase = Phase::Resting(now + delay);
        true
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

    pub(super) fn names(&self) -> impl Iterator<Item = &Lookup> {
        self.pending.values().map(|pending| &pending.lookup)
    }
}
