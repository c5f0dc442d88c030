//! What may happen, and what it does.

use buffer_actor::{CommittedOffset, EpochAnswer, EpochEnd, ResetTo, Sought, Start};

use crate::broker::{NODES, PARTITIONS};
use crate::data;
use crate::lane::{Wire, lane_of};
use crate::world::{World, node_id};

/// The partition of which the group committed something, by its slot, and where; of the other one it committed nothing.
const COMMITTED: (usize, i64) = (0, 1);

/// One step of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The buffer looks at the first message in its mailbox.
    Buffer,
    /// The planner does.
    Planner,
    /// A connection opens, a request arrives, an answer comes, a body is read.
    Wire(usize),
    /// A long poll ends without data.
    Expire(usize),
    /// A connection is lost.
    Lose(usize),
    /// A position that was looked up is found.
    Found,
    /// The coordinator tells what was committed.
    Committed,
    /// The application polls.
    Poll,
    /// The poll that waits goes on with the answer that came.
    GoOn,
    /// The poll that waits is given up by its caller.
    Cancel,
    /// Something comes up that is not in the buffer: a poll that waits ends, or looks.
    Wake,
    /// The application lets go of records that it kept.
    LetGo,
    /// Back to the first offset, to the next one, or to the end.
    Seek(usize, Target),
    Pause(usize),
    Resume(usize),
    Revoke(usize),
    Assign(usize),
    Produce(usize),
    /// The other node leads the partition from now on.
    Move(usize),
    /// Metadata tells the planner who leads.
    Snapshot,
    /// Metadata tells the planner that nobody leads the partition for now.
    Elect(usize),
    /// The node gives the slot of the session away.
    Evict(usize),
    /// The node has no slot for the next newcomer.
    Refuse(usize),
    /// Time passes up to the next deadline.
    Time,
    /// A timer fires: of the buffer, of the planner, of a lane.
    Fire(Timer),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Target {
    Begin,
    /// Where the application is anyhow.
    Here,
    /// Looked up.
    Earliest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Timer {
    Buffer,
    Planner,
    Lane(usize),
}

/// Of what there is only so much in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Allowance {
    Poll,
    Cancel,
    Wake,
    Seek,
    LookUp,
    Pause,
    Resume,
    Revoke,
    Assign,
    Produce,
    Move,
    Snapshot,
    Elect,
    Evict,
    Refuse,
    Lose,
    Time,
    Fire,
}

const KINDS: usize = 18;

/// How much of each is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Allowances(pub(crate) [u8; KINDS]);

impl Allowances {
    /// No bounds.
    pub(crate) const ALL: Self = Self([u8::MAX; KINDS]);

    pub(crate) const fn of<const N: usize>(list: [(Allowance, u8); N]) -> Self {
        let mut all = [0; KINDS];
        let mut index = 0;
        while index < N {
            all[list[index].0 as usize] = list[index].1;
            index += 1;
        }
        Self(all)
    }

    pub(crate) const fn has(&self, allowance: Allowance) -> bool {
        self.0[allowance as usize] > 0
    }
}

impl Event {
    /// The kind, for counting.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Planner => "planner",
            Self::Wire(_) => "wire",
            Self::Expire(_) => "long poll expires",
            Self::Lose(_) => "connection lost",
            Self::Found => "position found",
            Self::Committed => "committed position found",
            Self::Poll => "poll",
            Self::GoOn => "poll goes on",
            Self::Cancel => "poll cancelled",
            Self::Wake => "reader woken",
            Self::LetGo => "records let go",
            Self::Seek(..) => "seek",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Revoke(_) => "revoke",
            Self::Assign(_) => "assign",
            Self::Produce(_) => "produce",
            Self::Move(_) => "leader moves",
            Self::Snapshot => "snapshot",
            Self::Elect(_) => "leader unknown",
            Self::Evict(_) => "session evicted",
            Self::Refuse(_) => "session refused",
            Self::Time => "time",
            Self::Fire(_) => "timer",
        }
    }

    const fn allowance(self) -> Option<Allowance> {
        Some(match self {
            Self::Buffer
            | Self::Planner
            | Self::Wire(_)
            | Self::Expire(_)
            | Self::Found
            | Self::Committed
            | Self::GoOn
            | Self::LetGo => return None,
            Self::Lose(_) => Allowance::Lose,
            Self::Poll => Allowance::Poll,
            Self::Cancel => Allowance::Cancel,
            Self::Wake => Allowance::Wake,
            Self::Seek(_, Target::Earliest) => Allowance::LookUp,
            Self::Seek(..) => Allowance::Seek,
            Self::Pause(_) => Allowance::Pause,
            Self::Resume(_) => Allowance::Resume,
            Self::Revoke(_) => Allowance::Revoke,
            Self::Assign(_) => Allowance::Assign,
            Self::Produce(_) => Allowance::Produce,
            Self::Move(_) => Allowance::Move,
            Self::Snapshot => Allowance::Snapshot,
            Self::Elect(_) => Allowance::Elect,
            Self::Evict(_) => Allowance::Evict,
            Self::Refuse(_) => Allowance::Refuse,
            Self::Time => Allowance::Time,
            Self::Fire(_) => Allowance::Fire,
        })
    }
}

impl World {
    /// What may happen now within the allowances.
    pub(crate) fn enabled(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(16);
        let left = &self.left;
        self.steps(&mut events);
        for index in 0..4 {
            if self.pending(index).is_some() {
                events.push(Event::Expire(index));
            }
        }
        if left.has(Allowance::Poll) && self.reader.poll.is_none() {
            events.push(Event::Poll);
        }
        if left.has(Allowance::Cancel) && self.reader.poll.is_some() {
            events.push(Event::Cancel);
        }
        if left.has(Allowance::Wake) {
            events.push(Event::Wake);
        }
        if !self.reader.kept.is_empty() {
            events.push(Event::LetGo);
        }
        for p in 0..PARTITIONS {
            self.of_partition(p, &mut events);
        }
        let told = self.leaders_are_told();
        if left.has(Allowance::Snapshot) && (self.refresh_wanted || !told) {
            events.push(Event::Snapshot);
        }
        for (node, broker) in self.brokers.iter().enumerate() {
            if left.has(Allowance::Evict) && broker.has_session() {
                events.push(Event::Evict(node));
            }
            if left.has(Allowance::Refuse) && !broker.refuses {
                events.push(Event::Refuse(node));
            }
        }
        if left.has(Allowance::Lose) {
            for index in 0..4 {
                if self
                    .lane_at(index)
                    .is_some_and(|actor| actor.wire != Wire::Closed)
                {
                    events.push(Event::Lose(index));
                }
            }
        }
        if left.has(Allowance::Fire) {
            self.timers(&mut events);
        }
        if left.has(Allowance::Time) && self.next_deadline().is_some() {
            events.push(Event::Time);
        }
        events
    }

    /// What happens by itself, sooner or later.
    pub(crate) fn steps(&self, events: &mut Vec<Event>) {
        if !self.to_buffer.is_empty() {
            events.push(Event::Buffer);
        }
        if !self.to_planner.is_empty() {
            events.push(Event::Planner);
        }
        for index in 0..4 {
            if self.lane_at(index).is_some_and(|actor| !actor.is_quiet()) {
                events.push(Event::Wire(index));
            }
        }
        if !self.lookups.is_empty() {
            events.push(Event::Found);
        }
        if !self.committed.is_empty() {
            events.push(Event::Committed);
        }
        if self.reader.may_go_on() {
            events.push(Event::GoOn);
        }
    }

    fn of_partition(&self, p: usize, events: &mut Vec<Event>) {
        let left = &self.left;
        match &self.table.entries[p] {
            Some(entry) => {
                if left.has(Allowance::Seek) {
                    events.push(Event::Seek(p, Target::Begin));
                    if entry.given.is_some_and(|given| given != 0) {
                        events.push(Event::Seek(p, Target::Here));
                    }
                }
                if left.has(Allowance::LookUp) {
                    events.push(Event::Seek(p, Target::Earliest));
                }
                if left.has(Allowance::Pause) && !entry.paused {
                    events.push(Event::Pause(p));
                }
                if left.has(Allowance::Resume) && entry.paused {
                    events.push(Event::Resume(p));
                }
                if left.has(Allowance::Revoke) {
                    events.push(Event::Revoke(p));
                }
            }
            None => {
                if left.has(Allowance::Assign) {
                    events.push(Event::Assign(p));
                }
            }
        }
        if !self.frame.scenario.assigned[p] {
            return;
        }
        if left.has(Allowance::Produce) {
            events.push(Event::Produce(p));
        }
        if left.has(Allowance::Move) {
            events.push(Event::Move(p));
        }
        if left.has(Allowance::Elect) && self.told_leaders[p].is_some() {
            events.push(Event::Elect(p));
        }
    }

    /// Timers whose time has come.
    pub(crate) fn timers(&self, events: &mut Vec<Event>) {
        let due = |at: Option<std::time::Instant>| at.is_some_and(|at| at <= self.now);
        if due(self.buffer.get().poll_timeout()) {
            events.push(Event::Fire(Timer::Buffer));
        }
        if due(self.planner.get().poll_timeout()) {
            events.push(Event::Fire(Timer::Planner));
        }
        for index in 0..4 {
            if self
                .lane_at(index)
                .is_some_and(|actor| due(actor.deadline()))
            {
                events.push(Event::Fire(Timer::Lane(index)));
            }
        }
    }

    /// The next moment at which something is to be done, if none is due now.
    pub(crate) fn next_deadline(&self) -> Option<std::time::Instant> {
        let lanes = (0..4).filter_map(|index| self.lane_at(index)?.deadline());
        let next = [
            self.buffer.get().poll_timeout(),
            self.planner.get().poll_timeout(),
        ]
        .into_iter()
        .flatten()
        .chain(lanes)
        .min()?;
        (next > self.now).then_some(next)
    }

    /// Lets all happen that happens by itself.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut steps = Vec::new();
            self.steps(&mut steps);
            let Some(&step) = steps.first() else {
                break;
            };
            self.step(step);
        }
    }

    /// Lets it happen.
    pub(crate) fn step(&mut self, event: Event) {
        self.say(|| format!("* {event:?}"));
        if let Some(allowance) = event.allowance() {
            self.spend(allowance);
        }
        data::record(true);
        self.happen(event);
        self.notice_drops();
        data::record(false);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Buffer => self.deliver_to_buffer(),
            Event::Planner => self.deliver_to_planner(),
            Event::Wire(index) => self.advance(index),
            Event::Expire(index) => self.expire(index),
            Event::Lose(index) => self.lose(index),
            Event::Found => {
                let (id, epoch, sought) = self.lookups.remove(0);
                self.buffer(|machine, now, effects| match sought {
                    Sought::End(_) => machine.position_found([(id, epoch, 0)], effects),
                    Sought::EpochEnd(leader_epoch) => {
                        // no log here loses anything
                        let end = EpochAnswer::Ends(EpochEnd {
                            leader_epoch,
                            offset: i64::MAX,
                        });
                        machine.validated(now, [(id, epoch, end)], effects);
                    }
                });
            }
            Event::Committed => {
                let (id, epoch) = self.committed.remove(0);
                let committed = (id.slot() == COMMITTED.0).then_some(CommittedOffset {
                    offset: COMMITTED.1,
                    leader_epoch: None,
                });
                self.buffer(|machine, now, effects| {
                    machine.committed_found(now, [(id, epoch, committed)], effects);
                });
            }
            Event::Poll => {
                self.reader.begin(&self.table);
                self.go_on();
            }
            Event::GoOn => self.go_on(),
            Event::Wake => {
                self.elsewhere = true;
                self.buffer(|machine, _, effects| machine.wake_reader(effects));
            }
            Event::Cancel => self.reader.poll = None,
            Event::LetGo => drop(self.reader.kept.remove(0)),
            Event::Seek(p, target) => self.seek(p, target),
            Event::Pause(p) => self.pause(p, true),
            Event::Resume(p) => self.pause(p, false),
            Event::Revoke(p) => self.assign_but(p, None),
            Event::Assign(p) => self.assign_but(p, Some(self.frame.scenario.start)),
            Event::Produce(p) => {
                self.logs.batches[p] += 1;
                self.wake();
            }
            Event::Move(p) => {
                self.logs.leaders[p] = 1 - self.logs.leaders[p];
                self.logs.leader_epochs[p] += 1;
                self.wake();
            }
            Event::Snapshot => self.send_snapshot(None),
            Event::Elect(p) => self.send_snapshot(Some(p)),
            Event::Evict(node) => self.brokers[node].evict(),
            Event::Refuse(node) => self.brokers[node].refuses = true,
            Event::Time => {
                if let Some(at) = self.next_deadline() {
                    self.now = at;
                }
            }
            Event::Fire(Timer::Buffer) => {
                self.buffer(|machine, now, effects| machine.timeout(now, effects));
            }
            Event::Fire(Timer::Planner) => {
                self.planner(|machine, now, effects| machine.timeout(now, effects));
            }
            Event::Fire(Timer::Lane(index)) => {
                self.session(index, |machine, now, effects| machine.timeout(now, effects));
            }
        }
    }

    fn go_on(&mut self) {
        let scenario = &self.frame.scenario;
        let (records, keeps) = (scenario.poll_records, scenario.keeps);
        let mut takes = Vec::new();
        let run = self.reader.run(&mut self.table, records, keeps, &mut takes);
        // wherever it got to, it looked before
        self.elsewhere = false;
        for take in takes {
            self.send_take(take);
        }
        match run {
            Ok(Some(count)) => self.say(|| format!("the poll gives {count} records")),
            Ok(None) => {}
            Err(text) => self.violated(text),
        }
    }

    fn seek(&mut self, p: usize, target: Target) {
        let name = self.frame.name(p).clone();
        let here = self.table.entries[p].and_then(|entry| entry.given);
        let sought = self.buffer(|machine, now, effects| match target {
            Target::Begin => machine.seek(now, &name, 0, effects),
            Target::Here => machine.seek(now, &name, here.unwrap_or(0), effects),
            Target::Earliest => machine.seek_to(now, &name, ResetTo::Earliest, effects),
        });
        if let Err(error) = sought {
            self.violated(error.to_string());
        }
    }

    fn pause(&mut self, p: usize, paused: bool) {
        let name = self.frame.name(p).clone();
        let done = self.buffer(|machine, _, effects| machine.pause([&name], paused, effects));
        if let Err(error) = done {
            self.violated(error.to_string());
        }
    }

    fn assign_but(&mut self, p: usize, start: Option<Start>) {
        let mut starts = self
            .table
            .entries
            .map(|entry| entry.map(|_| Start::Offset(0)));
        starts[p] = start;
        self.assign(starts);
    }

    /// Says in which state the lanes are.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for index in 0..4 {
            if let Some(actor) = self.lane_at(index) {
                let (node, lane) = lane_of(index);
                text += &format!(
                    "\n  lane {}/{lane}: {:?}, work {:?}",
                    node_id(node),
                    actor.wire,
                    actor.work
                );
            }
        }
        for (p, entry) in self.table.entries.iter().enumerate() {
            let reason = entry.map(|entry| self.buffer.get().reason(entry.id));
            text += &format!("\n  partition {p}: {entry:?}, {reason:?}");
        }
        text + &format!(
            "\n  to the buffer: {:?}\n  to the planner: {:?}\n  reader: {:?}\n  logs: {:?}\n  memory used: {}",
            self.to_buffer,
            self.to_planner,
            self.reader,
            self.logs,
            self.buffer.get().memory_used()
        )
    }
}

const _: () = assert!(NODES == 2);
