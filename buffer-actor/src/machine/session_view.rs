//! What the next request of a node's lane 1 would name, kept from one request to the next.
//!
//! A session's request names every partition, and of thousands of them few change between two requests. So what each contributes is
//! kept, and looked at again only where something happened to the partition; a request costs what changed, not what the node leads.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::partition::{Custody, Partition};
use super::reserve::Wait;
use super::{BufferMachine, Readiness};
use crate::ids::{Lane, NodeId, PartitionId, TicketId};
use crate::model::{Ask, Changes};
use crate::policy::{Policy, Treatment};

/// What one partition contributes to a request of lane 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The session does without it.
    Nothing,
    /// It must neither be left out nor be asked for.
    AtCredit,
    /// The other lane holds it, and it cannot be parked.
    Unparkable,
    Ask(Ask),
}

/// See the [module's documentation](self).
#[derive(Debug, Clone)]
pub(super) struct SessionView {
    /// In the order of partitions. That of one for whose sake the lane waits is out of date.
    asks: Arc<Vec<Ask>>,
    /// How many of them are parked.
    parked: usize,
    at_credit: BTreeSet<PartitionId>,
    unparkable: BTreeSet<PartitionId>,
    /// Something happened to these since they were looked at, or will: those on trial after an error stay here. Also such as the
    /// node does not lead any more, and some twice.
    stale: Vec<PartitionId>,
    /// Everything has to be looked at: the node leads others than before.
    is_void: bool,
    /// Looked at since the last grant; `None`: all.
    visited: Option<Vec<PartitionId>>,
    last_grant: Option<TicketId>,
}

impl Default for SessionView {
    fn default() -> Self {
        Self {
            asks: Arc::default(),
            parked: 0,
            at_credit: BTreeSet::new(),
            unparkable: BTreeSet::new(),
            stale: Vec::new(),
            is_void: true,
            visited: None,
            last_grant: None,
        }
    }
}

/// Partitions that are to be asked for and were not, and the reverse; each in order.
#[derive(Debug, Default)]
struct Renewal {
    comes: Vec<Ask>,
    goes: Vec<PartitionId>,
}

impl SessionView {
    /// Something happened to the partition, or the node leads it no more.
    pub(super) fn touch(&mut self, id: PartitionId) {
        self.stale.push(id);
    }

    /// The node leads others than before.
    pub(super) const fn make_void(&mut self) {
        self.is_void = true;
    }

    /// Those to which something happened since the lane's request was granted, and those on trial, in their order; `None` if it may
    /// be all.
    pub(super) fn stale(&self) -> Option<Vec<PartitionId>> {
        (!self.is_void).then(|| in_order(self.stale.clone()))
    }

    pub(super) const fn asks(&self) -> &Arc<Vec<Ask>> {
        &self.asks
    }

    pub(super) const fn has_parked(&self) -> bool {
        self.parked > 0
    }

    /// Whether there is anything to ask for, and nothing that forbids it.
    pub(super) fn wait(&self) -> Option<Wait> {
        if !self.at_credit.is_empty() {
            Some(Wait::Credit)
        } else if !self.unparkable.is_empty() {
            Some(Wait::Custody)
        } else if self.parked == self.asks.len() {
            Some(Wait::Partitions)
        } else {
            None
        }
    }

    fn place(&self, id: PartitionId) -> Result<usize, usize> {
        self.asks.binary_search_by_key(&id, |ask| ask.partition)
    }

    /// What is to be asked for as well, or no more, is left to [`renew`](Self::renew).
    fn set(&mut self, id: PartitionId, part: Part, renewal: &mut Renewal) {
        if let Some(visited) = &mut self.visited {
            visited.push(id);
        }
        self.at_credit.remove(&id);
        self.unparkable.remove(&id);
        match (part, self.place(id)) {
            // until it is asked for, so is nobody
            (Part::AtCredit, _) => {
                self.at_credit.insert(id);
            }
            (Part::Unparkable, _) => {
                self.unparkable.insert(id);
            }
            (Part::Ask(ask), Ok(place)) => {
                let known = &mut Arc::make_mut(&mut self.asks)[place];
                self.parked += usize::from(ask.parked);
                self.parked -= usize::from(known.parked);
                *known = ask;
            }
            (Part::Ask(ask), Err(_)) => {
                self.parked += usize::from(ask.parked);
                renewal.comes.push(ask);
            }
            (Part::Nothing, Ok(place)) => {
                self.parked -= usize::from(self.asks[place].parked);
                renewal.goes.push(id);
            }
            (Part::Nothing, Err(_)) => {}
        }
    }

    /// A lane may wait for long, and others be looked at again and again meanwhile. From some number on it is as well to look at all.
    fn bound_visited(&mut self) {
        let most = self.asks.len().max(64);
        self.visited.take_if(|visited| visited.len() > most);
    }

    /// All at once: thousands may come together.
    fn renew(&mut self, Renewal { comes, goes }: Renewal) {
        if comes.is_empty() && goes.is_empty() {
            return;
        }
        let asks = Arc::make_mut(&mut self.asks);
        asks.retain(|ask| goes.binary_search(&ask.partition).is_err());
        asks.extend(comes);
        // two lists in order, one behind the other, which this one merges
        asks.sort_by_key(|ask| ask.partition);
    }

    /// What is new in the request that is granted now.
    pub(super) fn grant(&mut self, ticket: TicketId) -> Option<Changes> {
        let since = self.last_grant.replace(ticket);
        let visited = self.visited.replace(Vec::new());
        let (since, visited) = since.zip(visited)?;
        let mut changes = Changes {
            since,
            asks: Vec::new(),
            gone: Vec::new(),
        };
        for id in in_order(visited) {
            match self.place(id) {
                Ok(place) => changes.asks.push(self.asks[place]),
                Err(_) => changes.gone.push(id),
            }
        }
        Some(changes)
    }
}

impl<D> BufferMachine<D> {
    /// Tells the nodes which of their partitions something happened to.
    pub(super) fn touch_nodes(&mut self) {
        while let Some(id) = self.partitions.pop_touched() {
            let Some(partition) = self.partitions.get_mut_quietly(id) else {
                continue;
            };
            let home = partition.home.and_then(|home| self.nodes.get_mut(&home));
            match home {
                Some(home) => home.view.touch(id),
                None => *partition.touched = false,
            }
        }
    }

    /// Who is asked for a partition from now on.
    pub(super) fn set_home(&mut self, id: PartitionId, home: Option<NodeId>) {
        let Some(partition) = self.partitions.get_mut_quietly(id) else {
            return;
        };
        let former = std::mem::replace(&mut partition.home, home);
        if former != home {
            // the new one has not heard of it
            *partition.touched = false;
            self.partitions.get_mut(id);
            self.leave(former, id);
        }
    }

    /// The node does not lead the partition any more, if there is one.
    pub(super) fn leave(&mut self, node: Option<NodeId>, id: PartitionId) {
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(&node)) {
            node.view.touch(id);
        }
    }

    /// Brings what a node's idle lane 1 would ask for up to date.
    pub(super) fn look_again(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let mut view = std::mem::take(&mut node.view.0);
        let stale = std::mem::take(&mut view.stale);
        for &partition in &stale {
            self.set_touched(id, partition, false);
        }
        // what the other policies make of a partition depends on all others
        if view.is_void || self.config.policy != Policy::ReadAhead {
            for ask in &*view.asks {
                self.take_custody_back(ask.partition, id);
            }
            let last_grant = view.last_grant;
            view = self.view_in_full(id);
            view.last_grant = last_grant;
        } else {
            let mut renewal = Renewal::default();
            for partition in in_order(stale) {
                self.take_custody_back(partition, id);
                let part = self.part_of(id, partition);
                view.set(partition, part, &mut renewal);
                if self.is_on_trial(id, partition) {
                    view.touch(partition);
                }
            }
            view.renew(renewal);
            view.bound_visited();
        }
        for &partition in &view.stale {
            self.set_touched(id, partition, true);
        }
        #[cfg(debug_assertions)]
        self.assert_up_to_date(id, &view);
        if let Some(node) = self.nodes.get_mut(&id) {
            node.view.0 = view;
        }
    }

    /// Its home `node` has it in its list, or not.
    fn set_touched(&mut self, node: NodeId, id: PartitionId, touched: bool) {
        if let Some(partition) = self.partitions.get_mut_quietly(id)
            && partition.home == Some(node)
        {
            *partition.touched = touched;
        }
    }

    /// What lane 1 would ask for, looked at anew.
    pub(super) fn view_in_full(&self, id: NodeId) -> SessionView {
        let mut view = SessionView {
            is_void: false,
            ..SessionView::default()
        };
        let Some(node) = self.nodes.get(&id) else {
            return view;
        };
        let mut renewal = Renewal::default();
        for partition in node.candidates() {
            view.set(partition, self.part_of(id, partition), &mut renewal);
            if self.is_on_trial(id, partition) {
                view.touch(partition);
            }
        }
        view.renew(renewal);
        view
    }

    /// The request of a node's lane 1 is back: partitions that it asked for and does not lead any more are free for who does.
    pub(super) fn free_strays(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else {
            return;
        };
        let is_stray = |partition: &&PartitionId| {
            let found = self.partitions.get(**partition);
            found.is_some_and(|found| {
                found.home != Some(id) && found.custody == Custody::Session(id)
            })
        };
        let strays: Vec<PartitionId> = node.view.stale.iter().filter(is_stray).copied().collect();
        for partition in strays {
            if let Some(found) = self.partitions.get_mut(partition) {
                found.release();
            }
            self.check_partition(partition);
        }
    }

    /// A partition that is at rest with the session, since its lane is idle, is anybody's.
    fn take_custody_back(&mut self, id: PartitionId, node: NodeId) {
        if let Some(partition) = self.partitions.get_mut_quietly(id)
            && partition.custody == Custody::Session(node)
        {
            partition.release();
        }
    }

    fn led(&self, id: NodeId, partition: PartitionId) -> Option<&Partition<D>> {
        let found = self.partitions.get(partition)?;
        (found.home == Some(id)).then_some(found)
    }

    fn is_on_trial(&self, id: NodeId, partition: PartitionId) -> bool {
        self.led(id, partition).is_some_and(|found| found.on_trial)
    }

    /// Lane 1 names *every* partition that its session should hold, since one that is left out is fetched again at the offset
    /// last sent for it (measured on 4.4). So it asks for each at a valid offset, or parks it, or does not ask at all (I5).
    fn part_of(&self, id: NodeId, partition_id: PartitionId) -> Part {
        let policy = self.config.policy;
        let Some((node, partition)) = self.nodes.get(&id).zip(self.led(id, partition_id)) else {
            return Part::Nothing;
        };
        if partition.on_trial && policy.uses_quick_lane() {
            return Part::Nothing;
        }
        match self.readiness(partition) {
            Readiness::Excluded => Part::Nothing,
            Readiness::AtCredit if mutated!(self, LeavesOutAtCredit) => Part::Nothing,
            Readiness::AtCredit => Part::AtCredit,
            Readiness::Held(ticket) if Some(ticket) == node.ticket(Lane::Quick) => {
                if partition.high_watermark < 0 {
                    return Part::Unparkable;
                }
                Part::Ask(Ask {
                    max_bytes: 0,
                    parked: true,
                    ..self.ask(partition_id, partition, partition.high_watermark)
                })
            }
            // in flight at a node that led it before; to be asked for here when that request is back
            Readiness::Held(_) => Part::Nothing,
            Readiness::Ready(offset) => {
                let any_buffered = self.queued_bytes > 0 || self.leased_bytes > 0;
                let ask = self.ask(partition_id, partition, offset);
                match policy.treat(partition.is_buffered(), any_buffered) {
                    Treatment::HoldNode => Part::AtCredit,
                    Treatment::LeaveOut => Part::Nothing,
                    Treatment::AskOneByte => Part::Ask(Ask {
                        max_bytes: 1,
                        ..ask
                    }),
                    Treatment::Ask => Part::Ask(ask),
                }
            }
        }
    }

    pub(super) fn ask(&self, id: PartitionId, partition: &Partition<D>, offset: i64) -> Ask {
        Ask {
            partition: id,
            epoch: partition.epoch,
            offset,
            leader_epoch: partition.leader_epoch,
            max_bytes: i32::try_from(self.config.max_partition_fetch_bytes).unwrap_or(i32::MAX),
            parked: false,
            served: partition.served,
        }
    }

    /// Nothing happened to a partition that it was not told of.
    #[cfg(debug_assertions)]
    fn assert_up_to_date(&self, id: NodeId, view: &SessionView) {
        let anew = self.view_in_full(id);
        debug_assert_eq!(view.wait(), anew.wait(), "{id}");
        if view.wait().is_none() {
            debug_assert_eq!(view.asks, anew.asks, "{id}");
            debug_assert_eq!(view.parked, anew.parked, "{id}");
        }
    }
}

fn in_order(mut partitions: Vec<PartitionId>) -> Vec<PartitionId> {
    partitions.sort_unstable();
    partitions.dedup();
    partitions
}
