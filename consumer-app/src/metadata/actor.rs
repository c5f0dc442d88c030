//! The shell of metadata: control connections, one future a question, answers into the machine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient, ResponseFuture};
use buffer_actor::messages::{
    AssignmentChanged, EpochsEnd, LookUp, MetadataStale, PositionsFound, ReportError,
    TopicsRecreated, WakeReader,
};
use buffer_actor::{Alarm, EpochAnswer, Vital};
use fetch_actor::messages::LeaderUnknown;
use kafka_protocol::messages::{ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest};
use record_batch::TopicPartition;
use session_actor::messages::{LeadersTold, NodeReached, RefreshMetadata};
use session_actor::wire::connect::Connect;
use session_actor::wire::control::{ControlClient, MAX_RESPONSE_BYTES};
use session_actor::wire::fetch::IsolationLevel;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};
use session_actor::{SnapshotChanged, WatchTopics};
use tokio::sync::oneshot;
use tracing::{debug, info, warn};

use super::codec;
use super::listing::{Answer, TopicList};
use super::lookups::Asked;
use super::machine::{Effect, MetadataConfig, MetadataMachine, PartitionsUnknown};
use super::queries::{Listed, OffsetsUnknown, QueryId};
use super::turns::Topics;
use crate::error::Error;
use crate::offsets::OffsetSpec;
use crate::status::Status;

/// What metadata asks with.
#[derive(Clone)]
pub(crate) struct Options {
    /// `client.id`.
    pub(crate) client_id: Arc<str>,
    /// `isolation.level`: the end of a partition depends on it.
    pub(crate) isolation_level: IsolationLevel,
    /// `allow.auto.create.topics`.
    pub(crate) auto_create: bool,
    /// `socket.connection.setup.timeout.ms`.
    pub(crate) setup_timeout: Duration,
    /// `request.timeout.ms`.
    pub(crate) request_timeout: Duration,
    /// `connections.max.idle.ms`.
    pub(crate) max_idle: Option<Duration>,
    /// Makes connections.
    pub(crate) connector: Arc<dyn Connect>,
}

/// Whom metadata tells.
#[derive(Debug, Clone)]
pub(crate) struct Neighbours {
    /// Whoever looks at the cluster.
    pub(crate) snapshot: Vec<Recipient<SnapshotChanged>>,
    /// Buffer.
    pub(crate) found: Recipient<PositionsFound>,
    /// Buffer.
    pub(crate) epochs_end: Recipient<EpochsEnd>,
    /// Buffer.
    pub(crate) recreated: Recipient<TopicsRecreated>,
    /// Buffer.
    pub(crate) report: Recipient<ReportError>,
    /// Buffer.
    pub(crate) wake_reader: Recipient<WakeReader>,
}

/// The actor; see the [module](super).
pub(crate) struct MetadataActor {
    machine: MetadataMachine,
    options: Options,
    neighbours: Neighbours,
    status: Status,
    /// Control connections that work, and when they were last used. Sorted, so that a simulation closes them in the same order
    /// whenever it is repeated.
    clients: BTreeMap<Address, (ControlClient, Instant)>,
    /// Who wants to know the partitions of a topic.
    askers: HashMap<Arc<str>, Vec<oneshot::Sender<Result<usize, PartitionsUnknown>>>>,
    /// Who wants to know offsets.
    queries: HashMap<QueryId, oneshot::Sender<Result<Listed, OffsetsUnknown>>>,
    /// Who wants to know all topics.
    listings: HashMap<QueryId, oneshot::Sender<Answer>>,
    next_query: QueryId,
    effects: Vec<Effect>,
    alarm: Alarm,
    vital: Vital,
    /// The failures that were logged: what an address fails with is said once, until it answers.
    said: HashSet<(Option<Address>, Discriminant<WireError>)>,
}

impl MetadataActor {
    pub(crate) fn new(
        config: MetadataConfig,
        options: Options,
        neighbours: Neighbours,
        status: Status,
    ) -> Self {
        Self {
            machine: MetadataMachine::new(config, fastrand::u64(..)),
            options,
            neighbours,
            status,
            clients: BTreeMap::new(),
            askers: HashMap::new(),
            queries: HashMap::new(),
            listings: HashMap::new(),
            next_query: QueryId(0),
            effects: Vec::new(),
            alarm: Alarm::default(),
            vital: Vital::default(),
            said: HashSet::new(),
        }
    }

    /// The same, and whom `vital` tells hears if it ends unasked.
    #[must_use]
    pub(crate) fn watched(mut self, vital: Vital) -> Self {
        self.vital = vital;
        self
    }

    fn run(
        &mut self,
        ctx: &mut Context<Self>,
        event: impl FnOnce(&mut MetadataMachine, Instant, &mut Vec<Effect>),
    ) {
        let now = tokio::time::Instant::now().into_std();
        let mut effects = std::mem::take(&mut self.effects);
        event(&mut self.machine, now, &mut effects);
        for effect in effects.drain(..) {
            self.perform(effect, ctx);
        }
        self.effects = effects;
        let next_idle = self.close_idle(now);
        let next = self.machine.poll_timeout().into_iter().chain(next_idle);
        self.alarm.set(next.min(), ctx, Self::ring);
    }

    /// Connections that carried nothing for long are closed, before something on the way drops them silently. Returns when
    /// the next one is to be closed.
    fn close_idle(&mut self, now: Instant) -> Option<Instant> {
        let max_idle = self.options.max_idle?;
        let idle_until = |used: Instant| used.checked_add(max_idle);
        self.clients
            .retain(|_, (_, used)| idle_until(*used).is_none_or(|until| now < until));
        let used = self.clients.values().map(|(_, used)| *used);
        used.filter_map(idle_until).min()
    }

    fn ring(&mut self, ctx: &mut Context<Self>) {
        self.alarm.rang();
        self.run(ctx, |machine, now, effects| machine.timeout(now, effects));
    }

    fn perform(&mut self, effect: Effect, ctx: &mut Context<Self>) {
        match effect {
            Effect::AskMetadata {
                peer,
                topics,
                may_create,
                limit,
            } => self.ask_metadata(peer, topics, may_create, limit, ctx),
            Effect::AskOffsets { peer, asked } => self.ask_offsets(peer, asked, ctx),
            Effect::AskEpochs { peer, asked } => self.ask_epochs(peer, asked, ctx),
            Effect::Publish(snapshot) => {
                debug!(
                    brokers = snapshot.brokers.len(),
                    topics = snapshot.topics.len(),
                    "metadata changed"
                );
                self.clients.retain(|address, (client, _)| {
                    client.failure().is_none()
                        && snapshot.brokers.values().any(|known| known == address)
                });
                for neighbour in &self.neighbours.snapshot {
                    neighbour.do_send(SnapshotChanged(Arc::clone(&snapshot)));
                }
            }
            Effect::Found(found) => self.neighbours.found.do_send(PositionsFound(found)),
            Effect::EpochsEnd(ends) => self.neighbours.epochs_end.do_send(EpochsEnd(ends)),
            Effect::Recreated(topic, partitions) => {
                warn!(%topic, "the topic was deleted and created again; it is read from where auto.offset.reset says");
                self.neighbours
                    .recreated
                    .do_send(TopicsRecreated(partitions));
            }
            Effect::Report(partition, error) => {
                self.neighbours
                    .report
                    .do_send(ReportError { partition, error });
            }
            Effect::Unreachable(source) => self.tell(Error::Unreachable { source }),
            Effect::Unusable(source) => self.tell(Error::BrokerUnusable { source }),
            Effect::Listed(query, result) => {
                if let Some(asker) = self.queries.remove(&query) {
                    // whoever stopped waiting does not mind
                    let _ = asker.send(result);
                }
            }
            Effect::Topics(askers, list) => {
                for asker in askers {
                    if let Some(asker) = self.listings.remove(&asker) {
                        let _ = asker.send(list.clone());
                    }
                }
            }
            Effect::Partitions(topic, count) => {
                for asker in self.askers.remove(&topic).into_iter().flatten() {
                    // whoever stopped waiting does not mind
                    let _ = asker.send(count.clone());
                }
            }
            Effect::Missing(topic, error) => {
                warn!(topic = %topic, %error, "metadata does not show the topic or its leader");
            }
        }
    }

    fn ask_metadata(
        &mut self,
        peer: Peer,
        topics: Topics,
        may_create: bool,
        limit: Duration,
        ctx: &mut Context<Self>,
    ) {
        let client = self.client(&peer);
        let options = self.options.clone();
        let creates = options.auto_create && may_create;
        let asking = async move {
            let client = connected(client, &options, peer, limit).await?;
            let version = client.version::<MetadataRequest>()?;
            let request = codec::metadata_request(&topics, creates, version);
            let response = client.call_version(version, &request, limit).await;
            Ok((client, response?))
        };
        ctx.spawn(wrap_future::<_, Self>(asking).map(|answer, actor, ctx| {
            let result = answer.map(|(client, response)| {
                actor.adopt(client);
                codec::view(response)
            });
            if let Err(error) = &result {
                actor.complain(error);
            }
            actor.run(ctx, |machine, now, effects| match result.transpose() {
                Some(result) => machine.refreshed(now, result, effects),
                None => machine.rebootstrap(now, effects),
            });
        }));
    }

    fn ask_offsets(&mut self, peer: Peer, asked: Vec<Asked>, ctx: &mut Context<Self>) {
        let asked: Arc<[Asked]> = asked.into();
        let client = self.client(&peer);
        let options = self.options.clone();
        let wanted = Arc::clone(&asked);
        let asking = async move {
            let limit = options.request_timeout;
            let client = connected(client, &options, peer, limit).await?;
            let version = client.version::<ListOffsetsRequest>()?;
            let isolation = options.isolation_level;
            let request = codec::offsets_request(&wanted, isolation, version, wall_clock(), limit);
            let response = client.call_version(version, &request, limit).await?;
            let offsets = codec::offsets(&response, &wanted, version);
            Ok((client, offsets))
        };
        ctx.spawn(
            wrap_future::<_, Self>(asking).map(move |answer, actor, ctx| {
                let result = answer.map(|(client, offsets)| {
                    actor.adopt(client);
                    offsets
                });
                if let Err(error) = &result {
                    actor.complain(error);
                }
                actor.run(ctx, |machine, now, effects| {
                    machine.offsets(now, &asked, result, effects);
                });
            }),
        );
    }

    fn new_query(&mut self) -> QueryId {
        let next = QueryId(self.next_query.0.wrapping_add(1));
        std::mem::replace(&mut self.next_query, next)
    }

    fn ask_epochs(&mut self, peer: Peer, asked: Vec<Asked>, ctx: &mut Context<Self>) {
        let request = codec::epochs_request(&asked);
        let client = self.client(&peer);
        let options = self.options.clone();
        let asking = async move {
            let limit = options.request_timeout;
            let client = connected(client, &options, peer, limit).await?;
            let is_new = |version: &i16| *version >= codec::EPOCHS_FOR_CONSUMERS;
            let version = client.version::<OffsetForLeaderEpochRequest>();
            let response = match version.ok().filter(is_new) {
                Some(version) => Some(client.call_version(version, &request, limit).await?),
                None => None,
            };
            Ok((client, response))
        };
        ctx.spawn(
            wrap_future::<_, Self>(asking).map(move |answer, actor, ctx| {
                let result = answer.map(|(client, response)| {
                    actor.adopt(client);
                    match response {
                        Some(response) => codec::epochs(&response, &asked),
                        None => vec![Ok(EpochAnswer::Unsupported); asked.len()],
                    }
                });
                if let Err(error) = &result {
                    actor.complain(error);
                }
                actor.run(ctx, |machine, now, effects| {
                    machine.epochs(now, &asked, result, effects);
                });
            }),
        );
    }

    /// What concerns no partition in particular is told by `poll`.
    fn tell(&self, error: Error) {
        self.status.set_failure(error);
        self.neighbours.wake_reader.do_send(WakeReader);
    }

    fn client(&self, peer: &Peer) -> Option<ControlClient> {
        let (client, _) = self.clients.get(&peer.address)?;
        client.failure().is_none().then(|| client.clone())
    }

    /// Keeps a connection that answered, if it leads to a broker that metadata names; a bootstrap address is closed after use.
    fn adopt(&mut self, client: ControlClient) {
        let said = self.said.len();
        let address = Some(&client.peer().address);
        self.said.retain(|(of, _)| of.as_ref() != address);
        if self.said.len() < said {
            info!(peer = %client.peer(), "answers again");
        }
        if client.peer().node.is_some() {
            let now = tokio::time::Instant::now().into_std();
            self.clients
                .insert(client.peer().address.clone(), (client, now));
        }
    }

    /// What an address fails with is said once, until it answers.
    fn complain(&mut self, error: &WireError) {
        let address = error.peer().map(|peer| peer.address.clone());
        if self.said.insert((address, discriminant(error))) {
            warn!(%error, "no answer about the cluster; other brokers are asked, with growing pauses");
        } else {
            debug!(%error, "still no answer");
        }
    }
}

/// Milliseconds since 1970.
fn wall_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// A connection that is there, or a new one.
async fn connected(
    client: Option<ControlClient>,
    options: &Options,
    peer: Peer,
    limit: Duration,
) -> Result<ControlClient, WireError> {
    if let Some(client) = client {
        return Ok(client);
    }
    let limit = limit.min(options.setup_timeout);
    ControlClient::connect(
        options.connector.as_ref(),
        peer,
        &options.client_id,
        MAX_RESPONSE_BYTES,
        limit,
    )
    .await
}

impl Actor for MetadataActor {
    type Context = Context<Self>;
}

impl Drop for MetadataActor {
    fn drop(&mut self) {
        self.vital.dropped(&self.machine);
    }
}

impl Handler<AssignmentChanged> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: AssignmentChanged, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.assignment(now, message.added, &message.removed, effects);
        });
    }
}

impl Handler<WatchTopics> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: WatchTopics, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.watch(now, message, effects)
        });
    }
}

impl Handler<LookUp> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: LookUp, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.look_up(now, message.0, effects)
        });
    }
}

impl Handler<MetadataStale> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: MetadataStale, ctx: &mut Context<Self>) {
        debug!(partition = %message.0, "metadata may be out of date");
        self.run(ctx, |machine, now, effects| machine.stale(now, effects));
    }
}

impl Handler<LeaderUnknown> for MetadataActor {
    type Result = ();

    fn handle(&mut self, _: LeaderUnknown, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| machine.stale(now, effects));
    }
}

impl Handler<RefreshMetadata> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: RefreshMetadata, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.stale_at(now, message.node, effects);
        });
    }
}

impl Handler<LeadersTold> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: LeadersTold, ctx: &mut Context<Self>) {
        self.run(ctx, |machine, now, effects| {
            machine.leaders_told(now, message.0, effects);
        });
    }
}

impl Handler<NodeReached> for MetadataActor {
    type Result = ();

    fn handle(&mut self, message: NodeReached, ctx: &mut Context<Self>) {
        let NodeReached {
            failure, failures, ..
        } = message;
        self.run(ctx, |machine, now, effects| {
            machine.node_reached(now, failure, failures, effects);
        });
    }
}

/// Handle -> Metadata, *ask*: how many partitions a topic has.
#[derive(Debug, actix::Message)]
#[rtype(result = "Result<usize, PartitionsUnknown>")]
pub(crate) struct AskPartitions(pub(crate) Arc<str>);

impl Handler<AskPartitions> for MetadataActor {
    type Result = ResponseFuture<Result<usize, PartitionsUnknown>>;

    fn handle(&mut self, message: AskPartitions, ctx: &mut Context<Self>) -> Self::Result {
        let (asker, answer) = oneshot::channel();
        self.askers
            .entry(Arc::clone(&message.0))
            .or_default()
            .push(asker);
        self.run(ctx, |machine, now, effects| {
            machine.ask_partitions(now, message.0, effects);
        });
        // the machine answers each question by its deadline
        let stopped = PartitionsUnknown::Refused(ErrorCode::REQUEST_TIMED_OUT);
        Box::pin(async move { answer.await.unwrap_or(Err(stopped)) })
    }
}

/// Handle -> Metadata, *ask*: offsets of partitions, at least one.
#[derive(Debug, actix::Message)]
#[rtype(result = "Result<Listed, OffsetsUnknown>")]
pub(crate) struct ListOffsets(pub(crate) BTreeMap<TopicPartition, OffsetSpec>);

impl Handler<ListOffsets> for MetadataActor {
    type Result = ResponseFuture<Result<Listed, OffsetsUnknown>>;

    fn handle(&mut self, message: ListOffsets, ctx: &mut Context<Self>) -> Self::Result {
        let (asker, answer) = oneshot::channel();
        let query = self.new_query();
        self.queries.insert(query, asker);
        // the machine answers each question by its deadline
        let partitions = message.0.keys().cloned().collect();
        let stopped = OffsetsUnknown::Refused(partitions, ErrorCode::REQUEST_TIMED_OUT);
        self.run(ctx, |machine, now, effects| {
            machine.list_offsets(now, query, message.0, effects);
        });
        Box::pin(async move { answer.await.unwrap_or(Err(stopped)) })
    }
}

/// Handle -> Metadata, *ask*: all topics.
#[derive(Debug, actix::Message)]
#[rtype(result = "Result<TopicList, Option<WireError>>")]
pub(crate) struct ListTopics;

impl Handler<ListTopics> for MetadataActor {
    type Result = ResponseFuture<Result<TopicList, Option<WireError>>>;

    fn handle(&mut self, _: ListTopics, ctx: &mut Context<Self>) -> Self::Result {
        let (asker, answer) = oneshot::channel();
        let query = self.new_query();
        self.listings.insert(query, asker);
        self.run(ctx, |machine, now, effects| {
            machine.list_topics(now, query, effects)
        });
        Box::pin(async move {
            let list = answer.await.unwrap_or(Err(None))?;
            Ok(Arc::unwrap_or_clone(list))
        })
    }
}

impl Handler<buffer_actor::Stop> for MetadataActor {
    type Result = ();

    fn handle(&mut self, _: buffer_actor::Stop, ctx: &mut Context<Self>) {
        self.vital.stopped();
        ctx.stop();
    }
}

/// A fault.
#[cfg(test)]
#[derive(Debug, actix::Message)]
#[rtype(result = "()")]
pub(crate) struct Panic;

#[cfg(test)]
impl Handler<Panic> for MetadataActor {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Context<Self>) {
        panic!("a fault");
    }
}
