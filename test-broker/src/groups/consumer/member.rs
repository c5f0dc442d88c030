use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::PartitionId;

/// Partitions, each with the member epoch at which the member got it (KIP-1251).
pub(crate) type Owned = BTreeMap<PartitionId, i32>;

/// Where a member stands on its way to its target (KIP-848).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    Stable,
    /// It has been asked to give partitions up and has not said that it did.
    UnrevokedPartitions,
    /// Others have not given up yet what it is to have.
    UnreleasedPartitions,
}

/// A member of a group of KIP-848.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client_id: String,
    pub(crate) rack: Option<String>,
    pub(super) rebalance_timeout: Duration,
    pub(crate) epoch: i32,
    pub(super) previous_epoch: i32,
    pub(super) state: MemberState,
    pub(crate) topics: BTreeSet<String>,
    /// Empty for none.
    pub(crate) regex: String,
    pub(super) assignor: Option<String>,
    pub(crate) assigned: Owned,
    pub(super) to_revoke: Owned,
}

impl Member {
    pub(super) fn new(id: &str, instance: Option<&str>) -> Self {
        Self {
            id: Arc::from(id),
            instance: instance.map(Arc::from),
            client_id: String::new(),
            rack: None,
            rebalance_timeout: Duration::ZERO,
            epoch: 0,
            previous_epoch: 0,
            state: MemberState::Stable,
            topics: BTreeSet::new(),
            regex: String::new(),
            assignor: None,
            assigned: Owned::new(),
            to_revoke: Owned::new(),
        }
    }

    /// What it has, and what it has not given up yet.
    pub(crate) fn held(&self) -> impl Iterator<Item = &PartitionId> {
        self.assigned.keys().chain(self.to_revoke.keys())
    }

    /// Whether nobody else may have a partition yet.
    pub(super) fn holds(&self, partition: &PartitionId) -> bool {
        self.assigned.contains_key(partition) || self.to_revoke.contains_key(partition)
    }

    /// The epoch at which it got a partition that it still holds.
    pub(super) fn epoch_of(&self, partition: &PartitionId) -> Option<i32> {
        let held = self.assigned.get(partition);
        held.or_else(|| self.to_revoke.get(partition)).copied()
    }

    /// Takes the next step towards the target, of which `free` is what no other member holds. `owned` is what the member
    /// says it owns; `None` if it did not say.
    pub(super) fn reconcile(
        &mut self,
        target_epoch: i32,
        target: &BTreeSet<PartitionId>,
        owned: Option<&BTreeSet<PartitionId>>,
        is_free: impl Fn(&PartitionId) -> bool,
    ) {
        let owns_any = |partitions: &Owned| match owned {
            None => true,
            Some(owned) => owned.iter().any(|own| partitions.contains_key(own)),
        };
        match self.state {
            MemberState::Stable if self.epoch == target_epoch => return,
            MemberState::UnrevokedPartitions if owns_any(&self.to_revoke) => return,
            _ => {}
        }
        let (kept, revoked): (Owned, Owned) = self
            .assigned
            .iter()
            .map(|(partition, epoch)| (*partition, *epoch))
            .partition(|(partition, _)| target.contains(partition));
        self.previous_epoch = self.epoch;
        if !revoked.is_empty() && owns_any(&revoked) {
            self.state = MemberState::UnrevokedPartitions;
            self.assigned = kept;
            self.to_revoke = revoked;
            return;
        }
        let wanted = target
            .iter()
            .filter(|partition| !kept.contains_key(partition));
        let (free, held): (Vec<PartitionId>, Vec<PartitionId>) =
            wanted.copied().partition(|partition| is_free(partition));
        self.assigned = kept;
        let new = free.into_iter().map(|partition| (partition, target_epoch));
        self.assigned.extend(new);
        self.to_revoke.clear();
        self.epoch = target_epoch;
        self.state = match held.is_empty() {
            true => MemberState::Stable,
            false => MemberState::UnreleasedPartitions,
        };
    }
}
