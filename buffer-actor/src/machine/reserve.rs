//! Reservations: what a node may be asked for, answered together with custody.
//!
//! A reservation that cannot be granted *stands*: whatever could turn the refusal into a grant looks at it again in the same
//! step (I8), so the planner is not told of refusals and no wake-up can be lost between two actors.

use std::sync::Arc;

use super::budget::framing;
use super::partition::{Custody, Partition};
use super::session_view::SessionView;
use super::{BufferMachine, Effects, Readiness, Ticket};
use crate::derived::Derived;
use crate::ids::{Lane, NodeId, PartitionId, TicketId};
use crate::model::{Ask, Candidates, Effect, Grant, MaxWait, Origin};

/// What the machine knows of one node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Node {
    candidates: Candidates,
    lanes: [LaneBook; 2],
    /// The largest batch that came from it, bytes.
    pub(super) largest_batch: u64,
    /// Lane 1 asked since the watchdog last looked.
    pub(super) asked: bool,
    pub(super) view: Derived<SessionView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct LaneBook {
    standing: Option<Standing>,
    ticket: Option<TicketId>,
    /// Something changed since the standing reservation was last looked at.
    check: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Standing {
    /// Order of arrival: waiting nodes are served in it.
    order: u64,
    /// The planner's name for the candidates, for the grant.
    plan: u64,
    /// The node has refused a session.
    refused: bool,
    wait: Wait,
}

/// What a standing reservation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wait {
    /// No partition can be asked for.
    Partitions,
    /// A session partition is at its read-ahead credit, and must neither be left out nor be asked for.
    Credit,
    /// The other lane holds a session partition whose high watermark is unknown, so it cannot be parked.
    Custody,
    /// Memory.
    Budget,
}

/// What [`BufferMachine::consider`] found.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Wait(Wait),
    Ask {
        asks: Arc<Vec<Ask>>,
        max_wait: MaxWait,
    },
}

impl Node {
    fn new(candidates: Candidates) -> Self {
        Self {
            candidates,
            lanes: [LaneBook::default(), LaneBook::default()],
            largest_batch: 0,
            asked: false,
            view: Derived::default(),
        }
    }

    fn lane(&mut self, lane: Lane) -> &mut LaneBook {
        &mut self.lanes[lane as usize]
    }

    pub(super) const fn ticket(&self, lane: Lane) -> Option<TicketId> {
        self.lanes[lane as usize].ticket
    }

    pub(super) fn wait(&self, lane: Lane) -> Option<Wait> {
        let book = &self.lanes[lane as usize];
        book.standing.as_ref().map(|standing| standing.wait)
    }

    /// What it leads, by the planner's newest list.
    pub(super) fn candidates(&self) -> impl ExactSizeIterator<Item = PartitionId> {
        self.candidates.iter().map(|candidate| candidate.partition)
    }

    fn is_in_use(&self) -> bool {
        self.lanes
            .iter()
            .any(|lane| lane.ticket.is_some() || lane.standing.is_some())
    }

    fn check(&mut self) {
        for lane in &mut self.lanes {
            lane.check = true;
        }
    }
}

impl<D> BufferMachine<D> {
    /// The planner offers an idle lane of a node and says which partitions the node leads; `plan` is its name for this list and
    /// comes back with the grant. `refused`: the node has refused lane 1 a session. Replaces a reservation that stands
    /// for this lane. Answered by [`Effect::Granted`], now or when something can be granted.
    pub fn reserve(
        &mut self,
        node: NodeId,
        lane: Lane,
        plan: u64,
        candidates: Candidates,
        refused: bool,
        effects: &mut Effects<D>,
    ) {
        self.set_candidates(node, candidates, effects);
        self.last_ticket += 1;
        let order = self.last_ticket;
        let Some(entry) = self.nodes.get_mut(&node) else {
            return;
        };
        let book = entry.lane(lane);
        let order = book
            .standing
            .as_ref()
            .map_or(order, |standing| standing.order);
        book.standing = Some(Standing {
            order,
            plan,
            refused,
            wait: Wait::Partitions,
        });
        book.check = true;
        self.settle(effects);
    }

    /// The planner takes its offer back: the lane is not idle any more.
    pub fn withdraw(&mut self, node: NodeId, lane: Lane, effects: &mut Effects<D>) {
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.lane(lane).standing = None;
            entry.check();
        }
        self.settle(effects);
    }

    fn set_candidates(&mut self, node: NodeId, candidates: Candidates, effects: &mut Effects<D>) {
        let entry = self
            .nodes
            .entry(node)
            .or_insert_with(|| Node::new(Candidates::default()));
        if Arc::ptr_eq(&entry.candidates, &candidates) {
            return;
        }
        let former = std::mem::replace(&mut entry.candidates, Candidates::clone(&candidates));
        entry.view.make_void();
        entry.check();
        for candidate in former.iter() {
            let known = self.partitions.get(candidate.partition);
            if known.is_some_and(|partition| partition.home == Some(node)) {
                self.set_home(candidate.partition, None);
            }
        }
        for candidate in candidates.iter() {
            self.set_home(candidate.partition, Some(node));
        }
        for candidate in candidates.iter() {
            let known = self.partitions.get(candidate.partition);
            if known.is_some_and(|partition| partition.leader_epoch != candidate.leader_epoch) {
                self.leader_epoch_learned(candidate.partition, candidate.leader_epoch, effects);
            }
        }
    }

    /// A node waits for memory.
    pub(super) fn has_budget_waiters(&self) -> bool {
        self.nodes.values().any(|node| {
            Lane::ALL
                .iter()
                .any(|&lane| node.wait(lane) == Some(Wait::Budget))
        })
    }

    /// Something about a partition changed that may turn a refusal into a grant.
    pub(super) fn check_partition(&mut self, id: PartitionId) {
        if let Some(home) = self.partitions.get(id).and_then(|partition| partition.home) {
            self.check_node(home);
        }
    }

    pub(super) fn check_node(&mut self, node: NodeId) {
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.check();
        }
    }

    /// Looks again at whatever could be granted now. The last step of every event.
    pub(super) fn settle(&mut self, effects: &mut Effects<D>) {
        self.answer_reader(effects);
        self.serve_waiting_replies(effects);
        // A reply that waits for memory comes before any new request, and the first lane that waits for memory before the
        // others: else small requests would starve large ones.
        let mut scarce = !self.memory_queue.is_empty();
        for lane in Lane::ALL {
            self.touch_nodes();
            self.settle_lane(lane, &mut scarce, effects);
        }
        #[cfg(debug_assertions)]
        self.assert_invariants();
    }

    fn settle_lane(&mut self, lane: Lane, scarce: &mut bool, effects: &mut Effects<D>) {
        let mut due: Vec<(u64, NodeId)> = Vec::new();
        for (&id, node) in &mut self.nodes {
            let book = node.lane(lane);
            let Some(standing) = &book.standing else {
                continue;
            };
            if book.ticket.is_none() && (book.check || standing.wait == Wait::Budget) {
                due.push((standing.order, id));
            }
        }
        due.sort_unstable();
        for (_, id) in due {
            match self.consider(id, lane) {
                Verdict::Wait(wait) => self.wait(id, lane, wait),
                Verdict::Ask { asks, max_wait } => {
                    let size = if *scarce {
                        None
                    } else {
                        self.size_request(id, lane, &asks)
                    };
                    if let Some(size) = size {
                        self.grant(id, lane, asks, max_wait, size, effects);
                    } else {
                        *scarce = true;
                        self.wait(id, lane, Wait::Budget);
                    }
                }
            }
        }
    }

    fn wait(&mut self, id: NodeId, lane: Lane, wait: Wait) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let book = node.lane(lane);
        book.check = false;
        if let Some(standing) = &mut book.standing {
            standing.wait = wait;
        }
        // whether lane 2 stands in for lane 1 depends on what lane 1 waits for
        if lane == Lane::Session {
            node.lane(Lane::Quick).check = true;
        }
    }

    /// What the lane may ask for, memory aside.
    fn consider(&mut self, id: NodeId, lane: Lane) -> Verdict {
        match lane {
            Lane::Session => self.consider_session(id),
            Lane::Quick => self.consider_quick(id),
        }
    }

    /// What lane 1 asks for, memory aside.
    fn consider_session(&mut self, id: NodeId) -> Verdict {
        self.look_again(id);
        let Some(node) = self.nodes.get(&id) else {
            return Verdict::Wait(Wait::Partitions);
        };
        match node.view.wait() {
            Some(wait) => Verdict::Wait(wait),
            None => Verdict::Ask {
                asks: Arc::clone(node.view.asks()),
                max_wait: self.session_wait(node, node.view.has_parked()),
            },
        }
    }

    /// A parked partition has no part in lane 1's poll. Once lane 2 has polled for it in vain, lane 1 waits for a moment only, to
    /// take it into the long poll that follows.
    fn session_wait(&self, node: &Node, has_parked: bool) -> MaxWait {
        let quick = self.wait_of(node, Lane::Quick);
        let polls = matches!(quick, Some(MaxWait::Short | MaxWait::Full));
        match has_parked {
            true if polls => MaxWait::Short,
            // what lane 2 holds comes back to lane 1 with its next request: that must not be long in coming
            true => MaxWait::Full,
            false if self.may_be_patient(node) => MaxWait::Patient,
            false => MaxWait::Full,
        }
    }

    /// A broker that refused a session may wait longer than `fetch.max.wait.ms`, so that not every partition is named each time:
    /// a single byte ends the wait, and for what becomes fetchable meanwhile there is lane 2.
    fn may_be_patient(&self, node: &Node) -> bool {
        let standing = &node.lanes[Lane::Session as usize].standing;
        standing.as_ref().is_some_and(|standing| standing.refused)
            && self.config.fetch_min_bytes <= 1
            && self.config.policy.uses_quick_lane()
    }

    /// For how long the lane's request in flight lets the broker wait.
    fn wait_of(&self, node: &Node, lane: Lane) -> Option<MaxWait> {
        let ticket = self.tickets.get(&node.ticket(lane)?)?;
        Some(ticket.max_wait)
    }

    /// Whether lane 2 asks, with the ordinary long poll, for whatever lane 1 does not: while that rests since a hot partition is at
    /// its credit, or is out for longer than usual.
    fn stands_in(&self, node: &Node) -> bool {
        node.wait(Lane::Session) == Some(Wait::Credit)
            || (self.wait_of(node, Lane::Session) == Some(MaxWait::Patient)
                && !mutated!(self, NobodyStandsIn))
    }

    /// Lane 2 asks at once for what became fetchable while lane 1 is busy, and for partitions on trial after an error. What it
    /// finds nothing of has no part in lane 1's long poll until that ends: lane 2 polls for it meanwhile, a moment at a time, so
    /// that the next event does not wait behind it; or with the ordinary long poll, where it stands in for lane 1.
    fn consider_quick(&self, id: NodeId) -> Verdict {
        let Some(node) = self.nodes.get(&id) else {
            return Verdict::Wait(Wait::Partitions);
        };
        // while lane 1 does its part, what it does not ask for is what something happened to since, and what is on trial
        let stale = node.view.stale().filter(|_| !self.stands_in(node));
        let verdict = match stale {
            Some(stale) => self.quick_verdict(id, node, stale.into_iter()),
            None => self.quick_verdict(id, node, node.candidates()),
        };
        #[cfg(debug_assertions)]
        debug_assert_eq!(verdict, self.quick_verdict(id, node, node.candidates()));
        verdict
    }

    fn quick_verdict(
        &self,
        id: NodeId,
        node: &Node,
        candidates: impl Iterator<Item = PartitionId>,
    ) -> Verdict {
        let lane_1_busy = node.ticket(Lane::Session).is_some();
        let mut asks = Vec::new();
        let mut at_once = false;
        for candidate in candidates {
            // some have moved on since the planner listed them
            let found = self.partitions.get(candidate);
            let Some(partition) = found.filter(|found| found.home == Some(id)) else {
                continue;
            };
            if !self.is_for_quick(node, partition) {
                continue;
            }
            if let Readiness::Ready(offset) = self.readiness(partition) {
                // A partition in error answers at once and would end the long poll of the others. One whose high watermark is
                // unknown cannot be parked: lane 1 would have to wait for the end of this poll.
                let is_event = lane_1_busy || partition.high_watermark < 0;
                at_once |= partition.on_trial || (partition.eager && is_event);
                asks.push(self.ask(candidate, partition, offset));
            }
        }
        if asks.is_empty() {
            return Verdict::Wait(Wait::Partitions);
        }
        let max_wait = if at_once {
            MaxWait::Zero
        } else if self.stands_in(node) {
            MaxWait::Full
        } else {
            MaxWait::Short
        };
        let asks = Arc::new(asks);
        Verdict::Ask { asks, max_wait }
    }

    /// Whether lane 2 asks for a partition that is ready.
    pub(super) fn is_for_quick(&self, node: &Node, partition: &Partition<D>) -> bool {
        if partition.on_trial {
            return partition.eager;
        }
        self.stands_in(node)
            || match self.wait_of(node, Lane::Session) {
                Some(_) if partition.eager => true,
                Some(MaxWait::Full) => !partition.quick_failed && !mutated!(self, LeavesToLongPoll),
                _ => false,
            }
    }

    /// Lane 1 rests for the sake of a partition at its credit, and there is none: nobody looked again (I8).
    pub(super) fn overlooks(&self, id: NodeId) -> bool {
        let rests = |node: &Node| node.wait(Lane::Session) == Some(Wait::Credit);
        self.nodes.get(&id).is_some_and(rests) && self.view_in_full(id).wait().is_none()
    }

    /// How many bytes the request may ask for, if there is memory, or some can be made free.
    fn size_request(&mut self, id: NodeId, lane: Lane, asks: &[Ask]) -> Option<u64> {
        let partitions = asks.len();
        let node = self.nodes.get(&id)?;
        let in_use = self.nodes.values().filter(|node| node.is_in_use()).count();
        let wish = self.budget.wish(
            in_use,
            partitions,
            self.config.fetch_max_bytes,
            self.config.max_partition_fetch_bytes,
            node.largest_batch
                .max(u64::from(self.config.fetch_min_bytes)),
        );
        let free = self.budget.free_for(partitions);
        let was_held_back = node.wait(lane) == Some(Wait::Budget);
        // asked again at the first free byte, it would get a sliver
        let enough = if was_held_back {
            wish.least.max(wish.most / 4)
        } else {
            wish.least
        };
        if free >= enough {
            return Some(free.min(wish.most));
        }
        let idle = Lane::ALL.iter().all(|&lane| node.ticket(lane).is_none());
        let asked = asks.iter().filter(|ask| !ask.parked);
        let asked = asked.map(|ask| ask.partition).collect();
        let free = free + self.make_room(asked, enough - free);
        if free >= enough {
            return Some(free.min(wish.most));
        }
        // What the application keeps after its lease never stops the last request of a node, which takes what is free: it may be long
        // until there is more.
        let drained = self.queued_bytes == 0 && self.leased_bytes == 0;
        (drained && idle).then(|| free.min(wish.most).max(wish.floor))
    }

    fn grant(
        &mut self,
        id: NodeId,
        lane: Lane,
        asks: Arc<Vec<Ask>>,
        max_wait: MaxWait,
        size: u64,
        effects: &mut Effects<D>,
    ) {
        self.last_ticket += 1;
        let ticket = TicketId(self.last_ticket);
        let changes = match (lane, self.nodes.get_mut(&id)) {
            (Lane::Session, Some(node)) => {
                node.asked = true;
                node.view.grant(ticket)
            }
            _ => None,
        };
        let custody = match lane {
            Lane::Session => Custody::Session(id),
            Lane::Quick => Custody::Request(ticket),
        };
        // of the others lane 1 has custody by its ticket
        let named = changes.as_ref().map_or(&*asks, |changes| &changes.asks);
        for ask in named.iter().filter(|ask| !ask.parked) {
            let found = match lane {
                Lane::Session => self.partitions.get_mut_quietly(ask.partition),
                Lane::Quick => self.partitions.get_mut(ask.partition),
            };
            if let Some(partition) = found {
                if !mutated!(self, NoCustody) {
                    partition.custody = custody;
                }
                partition.eager = false;
                partition.quick_failed = false;
                partition.asked = true;
            }
        }
        let reserved = size + framing(asks.len());
        self.budget.reserve(reserved);
        let max_bytes = u32::try_from(size).unwrap_or(u32::MAX);
        self.tickets.insert(
            ticket,
            Ticket {
                node: id,
                lane,
                reserved,
                asks: Arc::clone(&asks),
                max_wait,
                max_bytes,
                origin: Origin {
                    ticket,
                    bytes: 0,
                    parts: 0,
                },
            },
        );
        let mut plan = 0;
        if let Some(node) = self.nodes.get_mut(&id) {
            let book = node.lane(lane);
            plan = book.standing.take().map_or(0, |standing| standing.plan);
            book.check = false;
            book.ticket = Some(ticket);
            if lane == Lane::Session {
                node.lane(Lane::Quick).check = true;
            }
        }
        effects.push(Effect::Granted(Grant {
            ticket,
            node: id,
            lane,
            plan,
            max_wait,
            max_bytes,
            reserved,
            asks,
            changes: Derived(changes),
        }));
    }

    /// The lane's request came back in whatever way.
    pub(super) fn free_lane(&mut self, ticket: TicketId, node: NodeId, lane: Lane) {
        if let Some(entry) = self.nodes.get_mut(&node) {
            let book = entry.lane(lane);
            if book.ticket == Some(ticket) {
                book.ticket = None;
            }
            entry.check();
        }
    }
}
