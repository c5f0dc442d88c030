//! From a state on, nothing disturbs any more: whatever can happen happens, in turn, and time passes when nothing else does.
//! Then every record must reach the application within a bounded number of steps, and in the end nothing may be left over.
//! That is what finds lost wake-ups and deadlocks.

use crate::broker::PARTITIONS;
use crate::events::{Allowances, Event};
use crate::world::World;

/// More than any drain of a healthy world takes, many times over.
const ROUNDS: usize = 400;
/// Deadlines that may have to pass: pauses, waits for memory, touches.
const WAITS: usize = 60;

impl World {
    /// Runs to the end, on a copy.
    pub(crate) fn check_progress(&self) -> Result<(), String> {
        let mut world = self.clone();
        world.left = Allowances::ALL;
        world.trace = self.trace.clone();
        world.drain()
    }

    fn drain(&mut self) -> Result<(), String> {
        self.say(|| "--- from here on nothing disturbs".into());
        self.deliver_all("records are not given")?;
        let paused: Vec<usize> = (0..PARTITIONS)
            .filter(|&p| self.table.entries[p].is_some_and(|entry| entry.paused))
            .collect();
        if !paused.is_empty() {
            for p in paused {
                self.step(Event::Resume(p));
            }
            self.deliver_all("records are not given after a resume")?;
        }
        self.end()
    }

    fn deliver_all(&mut self, what: &str) -> Result<(), String> {
        let mut waits = 0;
        for _ in 0..ROUNDS {
            if self.round()? {
                continue;
            }
            if self.all_is_given() {
                return Ok(());
            }
            if !self.let_time_pass(&mut waits)? {
                break;
            }
        }
        Err(format!("progress: {what}{}", self.describe()))
    }

    fn go(&mut self, event: Event) -> Result<(), String> {
        self.step(event);
        self.check()
    }

    /// Everybody has a turn. Returns whether anything happened but empty polls.
    fn round(&mut self) -> Result<bool, String> {
        let mut events = Vec::new();
        self.steps(&mut events);
        self.timers(&mut events);
        if !self.reader.kept.is_empty() {
            events.push(Event::LetGo);
        }
        if self.refresh_wanted {
            events.push(Event::Snapshot);
        }
        if self.reader.poll.is_none() {
            events.push(Event::Poll);
        }
        let before = self.given();
        let mut happened = false;
        for event in events {
            // what came before may have taken its reason away
            if event == Event::Poll || self.still_may(event) {
                self.go(event)?;
                happened |= event != Event::Poll;
            }
        }
        Ok(happened || self.given() != before || !self.to_buffer.is_empty())
    }

    fn still_may(&self, event: Event) -> bool {
        let mut events = Vec::new();
        self.steps(&mut events);
        self.timers(&mut events);
        match event {
            Event::LetGo => !self.reader.kept.is_empty(),
            Event::Snapshot => self.refresh_wanted,
            _ => events.contains(&event),
        }
    }

    fn given(&self) -> [Option<i64>; PARTITIONS] {
        self.table.entries.map(|entry| entry?.given)
    }

    /// Long polls end; if there are none, the next deadline comes.
    fn let_time_pass(&mut self, waits: &mut usize) -> Result<bool, String> {
        *waits += 1;
        if *waits > WAITS {
            return Ok(false);
        }
        let polling: Vec<usize> = (0..4)
            .filter(|&index| self.pending(index).is_some())
            .collect();
        if !polling.is_empty() && !waits.is_multiple_of(8) {
            for index in polling {
                self.go(Event::Expire(index))?;
            }
            return Ok(true);
        }
        if self.next_deadline().is_some() {
            self.go(Event::Time)?;
            return Ok(true);
        }
        Ok(!polling.is_empty())
    }

    /// The consumer is closed: nothing may be left of it (I4).
    fn end(&mut self) -> Result<(), String> {
        for p in 0..PARTITIONS {
            if self.table.entries[p].is_some() {
                self.go(Event::Revoke(p))?;
            }
        }
        for _ in 0..ROUNDS {
            let happened = self.round()?;
            if !happened && self.tickets.is_empty() {
                break;
            }
            for index in 0..4 {
                if self.pending(index).is_some() {
                    self.go(Event::Expire(index))?;
                }
            }
        }
        // a message of any kind makes the buffer look at what was released
        self.go(Event::Cancel)?;
        self.buffer(|_, _, _| ());
        let used = self.buffer.get().memory_used();
        if used != 0 || !self.tickets.is_empty() || !self.held.is_empty() {
            return Err(format!(
                "I4: at the end {used} bytes are in use, tickets {:?}, replies {:?}{}",
                self.tickets,
                self.held,
                self.describe()
            ));
        }
        Ok(())
    }
}
