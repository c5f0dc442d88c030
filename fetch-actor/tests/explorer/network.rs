//! Connections and brokers at work.

use std::time::Instant;

use buffer_actor::{Fetched, Flaw, Outcome, TicketId};
use session_actor::fetch_session::Plan;
use session_actor::machine::{Answer, AnswerPartition, Effect, Request, SessionMachine};
use session_actor::wire::fetch::TopicKey;

use crate::broker::{Pending, Received, Reply, ReplyPart, Wanted};
use crate::data::{Data, Held};
use crate::events::Allowance;
use crate::lane::{Body, LaneActor, Wire, Work, answer_length, lane_of};
use crate::notes::Seen;
use crate::world::{FETCH_MAX_WAIT, Fault, Place, ToBuffer, ToPlanner, World, node_id};

impl World {
    /// Runs one event of a session.
    pub(crate) fn session(
        &mut self,
        index: usize,
        event: impl FnOnce(&mut SessionMachine, Instant, &mut Vec<Effect<Data>>),
    ) {
        let mut effects = Vec::new();
        let now = self.now;
        let Some(actor) = &mut self.lanes[index] else {
            return;
        };
        event(&mut actor.get_mut().machine, now, &mut effects);
        if self.frame.fault == Some(Fault::IdleBeforeDone)
            && let Some(done) = effects
                .iter()
                .position(|effect| matches!(effect, Effect::Done(..)))
        {
            let done = effects.remove(done);
            effects.push(done);
        }
        for effect in effects {
            self.perform_session(index, effect);
        }
    }

    fn lane_mut(&mut self, index: usize) -> Option<&mut LaneActor> {
        self.lanes[index].as_mut().map(|actor| actor.get_mut())
    }

    fn set_wire(&mut self, index: usize, wire: Wire) {
        if let Some(actor) = self.lane_mut(index) {
            actor.wire = wire;
        }
    }

    fn perform_session(&mut self, index: usize, effect: Effect<Data>) {
        let (node, lane) = lane_of(index);
        let id = node_id(node);
        match effect {
            // that a connection takes its time matters only where it can be lost
            Effect::Connect if !self.frame.scenario.allowances.has(Allowance::Lose) => {
                self.set_wire(index, Wire::Open);
                self.session(index, |machine, now, effects| {
                    machine.connected(now, true, effects);
                });
            }
            Effect::Connect => self.set_wire(index, Wire::Connecting),
            Effect::Send(request) => {
                self.say(|| format!("lane {node}/{lane} sends {request:?}"));
                self.set_wire(index, Wire::Request(request));
            }
            Effect::Read => self.body(index, Body::Read),
            Effect::Skip => self.body(index, Body::Skip),
            Effect::Disconnect => self.set_wire(index, Wire::Closed),
            Effect::NeedMore(ticket, more) => {
                self.to_buffer.push_back(ToBuffer::NeedMore(ticket, more));
            }
            Effect::Done(ticket, outcome, received) => {
                if let Some(actor) = self.lane_mut(index) {
                    actor.work = None;
                }
                if outcome == Outcome::Failed {
                    self.notes.see(Seen::Failed);
                }
                self.place(ticket, Place::ToBuffer);
                self.to_buffer
                    .push_back(ToBuffer::Done(ticket, outcome, received));
            }
            Effect::Idle(session) => {
                self.end_work(index);
                self.to_planner
                    .push_back(ToPlanner::Idle(id, lane, session));
            }
            Effect::Unavailable => {
                self.end_work(index);
                self.to_planner.push_back(ToPlanner::Unavailable(id, lane));
            }
            Effect::RefreshMetadata => self.refresh_wanted = true,
            Effect::LeadersTold(_) => unreachable!("no broker here names a leader"),
            Effect::SessionTrouble(_) => {}
        }
    }

    /// The lane says that it has nothing in hand: a touch is over, and no ticket may be left behind (I4, I7).
    fn end_work(&mut self, index: usize) {
        let Some(actor) = self.lane_mut(index) else {
            return;
        };
        if let Some(work) = actor.work.take()
            && let Some(ticket) = work.ticket
        {
            self.violated(format!(
                "I7: the planner hears that a lane is free before the buffer hears of {ticket:?}"
            ));
        }
    }

    fn body(&mut self, index: usize, to_do: Body) {
        if let Some(actor) = self.lane_mut(index)
            && let Wire::Body(_, body) = &mut actor.wire
        {
            *body = to_do;
        }
    }

    /// The buffer decided about a reply that waits for memory.
    pub(crate) fn memory(&mut self, ticket: TicketId, kept: bool) {
        let index = (0..4).find(|&index| {
            self.lane_at(index).is_some_and(|actor| {
                let work = actor.work.as_ref();
                work.is_some_and(|work| work.ticket == Some(ticket))
            })
        });
        if let Some(index) = index {
            self.session(index, |machine, now, effects| {
                machine.memory(now, ticket, kept, effects);
            });
        }
    }

    /// The next step of a connection that is not waiting for anybody.
    pub(crate) fn advance(&mut self, index: usize) {
        let Some(actor) = self.lane_mut(index) else {
            return;
        };
        let wire = std::mem::replace(&mut actor.wire, Wire::Open);
        match wire {
            Wire::Connecting => self.session(index, |machine, now, effects| {
                machine.connected(now, true, effects);
            }),
            Wire::Request(request) => self.arrive(index, &request),
            Wire::Answer(reply) => {
                let length = answer_length(&reply);
                self.set_wire(index, Wire::Body(reply, Body::Waits));
                self.session(index, |machine, now, effects| {
                    machine.length(now, length, effects);
                });
                if !self.frame.scenario.splits_bodies {
                    self.read_body(index);
                }
            }
            other => {
                self.set_wire(index, other);
                self.read_body(index);
            }
        }
    }

    fn read_body(&mut self, index: usize) {
        let Some(actor) = self.lane_mut(index) else {
            return;
        };
        match std::mem::replace(&mut actor.wire, Wire::Open) {
            Wire::Body(_, Body::Skip) => {
                self.session(index, |machine, now, effects| machine.skipped(now, effects));
            }
            Wire::Body(reply, Body::Read) => self.answer(index, reply),
            other => self.set_wire(index, other),
        }
    }

    fn answer(&mut self, index: usize, reply: Reply) {
        let received = answer_length(&reply);
        self.replies += 1;
        let token = self.replies;
        let Some(actor) = self.lane_at(index) else {
            return;
        };
        let mut alive = self.alive;
        let mut parts = 0;
        let mut partitions = Vec::with_capacity(reply.parts.len());
        let session = actor.machine.session();
        let topic = self.frame.topic_id();
        for part in reply.parts {
            let partition = session
                .topic(TopicKey::Id(topic))
                .and_then(|indices| indices.get(&(part.partition as i32)))
                .copied();
            let fetched = partition.and_then(|id| {
                Some(fetched(
                    &part,
                    token,
                    session.asked(id)?,
                    session.asked_offset(id)?,
                ))
            });
            let fetched = fetched.flatten();
            if part.records.is_some() && fetched.is_none() {
                self.notes.see(Seen::Stray);
            }
            if let Some(fetched) = &fetched {
                parts += 1;
                alive[part.partition] += u64::from(fetched.bytes);
            }
            partitions.push(AnswerPartition {
                partition,
                error_code: part.error_code,
                high_watermark: part.high_watermark,
                last_stable_offset: part.high_watermark,
                log_start_offset: if part.error_code == 0 { 0 } else { -1 },
                preferred_replica: None,
                diverging: None,
                fetched,
            });
        }
        self.alive = alive;
        let received = if parts > 0 {
            self.held.push(Held {
                reply: token,
                parts,
                bytes: received,
            });
            received
        } else {
            0
        };
        let answer = Answer {
            error_code: reply.error_code,
            session_id: reply.session_id,
            throttle: std::time::Duration::ZERO,
            partitions,
            leaders: Vec::new(),
        };
        self.session(index, |machine, now, effects| {
            machine.answer(now, answer, received, effects);
        });
    }

    /// A request is at its broker.
    fn arrive(&mut self, index: usize, request: &Request) {
        let (node, _) = lane_of(index);
        let forgotten_not_sent = self.frame.fault == Some(Fault::ForgottenNotSent);
        let mut plan = request.plan.clone();
        if forgotten_not_sent {
            plan.forgotten.clear();
        }
        self.check_plan(index, &request.plan);
        if request.max_wait > FETCH_MAX_WAIT {
            self.notes.see(Seen::OutForLong);
            let work = self.lane_mut(index).and_then(|actor| actor.work.as_mut());
            if let Some(work) = work {
                work.out_for_long = true;
            }
        }
        let received = self.brokers[node].receive(
            node,
            &self.logs,
            &plan,
            request.max_bytes,
            !request.max_wait.is_zero(),
        );
        let wire = match received {
            Received::Answer(reply) => {
                if reply.error_code != 0 {
                    self.notes.see(Seen::SessionRefused);
                }
                Wire::Answer(reply)
            }
            Received::Wait(pending) => Wire::Polling(pending),
        };
        self.set_wire(index, wire);
        if plan.session_epoch > 0 {
            self.check_session(index, plan.session_id);
        }
    }

    /// I5, as far as the request itself shows it.
    fn check_plan(&mut self, index: usize, plan: &Plan) {
        let Some(work) = self.lane_at(index).and_then(|actor| actor.work.clone()) else {
            self.violated("a request without a grant is on its way".into());
            return;
        };
        for gone in &plan.forgotten {
            self.notes.see(Seen::Forgotten);
            if !work.excused[gone.index as usize] {
                self.violated(format!(
                    "I5: partition {} leaves its session for no reason that may be",
                    gone.index
                ));
            }
        }
    }

    /// I5: what the session asks for now is what was granted, no more and no less. A touch asks for nothing.
    fn check_session(&mut self, index: usize, session: i32) {
        let (node, _) = lane_of(index);
        let Some(work) = self.lane_at(index).and_then(|actor| actor.work.as_ref()) else {
            return;
        };
        let misfit = self.brokers[node]
            .parts_of(session)
            .find_map(|held| misfit(work, held));
        if let Some(text) = misfit {
            self.violated(text);
        }
    }

    /// Something happened at the brokers: requests that wait for it are answered.
    pub(crate) fn wake(&mut self) {
        for index in 0..4 {
            let (node, _) = lane_of(index);
            let due = match self.lane_at(index).map(|actor| &actor.wire) {
                Some(Wire::Polling(pending)) => {
                    self.brokers[node].is_due(node, &self.logs, pending, false)
                }
                _ => false,
            };
            if due {
                self.expire(index);
            }
        }
    }

    /// The broker answers a request that waits with what there is.
    pub(crate) fn expire(&mut self, index: usize) {
        let (node, _) = lane_of(index);
        let Some(pending) = self.pending(index).cloned() else {
            return;
        };
        let reply = self.brokers[node].answer(node, &self.logs, &pending);
        self.set_wire(index, Wire::Answer(reply));
    }

    pub(crate) fn pending(&self, index: usize) -> Option<&Pending> {
        match self.lane_at(index).map(|actor| &actor.wire) {
            Some(Wire::Polling(pending)) => Some(pending),
            _ => None,
        }
    }

    /// The connection is gone, whatever was on it.
    pub(crate) fn lose(&mut self, index: usize) {
        self.set_wire(index, Wire::Closed);
        self.session(index, |machine, now, effects| {
            machine.failed(now, "the connection was lost", effects);
        });
    }

    /// The planner closes a lane.
    pub(crate) fn close_lane(&mut self, index: usize) {
        let (node, _) = lane_of(index);
        let mut plan = None;
        self.session(index, |machine, _, effects| plan = machine.close(effects));
        if let Some(plan) = plan {
            self.brokers[node].close(plan.session_id);
        }
        if self.lanes[index].take().is_none() {
            self.violated("a lane is closed that is not open".into());
        }
    }
}

fn fetched(
    part: &ReplyPart,
    reply: u64,
    epoch: buffer_actor::FetchEpoch,
    asked: i64,
) -> Option<Fetched<Data>> {
    let (first, next) = part.records?;
    Some(Fetched {
        bytes: part.bytes,
        next_offset: next,
        // a record of an old epoch is as good as any: no log here loses anything
        leader_epoch: Some(0),
        largest_batch: part.largest_batch,
        flaw: Flaw::None,
        data: Data {
            partition: part.partition,
            reply,
            bytes: part.bytes,
            epoch,
            asked,
            first,
            next,
        },
    })
}

fn misfit(work: &Work, held: Wanted) -> Option<String> {
    let p = held.partition;
    let fits = match &work.asks[p] {
        _ if work.ticket.is_none() => held.max_bytes == 0,
        None => {
            return Some(format!(
                "I5: the session still asks for partition {p} at {}, which was not granted",
                held.offset
            ));
        }
        Some(ask) if ask.parked => held.max_bytes == 0 && held.offset >= ask.offset,
        Some(ask) => held.offset == ask.offset && held.max_bytes == ask.max_bytes,
    };
    (!fits).then(|| {
        format!(
            "I5: the session asks for partition {p} as {held:?}, granted was {:?}",
            work.asks[p]
        )
    })
}
