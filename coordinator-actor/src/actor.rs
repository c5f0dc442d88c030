//! The shell of the coordinator: messages and answers in, the machine's effects out, on a connection of its own.

mod link;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message, MessageResult, Recipient,
    SpawnHandle,
};
use buffer_actor::messages::{Assign, CommittedFound, LookUpCommitted, ReportError, WakeReader};
use buffer_actor::{
    Alarm, Command, PartitionError, PartitionState, SharedState, Start, Stop, Vital,
};
use record_batch::TopicPartition;
use session_actor::wire::{ErrorCode, Peer, WireError};
use session_actor::{SnapshotChanged, WatchTopics};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, info, warn};

use self::link::Link;
pub use self::link::LinkOptions;
use crate::assign::AssignError;
use crate::codec;
use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::lasting_failure::LastingFailure;
use crate::machine::CoordinatorMachine;
use crate::messages::{
    Close, Commit, Committed, Confirm, EnforceRebalance, FetchCommitted, GetGroupCounts,
    GetGroupMetadata, GroupFailed, Rebalance, Subscribe, ToCommit, Unsubscribe,
};
use crate::model::{
    Answer, AskId, CallId, Effect, GroupMetadata, LeaveOption, Note, OffsetAndMetadata, Offsets,
    RebalanceEvent, Request,
};
use crate::poll_clock::PollClock;

/// A close takes no longer, whatever it is given.
const LONGEST_CLOSE: Duration = Duration::from_secs(3600);

/// Whom the coordinator tells.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Buffer.
    pub assign: Recipient<Assign>,
    /// Buffer.
    pub found: Recipient<CommittedFound>,
    /// Buffer.
    pub report: Recipient<ReportError>,
    /// Buffer.
    pub wake_reader: Recipient<WakeReader>,
    /// Metadata.
    pub watch: Recipient<WatchTopics>,
    /// Facade.
    pub failed: Recipient<GroupFailed>,
    /// The reader.
    pub lasting: LastingFailure,
    /// The reader.
    pub events: mpsc::UnboundedSender<Rebalance>,
}

/// Takes part in a group, or just commits for one.
pub struct CoordinatorActor {
    machine: CoordinatorMachine,
    config: Arc<GroupConfig>,
    link_options: LinkOptions,
    neighbours: Neighbours,
    shared: SharedState,
    poll_clock: PollClock,
    link: Option<Link>,
    /// Requests on their way to the coordinator.
    in_flight: BTreeMap<AskId, (SpawnHandle, Peer)>,
    /// What the group assigned.
    assigned: BTreeSet<TopicPartition>,
    /// Partitions that were taken away and that the application has not let go.
    leaving: BTreeMap<TopicPartition, Arc<PartitionState>>,
    identity: GroupMetadata,
    calls: u64,
    commits: HashMap<CallId, oneshot::Sender<Result<(), GroupError>>>,
    fetches: HashMap<CallId, oneshot::Sender<Result<Committed, GroupError>>>,
    closing: Option<oneshot::Sender<()>>,
    alarm: Alarm,
    vital: Vital,
}

impl CoordinatorActor {
    /// `member_id` is the one with which a member of the protocol of KIP-848 joins; `seed` makes jitter.
    ///
    /// # Errors
    /// The assignors have no protocol in common.
    pub fn new(
        config: GroupConfig,
        link_options: LinkOptions,
        neighbours: Neighbours,
        shared: SharedState,
        poll_clock: PollClock,
        member_id: Arc<str>,
        seed: u64,
    ) -> Result<Self, AssignError> {
        let identity = GroupMetadata {
            group_id: Arc::clone(&config.group_id),
            generation_id: -1,
            member_id: "".into(),
            group_instance_id: config.instance_id.clone(),
        };
        Ok(Self {
            machine: CoordinatorMachine::new(config.clone(), now(), member_id, seed)?,
            config: Arc::new(config),
            link_options,
            neighbours,
            shared,
            poll_clock,
            link: None,
            in_flight: BTreeMap::new(),
            assigned: BTreeSet::new(),
            leaving: BTreeMap::new(),
            identity,
            calls: 0,
            commits: HashMap::new(),
            fetches: HashMap::new(),
            closing: None,
            alarm: Alarm::default(),
            vital: Vital::default(),
        })
    }

    /// The same, and whom `vital` tells hears if it ends unasked.
    #[must_use]
    pub fn watched(mut self, vital: Vital) -> Self {
        self.vital = vital;
        self
    }

    fn run<R>(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(&mut CoordinatorMachine, Instant, &mut Vec<Effect>) -> R,
    ) -> R {
        let now = now();
        self.machine.polled(self.poll_clock.last());
        let mut effects = Vec::new();
        let result = event(&mut self.machine, now, &mut effects);
        // what is performed may cause more
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                self.perform(effect, now, &mut effects, ctx);
            }
        }
        if !self.machine.is_handing_over() {
            self.leaving.clear();
        }
        let next = self.machine.poll_timeout(now);
        self.alarm.set(next, ctx, Self::ring);
        result
    }

    fn ring(&mut self, ctx: &mut Context<Self>) {
        self.alarm.rang();
        self.run(ctx, |machine, now, effects| machine.timeout(now, effects));
    }

    fn perform(
        &mut self,
        effect: Effect,
        now: Instant,
        more: &mut Vec<Effect>,
        ctx: &mut Context<Self>,
    ) {
        match effect {
            Effect::Ask {
                id,
                peer,
                request,
                limit,
            } => self.ask(id, peer, request, limit, ctx),
            Effect::Disconnect => {
                self.link = None;
                for (id, (handle, peer)) in std::mem::take(&mut self.in_flight) {
                    ctx.cancel_future(handle);
                    let gone = Err(WireError::ShutDown { peer });
                    self.machine.answered(now, id, gone, more);
                }
            }
            Effect::Assign(partitions) => self.assign(partitions),
            Effect::Event(id, event) => {
                debug!(?event, "rebalance");
                let going = self.going(&event);
                let sent = self.neighbours.events.send(Rebalance { id, event, going });
                if sent.is_ok() {
                    self.shared.notify();
                    self.neighbours.wake_reader.do_send(WakeReader);
                } else {
                    // nobody polls any more
                    self.machine.confirmed(now, id, more);
                }
            }
            Effect::Watch(watched) => self.neighbours.watch.do_send(watched),
            Effect::Collect(partitions) => {
                let offsets = self.processed(partitions.as_deref());
                self.machine
                    .collected(now, partitions.as_deref(), offsets, more);
            }
            Effect::Committed(call, result) => {
                if let Some(reply) = self.commits.remove(&call) {
                    // whoever stopped waiting does not mind
                    let _ = reply.send(result);
                }
            }
            Effect::Fetched(call, result) => {
                if let Some(reply) = self.fetches.remove(&call) {
                    let _ = reply.send(result);
                }
            }
            Effect::Positions(found) => self.neighbours.found.do_send(CommittedFound(found)),
            Effect::NoPosition(partition, error) => self.neighbours.report.do_send(ReportError {
                error: no_position(&partition, error),
                partition,
            }),
            Effect::Complain(error) => {
                warn!(%error, "the group is of no use for now");
                self.neighbours.failed.do_send(GroupFailed(error));
            }
            Effect::Fail(error) => {
                warn!(%error, "the group is of no use");
                self.neighbours.lasting.set(Some(error));
                self.neighbours.wake_reader.do_send(WakeReader);
            }
            Effect::Recovered => self.neighbours.lasting.set(None),
            Effect::Identity(identity) => self.identity = identity,
            Effect::Closed => self.closing = None,
            Effect::Log(note) => self.log(note),
        }
    }

    fn log(&self, note: Note) {
        let group = &*self.config.group_id;
        match note {
            Note::Joined {
                generation,
                member_id,
            } => info!(group, generation, %member_id, "in the group"),
            Note::Rejoins(reason) => info!(group, %reason, "joins again"),
            Note::PollTooLate => warn!(
                group,
                "max.poll.interval.ms passed without a poll: the member leaves the group, and comes back with the next poll; \
                 poll more often, with a smaller max.poll.records or a longer interval"
            ),
            Note::Fenced(error) => {
                warn!(group, %error, "the coordinator does not know this member any more; it joins anew");
            }
            Note::AutoCommitFailed(error) => {
                warn!(group, %error, "offsets were not committed automatically");
            }
            Note::CoordinatorFound(peer) => debug!(group, %peer, "coordinator found"),
            Note::CoordinatorLost(why) => info!(group, why, "the coordinator is looked for again"),
            Note::AssignmentOfOthers(partitions) => {
                info!(
                    group,
                    ?partitions,
                    "assigned what is not subscribed to; joins again"
                );
            }
        }
    }

    fn ask(
        &mut self,
        id: AskId,
        peer: Peer,
        request: Request,
        limit: Duration,
        ctx: &mut Context<Self>,
    ) {
        let config = Arc::clone(&self.config);
        let finds = matches!(request, Request::FindCoordinator);
        let link = match &self.link {
            Some(link) if link.leads_to(&peer) => link.clone(),
            _ => {
                let link = Link::new(peer.clone(), self.link_options.clone());
                if !finds {
                    self.link = Some(link.clone());
                }
                link
            }
        };
        let asking = async move {
            let client = link.client(limit).await?;
            codec::ask(&client, request, &config, limit).await
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(asking).map(
            move |answer: Result<Answer, WireError>, actor, ctx| {
                actor.in_flight.remove(&id);
                if let Err(error) = &answer {
                    debug!(%error, "no answer");
                }
                actor.run(ctx, |machine, now, effects| {
                    machine.answered(now, id, answer, effects);
                });
            },
        ));
        if !finds {
            self.in_flight.insert(id, (handle, peer));
        }
    }

    fn assign(&mut self, partitions: Vec<TopicPartition>) {
        let assigned: BTreeSet<TopicPartition> = partitions.iter().cloned().collect();
        for gone in self.assigned.difference(&assigned) {
            if let Some(state) = self.shared.get(gone) {
                self.leaving.insert(gone.clone(), state);
            }
        }
        self.machine.assigned(|name| assigned.contains(name));
        self.assigned = assigned;
        let starts = partitions.into_iter().map(|name| (name, Start::Committed));
        self.neighbours.assign.do_send(Assign(starts.collect()));
    }

    /// Offsets that were processed of these, or of all.
    fn processed(&self, partitions: Option<&[TopicPartition]>) -> Offsets {
        let states = match partitions {
            None => self.shared.all(),
            Some(partitions) => {
                let states = partitions.iter();
                let states = states.filter_map(|name| {
                    let leaving = self.leaving.get(name).map(Arc::clone);
                    leaving.or_else(|| self.shared.get(name))
                });
                states.collect()
            }
        };
        let offsets = states.iter().filter_map(|state| {
            let offsets = state.offsets();
            let offset = offsets.processed?;
            // the epoch is that of the last record that was given
            let is_latest = offsets.given == Some(offset);
            let leader_epoch = offsets.leader_epoch.filter(|_| is_latest);
            Some((state.name().clone(), committable(offset, leader_epoch)))
        });
        offsets.collect()
    }

    /// What an application that chose nothing commits, given what it was given of all that is assigned.
    fn with_leaving(&self, mut offsets: Offsets) -> Offsets {
        // what was taken away does not move any more
        for (name, offset) in given(self.leaving.values()) {
            offsets.entry(name).or_insert(offset);
        }
        offsets
    }

    /// Which of these are not this member's to commit.
    fn foreign(&self, offsets: &Offsets) -> Vec<TopicPartition> {
        if !self.machine.is_subscribed() {
            return Vec::new();
        }
        let is_own = |name: &&TopicPartition| {
            self.assigned.contains(*name) || self.leaving.contains_key(*name)
        };
        let foreign = offsets.keys().filter(|name| !is_own(name));
        foreign.cloned().collect()
    }

    fn going(&self, event: &RebalanceEvent) -> Vec<Arc<PartitionState>> {
        match event {
            RebalanceEvent::Revoked(partitions) | RebalanceEvent::Lost(partitions) => {
                let states = partitions.iter().filter_map(|name| self.leaving.get(name));
                states.map(Arc::clone).collect()
            }
            RebalanceEvent::Checkpoint | RebalanceEvent::Assigned(_) => Vec::new(),
        }
    }

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Offsets that were given of these. Who commits them says that they are processed; else the next automatic commit would take that
/// back.
pub fn given<'a>(states: impl IntoIterator<Item = &'a Arc<PartitionState>>) -> Offsets {
    let offsets = states.into_iter().filter_map(|state| {
        let offsets = state.process();
        let offset = committable(offsets.given?, offsets.leader_epoch);
        Some((state.name().clone(), offset))
    });
    offsets.collect()
}

const fn committable(offset: i64, leader_epoch: Option<i32>) -> OffsetAndMetadata {
    OffsetAndMetadata {
        offset,
        leader_epoch,
        metadata: String::new(),
    }
}

fn no_position(partition: &TopicPartition, error: ErrorCode) -> PartitionError {
    let partition = partition.clone();
    match error {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            PartitionError::TopicAuthorizationFailed { partition }
        }
        error => PartitionError::LookupRefused {
            partition,
            error_code: error.0,
        },
    }
}

impl Actor for CoordinatorActor {
    type Context = Context<Self>;
}

impl Drop for CoordinatorActor {
    fn drop(&mut self) {
        self.vital.dropped(&self.machine);
    }
}

impl Handler<SnapshotChanged> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: SnapshotChanged, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.cluster_changed(now, message.0, effects);
        });
    }
}

impl Handler<LookUpCommitted> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: LookUpCommitted, ctx: &mut Context<Self>) {
        let lookups = message.0.into_iter();
        let lookups = lookups.map(|lookup| (lookup.partition, lookup.epoch, lookup.name));
        self.run(ctx, |machine, now, effects| {
            machine.look_up(now, lookups.collect(), effects);
        });
    }
}

impl<M> Handler<Command<M>> for CoordinatorActor
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

impl Handler<Subscribe> for CoordinatorActor {
    type Result = Result<(), GroupError>;

    fn handle(&mut self, message: Subscribe, ctx: &mut Context<Self>) -> Self::Result {
        self.run(ctx, |machine, now, effects| {
            machine.subscribe(now, message.0, effects)
        })
    }
}

impl Handler<Unsubscribe> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, _: Unsubscribe, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.unsubscribe(now, LeaveOption::Default, effects);
        });
    }
}

impl Handler<EnforceRebalance> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: EnforceRebalance, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.enforce_rebalance(now, &message.0, effects);
        });
    }
}

impl Handler<Confirm> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: Confirm, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.confirmed(now, message.0, effects);
        });
    }
}

impl Handler<Commit> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: Commit, ctx: &mut Context<Self>) {
        let is_chosen = matches!(message.offsets, ToCommit::Chosen(_));
        let mut offsets = match message.offsets {
            ToCommit::Chosen(offsets) => offsets,
            ToCommit::Given(offsets) => self.with_leaving(offsets),
            ToCommit::GivenByNow => self.with_leaving(given(&self.shared.all())),
        };
        let foreign = self.foreign(&offsets);
        if let Some(partition) = foreign.first().filter(|_| is_chosen) {
            let partition = partition.clone();
            let group = Arc::clone(&self.config.group_id);
            // whoever stopped waiting does not mind
            let _ = (message.reply).send(Err(GroupError::NotAssigned { group, partition }));
            return;
        }
        // the buffer may not have heard yet of what was taken away
        offsets.retain(|name, _| !foreign.contains(name));
        let call = self.next_call();
        self.commits.insert(call, message.reply);
        self.run(ctx, |machine, now, effects| {
            machine.commit(now, call, offsets, effects);
        });
    }
}

impl Handler<FetchCommitted> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: FetchCommitted, ctx: &mut Context<Self>) {
        let call = self.next_call();
        self.fetches.insert(call, message.reply);
        self.run(ctx, |machine, now, effects| {
            machine.fetch_committed(now, call, message.partitions, effects);
        });
    }
}

impl Handler<GetGroupMetadata> for CoordinatorActor {
    type Result = MessageResult<GetGroupMetadata>;

    fn handle(
        &mut self,
        _: GetGroupMetadata,
        _: &mut Context<Self>,
    ) -> MessageResult<GetGroupMetadata> {
        MessageResult(self.identity.clone())
    }
}

impl Handler<GetGroupCounts> for CoordinatorActor {
    type Result = MessageResult<GetGroupCounts>;

    fn handle(
        &mut self,
        _: GetGroupCounts,
        _: &mut Context<Self>,
    ) -> MessageResult<GetGroupCounts> {
        MessageResult(self.machine.counts(now()))
    }
}

impl Handler<Close> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, message: Close, ctx: &mut Context<Self>) {
        self.closing = Some(message.done);
        self.run(ctx, |machine, now, effects| {
            let until = now + message.timeout.min(LONGEST_CLOSE);
            machine.close(now, message.option, until, effects);
        });
    }
}

impl Handler<Stop> for CoordinatorActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        self.vital.stopped();
        ctx.stop();
    }
}
