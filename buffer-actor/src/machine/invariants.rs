//! The invariants that concern the buffer, as predicates. Checked after each event in debug builds, and in every state that
//! the explorer visits.

use super::partition::{Partition, Validity};
use super::{BufferMachine, Position, Readiness, Ticket};
use crate::ids::{Lane, PartitionId, TicketId};
use crate::machine::reserve::{Node, Wait};
use crate::model::Item;

/// A broken invariant: a fault of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// I1: a partition is in custody of a ticket that does not list it, or that is gone.
    #[error("I1 custody: {partition:?} is held by {ticket:?}, which is not live for its epoch")]
    Custody {
        /// Which partition.
        partition: PartitionId,
        /// The ticket.
        ticket: TicketId,
    },
    /// I2: a live ticket that its lane does not know, or the reverse.
    #[error("I2 one per node and lane: {ticket:?}")]
    Lane {
        /// The ticket.
        ticket: TicketId,
    },
    /// I6: what is buffered of a partition does not continue without a gap up to its fetch position.
    #[error("I6 order: {partition:?} has a gap or a repetition at {offset}")]
    Order {
        /// Which partition.
        partition: PartitionId,
        /// Where.
        offset: i64,
    },
    /// The sums of bytes do not agree with the queues.
    #[error("bytes queued or leased are not the sum of the partitions'")]
    Sums,
}

/// Why a partition has no request in flight (I8). Every partition has one of these at any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It has one.
    InFlight,
    /// The application paused it.
    Paused,
    /// Its position is being looked up, or must be set by the application.
    NoPosition,
    /// The leader is asked whether the position is one of its log, or it is not (KIP-320).
    Validation,
    /// A batch cannot be read; the application must seek.
    Blocked,
    /// An error pause is running.
    Backoff,
    /// Its read-ahead is at the limit, or another partition's is and the node's lanes are taken.
    Credit,
    /// It waits for memory.
    Budget,
    /// The node's lanes are busy with others; the next request of lane 1 names it.
    NextRequest,
    /// No node is known to lead it, or its node cannot be asked now.
    NoNode,
}

impl<D> BufferMachine<D> {
    /// Why the partition has no request in flight.
    pub fn reason(&self, id: PartitionId) -> Option<Reason> {
        let partition = self.partitions.get(id)?;
        Some(if partition.paused {
            Reason::Paused
        } else if partition.blocked {
            Reason::Blocked
        } else if partition.backoff_until.is_some() {
            Reason::Backoff
        } else if !matches!(partition.position, Position::At(_)) {
            Reason::NoPosition
        } else if partition.validity != Validity::Valid {
            Reason::Validation
        } else {
            match self.readiness(partition) {
                Readiness::Held(_) => Reason::InFlight,
                Readiness::AtCredit => Reason::Credit,
                Readiness::Excluded | Readiness::Ready(_) => {
                    let home = partition.home.and_then(|home| self.nodes.get(&home));
                    self.reason_of_node(partition, home)
                }
            }
        })
    }

    /// Of a partition that could be asked for, as far as it goes. `node`: the one that would be asked.
    pub(super) fn reason_of_node(&self, partition: &Partition<D>, node: Option<&Node>) -> Reason {
        let Some(node) = node else {
            return Reason::NoNode;
        };
        let [session, quick] = Lane::ALL.map(|lane| (node.wait(lane), node.ticket(lane)));
        // on trial after an error, it waits for lane 2 alone
        let others = if partition.on_trial && self.config.policy.uses_quick_lane() {
            None
        } else {
            match session {
                (Some(Wait::Budget), _) => return Reason::Budget,
                (Some(Wait::Credit), _) => Some(Reason::Credit),
                (Some(Wait::Custody), _) | (_, Some(_)) => Some(Reason::NextRequest),
                (Some(Wait::Partitions) | None, None) => None,
            }
        };
        match quick {
            (Some(Wait::Budget), _) if self.is_for_quick(node, partition) => Reason::Budget,
            (_, Some(_)) => others.unwrap_or(Reason::NextRequest),
            _ => others.unwrap_or(Reason::NoNode),
        }
    }

    /// Checks I1, I2 and I6 as far as the buffer alone can tell.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn check_invariants(&self) -> Result<(), Violation> {
        self.check_custody()?;
        let (mut queued, mut leased) = (0, 0);
        for (id, partition) in self.partitions.iter() {
            let mut expected = None;
            let mut bytes = 0;
            for item in &partition.queue {
                let Item::Data(completed) = item else {
                    continue;
                };
                bytes += u64::from(completed.bytes);
                if completed.epoch < partition.data_epoch
                    || expected.is_some_and(|offset| offset != completed.from)
                {
                    return Err(Violation::Order {
                        partition: id,
                        offset: completed.from,
                    });
                }
                expected = Some(completed.next);
            }
            if let (Some(end), Position::At(position)) = (expected, partition.position)
                && end != position
            {
                return Err(Violation::Order {
                    partition: id,
                    offset: position,
                });
            }
            if bytes != partition.queued_bytes {
                return Err(Violation::Sums);
            }
            queued += partition.queued_bytes;
            leased += partition.leased_bytes;
        }
        if queued != self.queued_bytes || leased != self.leased_bytes {
            return Err(Violation::Sums);
        }
        for (&ticket, live) in &self.tickets {
            let known = self
                .nodes
                .get(&live.node)
                .is_some_and(|node| node.ticket(live.lane) == Some(ticket));
            if !known {
                return Err(Violation::Lane { ticket });
            }
        }
        Ok(())
    }

    /// I1. Counts first, since looking for each partition in its ticket's list takes the square of their number.
    fn check_custody(&self) -> Result<(), Violation> {
        let is_held = |ticket, id, epoch| {
            let partition = self.partitions.get(id);
            partition.is_some_and(|held| self.holder(held) == Some(ticket) && held.epoch == epoch)
        };
        let listed = self.tickets.iter().flat_map(|(&ticket, live)| {
            live.asked()
                .map(move |ask| (ticket, ask.partition, ask.epoch))
        });
        let rightly = listed.filter(|&(ticket, id, epoch)| is_held(ticket, id, epoch));
        let held = || {
            let all = self.partitions.iter();
            all.filter_map(|(id, partition)| Some((self.holder(partition)?, id, partition.epoch)))
        };
        if rightly.count() == held().count() {
            return Ok(());
        }
        let is_listed = |ticket, id, epoch| {
            let live = self.tickets.get(&ticket);
            let mut asked = live.into_iter().flat_map(Ticket::asked);
            asked.any(|ask| (ask.partition, ask.epoch) == (id, epoch))
        };
        let stray = held().find(|&(ticket, id, epoch)| !is_listed(ticket, id, epoch));
        stray.map_or(Ok(()), |(ticket, partition, _)| {
            Err(Violation::Custody { partition, ticket })
        })
    }

    #[cfg(debug_assertions)]
    pub(super) fn assert_invariants(&self) {
        if let Err(violation) = self.check_invariants() {
            debug_assert!(false, "{violation}");
        }
    }
}
