//! Partitions that could be asked for and are not. I8 allows that for moments only; the watchdog looks whether it stays so.

use std::collections::BTreeMap;

use record_batch::TopicPartition;

use super::partition::{Custody, Partition, Position, Readiness};
use super::reserve::Node;
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

/// A node, as the partitions that it leads look at it.
struct Home<'a> {
    id: NodeId,
    node: &'a Node,
    /// It could go on, and nobody looked again.
    is_overlooked: bool,
}

impl<D> BufferMachine<D> {
    /// The partitions that could be asked for, are in no request, and were in none since the last look.
    ///
    /// Reasons that last as long as their cause does are left out: paused, no position, an error pause, read-ahead, memory, no
    /// leader. What is left is to wait for the next request of a node, a node whose lanes are not offered, and a node that could
    /// go on, its partitions being below their read-ahead credit, and does not.
    pub fn look_for_unasked(&mut self) -> Vec<Unasked> {
        let found = self.find_unasked();
        self.partitions.clear_asked();
        for node in self.nodes.values_mut() {
            node.asked = false;
        }
        found
    }

    /// Whether it was asked for since the last look.
    fn was_asked(&self, partition: &Partition<D>) -> bool {
        let by_session = match partition.custody {
            Custody::Session(node) => self.nodes.get(&node).is_some_and(|node| node.asked),
            Custody::Free | Custody::Request(_) => false,
        };
        partition.asked || by_session
    }

    fn find_unasked(&self) -> Vec<Unasked> {
        let is_ready =
            |partition: &Partition<D>| matches!(self.readiness(partition), Readiness::Ready(_));
        let suspects = self.partitions.iter();
        let mut suspects = suspects
            .filter(|(_, partition)| !self.was_asked(partition) && is_ready(partition))
            .peekable();
        let mut found = Vec::new();
        if suspects.peek().is_some() {
            // looked at once: it may be that all partitions of a node are suspect
            let nodes = self.nodes.iter();
            let homes: BTreeMap<NodeId, Home> =
                nodes.map(|(&id, node)| (id, self.home(id, node))).collect();
            found.extend(suspects.filter_map(|(id, partition)| {
                let home = homes.get(&partition.home?)?;
                self.unasked(id, partition, home)
            }));
        }
        found
    }

    fn home<'a>(&self, id: NodeId, node: &'a Node) -> Home<'a> {
        Home {
            id,
            node,
            is_overlooked: self.overlooks(id),
        }
    }

    /// `partition` could be asked for, and was not since the last look.
    fn unasked(
        &self,
        id: PartitionId,
        partition: &Partition<D>,
        home: &Home<'_>,
    ) -> Option<Unasked> {
        let Position::At(offset) = partition.position else {
            return None;
        };
        let reason = self.reason_of_node(partition, Some(home.node));
        let any_buffered = self.queued_bytes > 0 || self.leased_bytes > 0;
        let treatment = self
            .config
            .policy
            .treat(partition.is_buffered(), any_buffered);
        let is_a_fault = treatment != Treatment::LeaveOut
            && match reason {
                Reason::NextRequest | Reason::NoNode => true,
                Reason::Credit => home.is_overlooked,
                _ => false,
            };
        is_a_fault.then(|| Unasked {
            partition: id,
            name: partition.name.clone(),
            node: home.id,
            offset,
            reason,
        })
    }

    /// Whether anything is assigned.
    pub fn is_assigned(&self) -> bool {
        self.partitions.iter().next().is_some()
    }
}
