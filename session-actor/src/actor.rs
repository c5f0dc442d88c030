//! The shell of one lane: socket and mailbox in, calls of the machine, its effects out.
//!
//! Reading and writing are futures of the actor. There is one read outstanding as long as there is a connection, so that a
//! broker that closes an idle one is noticed; at most one write.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient, SpawnHandle};
use buffer_actor::messages::{FetchDone, MemoryDecision, NeedMemory};
use buffer_actor::{FetchedRecords, Lane, Memory, NodeId, Ticket};
use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use crate::decode::decode;
use crate::fetch_session::{FetchSession, Plan};
use crate::machine::{Effect, Job, Request, SessionConfig, SessionMachine};
use crate::messages::{
    CloseLane, LaneIdle, LaneJob, LaneLost, LaneUnavailable, NodeReached, RefreshMetadata, StartJob,
};
use crate::stats::FetchStats;
use crate::wire::connect::Connect;
use crate::wire::connection::{Connection, Reader, Writer};
use crate::wire::fetch::{
    self, FetchDecoder, FetchPartition, FetchRequest, FetchTopic, ForgottenPartition,
    IsolationLevel,
};
use crate::wire::{Peer, RequestHeader, WireError, take_correlation_id};

/// A buffer for an answer begins with this much at most; a longer answer makes it grow as its bytes come, never by its claim.
const FIRST_CAPACITY: usize = 64 << 20;
/// How long a lane that is closed waits for the broker to take note.
const CLOSE_LIMIT: Duration = Duration::from_millis(500);

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
    timer: Option<(Instant, SpawnHandle)>,
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
    _done: Option<oneshot::Sender<()>>,
}

/// A connection. Its halves are away while a future uses them.
struct Link {
    reader: Option<Reader>,
    writer: Option<Writer>,
    /// The broker's newest Fetch that we speak.
    newest: i16,
    /// In which the request in flight was sent.
    version: i16,
    next_correlation_id: i32,
    awaits_answer: bool,
    reading: Option<SpawnHandle>,
    writing: Option<SpawnHandle>,
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
            timer: None,
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
        self.arm(ctx);
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
            Effect::Idle { has_session } => self.neighbours.idle.do_send(LaneIdle {
                node: self.node,
                lane: self.lane,
                has_session,
            }),
            Effect::Unavailable => {
                self.tell_of_failure();
                self.neighbours.unavailable.do_send(LaneUnavailable {
                    node: self.node,
                    lane: self.lane,
                });
            }
            Effect::RefreshMetadata => self.neighbours.refresh.do_send(RefreshMetadata),
            Effect::SessionTrouble(reason) => {
                self.options.stats.session_lost();
                debug!(peer = %self.peer, lane = %self.lane, reason, "fetch session starts over");
            }
        }
    }

    fn arm(&mut self, ctx: &mut Context<Self>) {
        let deadline = self.machine.poll_timeout();
        if self.timer.as_ref().map(|(at, _)| *at) == deadline {
            return;
        }
        if let Some((_, handle)) = self.timer.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = deadline {
            let now = tokio::time::Instant::now().into_std();
            let handle = ctx.run_later(at.saturating_duration_since(now), |actor, ctx| {
                actor.timer = None;
                actor.run(ctx, |machine, now, effects| machine.timeout(now, effects));
            });
            self.timer = Some((at, handle));
        }
    }

    fn connect(&mut self, ctx: &mut Context<Self>) {
        let options = self.options.clone();
        let peer = self.peer.clone();
        let opening = async move {
            let (connector, limit) = (options.connector.as_ref(), options.setup_timeout);
            // every length is judged before memory is used for it
            let longest = i32::MAX as usize;
            Connection::open(connector, peer, &options.client_id, longest, limit).await
        };
        ctx.spawn(wrap_future::<_, Self>(opening).map(|opened, actor, ctx| {
            match opened.and_then(|opened| actor.adopt(opened)) {
                Ok(ids_allowed) => {
                    actor.read_length(ctx);
                    actor.run(ctx, |machine, now, effects| {
                        machine.connected(now, ids_allowed, effects);
                    });
                }
                Err(error) => actor.failed(error, "cannot connect", ctx),
            }
        }));
    }

    /// Takes an open connection over; whether topics may go by id on it.
    fn adopt(&mut self, opened: Connection) -> Result<bool, WireError> {
        let newest = opened.versions.choose(ApiKey::Fetch, fetch::VERSIONS)?;
        self.options.stats.connection();
        debug!(peer = %self.peer, lane = %self.lane, version = newest, "connected");
        if self.warned {
            self.warned = false;
            info!(peer = %self.peer, "reached again");
        }
        self.neighbours.reached.do_send(NodeReached {
            node: self.node,
            failure: None,
        });
        self.link = Some(Link {
            reader: Some(opened.reader),
            writer: Some(opened.writer),
            newest,
            version: newest,
            next_correlation_id: opened.next_correlation_id,
            awaits_answer: false,
            reading: None,
            writing: None,
        });
        Ok(newest >= fetch::TOPIC_IDS_SINCE)
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
        });
    }

    fn disconnect(&mut self, ctx: &mut Context<Self>) {
        if let Some(link) = self.link.take() {
            for handle in [link.reading, link.writing].into_iter().flatten() {
                ctx.cancel_future(handle);
            }
        }
    }

    fn send(&mut self, request: &Request, ctx: &mut Context<Self>) {
        self.options.stats.request(self.ticket.is_none());
        match self.encode(&request.plan, request.max_wait, request.max_bytes) {
            Ok(()) => self.flush(ctx),
            Err(error) => warn!(peer = %self.peer, %error, "a fetch request cannot be sent"),
        }
    }

    fn encode(
        &mut self,
        plan: &Plan,
        max_wait: Duration,
        max_bytes: u32,
    ) -> Result<(), fetch::EncodeError> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let Some(writer) = &mut link.writer else {
            return Ok(());
        };
        link.awaits_answer = true;
        link.version = if plan.topic_ids {
            link.newest
        } else {
            link.newest.min(fetch::TOPIC_IDS_SINCE - 1)
        };
        let header = RequestHeader {
            correlation_id: link.next_correlation_id,
            client_id: &self.options.client_id,
        };
        let request = FetchRequest {
            max_wait_ms: i32::try_from(max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: self.options.fetch_min_bytes,
            max_bytes: i32::try_from(max_bytes).unwrap_or(i32::MAX),
            isolation_level: self.options.isolation_level,
            session_id: plan.session_id,
            session_epoch: plan.session_epoch,
            rack_id: &self.options.client_rack,
        };
        let named = plan.named.iter().map(|named| FetchPartition {
            topic: FetchTopic {
                name: &named.topic.name,
                id: named.topic.id,
            },
            partition: named.index,
            current_leader_epoch: named.sent.leader_epoch,
            fetch_offset: named.sent.offset,
            partition_max_bytes: named.sent.max_bytes,
        });
        let forgotten = plan.forgotten.iter().map(|gone| ForgottenPartition {
            topic: FetchTopic {
                name: &gone.topic.name,
                id: gone.topic.id,
            },
            partition: gone.index,
        });
        request.encode(link.version, header, named, forgotten, writer.queue())
    }

    /// Writes what is queued, at once if the socket takes it.
    fn flush(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut writer) = link.writer.take() else {
            return;
        };
        let at_once = {
            let mut task = TaskContext::from_waker(Waker::noop());
            pin!(writer.flush()).poll(&mut task)
        };
        match at_once {
            Poll::Ready(Ok(())) => link.writer = Some(writer),
            Poll::Ready(Err(error)) => {
                link.writer = Some(writer);
                // not from within an event of the machine: its effects are being performed
                ctx.run_later(Duration::ZERO, move |actor, ctx| {
                    actor.failed(error, "connection lost", ctx);
                });
            }
            Poll::Pending => {
                let writing = async move {
                    let flushed = writer.flush().await;
                    (writer, flushed)
                };
                let handle = ctx.spawn(wrap_future::<_, Self>(writing).map(
                    |(writer, flushed), actor, ctx| {
                        if let Some(link) = &mut actor.link {
                            link.writer = Some(writer);
                            link.writing = None;
                        }
                        if let Err(error) = flushed {
                            actor.failed(error, "connection lost", ctx);
                        }
                    },
                ));
                link.writing = Some(handle);
            }
        }
    }

    fn read_length(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        let reading = async move {
            let length = reader.read_len().await;
            (reader, length)
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |(reader, length), actor, ctx| {
                actor.returned(reader);
                match length {
                    Ok(_) if actor.closing.is_some() => actor.read_while_closing(ctx),
                    Err(_) if actor.closing.is_some() => actor.finish(ctx),
                    Ok(length) => actor.run(ctx, |machine, now, effects| {
                        machine.length(now, length as u64, effects);
                    }),
                    Err(error) => actor.failed(error, "connection lost", ctx),
                }
            },
        ));
        link.reading = Some(handle);
    }

    fn returned(&mut self, reader: Reader) {
        if let Some(link) = &mut self.link {
            link.reader = Some(reader);
            link.reading = None;
        }
    }

    fn read_body(&mut self, ctx: &mut Context<Self>) {
        let memory = self.options.memory.clone();
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        let reading = async move {
            let length = reader.read_len().await?;
            let mut body = memory.buffer(length.min(FIRST_CAPACITY));
            body.clear();
            match reader.read_body_into(&mut body).await {
                Ok(()) => Ok((reader, memory.seal_reply(body))),
                Err(error) => {
                    memory.give_back(body);
                    Err(error)
                }
            }
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |read, actor, ctx| match read {
                Ok((reader, body)) => {
                    actor.returned(reader);
                    actor.answer(body, ctx);
                }
                Err(error) => actor.failed(error, "connection lost", ctx),
            },
        ));
        link.reading = Some(handle);
    }

    fn answer(&mut self, mut body: Bytes, ctx: &mut Context<Self>) {
        let received = body.len() as u64;
        let Some(link) = &mut self.link else {
            return;
        };
        let expected = link.next_correlation_id;
        link.next_correlation_id = expected.wrapping_add(1);
        link.awaits_answer = false;
        let version = link.version;
        let got = take_correlation_id(&mut body);
        if got != Some(expected) {
            let error = WireError::Correlation {
                peer: self.peer.clone(),
                expected: Some(expected),
                got: got.unwrap_or(-1),
            };
            self.failed(
                &error,
                "an answer with another request's correlation id",
                ctx,
            );
            return;
        }
        let decoded = decode(&mut self.decoder, version, &body, self.machine.session());
        drop(body);
        match decoded {
            Ok(answer) => {
                let with_data = answer.partitions.iter().any(|part| part.fetched.is_some());
                self.options.stats.response(received + 4, with_data);
                self.read_length(ctx);
                self.run(ctx, |machine, now, effects| {
                    machine.answer(now, answer, received, effects);
                });
            }
            Err(error) => {
                let error = WireError::Malformed {
                    peer: self.peer.clone(),
                    source: error,
                };
                self.failed(error, "an answer that cannot be read", ctx);
            }
        }
    }

    fn skip_body(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        link.next_correlation_id = link.next_correlation_id.wrapping_add(1);
        link.awaits_answer = false;
        let reading = async move {
            let skipped = reader.discard_body().await;
            (reader, skipped)
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |(reader, skipped), actor, ctx| {
                actor.returned(reader);
                match skipped {
                    Ok(()) => {
                        actor.read_length(ctx);
                        actor.run(ctx, |machine, now, effects| machine.skipped(now, effects));
                    }
                    Err(error) => actor.failed(error, "connection lost", ctx),
                }
            },
        ));
        link.reading = Some(handle);
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
        ctx.run_later(CLOSE_LIMIT, |actor, ctx| actor.finish(ctx));
    }
}

impl SessionActor {
    /// An answer that comes while the lane closes is read and thrown away.
    fn read_while_closing(&mut self, ctx: &mut Context<Self>) {
        let Some(mut reader) = self.link.as_mut().and_then(|link| link.reader.take()) else {
            self.finish(ctx);
            return;
        };
        let reading = async move {
            let skipped = reader.discard_body().await;
            (reader, skipped)
        };
        ctx.spawn(
            wrap_future::<_, Self>(reading).map(|(reader, skipped), actor, ctx| {
                actor.returned(reader);
                let Some(closing) = &mut actor.closing else {
                    return;
                };
                closing.answers -= 1;
                if closing.answers == 0 || skipped.is_err() {
                    actor.finish(ctx);
                } else {
                    actor.read_length(ctx);
                }
            }),
        );
    }

    fn finish(&mut self, ctx: &mut Context<Self>) {
        self.disconnect(ctx);
        self.closing = None;
        ctx.stop();
    }
}
