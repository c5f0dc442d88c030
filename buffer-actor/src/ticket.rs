//! The right to have a request in flight.

use actix::Recipient;

use crate::ids::TicketId;
use crate::messages::Abandoned;

/// Custody of the partitions of one grant. It cannot be cloned; dropped unused, wherever that happens (a dead session, a lost
/// message, a panicked handler), it tells the buffer, which takes custody back (I4).
#[derive(Debug)]
pub struct Ticket {
    id: TicketId,
    buffer: Option<Recipient<Abandoned>>,
}

impl Ticket {
    /// A ticket that reports to `buffer` when it is dropped. For the buffer, and for probes in tests of its neighbours.
    pub const fn new(id: TicketId, buffer: Recipient<Abandoned>) -> Self {
        Self {
            id,
            buffer: Some(buffer),
        }
    }

    /// Which one.
    pub const fn id(&self) -> TicketId {
        self.id
    }

    /// The ticket came back by a message; its drop means nothing any more.
    pub(crate) fn redeem(mut self) -> TicketId {
        self.buffer = None;
        self.id
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            buffer.do_send(Abandoned(self.id));
        }
    }
}
