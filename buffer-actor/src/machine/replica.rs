//! Reading from followers (KIP-392): a leader names a replica that is nearer to the consumer, which is read from for as long as
//! `metadata.max.age.ms`, or until it is of no use. Positions are looked up at leaders only.

use std::time::{Duration, Instant};

use super::partition::Replica;
use super::{BufferMachine, Effects, Pause, Ticket};
use crate::ids::{NodeId, PartitionId};
use crate::model::Effect;

/// The Java client compares whole milliseconds, and the last one belongs to the lease.
const LAST_MILLISECOND: Duration = Duration::from_millis(1);

impl<D> BufferMachine<D> {
    /// An answer of `from` named another replica to read from.
    pub(super) fn redirected(
        &mut self,
        now: Instant,
        id: PartitionId,
        from: NodeId,
        to: NodeId,
        effects: &mut Effects<D>,
    ) {
        if from == to {
            return;
        }
        let until = now + self.config.metadata_max_age + LAST_MILLISECOND;
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if partition.replica.is_some_and(|replica| replica.node == to) {
            // the planner does not know where that node is, and asks this one
            effects.push(Effect::RefreshMetadata(partition.name.clone()));
            self.back_off(now, id, Pause::Growing);
            return;
        }
        // a leader may name a replica that cannot be reached, again and again
        let failed = partition.failures > 0;
        partition.failures = partition.failures.max(1);
        let former = partition.replica.replace(Replica { node: to, until });
        if let Some(former) = former {
            self.replicas.remove(&(former.until, id));
        }
        self.leave_home(id);
        self.replicas.insert((until, id));
        effects.push(Effect::ReadFrom(id, Some(to)));
        if failed {
            self.back_off(now, id, Pause::Growing);
        }
    }

    /// If a follower is read from, the leader is asked again from now on.
    pub(super) fn read_from_leader(&mut self, id: PartitionId, effects: &mut Effects<D>) {
        if self.forget_replica(id) {
            effects.push(Effect::ReadFrom(id, None));
        }
    }

    fn forget_replica(&mut self, id: PartitionId) -> bool {
        let Some(partition) = self.partitions.get_mut(id) else {
            return false;
        };
        let Some(replica) = partition.replica.take() else {
            return false;
        };
        self.leave_home(id);
        self.replicas.remove(&(replica.until, id))
    }

    /// Nobody is asked until a node is offered; the one that was may go on without the partition.
    fn leave_home(&mut self, id: PartitionId) {
        self.check_partition(id);
        self.set_home(id, None);
    }

    /// Whether `node` is asked for the partition as a follower.
    pub(super) fn follows(&self, id: PartitionId, node: NodeId) -> bool {
        let replica = self
            .partitions
            .get(id)
            .and_then(|partition| partition.replica);
        replica.is_some_and(|replica| replica.node == node)
    }

    /// A request came to nothing: of followers no more is asked.
    pub(super) fn leave_followers(&mut self, failed: &Ticket, effects: &mut Effects<D>) {
        for ask in failed.asked() {
            let found = self.partitions.get(ask.partition);
            let counts = found.is_some_and(|found| found.epoch == ask.epoch);
            if counts && self.follows(ask.partition, failed.node) {
                self.read_from_leader(ask.partition, effects);
            }
        }
    }

    /// Leases of followers that are over end.
    pub(super) fn end_replicas(&mut self, now: Instant, effects: &mut Effects<D>) {
        while let Some(&(until, id)) = self.replicas.first()
            && until <= now
        {
            self.replicas.pop_first();
            if let Some(partition) = self.partitions.get_mut(id) {
                partition.replica = None;
                self.leave_home(id);
                effects.push(Effect::ReadFrom(id, None));
            }
        }
    }
}
