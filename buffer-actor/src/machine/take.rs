//! The reader's side: parked takes, leases, and the word that tells the reader to look again.

use std::time::{Duration, Instant};

use super::{BufferMachine, Effects};
use crate::ids::{PartitionId, TakeId};
use crate::model::{Completed, Effect, Item, Lease, TakeRequest};

/// News for the reader of partitions that it does not hold interrupt it no more often than this.
const NEWS_INTERVAL: Duration = Duration::from_millis(1);

/// What the machine knows of the one who reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Reader {
    parked: Option<Parked>,
    /// Partitions of which the reader has unread data, and the answer that gave it.
    holding: Vec<(PartitionId, u64)>,
    /// Answers given so far.
    answers: u64,
    /// Something came, or may be given now, and the reader that waits was not answered yet.
    due: bool,
    /// The reader was told to look again and sent no take since. That take brings it whatever news there are, so it need not
    /// hear of more.
    told: bool,
    /// Woken while none of its takes waited: one that is under way may have been sent before it could know.
    woken: bool,
    /// When it was last told of news.
    last_news: Option<Instant>,
    /// When to tell it of news that came too soon after the last.
    news_due: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Parked {
    id: TakeId,
    until: Instant,
}

impl Reader {
    pub(super) fn deadline(&self) -> Option<Instant> {
        let parked = self.parked.as_ref().map(|parked| parked.until);
        parked.into_iter().chain(self.news_due).min()
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.parked.is_some()
    }

    pub(super) fn forget(&mut self, id: PartitionId) {
        self.holding.retain(|&(held, _)| held != id);
    }
}

impl<D> BufferMachine<D> {
    /// The application wants records. Answered at once with what is there, or when something comes, or empty at its deadline.
    /// A second request of the reader replaces the first, whose answer is empty.
    pub fn take(&mut self, now: Instant, request: TakeRequest<D>, effects: &mut Effects<D>) {
        self.end_parked(effects);
        self.reader.told = false;
        self.reader.news_due = None;
        self.end_leases(&request.holding, request.received);
        for completed in request.returned {
            self.give_back(completed);
        }
        self.go_on_after_divergence(now, effects);
        let items = self.lease();
        let woken = request.until.is_some() && std::mem::take(&mut self.reader.woken);
        match request.until {
            Some(until) if items.is_empty() && until > now && !woken => {
                self.reader.parked = Some(Parked {
                    id: request.id,
                    until,
                });
            }
            _ => self.answer(request.id, items, effects),
        }
        self.settle(effects);
    }

    /// Whether a take of a reader that has nothing in hand would change nothing now but that it waits: there is nothing to give, and
    /// nobody waits for the end of its leases.
    pub fn take_would_wait(&self) -> bool {
        let has_nothing = self.ready.is_empty() || mutated!(self, TakesWaitThoughReady);
        let is_short = self.waits_for_memory() && !mutated!(self, TakesWaitThoughMemoryIsShort);
        has_nothing
            && !is_short
            && !self.config.policy.looks_at_leases()
            && self.diverged.is_empty()
            && !self.reader.is_waiting()
            && !self.reader.woken
    }

    fn answer(&mut self, id: TakeId, items: Vec<Item<D>>, effects: &mut Effects<D>) {
        self.reader.answers += 1;
        effects.push(Effect::Answer(id, Lease { items }));
    }

    /// Answers a take that waits with nothing. Returns whether there was one.
    fn end_parked(&mut self, effects: &mut Effects<D>) -> bool {
        let parked = self.reader.parked.take();
        let waited = parked.is_some();
        if let Some(parked) = parked {
            self.answer(parked.id, Vec::new(), effects);
        }
        waited
    }

    /// There is something to see elsewhere: the reader that waits is answered with nothing.
    pub fn wake_reader(&mut self, effects: &mut Effects<D>) {
        if !self.end_parked(effects) {
            self.reader.woken = true;
            self.notice_change(effects);
        }
    }

    /// The reader went away: what it was leased is free, nobody waits.
    pub fn reader_gone(&mut self, effects: &mut Effects<D>) {
        self.reader.parked = None;
        self.reader.answers = 0;
        self.end_leases(&[], u64::MAX);
        self.settle(effects);
    }

    /// Partitions went.
    pub(super) fn forget_gone(&mut self) {
        let partitions = &self.partitions;
        self.ready.retain(|&id| partitions.get(id).is_some());
        self.reader
            .holding
            .retain(|&(id, _)| partitions.get(id).is_some());
    }

    fn end_leases(&mut self, still_held: &[PartitionId], received: u64) {
        for &id in still_held {
            if let Some(partition) = self.partitions.get_mut(id) {
                partition.still_held = true;
            }
        }
        let mut held = std::mem::take(&mut self.reader.holding);
        held.retain(|&(id, answer)| {
            let Some(partition) = self.partitions.get_mut(id) else {
                return false;
            };
            if std::mem::take(&mut partition.still_held) || answer > received {
                return true;
            }
            partition.held_by_reader = false;
            self.leased_bytes -= std::mem::take(&mut partition.leased_bytes);
            if !mutated!(self, LeaseLooksNotAgain) {
                self.check_partition(id);
            }
            false
        });
        self.reader.holding = held;
        // what was void before the reader knew it is not held by it
        for &id in still_held {
            if let Some(partition) = self.partitions.get_mut(id) {
                partition.still_held = false;
            }
        }
    }

    /// Unread data of a paused partition goes back to the front, if it still counts.
    fn give_back(&mut self, completed: Completed<D>) {
        let id = completed.partition;
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if completed.epoch < partition.data_epoch || partition.blocked {
            return;
        }
        if mutated!(self, DropsWhatIsGivenBack) {
            return;
        }
        let bytes = u64::from(completed.bytes);
        partition.queue.push_front(Item::Data(completed));
        partition.queued_bytes += bytes;
        self.queued_bytes += bytes;
        self.list(id);
        self.check_partition(id);
    }

    /// Takes the first item of each partition that may give one, the partition served longest ago first.
    fn lease(&mut self) -> Vec<Item<D>> {
        let mut items = Vec::new();
        let credit = self.credit();
        for _ in 0..self.ready.len() {
            let Some(id) = self.ready.pop_front() else {
                break;
            };
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            if partition.paused || partition.held_by_reader {
                self.ready.push_back(id);
                continue;
            }
            let Some(item) = partition.queue.pop_front() else {
                partition.listed = false;
                continue;
            };
            let was_at_credit = partition.queued_bytes >= credit;
            let bytes = super::completed_bytes(&item);
            partition.queued_bytes -= bytes;
            partition.leased_bytes += bytes;
            partition.listed = !partition.queue.is_empty();
            let crossed = was_at_credit && partition.queued_bytes < credit;
            if partition.listed {
                self.ready.push_back(id);
            }
            self.queued_bytes -= bytes;
            self.leased_bytes += bytes;
            if let Item::Data(_) = &item {
                partition.held_by_reader = true;
                self.reader.holding.push((id, self.reader.answers + 1));
            }
            items.push(item);
            if crossed && !mutated!(self, LeaseLooksNotAgain) {
                self.check_partition(id);
            }
        }
        items
    }

    /// Something came for `id`: the reader that waits is answered with it, one that reads something else is told to look again.
    pub(super) fn notice_data(&mut self, now: Instant, id: PartitionId, effects: &mut Effects<D>) {
        let Some(partition) = self.partitions.get(id) else {
            return;
        };
        if partition.paused || !partition.listed {
            return;
        }
        if self.reader.is_waiting() {
            self.reader.due = true;
        } else if !partition.held_by_reader && !self.reader.told {
            match self.reader.last_news {
                Some(last) if now < last + NEWS_INTERVAL => {
                    self.reader.news_due = Some(last + NEWS_INTERVAL);
                }
                _ => {
                    self.reader.last_news = Some(now);
                    self.tell_reader(effects);
                }
            }
        }
    }

    /// What the reader holds may have become void: it must look before it gives out another record. Said every time, since it
    /// may have looked after the last time and not have got to its take.
    pub(super) fn notice_change(&mut self, effects: &mut Effects<D>) {
        if !(self.reader.told && mutated!(self, TellsOfOneChange)) {
            self.tell_reader(effects);
        }
        self.reader.due = true;
    }

    fn tell_reader(&mut self, effects: &mut Effects<D>) {
        self.reader.told = true;
        self.reader.news_due = None;
        effects.push(Effect::Changed);
    }

    /// Answers the reader that waits, if something came for it. At the end of an event: it is given all that the event brought.
    pub(super) fn answer_reader(&mut self, effects: &mut Effects<D>) {
        if !std::mem::take(&mut self.reader.due) || !self.reader.is_waiting() {
            return;
        }
        let items = self.lease();
        if !items.is_empty()
            && let Some(parked) = self.reader.parked.take()
        {
            self.answer(parked.id, items, effects);
        }
    }

    pub(super) fn reader_timeout(&mut self, now: Instant, effects: &mut Effects<D>) {
        let parked = self.reader.parked.as_ref();
        if parked.is_some_and(|parked| parked.until <= now) {
            self.end_parked(effects);
        }
        if self.reader.news_due.take_if(|due| *due <= now).is_some() {
            self.reader.last_news = Some(now);
            self.tell_reader(effects);
        }
    }
}
