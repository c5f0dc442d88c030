//! Partitions that could be asked for and are not. I8 allows that for moments only; the watchdog looks whether it stays so.

use record_batch::TopicPartition;

use super::partition::{Partition, Position, Readiness};
use super::{BufferMachine, Reason};
use crate::ids::{NodeId, PartitionId};
use crate::policy::Treatment;

/// A partition that is fetchable, and that no request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unasked {
    /// Which partition.
    pub partition: PartitionId,
    /// Its name.
    pub name: TopicPartition,
    /// Who leads it.
    pub node: NodeId,
    /// At which offset it would be asked for.
    pub offset: i64,
    /// What it seems to wait for.
    pub reason: Reason,
}

impl<D> BufferMachine<D> {
    /// The partitions that could be asked for, are in no request, and were in none since the last look.
    ///
    /// Reasons that last as long as their cause does are left out: paused, no position, an error pause, read-ahead, memory, no
    /// leader. What is left is to wait for the next request of a node, a node whose lanes are not offered, and a node that could
    /// go on, its partitions being below their read-ahead credit, and does not.
    pub fn look_for_unasked(&mut self) -> Vec<Unasked> {
        let found = self
            .partitions
            .iter()
            .filter_map(|(id, partition)| self.unasked(id, partition))
            .collect();
        self.partitions.clear_asked();
        found
    }

    fn unasked(&self, id: PartitionId, partition: &Partition<D>) -> Option<Unasked> {
        let Position::At(offset) = partition.position else {
            return None;
        };
        let ready = matches!(partition.readiness(self.credit()), Readiness::Ready(_));
        if partition.asked || !ready {
            return None;
        }
        let node = partition.home?;
        let is_led = self.nodes.get(&node).is_some_and(|home| home.leads(id));
        let reason = self.reason(id)?;
        let any_buffered = self.queued_bytes > 0 || self.leased_bytes > 0;
        let treatment = self
            .config
            .policy
            .treat(partition.is_buffered(), any_buffered);
        let is_a_fault = is_led
            && treatment != Treatment::LeaveOut
            && match reason {
                Reason::NextRequest | Reason::NoNode => true,
                Reason::Credit => self.overlooks(node),
                _ => false,
            };
        is_a_fault.then(|| Unasked {
            partition: id,
            name: partition.name.clone(),
            node,
            offset,
            reason,
        })
    }

    /// Whether anything is assigned.
    pub fn is_assigned(&self) -> bool {
        self.partitions.iter().next().is_some()
    }
}
