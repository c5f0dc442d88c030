//! The shell of the buffer: a message in, a call of the machine, its effects out as tells.

mod cluster;
mod watch;

use std::collections::BTreeMap;
use std::future::ready;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message, Recipient, ResponseFuture,
};
use record_batch::TopicPartition;
use tokio::sync::oneshot;
use tracing::{debug, error, warn};

use crate::alarm::Alarm;
use crate::command::Command;
use crate::depletion::Depletion;
use crate::ids::{FetchEpoch, NodeId, PartitionId, TakeId, TicketId};
use crate::machine::{BufferMachine, NotAssigned};
use crate::memory::Memory;
use crate::messages::{
    Abandoned, Assign, AssignmentChanged, AwaitPosition, Block, FetchDone, Granted, LookUp,
    LookUpCommitted, MemoryDecision, MemoryReleased, MetadataStale, NeedMemory, NoPosition, Pause,
    ReadFrom, ReaderGone, Reserve, Seek, SeekTo, Take, Withdraw,
};
use crate::model::{BufferConfig, Effect, Item, Lookup, LookupCommitted, Outcome, TakeRequest};
use crate::records::{FetchedRecords, LeasedItem};
use crate::shared::{PartitionState, SharedState};
use crate::take_slot::ExpectedReader;
use crate::ticket::Ticket;
use crate::vital::Vital;
use crate::watchdog::Watchdog;

/// Whom the buffer tells.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Fetch: grants.
    pub granted: Recipient<Granted>,
    /// Fetch: which replica to read from.
    pub read_from: Recipient<ReadFrom>,
    /// Fetch and Metadata: assignments.
    pub assignment: Vec<Recipient<AssignmentChanged>>,
    /// Metadata: positions to find.
    pub look_up: Recipient<LookUp>,
    /// Coordinator: committed positions to find. `None`: the consumer has no group, and [`Start::Committed`](crate::Start) must
    /// not be sent to the buffer, since nobody would ever find those positions.
    pub look_up_committed: Option<Recipient<LookUpCommitted>>,
    /// Metadata: topics to ask about.
    pub metadata_stale: Recipient<MetadataStale>,
}

/// The actor. See the [crate](crate) for what it is for.
pub struct BufferActor {
    machine: BufferMachine<FetchedRecords>,
    memory: Memory,
    shared: SharedState,
    neighbours: Neighbours,
    abandoned: Option<Recipient<Abandoned>>,
    /// By slot.
    states: Vec<Option<(PartitionId, Arc<PartitionState>)>>,
    waiting: BTreeMap<TakeId, oneshot::Sender<Vec<LeasedItem>>>,
    sessions: BTreeMap<TicketId, Recipient<MemoryDecision>>,
    /// Who waits for a position that is being looked up.
    awaited: BTreeMap<TopicPartition, Vec<oneshot::Sender<i64>>>,
    effects: Vec<Effect<FetchedRecords>>,
    alarm: Alarm,
    watchdog: Watchdog,
    vital: Vital,
    takes: u64,
    expected_reader: ExpectedReader,
    messages: u64,
    /// `buffer.memory`.
    memory_limit: u64,
    budget_depleted: Depletion,
    credit_depleted: Depletion,
}

impl BufferActor {
    /// A buffer without partitions. `seed` is for jitter.
    pub fn new(
        config: BufferConfig,
        seed: u64,
        memory: Memory,
        shared: SharedState,
        neighbours: Neighbours,
    ) -> Self {
        Self {
            memory_limit: config.buffer_memory,
            watchdog: Watchdog::new(config.unasked_limit),
            machine: BufferMachine::new(config, seed),
            memory,
            shared,
            neighbours,
            abandoned: None,
            states: Vec::new(),
            waiting: BTreeMap::new(),
            sessions: BTreeMap::new(),
            awaited: BTreeMap::new(),
            effects: Vec::new(),
            alarm: Alarm::default(),
            vital: Vital::default(),
            takes: 0,
            expected_reader: ExpectedReader::default(),
            messages: 0,
            budget_depleted: Depletion::default(),
            credit_depleted: Depletion::default(),
        }
    }

    /// The same, and whom `vital` tells hears if it ends unasked.
    #[must_use]
    pub fn watched(mut self, vital: Vital) -> Self {
        self.vital = vital;
        self
    }

    fn handle<R>(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(
            &mut BufferMachine<FetchedRecords>,
            Instant,
            &mut Vec<Effect<FetchedRecords>>,
        ) -> R,
    ) -> R {
        self.messages += 1;
        self.step(ctx, event)
    }

    /// One message: bytes that came or went since the last, a take that was left meanwhile, the event, what it caused, the next deadline.
    fn step<R>(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(
            &mut BufferMachine<FetchedRecords>,
            Instant,
            &mut Vec<Effect<FetchedRecords>>,
        ) -> R,
    ) -> R {
        let now = tokio::time::Instant::now().into_std();
        let mut effects = mem::take(&mut self.effects);
        self.account(&mut effects);
        if let Some(take) = self.shared.takes().collect() {
            let request = self.admit(take);
            self.machine.take(now, request, &mut effects);
        }
        let result = event(&mut self.machine, now, &mut effects);
        while self.memory.want(self.machine.waits_for_memory()) {
            self.account(&mut effects);
        }
        self.memory.set_reserved(self.machine.memory_reserved());
        self.perform(now, &mut effects);
        self.effects = effects;
        self.budget_depleted
            .observe(now, self.machine.waits_for_memory());
        self.credit_depleted
            .observe(now, self.machine.waits_for_credit());
        self.watchdog.arm(now, self.machine.is_assigned());
        self.expected_reader.timeout(now);
        let expected = self.expected_reader.poll_timeout();
        let next = [
            self.machine.poll_timeout(),
            self.watchdog.poll_timeout(),
            expected,
        ];
        self.alarm
            .set(next.into_iter().flatten().min(), ctx, Self::ring);
        let may_wait = self.machine.take_would_wait();
        self.shared.takes().open(expected.filter(|_| may_wait));
        result
    }

    /// Notes who is to be answered, and names the take.
    fn admit(&mut self, take: Take) -> TakeRequest<FetchedRecords> {
        self.takes += 1;
        let id = TakeId(self.takes);
        self.waiting.insert(id, take.reply);
        TakeRequest { id, ..take.request }
    }

    fn account(&mut self, effects: &mut Vec<Effect<FetchedRecords>>) {
        let (charged, released) = self.memory.drain();
        self.machine.charge(charged);
        if released > 0 {
            self.machine.release(released, effects);
        }
    }

    fn ring(&mut self, ctx: &mut Context<Self>) {
        self.alarm.rang();
        self.watch();
        self.handle(ctx, |machine, now, effects| machine.timeout(now, effects));
    }

    fn perform(&mut self, now: Instant, effects: &mut Vec<Effect<FetchedRecords>>) {
        let mut lookups: Vec<Lookup> = Vec::new();
        let mut committed: Vec<LookupCommitted> = Vec::new();
        let mut redirected: Vec<(PartitionId, Option<NodeId>)> = Vec::new();
        for effect in effects.drain(..) {
            match effect {
                Effect::Granted(grant) => {
                    // the planner hears of them in the order of the machine
                    self.redirect(std::mem::take(&mut redirected));
                    let Some(abandoned) = self.abandoned.clone() else {
                        continue;
                    };
                    let ticket = Ticket::new(grant.ticket, abandoned);
                    self.neighbours.granted.do_send(Granted { grant, ticket });
                }
                Effect::Assignment { added, removed } => self.reassign(added, removed),
                Effect::Answer(id, lease) => self.answer(now, id, lease.items),
                Effect::Lookup(lookup) => lookups.push(lookup),
                Effect::LookupCommitted(lookup) => committed.push(lookup),
                Effect::RefreshMetadata(name) => {
                    self.neighbours.metadata_stale.do_send(MetadataStale(name));
                }
                Effect::ReadReply(ticket) => self.decide(ticket, true),
                Effect::DiscardReply(ticket) => {
                    warn!(
                        ?ticket,
                        "a reply waited half of request.timeout.ms for memory and is thrown away; \
                         raise buffer.memory or take records faster"
                    );
                    self.decide(ticket, false);
                }
                Effect::Changed => self.shared.notify(),
                Effect::Position {
                    partition,
                    data_epoch,
                    offset,
                    leader_epoch,
                } => self.position(partition, data_epoch, offset, leader_epoch),
                Effect::Paused(partition, paused) => {
                    if let Some(state) = self.state(partition) {
                        state.set_paused(paused);
                    }
                }
                Effect::Watermarks {
                    partition,
                    high_watermark,
                    last_stable_offset,
                    log_start_offset,
                } => {
                    if let Some(state) = self.state(partition) {
                        state.set_watermarks(
                            now,
                            high_watermark,
                            last_stable_offset,
                            log_start_offset,
                        );
                    }
                }
                Effect::ReadFrom(partition, replica) => {
                    debug!(?partition, ?replica, "the replica to read from changes");
                    if let Some(state) = self.state(partition) {
                        state.set_read_replica(replica);
                    }
                    redirected.push((partition, replica));
                }
                Effect::Truncated { name, offset, end } => {
                    warn!(
                        partition = %name,
                        position = offset,
                        common_end = end.map(|end| end.offset),
                        "the log was truncated below the position: records that were read are lost; it is read on from where the logs \
                         part, or, if that is not known, from where auto.offset.reset says"
                    );
                }
                Effect::Troubled {
                    name,
                    error_code,
                    offset,
                } => {
                    warn!(partition = %name, offset, error_code, "a fetch was answered with an error; it is tried again");
                }
            }
        }
        self.redirect(redirected);
        if !lookups.is_empty() {
            self.neighbours.look_up.do_send(LookUp(lookups));
        }
        if !committed.is_empty() {
            match &self.neighbours.look_up_committed {
                Some(coordinator) => coordinator.do_send(LookUpCommitted(committed)),
                None => error!(
                    partitions = committed.len(),
                    "committed positions are wanted of a consumer without a group"
                ),
            }
        }
    }

    fn redirect(&self, partitions: Vec<(PartitionId, Option<NodeId>)>) {
        if !partitions.is_empty() {
            self.neighbours.read_from.do_send(ReadFrom(partitions));
        }
    }

    fn position(
        &mut self,
        id: PartitionId,
        data_epoch: FetchEpoch,
        offset: Option<i64>,
        leader_epoch: Option<i32>,
    ) {
        let Some(state) = self.state(id) else {
            return;
        };
        state.jump(data_epoch, offset, leader_epoch);
        let Some(offset) = offset else {
            return;
        };
        let name = state.name().clone();
        for found in self.awaited.remove(&name).into_iter().flatten() {
            // whoever stopped waiting does not mind
            let _ = found.send(offset);
        }
    }

    fn reassign(&mut self, added: Vec<(PartitionId, TopicPartition)>, removed: Vec<PartitionId>) {
        for &id in &removed {
            if let Some(Some((_, state))) = self.states.get_mut(id.slot()).map(Option::take) {
                self.shared.remove(&state);
                self.awaited.remove(state.name());
            }
        }
        for (id, name) in &added {
            let state = Arc::new(self.shared.partition(name.clone()));
            self.shared.insert(Arc::clone(&state));
            if self.states.len() <= id.slot() {
                self.states.resize(id.slot() + 1, None);
            }
            self.states[id.slot()] = Some((*id, state));
        }
        debug!(
            added = added.len(),
            removed = removed.len(),
            "the assignment changed"
        );
        for neighbour in &self.neighbours.assignment {
            neighbour.do_send(AssignmentChanged {
                added: added.clone(),
                removed: removed.clone(),
            });
        }
    }

    fn state(&self, id: PartitionId) -> Option<&Arc<PartitionState>> {
        match self.states.get(id.slot()) {
            Some(Some((current, state))) if *current == id => Some(state),
            _ => None,
        }
    }

    fn answer(&mut self, now: Instant, id: TakeId, items: Vec<Item<FetchedRecords>>) {
        if !items.is_empty() {
            self.expected_reader.answered(now);
        }
        let Some(reply) = self.waiting.remove(&id) else {
            return;
        };
        let leased = items
            .into_iter()
            .filter_map(|item| match item {
                Item::Data(completed) => {
                    let state = Arc::clone(self.state(completed.partition)?);
                    Some(LeasedItem::Data { state, completed })
                }
                Item::Error(error) => Some(LeasedItem::Error(error)),
            })
            .collect();
        // a handle that is gone says so by a message of its own
        let _ = reply.send(leased);
    }

    fn decide(&mut self, ticket: TicketId, keep: bool) {
        if let Some(session) = self.sessions.remove(&ticket) {
            session.do_send(MemoryDecision { ticket, keep });
        }
    }
}

impl Actor for BufferActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let address = ctx.address();
        self.abandoned = Some(address.clone().recipient());
        self.memory.set_wake(address.recipient());
    }
}

impl Drop for BufferActor {
    fn drop(&mut self) {
        // nobody would answer it
        self.shared.takes().collect();
        self.vital.dropped(&self.machine);
    }
}

impl Handler<Reserve> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Reserve, ctx: &mut Context<Self>) {
        let Reserve {
            node,
            lane,
            plan,
            candidates,
            refused,
        } = message;
        Self::handle(self, ctx, |machine, _, effects| {
            machine.reserve(node, lane, plan, candidates, refused, effects);
        });
    }
}

impl Handler<Withdraw> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Withdraw, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.withdraw(message.node, message.lane, effects);
        });
    }
}

impl Handler<FetchDone> for BufferActor {
    type Result = ();

    fn handle(&mut self, mut message: FetchDone, ctx: &mut Context<Self>) {
        let id = message.ticket.redeem();
        if let Outcome::Reply(replies) = &mut message.outcome {
            let claim = self.memory.claim(message.received);
            for fetched in replies
                .iter_mut()
                .filter_map(|reply| reply.fetched.as_mut())
            {
                fetched.data.claim = Some(claim.clone());
            }
        }
        self.sessions.remove(&id);
        Self::handle(self, ctx, |machine, now, effects| {
            machine.done(now, id, message.outcome, message.received, effects);
        });
    }
}

impl Handler<Abandoned> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Abandoned, ctx: &mut Context<Self>) {
        self.sessions.remove(&message.0);
        Self::handle(self, ctx, |machine, now, effects| {
            machine.done(now, message.0, Outcome::Abandoned, 0, effects);
        });
    }
}

impl Handler<NeedMemory> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: NeedMemory, ctx: &mut Context<Self>) {
        self.sessions.insert(message.ticket, message.session);
        Self::handle(self, ctx, |machine, now, effects| {
            machine.need_more(now, message.ticket, message.more, effects);
        });
    }
}

impl Handler<MemoryReleased> for BufferActor {
    type Result = ();

    fn handle(&mut self, _: MemoryReleased, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |_, _, _| {});
    }
}

impl Handler<Take> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Take, ctx: &mut Context<Self>) {
        let request = self.admit(message);
        Self::handle(self, ctx, |machine, now, effects| {
            machine.take(now, request, effects);
        });
    }
}

impl Handler<Block> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Block, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.block(message.partition, message.epoch, effects);
        });
    }
}

impl Handler<ReaderGone> for BufferActor {
    type Result = ();

    fn handle(&mut self, _: ReaderGone, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.reader_gone(effects)
        });
        self.waiting.clear();
    }
}

impl<M> Handler<Command<M>> for BufferActor
where
    Self: Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    type Result = ();

    fn handle(&mut self, command: Command<M>, ctx: &mut Context<Self>) {
        command.handle_by(self, ctx);
    }
}

impl Handler<Assign> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: Assign, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, now, effects| {
            machine.assign(now, message.0, effects);
        });
    }
}

impl Handler<Seek> for BufferActor {
    type Result = Result<(), NotAssigned>;

    fn handle(&mut self, message: Seek, ctx: &mut Context<Self>) -> Result<(), NotAssigned> {
        let name = message.partition;
        Self::handle(self, ctx, |machine, now, effects| match message.to {
            SeekTo::Offset(offset) => machine.seek(now, &name, offset, effects),
            SeekTo::Behind(offset, leader_epoch) => {
                machine.seek_behind(now, &name, offset, leader_epoch, effects)
            }
            SeekTo::End(end) => machine.seek_to(now, &name, end, effects),
        })
    }
}

impl Handler<Pause> for BufferActor {
    type Result = Result<(), NotAssigned>;

    fn handle(&mut self, message: Pause, ctx: &mut Context<Self>) -> Result<(), NotAssigned> {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.pause(&message.partitions, message.paused, effects)
        })
    }
}

impl Handler<AwaitPosition> for BufferActor {
    type Result = ResponseFuture<Result<i64, NoPosition>>;

    fn handle(&mut self, message: AwaitPosition, _: &mut Context<Self>) -> Self::Result {
        let name = message.partition;
        let not_assigned = NoPosition::from(NotAssigned(name.clone()));
        let Some(state) = self.shared.get(&name) else {
            return Box::pin(ready(Err(not_assigned)));
        };
        if let Some(offset) = state.offsets().given {
            return Box::pin(ready(Ok(offset)));
        }
        let (found, position) = oneshot::channel();
        self.awaited.entry(name.clone()).or_default().push(found);
        Box::pin(async move {
            match tokio::time::timeout(message.limit, position).await {
                Ok(Ok(offset)) => Ok(offset),
                Ok(Err(_)) => Err(not_assigned),
                Err(_) => Err(NoPosition::TimedOut(name)),
            }
        })
    }
}

/// Facade -> any actor: stop now. Sent in the order of shutdown.
#[derive(Debug, actix::Message)]
#[rtype(result = "()")]
pub struct Stop;

impl Handler<Stop> for BufferActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        self.waiting.clear();
        self.vital.stopped();
        ctx.stop();
    }
}
