//! Buffer and planner at work: a message in, a call of the machine, its effects out, as the shells do it.

use std::time::Instant;

use buffer_actor::machine::{BufferMachine, Reason};
use buffer_actor::{Effect, Grant, Item, Lane, Lease, MaxWait, Outcome, Start, TakeRequest};
use fetch_actor::machine::{Effect as PlannerEffect, PlannerMachine};
use session_actor::machine::Job;

use crate::broker::PARTITIONS;
use crate::data::{Data, collect};
use crate::lane::{Work, lane_index};
use crate::notes::Seen;
use crate::reader::{Entry, Take};
use crate::world::{LiveTicket, Place, ToBuffer, ToPlanner, World, node_of};
use crate::{fingerprint::Shared, world::Fault};

type Effects = Vec<Effect<Data>>;

impl World {
    /// Runs one event of the buffer: bytes that were released first, then the event itself.
    pub(crate) fn buffer<R>(
        &mut self,
        event: impl FnOnce(&mut BufferMachine<Data>, Instant, &mut Effects) -> R,
    ) -> R {
        let mut effects = Effects::new();
        self.notice_drops();
        self.account(&mut effects);
        // what this grants is judged by how things stand now: the event may take the reason away for which a partition is left out
        for effect in std::mem::take(&mut effects) {
            self.perform(effect);
        }
        let now = self.now;
        let before = self.buffer.get().counters();
        let result = event(self.buffer.get_mut(), now, &mut effects);
        loop {
            self.notice_drops();
            self.wanted = self.buffer.get().waits_for_memory();
            if !self.wanted || self.released == 0 {
                break;
            }
            self.account(&mut effects);
        }
        let after = self.buffer.get().counters();
        self.notes.counters(before, after);
        for effect in effects {
            self.perform(effect);
        }
        result
    }

    fn account(&mut self, effects: &mut Effects) {
        if self.released > 0 {
            let bytes = std::mem::take(&mut self.released);
            self.buffer.get_mut().release(bytes, effects);
        }
    }

    /// Finds out what was dropped. The last part of a reply gives its memory back, and wakes a buffer that waits for some.
    pub(crate) fn notice_drops(&mut self) {
        for dropped in collect() {
            self.alive[dropped.partition] -= u64::from(dropped.bytes);
            let Some(index) = self
                .held
                .iter()
                .position(|held| held.reply == dropped.reply)
            else {
                self.violated(format!("{dropped:?} was dropped twice"));
                continue;
            };
            self.held[index].parts -= 1;
            if self.held[index].parts == 0 {
                self.released += self.held.swap_remove(index).bytes;
                if std::mem::take(&mut self.wanted) {
                    self.to_buffer.push_back(ToBuffer::MemoryReleased);
                }
            }
        }
    }

    fn perform(&mut self, effect: Effect<Data>) {
        match effect {
            Effect::Granted(grant) => {
                self.note_grant(&grant);
                self.to_planner.push_back(ToPlanner::Granted(grant));
            }
            Effect::Assignment { added, removed } => {
                for id in &removed {
                    if let Some(partition) = self.partition_of(*id) {
                        self.table.entries[partition] = None;
                        self.table.retired[partition] = Some(*id);
                    }
                }
                for (id, name) in &added {
                    let partition = name.partition() as usize;
                    self.owed[partition] = true;
                    self.troubled[partition] = false;
                    self.table.entries[partition] = Some(Entry {
                        id: *id,
                        data_epoch: buffer_actor::FetchEpoch(0),
                        given: None,
                        paused: false,
                    });
                }
                self.to_planner
                    .push_back(ToPlanner::Assignment(added, removed));
            }
            Effect::Answer(id, Lease { items }) => {
                // the shell gives out nothing of a partition that went
                let assigned = |item: &Item<Data>| match item {
                    Item::Data(completed) => self.table.entry(completed.partition).is_some(),
                    Item::Error(_) => true,
                };
                let items = items.into_iter().filter(assigned).collect();
                if !self.reader.answered(id.0, items) {
                    self.violated(format!("{id:?} is answered, and nobody asked"));
                }
            }
            Effect::Lookup(lookup) => {
                self.lookups
                    .push((lookup.partition, lookup.epoch, lookup.sought));
            }
            Effect::ReadFrom(..) | Effect::Truncated { .. } => {
                unreachable!("no broker here names a replica or loses records")
            }
            Effect::LookupCommitted(lookup) => {
                self.committed.push((lookup.partition, lookup.epoch))
            }
            Effect::RefreshMetadata(_) => self.refresh_wanted = true,
            Effect::ReadReply(ticket) => self.memory(ticket, true),
            Effect::DiscardReply(ticket) => self.memory(ticket, false),
            Effect::Changed => self.table.word += 1,
            Effect::Position {
                partition,
                data_epoch,
                offset,
                ..
            } => {
                if let Some(index) = self.partition_of(partition) {
                    self.owed[index] = true;
                    self.troubled[index] = false;
                }
                if let Some(entry) = self.table.entry_mut(partition) {
                    entry.data_epoch = data_epoch;
                    entry.given = offset;
                }
            }
            Effect::Paused(partition, paused) => {
                if let Some(index) = self.partition_of(partition) {
                    self.owed[index] = !paused;
                    if let Some(poll) = &mut self.reader.poll {
                        poll.resumed[index] |= !paused;
                    }
                }
                if let Some(entry) = self.table.entry_mut(partition) {
                    entry.paused = paused;
                }
            }
            Effect::Watermarks { .. } | Effect::Troubled { .. } => {}
        }
    }

    /// I2, and what I5 will ask for when the request is at its broker.
    fn note_grant(&mut self, grant: &Grant) {
        let rival = self
            .tickets
            .iter()
            .find(|live| live.node == grant.node && live.lane == grant.lane);
        if let Some(rival) = rival {
            let text = format!(
                "I2: {:?} is granted while {:?} is live",
                grant.ticket, rival.id
            );
            self.violated(text);
        }
        let mut excused = [false; PARTITIONS];
        for (partition, excused) in excused.iter_mut().enumerate() {
            *excused = self.may_be_left_out(partition, node_of(grant.node));
        }
        self.say(|| format!("granted: {:?}, may be left out: {excused:?}", grant.ticket));
        if grant.asks.iter().any(|ask| ask.parked) {
            self.notes.see(Seen::Parked);
        }
        match (grant.lane, grant.max_wait) {
            (Lane::Session, MaxWait::Full | MaxWait::Zero | MaxWait::Patient) => {}
            (Lane::Session, MaxWait::Short) => self.notes.see(Seen::Settles),
            (Lane::Quick, MaxWait::Zero) => self.notes.see(Seen::QuickEvent),
            (Lane::Quick, MaxWait::Short) => self.notes.see(Seen::QuickPoll),
            (Lane::Quick, MaxWait::Full | MaxWait::Patient) => self.notes.see(Seen::QuickRest),
        }
        let mut asks = [None; PARTITIONS];
        for ask in grant.asks.iter() {
            match self.partition_of(ask.partition) {
                Some(partition) => {
                    asks[partition] = Some(*ask);
                    let given = self.table.entries[partition].and_then(|entry| entry.given);
                    if !ask.parked && given.is_some_and(|given| given < ask.offset) {
                        self.notes.see(Seen::Ahead);
                    }
                }
                None => self.violated(format!("{ask:?} is granted, and is not assigned")),
            }
        }
        self.tickets.push(LiveTicket {
            id: grant.ticket,
            place: Place::ToPlanner,
            node: grant.node,
            lane: grant.lane,
            asks,
            excused,
        });
    }

    /// The reasons that I5 knows for a partition not to be in its node's request. That it is buffered is none.
    fn may_be_left_out(&self, partition: usize, node: usize) -> bool {
        let Some(entry) = self.table.entries[partition] else {
            return true;
        };
        let moved =
            self.logs.leaders[partition] != node || self.told_leaders[partition] != Some(node);
        let reason = self.buffer.get().reason(entry.id);
        moved
            || self.troubled[partition]
            || matches!(
                reason,
                Some(
                    Reason::Paused
                        | Reason::NoPosition
                        | Reason::Validation
                        | Reason::Blocked
                        | Reason::Backoff
                )
            )
    }

    pub(crate) fn place(&mut self, ticket: buffer_actor::TicketId, place: Place) {
        match self.tickets.iter_mut().find(|live| live.id == ticket) {
            Some(live) => live.place = place,
            None => self.violated(format!("I4: {ticket:?} moves to {place:?} and is not live")),
        }
    }

    /// Looks at the first message in the buffer's mailbox.
    pub(crate) fn deliver_to_buffer(&mut self) {
        let Some(message) = self.to_buffer.pop_front() else {
            return;
        };
        self.say(|| format!("buffer <- {message:?}"));
        match message {
            ToBuffer::Reserve(node, lane, plan, candidates, refused) => {
                self.buffer(|machine, _, effects| {
                    machine.reserve(node, lane, plan, candidates, refused, effects);
                });
            }
            ToBuffer::Withdraw(node, lane) => {
                self.buffer(|machine, _, effects| machine.withdraw(node, lane, effects));
            }
            ToBuffer::LeadersChanged(moved) => {
                for id in &moved {
                    if let Some(partition) = self.partition_of(*id) {
                        self.owed[partition] = true;
                        self.troubled[partition] = false;
                    }
                }
                self.buffer(|machine, _, effects| machine.leaders_changed(moved, effects));
            }
            ToBuffer::Done(ticket, outcome, received) => {
                if matches!(outcome, Outcome::Failed) {
                    self.note_failure(ticket);
                }
                // what was released comes first: it may grant a request that does not know of this answer yet
                self.buffer(|_, _, _| ());
                self.tickets.retain(|live| live.id != ticket);
                self.note_replies(&outcome);
                self.buffer(|machine, now, effects| {
                    machine.done(now, ticket, outcome, received, effects);
                });
            }
            ToBuffer::Abandoned(ticket) => {
                self.tickets.retain(|live| live.id != ticket);
                self.notes.see(Seen::Abandoned);
                self.buffer(|machine, now, effects| {
                    machine.done(now, ticket, Outcome::Abandoned, 0, effects);
                });
            }
            ToBuffer::NeedMore(ticket, more) => {
                self.notes.see(Seen::LargerThanReserved);
                self.buffer(|machine, now, effects| {
                    machine.need_more(now, ticket, more, effects);
                });
            }
            ToBuffer::Take(request) => {
                self.buffer(|machine, now, effects| machine.take(now, request, effects));
            }
            ToBuffer::MemoryReleased => self.buffer(|_, _, _| ()),
        }
    }

    /// What lane 2 failed to ask for is left to lane 1.
    fn note_failure(&mut self, ticket: buffer_actor::TicketId) {
        let mut live = self.tickets.iter();
        if let Some(live) = live.find(|live| live.id == ticket && live.lane == Lane::Quick) {
            for (ask, left) in live.asks.iter().zip(&mut self.left_to_lane_1) {
                *left |= ask.is_some();
            }
        }
    }

    fn note_replies(&mut self, outcome: &Outcome<Data>) {
        let Outcome::Reply(replies) = outcome else {
            return;
        };
        for reply in replies {
            if let Some(partition) = self.partition_of(reply.partition) {
                self.troubled[partition] = reply.error_code != 0;
            }
            if reply.error_code != 0 {
                self.notes.see(Seen::PartitionError);
            }
        }
    }

    /// Runs one event of the planner.
    pub(crate) fn planner(
        &mut self,
        event: impl FnOnce(&mut PlannerMachine, Instant, &mut Vec<PlannerEffect>),
    ) {
        let mut effects = Vec::new();
        let now = self.now;
        event(self.planner.get_mut(), now, &mut effects);
        for effect in effects {
            self.plan(effect);
        }
    }

    fn plan(&mut self, effect: PlannerEffect) {
        match effect {
            PlannerEffect::Reserve {
                node,
                lane,
                plan,
                candidates,
                refused,
            } => self
                .to_buffer
                .push_back(ToBuffer::Reserve(node, lane, plan, candidates, refused)),
            PlannerEffect::Withdraw(node, lane) => {
                self.to_buffer.push_back(ToBuffer::Withdraw(node, lane));
            }
            PlannerEffect::LeadersChanged(moved) => {
                self.to_buffer.push_back(ToBuffer::LeadersChanged(moved));
            }
            PlannerEffect::Abandon(ticket) => {
                if self.frame.fault != Some(Fault::TicketLost) {
                    self.place(ticket, Place::ToBuffer);
                    self.to_buffer.push_back(ToBuffer::Abandoned(ticket));
                }
            }
            PlannerEffect::Open(node, lane, _) => {
                let index = lane_index(node_of(node), lane);
                if self.lanes[index].is_some() {
                    self.violated(format!("a {lane} lane of node {node} is opened twice"));
                }
                self.lanes[index] = Some(Shared::new(self.frame.lane(index)));
            }
            PlannerEffect::Close(node, lane) => self.close_lane(lane_index(node_of(node), lane)),
            PlannerEffect::Start(node, lane, job, table) => {
                let work = match &job {
                    Job::Fetch(grant) => self.work_of(grant),
                    Job::Touch => {
                        self.notes.see(Seen::Touched);
                        Work {
                            ticket: None,
                            asks: [None; PARTITIONS],
                            excused: [false; PARTITIONS],
                            is_long_poll: false,
                            out_for_long: false,
                        }
                    }
                };
                let index = lane_index(node_of(node), lane);
                match &mut self.lanes[index] {
                    Some(actor) => actor.get_mut().work = Some(work),
                    None => self.violated(format!("node {node} has no {lane} lane to start")),
                }
                self.session(index, |machine, now, effects| {
                    machine.start(now, job, table, effects);
                });
            }
            PlannerEffect::RefreshMetadata => self.refresh_wanted = true,
        }
    }

    fn work_of(&mut self, grant: &Grant) -> Work {
        self.place(grant.ticket, Place::Session);
        let mut work = Work {
            ticket: Some(grant.ticket),
            asks: [None; PARTITIONS],
            excused: [false; PARTITIONS],
            is_long_poll: matches!(grant.max_wait, MaxWait::Full | MaxWait::Patient),
            out_for_long: false,
        };
        if let Some(live) = self.tickets.iter().find(|live| live.id == grant.ticket) {
            work.asks = live.asks;
            work.excused = live.excused;
        }
        let marks = self.owed.iter_mut().zip(&mut self.left_to_lane_1);
        for (ask, (owed, left)) in work.asks.iter().zip(marks) {
            let is_asked = ask.is_some_and(|ask| !ask.parked);
            *owed &= !is_asked;
            *left &= !is_asked;
        }
        work
    }

    /// Looks at the first message in the planner's mailbox.
    pub(crate) fn deliver_to_planner(&mut self) {
        let Some(message) = self.to_planner.pop_front() else {
            return;
        };
        self.say(|| format!("planner <- {message:?}"));
        match message {
            ToPlanner::Granted(grant) => {
                self.place(grant.ticket, Place::Planner);
                self.planner(|machine, now, effects| machine.granted(now, grant, effects));
            }
            ToPlanner::Assignment(added, removed) => {
                self.planner(|machine, now, effects| {
                    machine.assignment(now, added, &removed, effects);
                });
            }
            ToPlanner::Snapshot(snapshot) => {
                self.planner(|machine, now, effects| machine.snapshot(now, snapshot, effects));
            }
            ToPlanner::Idle(node, lane, session) => {
                self.planner(|machine, now, effects| {
                    machine.idle(now, node, lane, session, effects);
                });
            }
            ToPlanner::Unavailable(node, lane) => {
                self.planner(|machine, _, effects| machine.unavailable(node, lane, effects));
            }
        }
    }

    /// The handle sends a take.
    pub(crate) fn send_take(&mut self, take: Take) {
        if !take.returned.is_empty() {
            self.notes.see(Seen::GivenBack);
        }
        let request = TakeRequest {
            id: buffer_actor::TakeId(take.id),
            received: take.received,
            holding: take.holding,
            returned: take.returned,
            until: take.waits.then(|| self.now + LONG),
        };
        self.to_buffer.push_back(ToBuffer::Take(request));
    }

    /// Replaces the assignment.
    pub(crate) fn assign(&mut self, starts: [Option<Start>; PARTITIONS]) {
        let wanted: Vec<_> = starts
            .into_iter()
            .enumerate()
            .filter_map(|(partition, start)| Some((self.frame.name(partition).clone(), start?)))
            .collect();
        self.buffer(|machine, now, effects| machine.assign(now, wanted, effects));
    }
}

/// How long a poll waits: longer than anything else.
const LONG: std::time::Duration = std::time::Duration::from_secs(100_000_000);
