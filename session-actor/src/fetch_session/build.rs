//! What a request must name so that the broker asks for what was granted.

use std::sync::Arc;
use std::time::Instant;

use buffer_actor::{Ask, Changes, Grant, PartitionId, TicketId};

use super::{
    FINAL_EPOCH, FetchSession, Forgotten, INITIAL_EPOCH, Named, Next, PartitionTable, Plan, sent,
};

/// What the entries of a session are in line with: who differs from it only in what is known to have changed need not look at the
/// others.
#[derive(Debug, Clone)]
pub(super) struct Base {
    grant: TicketId,
    table: Arc<PartitionTable>,
}

/// What an incremental request is to say.
#[derive(Default)]
struct Difference {
    added: Vec<Named>,
    altered: Vec<Named>,
    forgotten: Vec<Forgotten>,
    renewed: Vec<PartitionId>,
}

impl FetchSession {
    /// Plans the request for a grant. `ids_allowed`: the broker speaks Fetch v13.
    pub fn build(
        &mut self,
        now: Instant,
        grant: &Grant,
        table: &Arc<PartitionTable>,
        ids_allowed: bool,
    ) -> Plan {
        self.requests += 1;
        let base = self.base.0.replace(Base {
            grant: grant.ticket,
            table: Arc::clone(table),
        });
        // a session of which the table has changed is looked at as a whole: topics may have been created anew
        let base = base.filter(|base| Arc::ptr_eq(&base.table, table));
        if let Next::Incremental { id, epoch } = self.next
            && let Some(changes) = &*grant.changes
            && base.is_some_and(|base| base.grant == changes.since)
            && self.topic_ids == ids_allowed
            && (!ids_allowed || has_ids(&changes.asks, table))
        {
            let difference = self.difference_of(changes, table);
            let plan = self.plan_of(id, epoch, difference);
            debug_assert!(self.is_in_line_with(&grant.asks, table));
            return plan;
        }
        let topic_ids = ids_allowed && has_ids(&grant.asks, table);
        if let Next::Incremental { id, .. } = self.next
            && topic_ids != self.topic_ids
        {
            self.next = Next::Full { closes: id };
        }
        self.topic_ids = topic_ids;
        match self.next {
            Next::Full { closes } => self.build_full(now, closes, &grant.asks, table),
            Next::Incremental { id, epoch } => {
                let difference = self.difference(&grant.asks, table);
                self.plan_of(id, epoch, difference)
            }
        }
    }

    fn build_full(
        &mut self,
        now: Instant,
        closes: i32,
        asks: &[Ask],
        table: &PartitionTable,
    ) -> Plan {
        let base = self.base.0.take();
        self.clear();
        self.base.0 = base;
        self.begins = self.wants_session && self.ask_again_at.is_none_or(|at| at <= now);
        let mut order: Vec<&Ask> = asks.iter().collect();
        if !self.begins {
            // a broker turns the order only within a session (KAFKA-12330)
            order.sort_by_key(|ask| ask.served);
        }
        let mut named = Vec::with_capacity(asks.len());
        for ask in order {
            if let Some(located) = table.get(ask.partition) {
                named.push(self.enter(ask, located));
            }
        }
        Plan {
            session_id: closes,
            session_epoch: if self.begins {
                INITIAL_EPOCH
            } else {
                FINAL_EPOCH
            },
            topic_ids: self.topic_ids,
            named,
            forgotten: Vec::new(),
        }
    }

    /// Where the entries differ from all that was granted.
    fn difference(&mut self, asks: &[Ask], table: &PartitionTable) -> Difference {
        let mut difference = Difference::default();
        self.misparked.clear();
        for ask in asks {
            self.compare(ask, table, &mut difference);
        }
        let entries = self.entries.iter().flatten();
        let gone = entries.filter(|entry| *entry.request != self.requests);
        let gone: Vec<PartitionId> = gone.map(|entry| entry.located.partition).collect();
        self.forget(&gone, &mut difference);
        difference
    }

    /// The same, where it is known what may be new.
    fn difference_of(&mut self, changes: &Changes, table: &PartitionTable) -> Difference {
        let mut difference = Difference::default();
        for ask in &changes.asks {
            self.compare(ask, table, &mut difference);
        }
        self.forget(&changes.gone, &mut difference);
        for partition in std::mem::take(&mut *self.misparked) {
            if let Some(entry) = self.entry_mut(partition)
                && entry.parked
                && entry.sent.offset != entry.parking()
            {
                entry.sent.offset = entry.parking();
                difference.altered.push(entry.named());
            }
        }
        difference
    }

    fn compare(&mut self, ask: &Ask, table: &PartitionTable, difference: &mut Difference) {
        let Some(located) = table.get(ask.partition) else {
            return;
        };
        let request = self.requests;
        match self.entry_mut(ask.partition) {
            Some(entry) if entry.located.topic.id == located.topic.id => {
                *entry.request = request;
                if entry.epoch != ask.epoch {
                    entry.epoch = ask.epoch;
                    difference.renewed.push(ask.partition);
                }
                entry.parked = ask.parked;
                entry.granted = ask.offset;
                let mut sent = sent(ask);
                if ask.parked {
                    sent.offset = entry.parking();
                }
                if entry.sent != sent {
                    entry.sent = sent;
                    difference.altered.push(entry.named());
                }
            }
            Some(entry) => {
                // the topic was created anew: the broker knows the partition under its old id (KIP-516)
                difference.forgotten.push(entry.forgotten());
                self.remove(ask.partition);
                difference.added.push(self.enter(ask, located));
            }
            None => {
                let former = self.evict_from_slot(ask.partition);
                difference.forgotten.extend(former);
                difference.added.push(self.enter(ask, located));
            }
        }
    }

    fn forget(&mut self, gone: &[PartitionId], difference: &mut Difference) {
        let gone = gone.iter().filter_map(|&partition| self.remove(partition));
        difference
            .forgotten
            .extend(gone.map(|entry| entry.forgotten()));
    }

    fn plan_of(&mut self, id: i32, epoch: i32, difference: Difference) -> Plan {
        let Difference {
            added: mut named,
            altered,
            mut forgotten,
            renewed,
        } = difference;
        self.renewed.extend(renewed);
        // The broker adds first and forgets then: a partition that came back under another id of ours must not be forgotten.
        forgotten.retain(|gone| {
            let indices = self.names.get(&self.key(&gone.topic));
            indices.is_none_or(|indices| !indices.contains_key(&gone.index))
        });
        named.extend(altered);
        Plan {
            session_id: id,
            session_epoch: epoch,
            topic_ids: self.topic_ids,
            named,
            forgotten,
        }
    }

    /// Whether a look at everything would find nothing to say.
    fn is_in_line_with(&self, asks: &[Ask], table: &Arc<PartitionTable>) -> bool {
        let mut whole = self.clone();
        whole.requests += 1;
        let found = whole.difference(asks, table);
        found.added.is_empty()
            && found.altered.is_empty()
            && found.forgotten.is_empty()
            && found.renewed.is_empty()
    }
}

fn has_ids(asks: &[Ask], table: &PartitionTable) -> bool {
    let mut located = asks.iter().filter_map(|ask| table.get(ask.partition));
    located.all(|located| !located.topic.id.is_nil())
}
