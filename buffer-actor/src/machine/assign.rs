//! What is assigned.

use std::collections::BTreeMap;
use std::time::Instant;

use record_batch::TopicPartition;

use super::partition::{Partition, Position};
use super::{BufferMachine, Effects};
use crate::ids::PartitionId;
use crate::model::{Effect, Start};

impl<D> BufferMachine<D> {
    /// Replaces the assignment. Partitions that stay keep position, pause flag, buffered data and their request in flight; those that go lose
    /// all of it; those that come start where they are told.
    pub fn assign(
        &mut self,
        now: Instant,
        wanted: impl IntoIterator<Item = (TopicPartition, Start)>,
        effects: &mut Effects<D>,
    ) {
        let wanted: BTreeMap<TopicPartition, Start> = wanted.into_iter().collect();
        let gone: Vec<PartitionId> = self
            .partitions
            .iter()
            .filter(|(_, partition)| !wanted.contains_key(&partition.name))
            .map(|(id, _)| id)
            .collect();
        for &id in &gone {
            self.unassign(id);
        }
        self.forget_gone();
        let mut added = Vec::new();
        let mut begun = Vec::new();
        for (name, start) in wanted {
            if self.partitions.find(&name).is_some() {
                continue;
            }
            let position = match start {
                Start::Offset(offset) => Position::At(offset),
                Start::Committed => Position::Committed,
                Start::Reset => self.reset_position(),
            };
            let epoch = self.next_epoch();
            let id = self
                .partitions
                .insert(Partition::new(name.clone(), epoch, position));
            added.push((id, name));
            begun.push(id);
        }
        if gone.is_empty() && added.is_empty() {
            return;
        }
        effects.push(Effect::Assignment {
            added,
            removed: gone,
        });
        for id in begun {
            self.begin(now, id, effects);
        }
        self.notice_change(effects);
        self.settle(effects);
    }

    fn unassign(&mut self, id: PartitionId) {
        self.diverged.remove(&id);
        let Some(partition) = self.partitions.remove(id) else {
            return;
        };
        self.queued_bytes -= partition.queued_bytes;
        self.leased_bytes -= partition.leased_bytes;
        if let Some(until) = partition.backoff_until {
            self.backoffs.remove(&(until, id));
        }
        if let Some(replica) = partition.replica {
            self.replicas.remove(&(replica.until, id));
        }
        self.leave(partition.home, id);
        if let Some(home) = partition.home {
            self.check_node(home);
        }
    }
}
