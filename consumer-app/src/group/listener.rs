//! What an application does about a rebalance.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use buffer_actor::PartitionState;
use coordinator_actor::{OffsetAndMetadata, Offsets, RebalanceEvent};
use record_batch::TopicPartition;

use crate::consumer::ConsumerHandle;
use crate::error::Result;

/// Hears of partitions that come and go; set by [`ConsumerBuilder::rebalance_listener`](crate::ConsumerBuilder::rebalance_listener).
///
/// It is called from inside [`poll`](crate::Consumer::poll) and [`close`](crate::Consumer::close): after the last record of the
/// old assignment was given and before the first of the new one. The poll waits for it, also beyond its timeout, as in Java. A
/// poll that is dropped meanwhile loses nothing: the next one continues the same call.
///
/// ```
/// use consumer_app::{RebalanceContext, RebalanceListener, TopicPartition};
///
/// struct Flush;
///
/// impl RebalanceListener for Flush {
///     async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
///         // write out what was read of them, then:
///         if let Err(error) = context.commit().await {
///             eprintln!("not committed: {error}; {partitions:?} will be read again");
///         }
///     }
/// }
/// ```
pub trait RebalanceListener: Send + Sync + 'static {
    /// These are new to this member; none at a rebalance that brings none. Their positions may be set here.
    fn assigned(
        &self,
        context: &RebalanceContext,
        partitions: &[TopicPartition],
    ) -> impl Future<Output = ()> + Send {
        let _ = (context, partitions);
        async {}
    }

    /// These go to another member after this. No record of them is given any more; what was given may still be committed.
    fn revoked(
        &self,
        context: &RebalanceContext,
        partitions: &[TopicPartition],
    ) -> impl Future<Output = ()> + Send {
        let _ = (context, partitions);
        async {}
    }

    /// These may be read by another member already: this one was out of the group for too long. Nothing of them can be committed.
    /// Does what [`revoked`](Self::revoked) does unless it is said otherwise.
    fn lost(
        &self,
        context: &RebalanceContext,
        partitions: &[TopicPartition],
    ) -> impl Future<Output = ()> + Send {
        self.revoked(context, partitions)
    }
}

/// What a [`RebalanceListener`] can do.
#[derive(Debug, Clone)]
pub struct RebalanceContext {
    handle: ConsumerHandle,
    /// Those that go.
    going: Arc<[Arc<PartitionState>]>,
}

impl RebalanceContext {
    pub(super) fn new(handle: ConsumerHandle, going: Vec<Arc<PartitionState>>) -> Self {
        Self {
            handle,
            going: going.into(),
        }
    }

    /// The partitions that are assigned now, in no order.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.handle.assignment()
    }

    /// The next offset that the application would be given, also of a partition that goes; `None` if it is still looked up.
    pub fn position(&self, partition: &TopicPartition) -> Option<i64> {
        let going = self.going.iter().find(|state| state.name() == partition);
        match going {
            Some(state) => state.offsets().given,
            None => self.handle.position(partition),
        }
    }

    /// As [`ConsumerHandle::commit`], those that go included.
    ///
    /// # Errors
    /// As there.
    pub fn commit(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.handle.commit()
    }

    /// As [`ConsumerHandle::commit_offsets`].
    ///
    /// # Errors
    /// As there.
    pub fn commit_offsets(
        &self,
        offsets: Offsets,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.handle.commit_offsets(offsets)
    }

    /// As [`ConsumerHandle::committed`].
    ///
    /// # Errors
    /// As there.
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
        self.handle.committed(partitions)
    }

    /// As [`ConsumerHandle::seek`].
    ///
    /// # Errors
    /// As there.
    pub fn seek(
        &self,
        partition: &TopicPartition,
        offset: i64,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.handle.seek(partition, offset)
    }

    /// As [`ConsumerHandle::seek_with_epoch`].
    ///
    /// # Errors
    /// As there.
    pub fn seek_with_epoch(
        &self,
        partition: &TopicPartition,
        offset: i64,
        leader_epoch: i32,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.handle.seek_with_epoch(partition, offset, leader_epoch)
    }

    /// As [`ConsumerHandle::seek_with_metadata`].
    ///
    /// # Errors
    /// As there.
    pub fn seek_with_metadata(
        &self,
        partition: &TopicPartition,
        to: &OffsetAndMetadata,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.handle.seek_with_metadata(partition, to)
    }

    /// As [`ConsumerHandle::seek_to_beginning`].
    ///
    /// # Errors
    /// As there.
    pub fn seek_to_beginning(
        &self,
        partition: &TopicPartition,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        self.handle.seek_to_beginning(partition)
    }

    /// As [`ConsumerHandle::seek_to_end`].
    ///
    /// # Errors
    /// As there.
    pub fn seek_to_end(
        &self,
        partition: &TopicPartition,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        self.handle.seek_to_end(partition)
    }

    /// As [`ConsumerHandle::pause`].
    ///
    /// # Errors
    /// As there.
    pub fn pause<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.handle.pause(partitions)
    }

    /// As [`ConsumerHandle::resume`].
    ///
    /// # Errors
    /// As there.
    pub fn resume<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.handle.resume(partitions)
    }
}

/// A call of the listener that is going on, whoever waits for it.
pub(super) type Callback = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A [`RebalanceListener`] of whatever type.
pub(crate) trait Callbacks: Send + Sync {
    fn call(self: Arc<Self>, context: RebalanceContext, event: RebalanceEvent) -> Callback;
}

impl<L: RebalanceListener> Callbacks for L {
    fn call(self: Arc<Self>, context: RebalanceContext, event: RebalanceEvent) -> Callback {
        Box::pin(async move {
            match event {
                RebalanceEvent::Checkpoint => {}
                RebalanceEvent::Assigned(partitions) => self.assigned(&context, &partitions).await,
                RebalanceEvent::Revoked(partitions) => self.revoked(&context, &partitions).await,
                RebalanceEvent::Lost(partitions) => self.lost(&context, &partitions).await,
            }
        })
    }
}
