//! The shell of the planner: a message in, a call of the machine, its effects out as tells.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient};
use buffer_actor::messages::{
    AssignmentChanged, Granted, LeadersChanged, ReadFrom, Reserve, Withdraw,
};
use buffer_actor::{Alarm, Lane, NodeId, Ticket, Vital};
use session_actor::machine::Job;
use session_actor::messages::{CloseLane, LaneIdle, LaneJob, LaneLost, LaneUnavailable, StartJob};
use session_actor::wire::Address;
use session_actor::{PartitionTable, SnapshotChanged};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tracing::debug;

use crate::machine::{Effect, PlannerMachine};
use crate::messages::{CloseAll, LeaderUnknown};

/// How to talk to a lane that was opened.
#[derive(Debug, Clone)]
pub struct LaneHandle {
    /// Gives it something to do.
    pub start: Recipient<StartJob>,
    /// Ends it.
    pub close: Recipient<CloseLane>,
}

/// Opens lanes: starts a session actor, or in a test a probe.
pub type OpenLane = Box<dyn FnMut(NodeId, Lane, Address, LaneReports) -> LaneHandle>;

/// Whom a lane tells of itself.
#[derive(Debug, Clone)]
pub struct LaneReports {
    /// It is idle.
    pub idle: Recipient<LaneIdle>,
    /// It cannot be used for a while.
    pub unavailable: Recipient<LaneUnavailable>,
    /// It ended unasked.
    pub lost: Recipient<LaneLost>,
}

/// Whom the planner tells.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Buffer: offers.
    pub reserve: Recipient<Reserve>,
    /// Buffer: offers taken back.
    pub withdraw: Recipient<Withdraw>,
    /// Buffer: leaders that moved.
    pub leaders_changed: Recipient<LeadersChanged>,
    /// Metadata: partitions without a leader.
    pub leader_unknown: Recipient<LeaderUnknown>,
}

/// The actor. See the [crate](crate) for what it is for.
pub struct FetchActor {
    machine: PlannerMachine,
    neighbours: Neighbours,
    open: OpenLane,
    lanes: BTreeMap<(NodeId, Lane), LaneHandle>,
    /// Lanes without partitions that end their sessions. A member that leaves its group has only such when it closes.
    closing: Vec<oneshot::Receiver<()>>,
    /// The ticket of the grant that the machine is looking at or holds back for the end of a touch.
    tickets: Vec<Ticket>,
    effects: Vec<Effect>,
    alarm: Alarm,
    vital: Vital,
    messages: u64,
}

impl FetchActor {
    /// A planner that knows nothing yet. `uses_quick_lane`: see [`Policy`](buffer_actor::Policy).
    pub fn new(uses_quick_lane: bool, neighbours: Neighbours, open: OpenLane) -> Self {
        Self {
            machine: PlannerMachine::new(uses_quick_lane),
            neighbours,
            open,
            lanes: BTreeMap::new(),
            closing: Vec::new(),
            tickets: Vec::new(),
            effects: Vec::new(),
            alarm: Alarm::default(),
            vital: Vital::default(),
            messages: 0,
        }
    }

    /// The same, and whom `vital` tells hears if it ends unasked.
    #[must_use]
    pub fn watched(mut self, vital: Vital) -> Self {
        self.vital = vital;
        self
    }

    fn run(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(&mut PlannerMachine, Instant, &mut Vec<Effect>),
    ) {
        self.messages += 1;
        let now = tokio::time::Instant::now().into_std();
        let mut effects = std::mem::take(&mut self.effects);
        event(&mut self.machine, now, &mut effects);
        for effect in effects.drain(..) {
            self.perform(effect, ctx);
        }
        self.effects = effects;
        self.alarm.set(self.machine.poll_timeout(), ctx, Self::ring);
    }

    fn ring(&mut self, ctx: &mut Context<Self>) {
        self.alarm.rang();
        self.run(ctx, |machine, now, effects| machine.timeout(now, effects));
    }

    fn perform(&mut self, effect: Effect, ctx: &mut Context<Self>) {
        match effect {
            Effect::Reserve {
                node,
                lane,
                plan,
                candidates,
                refused,
            } => self.neighbours.reserve.do_send(Reserve {
                node,
                lane,
                plan,
                candidates,
                refused,
            }),
            Effect::Withdraw(node, lane) => {
                self.neighbours.withdraw.do_send(Withdraw { node, lane });
            }
            Effect::LeadersChanged(moved) => {
                self.neighbours
                    .leaders_changed
                    .do_send(LeadersChanged(moved));
            }
            // dropped, a ticket tells the buffer by itself (I4)
            Effect::Abandon(id) => self.tickets.retain(|ticket| ticket.id() != id),
            Effect::Open(node, lane, address) => {
                debug!(%node, %lane, %address, "a lane is opened");
                let address_of_self = ctx.address();
                let reports = LaneReports {
                    idle: address_of_self.clone().recipient(),
                    unavailable: address_of_self.clone().recipient(),
                    lost: address_of_self.recipient(),
                };
                let handle = (self.open)(node, lane, address, reports);
                self.lanes.insert((node, lane), handle);
            }
            Effect::Close(node, lane) => {
                if let Some(handle) = self.lanes.remove(&(node, lane)) {
                    debug!(%node, %lane, "a lane is closed");
                    let (done, closed) = oneshot::channel();
                    handle.close.do_send(CloseLane { done });
                    self.closing
                        .retain_mut(|lane| lane.try_recv() == Err(TryRecvError::Empty));
                    self.closing.push(closed);
                }
            }
            Effect::Start(node, lane, job, table) => self.start(node, lane, job, table),
            Effect::RefreshMetadata => self.neighbours.leader_unknown.do_send(LeaderUnknown),
        }
    }

    fn start(&mut self, node: NodeId, lane: Lane, job: Job, table: Arc<PartitionTable>) {
        let job = match job {
            Job::Fetch(grant) => {
                let index = self
                    .tickets
                    .iter()
                    .position(|ticket| ticket.id() == grant.ticket);
                let Some(index) = index else {
                    return;
                };
                let ticket = self.tickets.swap_remove(index);
                LaneJob::Fetch { grant, ticket }
            }
            Job::Touch => LaneJob::Touch,
        };
        if let Some(handle) = self.lanes.get(&(node, lane)) {
            handle.start.do_send(StartJob { job, table });
        }
    }
}

impl Actor for FetchActor {
    type Context = Context<Self>;
}

impl Drop for FetchActor {
    fn drop(&mut self) {
        self.vital.dropped(&self.machine);
    }
}

impl Handler<AssignmentChanged> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: AssignmentChanged, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.assignment(now, message.added, &message.removed, effects);
        });
    }
}

impl Handler<ReadFrom> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: ReadFrom, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.read_from(now, &message.0, effects);
        });
    }
}

impl Handler<SnapshotChanged> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: SnapshotChanged, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.snapshot(now, message.0, effects);
        });
    }
}

impl Handler<Granted> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: Granted, ctx: &mut Context<Self>) {
        self.tickets.push(message.ticket);
        self.run(ctx, |machine, now, effects| {
            machine.granted(now, message.grant, effects);
        });
    }
}

impl Handler<LaneIdle> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: LaneIdle, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.idle(now, message.node, message.lane, message.session, effects);
        });
    }
}

impl Handler<LaneUnavailable> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: LaneUnavailable, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, _, effects| {
            machine.unavailable(message.node, message.lane, effects);
        });
    }
}

impl Handler<LaneLost> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: LaneLost, ctx: &mut Context<Self>) {
        self.lanes.remove(&(message.node, message.lane));
        self.run(ctx, |machine, _, effects| {
            machine.lost(message.node, message.lane, effects);
        });
    }
}

impl Handler<CloseAll> for FetchActor {
    type Result = ();

    fn handle(&mut self, message: CloseAll, ctx: &mut Context<Self>) {
        let open = std::mem::take(&mut self.lanes).into_values();
        let closed: Vec<oneshot::Receiver<()>> = open
            .map(|handle| {
                let (done, closed) = oneshot::channel();
                handle.close.do_send(CloseLane { done });
                closed
            })
            .chain(std::mem::take(&mut self.closing))
            .collect();
        let all = async move {
            for lane in closed {
                // a lane that is closed drops its sender
                let _ = lane.await;
            }
            drop(message.done);
        };
        ctx.spawn(actix::fut::wrap_future(all));
    }
}

/// Anyone -> Fetch, *ask*: messages delivered to its mailbox so far.
#[derive(Debug, actix::Message)]
#[rtype(result = "u64")]
pub struct CountMessages;

impl Handler<CountMessages> for FetchActor {
    type Result = u64;

    fn handle(&mut self, _: CountMessages, _: &mut Context<Self>) -> u64 {
        self.messages
    }
}

impl Handler<buffer_actor::Stop> for FetchActor {
    type Result = ();

    fn handle(&mut self, _: buffer_actor::Stop, ctx: &mut Context<Self>) {
        self.vital.stopped();
        ctx.stop();
    }
}
