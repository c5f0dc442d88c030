//! What a service holds: the consumer that polls, and handles for everything else.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler, Message};
use buffer_actor::messages::{Assign, GetStatus, NoPosition, Pause};
use buffer_actor::{Command, Start};
use coordinator_actor::LeaveOption;
use coordinator_actor::messages::GetGroupCounts;
use futures_util::stream::{self, Stream, StreamExt};
use record_batch::TopicPartition;
use tokio::sync::watch;

use crate::builder::ConsumerBuilder;
use crate::config::ConsumerConfig;
use crate::error::{Error, Result};
use crate::facade::{Close, Ports, Started};
use crate::metadata::{AskPartitions, PartitionsUnknown};
use crate::metrics::application::clock;
use crate::metrics::{Metrics, Sources};
use crate::reader::{Batches, Reader};
use crate::records::Records;
use crate::status::Mode;

/// How long [`Consumer`]'s drop lets the brokers take to be told, on the actors' thread.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// How long a poll of a stream waits; the next one follows at once.
const STREAM_WAIT: Duration = Duration::from_secs(60);

/// A Kafka consumer.
///
/// Fetching runs by itself, ahead of the application and within `buffer.memory`; [`poll`](Self::poll) gives what is there. All
/// other methods are those of [`ConsumerHandle`], which can be called here as well.
///
/// ```no_run
/// use std::time::Duration;
/// use consumer_app::{Consumer, OffsetReset, TopicPartition};
///
/// # async fn example() -> consumer_app::Result<()> {
/// let mut consumer = Consumer::builder()
///     .bootstrap_servers("localhost:9092")
///     .auto_offset_reset(OffsetReset::Earliest)
///     .build()
///     .await?;
/// consumer.assign([TopicPartition::new("orders", 0)]).await?;
/// let records = consumer.poll(Duration::from_millis(500)).await?;
/// for record in &records {
///     println!("{}: {:?}", record.offset(), record.value());
/// }
/// consumer.close(Duration::from_secs(5)).await
/// # }
/// ```
pub struct Consumer {
    handle: ConsumerHandle,
    reader: Reader,
}

impl Consumer {
    /// Begins the configuration of a consumer.
    pub fn builder() -> ConsumerBuilder {
        ConsumerBuilder::default()
    }

    pub(crate) fn new(started: Started, config: ConsumerConfig, end: watch::Receiver<()>) -> Self {
        let Started { ports, group } = started;
        let mut reader = ports.reader(&config);
        let handle = ConsumerHandle {
            ports,
            config: Arc::new(config),
            end,
        };
        if let Some(group) = group {
            reader.join(group.rebalances(handle.clone()));
        }
        Self { handle, reader }
    }

    /// A handle for other tasks.
    pub fn handle(&self) -> ConsumerHandle {
        self.handle.clone()
    }

    /// Gives up to `max.poll.records` records, waiting up to `timeout` for the first. It returns early, and empty, when a
    /// position moved without a record (transaction markers, compacted batches).
    ///
    /// The future may be dropped at any await without losing a record, so it can stand in a `select!`; the next poll finds what
    /// came meanwhile. It needs no particular runtime.
    ///
    /// When a poll begins, what the one before gave counts as processed: `enable.auto.commit` commits it from then on. What happens
    /// to the group's assignment is dealt with here, the calls of a [`RebalanceListener`](crate::RebalanceListener) included. A
    /// member that does not poll for `max.poll.interval.ms` is out of its group until it does.
    ///
    /// # Errors
    /// [`Error::NothingAssigned`]; [`Error::Group`] for what ends the membership, until the application subscribes anew; [`Error::Unreachable`] once no broker was reachable for `default.api.timeout.ms`;
    /// [`Error::BrokerUnusable`] for one that is there and of no use;
    /// [`Error::Partition`] and [`Error::CorruptBatch`] for what one partition meets, while the others go on; [`Error::MemoryHeld`] if
    /// the application keeps all of `buffer.memory` in records that it was given. The consumer remains usable after each of them.
    pub async fn poll(&mut self, timeout: Duration) -> Result<Records> {
        self.check_pollable().await?;
        self.reader.poll(timeout).await
    }

    /// Gives whole batches as they came, still compressed, for decoding on other threads: `max.poll.records` does not apply.
    /// Waits and may be dropped as [`poll`](Self::poll). The position moves past what is given; if a batch then turns out to be
    /// unreadable ([`PartitionBatches::decode`](crate::PartitionBatches::decode)), it goes back to it and the next poll says so.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub async fn poll_batches(&mut self, timeout: Duration) -> Result<Batches> {
        self.check_pollable().await?;
        self.reader.poll_batches(timeout).await
    }

    /// The consumer as a stream of what its polls give, without the empty ones. Errors come as from [`poll`](Self::poll) and the stream
    /// goes on; it ends when the consumer is closed, from a [`handle`](Self::handle) made before, or by a fault of its own
    /// ([`Error::Failed`]). A record counts as processed when the next ones are asked for. Dropping the stream drops the consumer.
    ///
    /// ```no_run
    /// use consumer_app::Consumer;
    /// use futures_util::StreamExt;
    ///
    /// # async fn example(consumer: Consumer) -> consumer_app::Result<()> {
    /// let mut stream = std::pin::pin!(consumer.into_stream());
    /// while let Some(records) = stream.next().await {
    ///     for record in &records? {
    ///         println!("{}: {:?}", record.offset(), record.value());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<Records>> + Send + 'static {
        stream::unfold(Some(self), async |consumer| {
            let mut consumer = consumer?;
            loop {
                match consumer.poll(STREAM_WAIT).await {
                    Ok(records) if records.is_empty() => {}
                    Err(Error::Closed) => return None,
                    Err(Error::Failed) => return Some((Err(Error::Failed), None)),
                    polled => return Some((polled, Some(consumer))),
                }
            }
        })
        .fuse()
    }

    async fn check_pollable(&mut self) -> Result<()> {
        if self.ports.status.is_closed() {
            return Err(Error::Closed);
        }
        if self.ports.status.mode() != Mode::Idle {
            return Ok(());
        }
        self.reader.drop_lease().await;
        Err(Error::NothingAssigned)
    }

    /// Leaves the group, ends the fetch sessions at the brokers, closes all connections, and stops every actor; what takes longer
    /// than `timeout` is given up. What was given counts as processed, and is committed if `enable.auto.commit` is on; a
    /// [`RebalanceListener`](crate::RebalanceListener) is called. A second call does nothing. Records that were given remain
    /// valid.
    ///
    /// # Errors
    /// None: what could not be done in time is in the log.
    pub async fn close(&mut self, timeout: Duration) -> Result<()> {
        self.close_with(timeout, LeaveOption::Default).await
    }

    /// As [`close`](Self::close), saying whether to leave the group (KIP-1092).
    ///
    /// # Errors
    /// As there.
    pub async fn close_with(&mut self, timeout: Duration, option: LeaveOption) -> Result<()> {
        self.reader.process();
        self.handle.begin_close(timeout, option);
        self.reader.finish().await;
        self.handle.ended().await;
        Ok(())
    }
}

impl Deref for Consumer {
    type Target = ConsumerHandle;

    fn deref(&self) -> &ConsumerHandle {
        &self.handle
    }
}

impl Drop for Consumer {
    /// Does what [`close`](Self::close) does as far as it can without waiting.
    fn drop(&mut self) {
        self.handle.begin_close(DROP_LIMIT, LeaveOption::Default);
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer")
            .field("config", &self.handle.config)
            .finish_non_exhaustive()
    }
}

/// Everything but polling, from any task or thread; cheap to clone. Its methods return futures that stand for themselves: what
/// they ask for is sent when they are called and happens even if the future is dropped, in the order of the calls. A poll begins when what was
/// called before it is done, waited for or not.
#[derive(Clone)]
pub struct ConsumerHandle {
    pub(crate) ports: Ports,
    pub(crate) config: Arc<ConsumerConfig>,
    end: watch::Receiver<()>,
}

impl std::fmt::Debug for ConsumerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsumerHandle").finish_non_exhaustive()
    }
}

impl ConsumerHandle {
    /// The configuration that the consumer runs with.
    pub fn config(&self) -> &ConsumerConfig {
        &self.config
    }

    /// Replaces the assignment. Partitions that stay keep position, pause and buffered records; new ones begin where the group of
    /// `group.id` committed, or where `auto.offset.reset` says, unless a [`seek`](Self::seek) says otherwise. Nothing assigns
    /// nothing.
    ///
    /// # Errors
    /// [`Error::BlankTopic`], [`Error::Closed`], [`Error::MixedUse`] while there is a subscription.
    pub fn assign<I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator,
        I::Item: Into<TopicPartition>,
    {
        let partitions = partitions.into_iter().map(Into::into);
        let start = match self.ports.coordinator {
            Some(_) => Start::Committed,
            None => Start::Reset,
        };
        self.assign_from(partitions.map(|partition| (partition, start)).collect())
    }

    /// As [`assign`](Self::assign), with the offset to begin at for each partition that is new, which spares the lookup of a
    /// position that would not be used.
    ///
    /// # Errors
    /// As [`assign`](Self::assign), and [`Error::NegativeOffset`].
    pub fn assign_at<I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = (TopicPartition, i64)>,
    {
        let partitions = partitions.into_iter();
        self.assign_from(
            partitions
                .map(|(partition, offset)| (partition, Start::Offset(offset)))
                .collect(),
        )
    }

    fn assign_from(
        &self,
        partitions: Vec<(TopicPartition, Start)>,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let refused = partitions.iter().find_map(|(partition, start)| {
            if partition.topic().trim().is_empty() {
                return Some(Error::BlankTopic);
            }
            match *start {
                Start::Offset(offset) if offset < 0 => Some(Error::NegativeOffset {
                    partition: partition.clone(),
                    offset,
                }),
                Start::Offset(_) | Start::Committed | Start::Reset => None,
            }
        });
        let sent = match refused {
            Some(error) => Err(error),
            None => self.ports.status.assign(!partitions.is_empty(), || {
                self.command(&self.ports.buffer, Assign(partitions))
            }),
        };
        async move { sent?.await }
    }

    /// Has an actor do something when what was asked for before is done, whether or not what comes of it is waited for.
    pub(crate) fn command<A, M>(
        &self,
        actor: &Addr<A>,
        message: M,
    ) -> impl Future<Output = Result<M::Result>> + Send + 'static + use<A, M>
    where
        A: Actor + Handler<Command<M>>,
        A::Context: ToEnvelope<A, Command<M>>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let answer = self.ports.shared.commands().send(actor, message);
        let status = self.ports.status.clone();
        async move { answer.await.map_err(|_| status.gone()) }
    }

    /// The assigned partitions, in no order.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        let states = self.ports.shared.all();
        states.iter().map(|state| state.name().clone()).collect()
    }

    /// The partitions of a topic, whether assigned or not. A topic that does not exist is asked for a few times, since it may
    /// just have been created; with `allow.auto.create.topics` the brokers may create it.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`] with what the brokers say, within `default.api.timeout.ms`; [`Error::Unreachable`].
    pub fn partitions_for(
        &self,
        topic: &str,
    ) -> impl Future<Output = Result<Vec<TopicPartition>>> + Send + 'static + use<> {
        let status = self.ports.status.clone();
        let topic: Arc<str> = topic.into();
        let asked = self.ports.metadata.send(AskPartitions(Arc::clone(&topic)));
        async move {
            match asked.await.map_err(|_| status.gone())? {
                Ok(count) => Ok((0..count)
                    .filter_map(|index| i32::try_from(index).ok())
                    .map(|index| TopicPartition::new(Arc::clone(&topic), index))
                    .collect()),
                Err(PartitionsUnknown::Refused(error)) => Err(Error::UnknownTopic { topic, error }),
                Err(PartitionsUnknown::Unreachable(source)) => Err(Error::Unreachable { source }),
            }
        }
    }

    /// Stops giving and fetching records of assigned partitions. What is buffered of them is kept as long as memory allows, and
    /// given after [`resume`](Self::resume) without being fetched again.
    ///
    /// # Errors
    /// [`Error::NoPosition`] if one of them is not assigned; then none is paused.
    pub fn pause<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.set_paused(partitions, true)
    }

    /// Ends a [`pause`](Self::pause). Without effect on partitions that are not paused.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn resume<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.set_paused(partitions, false)
    }

    fn set_paused<'a, I>(
        &self,
        partitions: I,
        paused: bool,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        let pause = Pause {
            partitions: partitions.into_iter().cloned().collect(),
            paused,
        };
        let done = self.command(&self.ports.buffer, pause);
        async move { Ok(done.await?.map_err(NoPosition::from)?) }
    }

    /// The paused partitions, in no order.
    pub fn paused(&self) -> Vec<TopicPartition> {
        let states = self.ports.shared.all();
        let paused = states.iter().filter(|state| state.is_paused());
        paused.map(|state| state.name().clone()).collect()
    }

    /// What the consumer did so far and what it holds. Costs a message to each of its actors, and nothing else: nothing is counted
    /// for the sake of being asked.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn metrics(&self) -> impl Future<Output = Result<Metrics>> + Send + 'static + use<> {
        let status = self.ports.status.clone();
        let sources = Sources {
            client_id: self.config.client_id().into(),
            isolation: self.config.isolation_level(),
            stats: Arc::clone(&self.ports.stats),
            shared: self.ports.shared.clone(),
            application: self.ports.application.clone(),
        };
        let buffer = self.ports.buffer.send(GetStatus);
        let fetch = self.ports.fetch.send(fetch_actor::CountMessages);
        let coordinator = self.ports.coordinator.as_ref();
        let group = coordinator.map(|coordinator| coordinator.send(GetGroupCounts));
        async move {
            let buffer = buffer.await.map_err(|_| status.gone())?;
            let planner_messages = fetch.await.map_err(|_| status.gone())?;
            let group = match group {
                Some(group) => Some(group.await.map_err(|_| status.gone())?),
                None => None,
            };
            Ok(sources.read(clock(), &buffer, planner_messages, group))
        }
    }

    /// Closes the consumer from any task; see [`Consumer::close`]. What the last poll gave does not count as processed: its
    /// records may still be worked on. A poll that is going on calls the rebalance listener.
    ///
    /// # Errors
    /// As there.
    pub fn close(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.begin_close(timeout, LeaveOption::Default);
        let ended = self.ended();
        async move {
            ended.await;
            Ok(())
        }
    }

    /// Until the consumer is closed and its last actor has stopped.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let mut end = self.end.clone();
        async move {
            // the sender is dropped when the last actor has stopped
            let _ = end.changed().await;
        }
    }

    fn begin_close(&self, timeout: Duration, option: LeaveOption) {
        if self.ports.status.close() {
            // what was called before is done before
            drop(self.command(&self.ports.facade, Close { timeout, option }));
        }
    }
}
