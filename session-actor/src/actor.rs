//! The shell of one lane: socket and mailbox in, calls of the machine, its effects out.
//!
//! Reading and writing are futures of the actor. There is one read outstanding as long as there is a connection, so that a
//! broker that closes an idle one is noticed; at most one write.

mod link;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient};
use buffer_actor::messages::{FetchDone, MemoryDecision, NeedMemory};
use buffer_actor::{Alarm, FetchedRecords, Lane, Memory, NodeId, Ticket};
use tokio::sync::oneshot;
use tracing::{debug, warn};

use self::link::Link;
use crate::fetch_session::FetchSession;
use crate::machine::{Effect, Job, SessionConfig, SessionMachine};
use crate::messages::{
    CloseLane, LaneIdle, LaneJob, LaneLost, LaneUnavailable, LeadersTold, NodeReached,
    RefreshMetadata, StartJob,
};
use crate::stats::FetchStats;
use crate::wire::connect::Connect;
use crate::wire::fetch::{FetchDecoder, IsolationLevel};
use crate::wire::{Peer, WireError};

/// How much longer than a long poll may take, behind which the request that ends the session waits, a lane that is closed waits
/// for the broker to take note.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// What all lanes of a consumer have in common.
#[derive(Clone)]
pub struct LaneOptions {
    /// Timing.
    pub config: SessionConfig,
    /// `client.id`.
    pub client_id: Arc<str>,
    /// `client.rack`.
    pub client_rack: Arc<str>,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `isolation.level`.
    pub isolation_level: IsolationLevel,
    /// `socket.connection.setup.timeout.ms`, for the connection and its first exchange.
    pub setup_timeout: Duration,
    /// Makes connections.
    pub connector: Arc<dyn Connect>,
    /// Where answers are read into.
    pub memory: Memory,
    /// Counters.
    pub stats: Arc<FetchStats>,
}

/// Whom a lane tells.
#[derive(Debug, Clone)]
pub struct LaneNeighbours {
    /// Buffer: results.
    pub done: Recipient<FetchDone>,
    /// Buffer: replies that need memory.
    pub need_memory: Recipient<NeedMemory>,
    /// Fetch: idle.
    pub idle: Recipient<LaneIdle>,
    /// Fetch: unavailable.
    pub unavailable: Recipient<LaneUnavailable>,
    /// Fetch: ended unasked.
    pub lost: Recipient<LaneLost>,
    /// Metadata: out of date.
    pub refresh: Recipient<RefreshMetadata>,
    /// Metadata: who leads.
    pub leaders: Recipient<LeadersTold>,
    /// Metadata: whether nodes can be reached.
    pub reached: Recipient<NodeReached>,
}

/// The actor. See the [crate](crate) for what it is for.
pub struct SessionActor {
    node: NodeId,
    lane: Lane,
    peer: Peer,
    options: LaneOptions,
    neighbours: LaneNeighbours,
    machine: SessionMachine,
    decoder: FetchDecoder,
    /// The right to the request in flight.
    ticket: Option<Ticket>,
    link: Option<Link>,
    effects: Vec<Effect<FetchedRecords>>,
    alarm: Alarm,
    /// What the event that is being handled failed with.
    error: Option<WireError>,
    /// A failure was logged and nothing succeeded since.
    warned: bool,
    /// Tells Fetch when the actor ends in any way but by its own close.
    watch: DeathWatch,
    closing: Option<Closing>,
}

/// The lane was told to close and waits for the broker to take note.
struct Closing {
    /// Answers that are still to come.
    answers: usize,
    /// Dropped when the lane is closed: that is the message.
    _done: oneshot::Sender<()>,
}

struct DeathWatch {
    node: NodeId,
    lane: Lane,
    lost: Recipient<LaneLost>,
    armed: bool,
}

impl Drop for DeathWatch {
    fn drop(&mut self) {
        if self.armed {
            self.lost.do_send(LaneLost {
                node: self.node,
                lane: self.lane,
            });
        }
    }
}

impl SessionActor {
    /// A lane of `peer`, which is idle and has no connection.
    pub fn new(
        node: NodeId,
        lane: Lane,
        peer: Peer,
        options: LaneOptions,
        neighbours: LaneNeighbours,
    ) -> Self {
        let session = match lane {
            Lane::Session => FetchSession::incremental(),
            Lane::Quick => FetchSession::sessionless(),
        };
        let watch = DeathWatch {
            node,
            lane,
            lost: neighbours.lost.clone(),
            armed: true,
        };
        Self {
            node,
            lane,
            peer,
            machine: SessionMachine::new(options.config.clone(), session, fastrand::u64(..)),
            options,
            neighbours,
            decoder: FetchDecoder::default(),
            ticket: None,
            link: None,
            effects: Vec::new(),
            alarm: Alarm::default(),
            error: None,
            warned: false,
            watch,
            closing: None,
        }
    }

    fn run(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(&mut SessionMachine, Instant, &mut Vec<Effect<FetchedRecords>>),
    ) {
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

    fn perform(&mut self, effect: Effect<FetchedRecords>, ctx: &mut Context<Self>) {
        match effect {
            Effect::Connect => self.connect(ctx),
            Effect::Send(request) => self.send(&request, ctx),
            Effect::Read => self.read_body(ctx),
            Effect::Skip => self.skip_body(ctx),
            Effect::Disconnect => self.disconnect(ctx),
            Effect::NeedMore(ticket, more) => {
                self.neighbours.need_memory.do_send(NeedMemory {
                    ticket,
                    more,
                    session: ctx.address().recipient(),
                });
            }
            Effect::Done(id, outcome, received) => {
                if let Some(ticket) = self.ticket.take_if(|ticket| ticket.id() == id) {
                    self.neighbours.done.do_send(FetchDone {
                        ticket,
                        outcome,
                        received,
                    });
                }
            }
            Effect::Idle(session) => self.neighbours.idle.do_send(LaneIdle {
                node: self.node,
                lane: self.lane,
                session,
            }),
            Effect::Unavailable => {
                self.tell_of_failure();
                self.neighbours.unavailable.do_send(LaneUnavailable {
                    node: self.node,
                    lane: self.lane,
                });
            }
            Effect::RefreshMetadata => {
                let node = self.node;
                self.neighbours.refresh.do_send(RefreshMetadata { node });
            }
            Effect::LeadersTold(told) => {
                debug!(peer = %self.peer, ?told, "the broker names new leaders");
                self.neighbours.leaders.do_send(LeadersTold(told));
            }
            Effect::SessionTrouble(reason) => {
                self.options.stats.session_lost();
                debug!(peer = %self.peer, lane = %self.lane, reason, "fetch session starts over");
            }
        }
    }

    /// Whatever broke the connection.
    fn failed(&mut self, error: WireError, reason: &'static str, ctx: &mut Context<Self>) {
        debug!(peer = %self.peer, lane = %self.lane, %error, "{reason}");
        self.error = Some(error);
        self.run(ctx, |machine, now, effects| {
            machine.failed(now, reason, effects)
        });
        self.error = None;
    }

    /// A request failed with its connection: said once, until something succeeds again.
    fn tell_of_failure(&mut self) {
        // the machine's own deadlines bring no error with them
        let error = self.error.take().unwrap_or_else(|| WireError::Timeout {
            peer: self.peer.clone(),
            what: "a fetch",
            after: self.options.config.request_timeout,
        });
        if !self.warned {
            self.warned = true;
            warn!(lane = %self.lane, %error, "fetching fails; it is tried again with growing pauses");
        }
        self.neighbours.reached.do_send(NodeReached {
            node: self.node,
            failure: Some(error),
            failures: self.machine.failures(),
        });
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;
}

impl Handler<StartJob> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: StartJob, ctx: &mut Context<Self>) {
        self.options.stats.message();
        let job = match message.job {
            LaneJob::Fetch { grant, ticket } => {
                self.ticket = Some(ticket);
                Job::Fetch(grant)
            }
            LaneJob::Touch => Job::Touch,
        };
        self.run(ctx, |machine, now, effects| {
            machine.start(now, job, message.table, effects);
        });
    }
}

impl Handler<MemoryDecision> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: MemoryDecision, ctx: &mut Context<Self>) {
        self.options.stats.message();
        self.run(ctx, |machine, now, effects| {
            machine.memory(now, message.ticket, message.keep, effects);
        });
    }
}

impl Handler<CloseLane> for SessionActor {
    type Result = ();

    /// Ends the session at the broker, best effort, then stops. What is in flight is given up.
    fn handle(&mut self, message: CloseLane, ctx: &mut Context<Self>) {
        self.watch.armed = false;
        let mut plan = None;
        self.run(ctx, |machine, _, effects| plan = machine.close(effects));
        let awaits = self.link.as_ref().is_some_and(|link| link.awaits_answer);
        let answers = 1 + usize::from(awaits);
        let sent = plan.is_some_and(|plan| self.encode(&plan, Duration::ZERO, 1).is_ok());
        self.closing = Some(Closing {
            answers,
            _done: message.done,
        });
        if !sent || self.link.is_none() {
            self.finish(ctx);
            return;
        }
        // its answer is awaited, so that the broker has acted before the connection closes
        self.flush(ctx);
        let limit = self.options.config.fetch_max_wait + CLOSE_GRACE;
        ctx.run_later(limit, |actor, ctx| actor.finish(ctx));
    }
}

impl SessionActor {
    fn finish(&mut self, ctx: &mut Context<Self>) {
        self.disconnect(ctx);
        self.closing = None;
        ctx.stop();
    }
}
