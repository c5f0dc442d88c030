//! What an application asks of its group, from any task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::Addr;
use buffer_actor::messages::Assign;
use coordinator_actor::messages::{
    Commit, Committed, Confirm, EnforceRebalance, FetchCommitted, GetGroupMetadata, Subscribe,
    ToCommit, Unsubscribe,
};
use coordinator_actor::{
    CoordinatorActor, EventId, GroupError, GroupMetadata, OffsetAndMetadata, Offsets, Subscription,
    given,
};
use futures_util::future::Either;
use record_batch::TopicPartition;
use tokio::sync::oneshot;

use crate::consumer::ConsumerHandle;
use crate::error::{Error, Result};
use crate::status::Mode;

impl ConsumerHandle {
    /// Reads these topics from now on, as a member of the group: the members of the group divide their partitions, and each
    /// partition starts where the group committed, or where `auto.offset.reset` says. Replaces a former subscription; the group
    /// is rebalanced as polls go on.
    ///
    /// # Errors
    /// [`Error::Group`] without `group.id`; [`Error::BlankTopic`]; [`Error::MixedUse`] while partitions are assigned by hand.
    pub fn subscribe<I>(
        &self,
        topics: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let topics = topics.into_iter();
        let topics: BTreeSet<Arc<str>> = topics.map(|topic| topic.as_ref().into()).collect();
        let is_blank = topics.iter().any(|topic| topic.trim().is_empty());
        let subscribed = if is_blank {
            Err(Error::BlankTopic)
        } else if topics.is_empty() {
            // as in Java: to subscribe to nothing is to unsubscribe
            Ok(None)
        } else {
            Ok(Some(Subscription::Topics(topics)))
        };
        let sent = subscribed.and_then(|subscription| match subscription {
            Some(subscription) => self.send_subscription(subscription).map(Either::Left),
            None => Ok(Either::Right(self.unsubscribe())),
        });
        async move { sent?.await }
    }

    /// As [`subscribe`](Self::subscribe), to all topics whose whole name matches a pattern, those included that are created
    /// later. With `group.protocol=consumer` the brokers evaluate it (RE2 syntax), else this client does, every
    /// `metadata.max.age.ms`.
    ///
    /// # Errors
    /// As [`subscribe`](Self::subscribe); [`Error::Group`] for what is no pattern, told by `poll` where the brokers evaluate it.
    pub fn subscribe_pattern(
        &self,
        pattern: &str,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let sent = self.send_subscription(Subscription::Pattern(pattern.into()));
        async move { sent?.await }
    }

    fn send_subscription(
        &self,
        subscription: Subscription,
    ) -> Result<impl Future<Output = Result<()>> + Send + 'static + use<>> {
        let coordinator = self.coordinator()?;
        let answer = self.ports.status.subscribe(&subscription, || {
            self.command(coordinator, Subscribe(subscription.clone()))
        })?;
        Ok(async move { Ok(answer.await??) })
    }

    /// Gives everything up: leaves the group if there is a subscription, commits what was processed before if
    /// `enable.auto.commit` is on, and has nothing assigned any more.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn unsubscribe(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.ports
            .status
            .leave(|mode| match (&self.ports.coordinator, mode) {
                (Some(coordinator), Mode::Subscribed) => {
                    Either::Left(self.command(coordinator, Unsubscribe))
                }
                _ => Either::Right(self.command(&self.ports.buffer, Assign(Vec::new()))),
            })
    }

    /// What was subscribed to; `None` if nothing.
    pub fn subscription(&self) -> Option<Subscription> {
        self.ports.status.subscription()
    }

    /// Commits what the application was given so far of all that is assigned: the [position](Self::position) of each partition, as what was called
    /// before leaves it, whatever a later poll gives or a later seek says.
    /// Calls take effect in their order; those that wait for the same answer are sent as one, the newest offset of each partition.
    ///
    /// # Errors
    /// [`Error::Group`]: without `group.id`, if this member is not in the group any more, or if it was not done within
    /// `default.api.timeout.ms`.
    pub fn commit(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.send_commit(None)
    }

    /// Commits these offsets, each the next one to read. An offset alone will do: `offsets` takes anything from which
    /// [`OffsetAndMetadata`] can be made.
    ///
    /// # Errors
    /// As [`commit`](Self::commit), and [`Error::NegativeOffset`].
    pub fn commit_offsets<I, O>(
        &self,
        offsets: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I, O>
    where
        I: IntoIterator<Item = (TopicPartition, O)>,
        O: Into<OffsetAndMetadata>,
    {
        let offsets = offsets.into_iter();
        let offsets: Offsets = offsets
            .map(|(name, offset)| (name, offset.into()))
            .collect();
        let negative = offsets.iter().find(|(_, offset)| offset.offset < 0);
        let sent = match negative {
            Some((partition, offset)) => Err(Error::NegativeOffset {
                partition: partition.clone(),
                offset: offset.offset,
            }),
            None => Ok(self.send_commit(Some(offsets))),
        };
        async move { sent?.await }
    }

    /// Commits behind what was called before. If all of that is done it is no [`Command`](buffer_actor::Command), since no poll need wait for it:
    /// what it commits is known.
    fn send_commit(
        &self,
        offsets: Option<Offsets>,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let (reply, answer) = oneshot::channel();
        let shared = &self.ports.shared;
        let is_idle = shared.commands().is_idle();
        let offsets = match offsets {
            Some(offsets) => ToCommit::Chosen(offsets),
            None if is_idle => ToCommit::Given(given(&shared.all())),
            None => ToCommit::GivenByNow,
        };
        let commit = Commit { offsets, reply };
        let sent = self.coordinator().map(|coordinator| {
            if is_idle {
                coordinator.do_send(commit);
            } else {
                drop(self.command(coordinator, commit));
            }
        });
        let status = self.ports.status.clone();
        async move {
            sent?;
            Ok(answer.await.map_err(|_| status.gone())??)
        }
    }

    /// The listener is done with this event, and with those before.
    pub(super) fn confirm(&self, event: EventId) {
        if let Some(coordinator) = &self.ports.coordinator {
            drop(self.command(coordinator, Confirm(event)));
        }
    }

    /// What the group committed of these; `None` for those of which it committed nothing.
    ///
    /// # Errors
    /// [`Error::Group`]: without `group.id`, or if the coordinator refuses or does not answer within `default.api.timeout.ms`.
    pub fn committed<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, Option<OffsetAndMetadata>>>>
    + Send
    + 'static
    + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.fetch_committed(Some(partitions.into_iter().cloned().collect()))
    }

    /// All that the group committed, whatever the topic.
    ///
    /// # Errors
    /// As [`committed`](Self::committed).
    pub fn all_committed(
        &self,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, Option<OffsetAndMetadata>>>>
    + Send
    + 'static
    + use<> {
        self.fetch_committed(None)
    }

    fn fetch_committed(
        &self,
        partitions: Option<Vec<TopicPartition>>,
    ) -> impl Future<Output = Result<Committed>> + Send + 'static + use<> {
        let (reply, answer) = oneshot::channel();
        let sent = self
            .coordinator()
            .map(|coordinator| self.command(coordinator, FetchCommitted { partitions, reply }));
        let status = self.ports.status.clone();
        async move {
            sent?.await?;
            Ok(answer.await.map_err(|_| status.gone())??)
        }
    }

    /// Who this member is in its group, for transactional producers that commit for it (KIP-447).
    ///
    /// # Errors
    /// [`Error::Group`] without `group.id`.
    pub fn group_metadata(
        &self,
    ) -> impl Future<Output = Result<GroupMetadata>> + Send + 'static + use<> {
        let asked = self
            .coordinator()
            .map(|coordinator| self.command(coordinator, GetGroupMetadata));
        async move { asked?.await }
    }

    /// Has the group rebalanced, for a reason that brokers log (KIP-568, KIP-800). Without effect with
    /// `group.protocol=consumer`, where the coordinator decides.
    ///
    /// # Errors
    /// [`Error::Group`] without `group.id`.
    pub fn enforce_rebalance(&self, reason: &str) -> Result<()> {
        let coordinator = self.coordinator()?;
        drop(self.command(coordinator, EnforceRebalance(reason.to_owned())));
        Ok(())
    }

    fn coordinator(&self) -> Result<&Addr<CoordinatorActor>> {
        let coordinator = self.ports.coordinator.as_ref();
        coordinator.ok_or(GroupError::NoGroup.into())
    }
}
