//! The top of the actor system: makes all actors, holds a strong address of each for as long as the consumer lives, and stops
//! them in order. It is not on the data path.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext, ActorState, Addr, AsyncContext, Context, Handler, Message};
use buffer_actor::messages::WakeReader;
use buffer_actor::{
    ActorFailed, Backoff, BufferActor, BufferConfig, Command, Lane, Memory, NodeId, ResetPolicy,
    SharedState, Stop, Vital,
};
use coordinator_actor::assign::AssignError;
use coordinator_actor::messages::{self, GroupFailed, Rebalance};
use coordinator_actor::{
    CoordinatorActor, GroupConfig, LastingFailure, LeaveOption, LinkOptions, PollClock,
};
use fetch_actor::messages::CloseAll;
use fetch_actor::{FetchActor, LaneHandle, LaneReports};
use record_batch::DecodeOptions;
use session_actor::machine::SessionConfig;
use session_actor::wire::connect::Connect;
use session_actor::wire::{Address, Peer};
use session_actor::{FetchStats, LaneNeighbours, LaneOptions, SessionActor};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, error};

use crate::config::{ConsumerConfig, MetadataRecoveryStrategy, OffsetReset};
use crate::consumer::ConsumerHandle;
use crate::group::{Callbacks, Membership, Rebalances};
use crate::metadata::{self, MetadataActor, MetadataConfig};
use crate::metrics::application::ApplicationStats;
use crate::reader::{BufferPort, Reader, ReaderOptions};
use crate::status::Status;

/// How long after `close` the lanes may take if the caller gives more.
const LONGEST_CLOSE: Duration = Duration::from_secs(30);

/// The actor; see the [module](self).
pub(crate) struct FacadeActor {
    buffer: Addr<BufferActor>,
    fetch: Addr<FetchActor>,
    metadata: Addr<MetadataActor>,
    coordinator: Option<Addr<CoordinatorActor>>,
    status: Status,
    /// Dropped when the system is down: whoever waits for the end sees it.
    ended: Option<oneshot::Sender<()>>,
}

/// Everything that handles need, from whatever thread.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) facade: Addr<FacadeActor>,
    pub(crate) buffer: Addr<BufferActor>,
    pub(crate) fetch: Addr<FetchActor>,
    pub(crate) metadata: Addr<MetadataActor>,
    /// With `group.id`.
    pub(crate) coordinator: Option<Addr<CoordinatorActor>>,
    pub(crate) shared: SharedState,
    pub(crate) status: Status,
    pub(crate) memory: Memory,
    pub(crate) stats: Arc<FetchStats>,
    pub(crate) application: ApplicationStats,
}

impl Ports {
    /// The one reader of the consumer.
    pub(crate) fn reader(&self, config: &ConsumerConfig) -> Reader {
        let options = ReaderOptions {
            max_poll_records: size(config.max_poll_records()),
            isolation_level: config.isolation_level(),
            decode: DecodeOptions {
                check_crcs: config.check_crcs(),
                max_decompressed_bytes: size(config.max_decompressed_batch_bytes()),
            },
            retry: retry(config),
        };
        let port = BufferPort {
            take: self.buffer.clone().recipient(),
            block: self.buffer.clone().recipient(),
            gone: self.buffer.clone().recipient(),
        };
        Reader::new(
            options,
            port,
            self.shared.clone(),
            self.status.clone(),
            self.memory.clone(),
            self.application.clone(),
        )
    }
}

/// A consumer's actors, started.
pub(crate) struct Started {
    pub(crate) ports: Ports,
    pub(crate) group: Option<GroupPort>,
}

/// What the reader needs to take part in a group.
pub(crate) struct GroupPort {
    events: mpsc::UnboundedReceiver<Rebalance>,
    poll_clock: PollClock,
    failure: LastingFailure,
    listener: Option<Arc<dyn Callbacks>>,
}

impl GroupPort {
    pub(crate) fn rebalances(self, handle: ConsumerHandle) -> Rebalances {
        Rebalances::new(
            self.events,
            self.poll_clock,
            self.failure,
            self.listener,
            handle,
        )
    }
}

/// Starts the actors of one consumer on the current thread, which must run a `LocalSet` or an actix arbiter. `ended` is dropped
/// when the last of them has stopped.
pub(crate) fn start(
    config: &ConsumerConfig,
    policy: buffer_actor::Policy,
    connector: Arc<dyn Connect>,
    group: Option<(GroupConfig, Membership)>,
    ended: oneshot::Sender<()>,
) -> Result<Started, AssignError> {
    let shared = SharedState::default();
    let status = Status::default();
    let memory = Memory::new(config.buffer_memory());
    let stats = Arc::new(FetchStats::default());
    // The actors know each other in a ring, so their contexts are made first.
    let buffer_context = Context::<BufferActor>::new();
    let fetch_context = Context::<FetchActor>::new();
    let metadata_context = Context::<MetadataActor>::new();
    let facade_context = Context::<FacadeActor>::new();
    let coordinator_context = group.is_some().then(Context::<CoordinatorActor>::new);
    let buffer = buffer_context.address();
    let fetch = fetch_context.address();
    let metadata = metadata_context.address();
    let facade = facade_context.address();
    let vital = |actor| Vital::new(actor, facade.clone().recipient());
    let coordinator = coordinator_context.as_ref().map(AsyncContext::address);

    let buffer_actor = BufferActor::new(
        buffer_config(config, policy),
        fastrand::u64(..),
        memory.clone(),
        shared.clone(),
        buffer_actor::Neighbours {
            granted: fetch.clone().recipient(),
            read_from: fetch.clone().recipient(),
            assignment: vec![fetch.clone().recipient(), metadata.clone().recipient()],
            look_up: metadata.clone().recipient(),
            look_up_committed: coordinator.clone().map(Addr::recipient),
            metadata_stale: metadata.clone().recipient(),
        },
    );
    buffer_context.run(buffer_actor.watched(vital("buffer")));
    let lanes = LaneFactory {
        options: LaneOptions {
            config: SessionConfig {
                fetch_max_wait: config.fetch_max_wait(),
                request_timeout: config.request_timeout(),
                reconnect: reconnect(config),
                max_idle: config.connections_max_idle(),
            },
            client_id: config.client_id().into(),
            client_rack: config.client_rack().into(),
            fetch_min_bytes: config.fetch_min_bytes(),
            isolation_level: config.isolation_level(),
            setup_timeout: config.socket_connection_setup_timeout(),
            connector: Arc::clone(&connector),
            memory: memory.clone(),
            stats: Arc::clone(&stats),
        },
        buffer: buffer.clone(),
        metadata: metadata.clone(),
    };
    let planner = FetchActor::new(
        policy.uses_quick_lane(),
        fetch_actor::Neighbours {
            reserve: buffer.clone().recipient(),
            withdraw: buffer.clone().recipient(),
            leaders_changed: buffer.clone().recipient(),
            leader_unknown: metadata.clone().recipient(),
        },
        Box::new(move |node, lane, address, reports| lanes.open(node, lane, &address, reports)),
    );
    fetch_context.run(planner.watched(vital("fetch")));
    let metadata_actor = MetadataActor::new(
        metadata_config(config),
        metadata::Options {
            client_id: config.client_id().into(),
            isolation_level: config.isolation_level(),
            auto_create: config.allow_auto_create_topics(),
            setup_timeout: config.socket_connection_setup_timeout(),
            request_timeout: config.request_timeout(),
            max_idle: config.connections_max_idle(),
            connector: Arc::clone(&connector),
        },
        metadata::Neighbours {
            snapshot: coordinator
                .clone()
                .map(Addr::recipient)
                .into_iter()
                .chain([fetch.clone().recipient()])
                .collect(),
            found: buffer.clone().recipient(),
            epochs_end: buffer.clone().recipient(),
            recreated: buffer.clone().recipient(),
            report: buffer.clone().recipient(),
            wake_reader: buffer.clone().recipient(),
        },
        status.clone(),
    );
    metadata_context.run(metadata_actor.watched(vital("metadata")));
    facade_context.run(FacadeActor {
        buffer: buffer.clone(),
        fetch: fetch.clone(),
        metadata: metadata.clone(),
        coordinator: coordinator.clone(),
        status: status.clone(),
        ended: Some(ended),
    });
    let mut group_port = None;
    if let Some((context, (group, membership))) = coordinator_context.zip(group) {
        let (events, rebalances) = mpsc::unbounded_channel();
        let poll_clock = PollClock::new(tokio::time::Instant::now().into_std());
        let failure = LastingFailure::default();
        let coordinator = CoordinatorActor::new(
            group,
            LinkOptions {
                client_id: config.client_id().into(),
                setup_timeout: config.socket_connection_setup_timeout(),
                connector,
            },
            coordinator_actor::Neighbours {
                assign: buffer.clone().recipient(),
                found: buffer.clone().recipient(),
                report: buffer.clone().recipient(),
                wake_reader: buffer.clone().recipient(),
                watch: metadata.clone().recipient(),
                failed: facade.clone().recipient(),
                lasting: failure.clone(),
                events,
            },
            shared.clone(),
            poll_clock.clone(),
            member_id(),
            fastrand::u64(..),
        )?;
        context.run(coordinator.watched(vital("coordinator")));
        group_port = Some(GroupPort {
            events: rebalances,
            poll_clock,
            failure,
            listener: membership.listener,
        });
    }
    let ports = Ports {
        facade,
        buffer,
        fetch,
        metadata,
        coordinator,
        shared,
        status,
        memory,
        stats,
        application: ApplicationStats::default(),
    };
    Ok(Started {
        ports,
        group: group_port,
    })
}

/// The id of a member that chooses it itself (KIP-1082).
fn member_id() -> Arc<str> {
    let random = fastrand::u128(..).to_be_bytes();
    uuid::Builder::from_random_bytes(random)
        .into_uuid()
        .to_string()
        .into()
}

/// Starts session actors.
struct LaneFactory {
    options: LaneOptions,
    buffer: Addr<BufferActor>,
    metadata: Addr<MetadataActor>,
}

impl LaneFactory {
    fn open(
        &self,
        node: NodeId,
        lane: Lane,
        address: &Address,
        reports: LaneReports,
    ) -> LaneHandle {
        let peer = Peer {
            node: Some(node.0),
            address: address.clone(),
        };
        let neighbours = LaneNeighbours {
            done: self.buffer.clone().recipient(),
            need_memory: self.buffer.clone().recipient(),
            idle: reports.idle,
            unavailable: reports.unavailable,
            lost: reports.lost,
            refresh: self.metadata.clone().recipient(),
            leaders: self.metadata.clone().recipient(),
            reached: self.metadata.clone().recipient(),
        };
        let session = SessionActor::new(node, lane, peer, self.options.clone(), neighbours).start();
        LaneHandle {
            start: session.clone().recipient(),
            close: session.recipient(),
        }
    }
}

fn buffer_config(config: &ConsumerConfig, policy: buffer_actor::Policy) -> BufferConfig {
    BufferConfig {
        buffer_memory: config.buffer_memory(),
        fetch_min_bytes: unsigned(config.fetch_min_bytes()),
        fetch_max_bytes: unsigned(config.fetch_max_bytes()),
        max_partition_fetch_bytes: unsigned(config.max_partition_fetch_bytes()),
        retry: retry(config),
        request_timeout: config.request_timeout(),
        metadata_max_age: config.metadata_max_age(),
        unasked_limit: unasked_limit(config),
        reset: match config.auto_offset_reset() {
            OffsetReset::Earliest => ResetPolicy::Earliest,
            OffsetReset::Latest => ResetPolicy::Latest,
            OffsetReset::ByDuration(age) => ResetPolicy::Since(age),
            OffsetReset::None => ResetPolicy::None,
        },
        policy,
    }
}

/// No partition goes without a request for so long unless there is a reason: two long polls, or all that a request may take. A
/// node that cannot be reached is tried again after pauses.
fn unasked_limit(config: &ConsumerConfig) -> Duration {
    let pauses = config.reconnect_backoff_max().saturating_mul(2);
    let long_polls = config.fetch_max_wait().saturating_mul(2);
    long_polls.saturating_add(config.request_timeout().max(pauses))
}

fn metadata_config(config: &ConsumerConfig) -> MetadataConfig {
    MetadataConfig {
        bootstrap: config
            .bootstrap_servers()
            .iter()
            .map(|server| Address::new(server.host(), server.port()))
            .collect(),
        rebootstrap: (config.metadata_recovery_strategy() == MetadataRecoveryStrategy::Rebootstrap)
            .then(|| config.metadata_recovery_rebootstrap_trigger()),
        retry: retry(config),
        reconnect: reconnect(config),
        request_timeout: config.request_timeout(),
        api_timeout: config.default_api_timeout(),
        max_age: config.metadata_max_age(),
    }
}

pub(crate) fn retry(config: &ConsumerConfig) -> Backoff {
    Backoff {
        base: config.retry_backoff(),
        max: config.retry_backoff_max(),
    }
}

pub(crate) fn reconnect(config: &ConsumerConfig) -> Backoff {
    Backoff {
        base: config.reconnect_backoff(),
        max: config.reconnect_backoff_max(),
    }
}

/// The configuration lets no negative value through.
fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn size(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}

impl Actor for FacadeActor {
    type Context = Context<Self>;
}

impl Handler<ActorFailed> for FacadeActor {
    type Result = ();

    fn handle(&mut self, failed: ActorFailed, ctx: &mut Context<Self>) {
        if ctx.state() != ActorState::Running {
            // the runtime was dropped with all actors in it
            return;
        }
        let ActorFailed { actor, state } = failed;
        error!(
            actor,
            state, "an actor panicked: the consumer is of no use any more"
        );
        self.status.fail();
        self.buffer.do_send(WakeReader);
    }
}

/// Handle -> Facade: stop everything: first the coordinator, which commits and leaves the group, then the lanes, whose sessions are
/// ended at the brokers, then the rest. The end is seen by the system's `ended` being dropped.
#[derive(Debug, actix::Message)]
#[rtype(result = "()")]
pub(crate) struct Close {
    /// How long the brokers may take to be told.
    pub(crate) timeout: Duration,
    /// Whether to leave the group.
    pub(crate) option: LeaveOption,
}

impl<M> Handler<Command<M>> for FacadeActor
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

impl Handler<Close> for FacadeActor {
    type Result = ();

    fn handle(&mut self, message: Close, ctx: &mut Context<Self>) {
        debug!("the consumer is closed");
        let limit = message.timeout.min(LONGEST_CLOSE);
        let until = tokio::time::Instant::now() + limit;
        let left = self.coordinator.clone().map(|coordinator| {
            let (done, left) = oneshot::channel();
            coordinator.do_send(messages::Close {
                option: message.option,
                timeout: limit,
                done,
            });
            (coordinator, left)
        });
        let fetch = self.fetch.clone();
        let closing = async move {
            if let Some((coordinator, left)) = left {
                // dropped by the coordinator when it has left the group or its time is over: then it tells the listener what is lost,
                // so it is not stopped before
                let _ = left.await;
                coordinator.do_send(Stop);
            }
            let (done, closed) = oneshot::channel();
            fetch.do_send(CloseAll { done });
            // dropped by the planner when the last lane has closed
            let _ = tokio::time::timeout_at(until, closed).await;
        };
        ctx.spawn(actix::fut::ActorFutureExt::map(
            actix::fut::wrap_future::<_, Self>(closing),
            |(), actor, ctx| {
                actor.fetch.do_send(Stop);
                actor.metadata.do_send(Stop);
                actor.buffer.do_send(Stop);
                actor.ended = None;
                ctx.stop();
            },
        ));
    }
}

impl Handler<GroupFailed> for FacadeActor {
    type Result = ();

    fn handle(&mut self, GroupFailed(error): GroupFailed, _: &mut Context<Self>) {
        self.status.set_failure(error.into());
        self.buffer.do_send(WakeReader);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::task::LocalSet;

    use crate::metadata::Panic;
    use crate::{Consumer, Error};

    #[test]
    fn after_a_panic_of_an_actor_every_poll_fails_and_close_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            let builder = Consumer::builder().bootstrap_servers("127.0.0.1:1");
            let mut consumer = builder.group_id("g").spawn_local().unwrap();
            consumer.subscribe(["t"]).await.unwrap();
            let metadata = consumer.handle().ports.metadata.clone();
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                metadata.do_send(Panic);
            });
            // in the middle of a poll, and from then on
            for _ in 0..3 {
                let polled = consumer.poll(Duration::from_secs(3600)).await;
                assert!(matches!(polled, Err(Error::Failed)), "{polled:?}");
            }
            let closing = consumer.close(Duration::from_secs(5));
            let _ = tokio::time::timeout(Duration::from_secs(6), closing)
                .await
                .expect("it ends");
        });
    }
}
