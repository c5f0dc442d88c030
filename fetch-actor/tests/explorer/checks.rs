//! What must hold (design, invariants I1 to I9): in every state, and when nothing is left that happens by itself.

use buffer_actor::machine::Reason;
use buffer_actor::{Lane, TakeId, TakeRequest};

use crate::broker::PARTITIONS;
use crate::events::Event;
use crate::lane::{Body, Wire, lane_index};
use crate::world::{FETCH_MAX_WAIT, Place, World, node_of};

/// More than the buffer reserves for the framing of an answer about both partitions.
const FRAMING: u64 = 1_000;

impl World {
    /// Holds in every state.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(text) = &self.violation {
            return Err(text.clone());
        }
        if let Err(violation) = self.buffer.get().check_invariants() {
            return Err(violation.to_string());
        }
        self.check_take()?;
        self.check_custody()
    }

    /// I8: where the reader need not send its take, that would change nothing but that it waits.
    fn check_take(&self) -> Result<(), String> {
        if !self.buffer.is_new() || !self.buffer.get().take_would_wait() {
            return Ok(());
        }
        let mut buffer = self.buffer.get().clone();
        let mut effects = Vec::new();
        let take = TakeRequest {
            id: TakeId(u64::MAX),
            received: u64::MAX,
            holding: Vec::new(),
            returned: Vec::new(),
            until: Some(self.now + FETCH_MAX_WAIT),
        };
        buffer.take(self.now, take, &mut effects);
        match effects.first() {
            None => Ok(()),
            Some(effect) => Err(format!(
                "I8: a take need not be sent and would bring {effect:?}{}",
                self.describe()
            )),
        }
    }

    /// I1 as the network sees it: no two requests under way ask for a partition under one epoch.
    fn check_custody(&self) -> Result<(), String> {
        let lanes = || self.lanes.iter().flatten().map(|actor| actor.get());
        for p in 0..PARTITIONS {
            for (index, one) in lanes().enumerate() {
                let Some(ask) = one.ask(p) else { continue };
                let twice = lanes()
                    .skip(index + 1)
                    .filter_map(|other| other.ask(p))
                    .any(|other| other.partition == ask.partition && other.epoch == ask.epoch);
                if twice {
                    return Err(format!(
                        "I1: two requests ask for partition {p} under {:?}",
                        ask.epoch
                    ));
                }
            }
        }
        Ok(())
    }

    /// Only the application, the clock and the ends of long polls are left to happen.
    pub(crate) fn is_quiescent(&self) -> bool {
        let mut steps = Vec::new();
        self.steps(&mut steps);
        steps
            .iter()
            .all(|step| matches!(step, Event::GoOn | Event::Found | Event::Committed))
            && !self.refresh_wanted
            && self.leaders_are_told()
    }

    /// Holds when nothing more happens by itself.
    pub(crate) fn check_at_rest(&self) -> Result<(), String> {
        self.check_tickets()?;
        if self.elsewhere && self.reader.is_waiting() {
            return Err(format!(
                "I8: a poll waits though there is something else to see{}",
                self.describe()
            ));
        }
        for p in 0..PARTITIONS {
            self.check_liveness(p)?;
        }
        Ok(())
    }

    /// I4: every ticket is in the hands of a lane that works on it.
    fn check_tickets(&self) -> Result<(), String> {
        for live in &self.tickets {
            let actor = self.lane_at(lane_index(node_of(live.node), live.lane));
            let work = actor.and_then(|actor| actor.work.as_ref());
            let worked_on = match live.place {
                Place::Session => work.is_some_and(|work| work.ticket == Some(live.id)),
                // kept for the end of a touch
                Place::Planner => work.is_some_and(|work| work.ticket.is_none()),
                Place::ToPlanner | Place::ToBuffer => false,
            };
            if !worked_on {
                return Err(format!(
                    "I4: {:?} is live, and nobody works on it ({:?})",
                    live.id, live.place
                ));
            }
        }
        Ok(())
    }

    /// I8: a partition is in flight, or the reason that is given is true.
    fn check_liveness(&self, p: usize) -> Result<(), String> {
        let Some(entry) = self.table.entries[p] else {
            return Ok(());
        };
        let Some(reason) = self.buffer.get().reason(entry.id) else {
            return Err(format!("I8: partition {p} is assigned and has no reason"));
        };
        let node = self.logs.leaders[p];
        let [session, quick] = Lane::ALL.map(|lane| self.lane_at(lane_index(node, lane)));
        let busy = |lane: Option<&crate::lane::LaneActor>| lane.is_some_and(|lane| lane.is_busy());
        let rests = |lane: Option<&crate::lane::LaneActor>| lane.is_some_and(|lane| lane.rests());
        let true_reason = match reason {
            Reason::InFlight => self.lanes.iter().flatten().any(|actor| {
                let ask = actor.get().ask(p);
                ask.is_some_and(|ask| ask.partition == entry.id)
            }),
            Reason::Paused => entry.paused,
            Reason::NoPosition => {
                let looked_up = self.lookups.iter().any(|&(id, ..)| id == entry.id);
                looked_up || self.committed.iter().any(|&(id, _)| id == entry.id)
            }
            Reason::Validation => self.lookups.iter().any(|&(id, ..)| id == entry.id),
            Reason::Backoff => self.troubled[p] && self.buffer.get().poll_timeout().is_some(),
            Reason::Credit => {
                let other_is = (0..PARTITIONS)
                    .any(|other| self.logs.leaders[other] == node && self.is_at_credit(other));
                self.is_at_credit(p) || (other_is && (busy(quick) || rests(quick)))
            }
            Reason::Budget => self.memory_is_short(),
            Reason::NextRequest => busy(session) || busy(quick),
            // After an error it is tried on lane 2 alone. A node with both lanes in use was not offered since it became
            // the leader.
            Reason::NoNode => {
                rests(session)
                    || (self.troubled[p] && rests(quick))
                    || (busy(session) && (busy(quick) || rests(quick)))
            }
            // no batch is bad here
            _ => false,
        };
        if !true_reason {
            return Err(format!(
                "I8: partition {p} is not in flight, and {reason:?} is not why{}",
                self.describe()
            ));
        }
        let hurried = self.owed[p] && reason == Reason::NextRequest;
        if hurried && !busy(quick) && !rests(quick) && !rests(session) {
            return Err(format!(
                "I8: partition {p} became fetchable and waits for lane 1, with lane 2 idle{}",
                self.describe()
            ));
        }
        let work = session.and_then(|lane| lane.work.as_ref());
        let polls = work.is_some_and(|work| work.is_long_poll) && !self.left_to_lane_1[p];
        // what it waits for would be long in coming
        let out_for_long = work.is_some_and(|work| work.out_for_long);
        let waits = reason == Reason::NextRequest && (polls || out_for_long);
        if waits && !busy(quick) && !rests(quick) {
            return Err(format!(
                "I8: partition {p} waits for the end of a long poll that does not name it, with lane 2 idle{}",
                self.describe()
            ));
        }
        Ok(())
    }

    /// There is less than any request would ask for, or a reply waits for some.
    fn memory_is_short(&self) -> bool {
        let limit = self.frame.scenario.memory;
        let free = limit.saturating_sub(self.buffer.get().memory_used());
        let waits = (0..4).any(|index| {
            let wire = self.lane_at(index).map(|actor| &actor.wire);
            matches!(wire, Some(Wire::Body(_, Body::Waits)))
        });
        waits || free < limit / 2 + FRAMING
    }

    /// What is buffered and not leased is at the limit of read-ahead.
    fn is_at_credit(&self, p: usize) -> bool {
        if self.table.entries[p].is_none_or(|entry| entry.paused) {
            return false;
        }
        let buffered = self.alive[p].saturating_sub(self.reader.bytes_of(p));
        buffered >= 2 * u64::from(self.frame.scenario.partition_max)
    }

    /// Every record of the assigned partitions that are not paused was given to the application.
    pub(crate) fn all_is_given(&self) -> bool {
        (0..PARTITIONS).all(|p| {
            self.table.entries[p]
                .is_none_or(|entry| entry.paused || entry.given == Some(self.logs.end(p)))
        })
    }
}
