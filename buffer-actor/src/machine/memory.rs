//! When memory is short: replies that are larger than what was reserved for them, since a broker sends at least one whole batch
//! (KIP-74), and data of paused partitions that gives way. Such replies wait at their length for the difference, as KIP-72
//! does, while what is in flight elsewhere goes on.

use std::collections::VecDeque;
use std::time::Instant;

use super::reserve::Wait;
use super::{BufferMachine, Effects, Position};
use crate::ids::{Lane, PartitionId, TicketId};
use crate::model::{Effect, Item, Origin};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct MemoryQueue {
    waiting: VecDeque<WaitingReply>,
    /// The reply that was let in over the budget and is still being read.
    overdrawn: Option<TicketId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WaitingReply {
    ticket: TicketId,
    more: u64,
    deadline: Instant,
}

impl MemoryQueue {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|reply| reply.deadline).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn contains(&self, ticket: TicketId) -> bool {
        self.waiting.iter().any(|reply| reply.ticket == ticket)
    }

    pub(super) fn forget(&mut self, ticket: TicketId) {
        self.waiting.retain(|reply| reply.ticket != ticket);
        if self.overdrawn == Some(ticket) {
            self.overdrawn = None;
        }
    }
}

impl<D> BufferMachine<D> {
    /// The reply of `ticket` is `more` bytes longer than what is reserved for it, and waits unread.
    pub fn need_more(
        &mut self,
        now: Instant,
        ticket: TicketId,
        more: u64,
        effects: &mut Effects<D>,
    ) {
        if !self.tickets.contains_key(&ticket) || self.memory_queue.contains(ticket) {
            return;
        }
        self.memory_queue.waiting.push_back(WaitingReply {
            ticket,
            more,
            deadline: now + self.config.request_timeout / 2,
        });
        self.settle(effects);
    }

    /// Lets replies in, in order. The head may overdraw the budget, one at a time, as soon as no records are buffered or
    /// leased. Reservations do not count for that: two nodes that wait for each other's would block for ever.
    pub(super) fn serve_waiting_replies(&mut self, effects: &mut Effects<D>) {
        // bytes of what was dropped here, which come back in a moment
        let mut dropped = 0;
        while let Some(head) = self.memory_queue.waiting.front() {
            let free = self.budget.free() + dropped;
            let fits = head.more <= free;
            let mut drained = self.queued_bytes == 0 && self.leased_bytes == 0;
            if mutated!(self, OverdrawWaitsForReservations) {
                drained &= self.tickets.len() == 1;
            }
            if mutated!(self, NoOverdraw) {
                drained = false;
            }
            let overdraws = !fits && drained && self.memory_queue.overdrawn.is_none();
            if !fits && !overdraws {
                let (ticket, lacking) = (head.ticket, head.more - free);
                let queued = self.queued_bytes;
                let mut made = 0;
                if !mutated!(self, PausedDataStays) {
                    made = self.make_room_for_reply(ticket, lacking);
                }
                // with the last of the paused data gone, the head may overdraw
                let emptied = queued > 0 && self.queued_bytes == 0;
                if made == 0 && !emptied {
                    break;
                }
                dropped += made;
                continue;
            }
            let Some(head) = self.memory_queue.waiting.pop_front() else {
                break;
            };
            if overdraws {
                self.memory_queue.overdrawn = Some(head.ticket);
                self.counters.overdrawn_replies += 1;
            }
            self.budget.reserve(head.more);
            if let Some(ticket) = self.tickets.get_mut(&head.ticket) {
                ticket.reserved += head.more;
            }
            effects.push(Effect::ReadReply(head.ticket));
        }
    }

    fn make_room_for_reply(&mut self, ticket: TicketId, lacking: u64) -> u64 {
        let Some(ticket) = self.tickets.get(&ticket) else {
            return 0;
        };
        let asked = ticket.asked().map(|ask| ask.partition).collect();
        self.make_room(asked, lacking)
    }

    /// Memory is short: if one of `asked` has nothing for the application to read, buffered data of paused partitions gives
    /// way, which will be fetched again; what came last goes first. Returns how many bytes are free by that for certain.
    ///
    /// Partitions share the memory of the reply that they came in, so it takes all that is left of one to free it. What a reader
    /// had a part of may live on in its hands: that is free when it is released, which looks at standing reservations again.
    pub(super) fn make_room(&mut self, asked: Vec<PartitionId>, lacking: u64) -> u64 {
        let starving = asked.into_iter().any(|id| {
            let partition = self.partitions.get(id);
            partition.is_some_and(|partition| !partition.paused && !partition.is_buffered())
        });
        let (mut made, mut expected) = (0, 0);
        while starving
            && expected < lacking
            && let Some(origin) = self.newest_paused()
        {
            let all_of_it = self.drop_paused_of(origin) == origin.parts;
            expected += origin.bytes;
            if all_of_it {
                made += origin.bytes;
            }
        }
        made
    }

    /// The reply that brought the newest of what paused partitions have buffered.
    fn newest_paused(&self) -> Option<Origin> {
        let paused = self.partitions.iter().filter(|(_, found)| found.paused);
        let newest = paused.filter_map(|(_, partition)| partition.newest_origin());
        newest.max_by_key(|origin| origin.ticket)
    }

    /// Drops what paused partitions have of the reply, the newest that they have. Returns of how many partitions it was.
    fn drop_paused_of(&mut self, origin: Origin) -> u32 {
        let of_it = self
            .partitions
            .iter()
            .filter(|(_, partition)| partition.paused && partition.newest_origin() == Some(origin));
        let ids: Vec<PartitionId> = of_it.map(|(id, _)| id).collect();
        for &id in &ids {
            self.drop_newest(id);
        }
        ids.len() as u32
    }

    fn drop_newest(&mut self, id: PartitionId) {
        let epoch = self.next_epoch();
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        let is_data = |item: &Item<D>| matches!(item, Item::Data(_));
        let Some(index) = partition.queue.iter().rposition(is_data) else {
            return;
        };
        // nothing may stay behind what is dropped: the position goes back to its beginning
        let dropped = partition.queue.split_off(index);
        let Some(Item::Data(completed)) = dropped.front() else {
            return;
        };
        let bytes = u64::from(completed.bytes);
        partition.position = Position::At(completed.from);
        partition.offset_epoch = completed.from_epoch;
        partition.blocked = false;
        partition.queued_bytes -= bytes;
        self.queued_bytes -= bytes;
        // what is in flight for it continues what was dropped
        partition.epoch = epoch;
        partition.release();
        self.counters.dropped_paused += 1;
    }

    pub(super) fn discard_overdue(&mut self, now: Instant, effects: &mut Effects<D>) {
        let counters = &mut self.counters;
        self.memory_queue.waiting.retain(|reply| {
            let overdue = reply.deadline <= now;
            if overdue {
                counters.discarded_replies += 1;
                effects.push(Effect::DiscardReply(reply.ticket));
            }
            !overdue
        });
    }

    /// Whether a release of bytes would let something go on.
    pub fn waits_for_memory(&self) -> bool {
        !self.memory_queue.is_empty() || self.has_budget_waiters()
    }

    /// Whether a node's session waits since a partition is at its read-ahead credit.
    pub fn waits_for_credit(&self) -> bool {
        let mut nodes = self.nodes.values();
        nodes.any(|node| node.wait(Lane::Session) == Some(Wait::Credit))
    }

    /// A batch was decompressed: its bytes count from now on, and may overdraw the budget (memory is needed to drain memory).
    pub const fn charge(&mut self, bytes: u64) {
        self.budget.charge(bytes);
    }

    /// Bytes of replies or decompressed batches are gone.
    pub fn release(&mut self, bytes: u64, effects: &mut Effects<D>) {
        self.budget.release(bytes);
        if !mutated!(self, ReleaseLooksNotAgain) {
            self.settle(effects);
        }
    }
}
