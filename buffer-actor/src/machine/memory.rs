//! Replies that are larger than what was reserved for them, since a broker sends at least one whole batch (KIP-74). They wait
//! at their length for the difference, as KIP-72 does, while what is in flight elsewhere goes on.

use std::collections::VecDeque;
use std::time::Instant;

use super::{BufferMachine, Effects};
use crate::ids::TicketId;
use crate::model::Effect;

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
        while let Some(head) = self.memory_queue.waiting.front() {
            let fits = head.more <= self.budget.free();
            let drained = self.queued_bytes == 0 && self.leased_bytes == 0;
            let overdraws = !fits && drained && self.memory_queue.overdrawn.is_none();
            if !fits && !overdraws {
                break;
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

    /// A batch was decompressed: its bytes count from now on, and may overdraw the budget (memory is needed to drain memory).
    pub const fn charge(&mut self, bytes: u64) {
        self.budget.charge(bytes);
    }

    /// Bytes of replies or decompressed batches are gone.
    pub fn release(&mut self, bytes: u64, effects: &mut Effects<D>) {
        self.budget.release(bytes);
        self.settle(effects);
    }
}
