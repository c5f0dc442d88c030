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
    pub async fn commit(&self) -> Result<()> {
        self.handle.commit().await
    }

    /// As [`ConsumerHandle::commit_offsets`].
    ///
    /// # Errors
    /// As there.
    pub async fn commit_offsets(&self, offsets: Offsets) -> Result<()> {
        self.handle.commit_offsets(offsets).await
    }

    /// As [`ConsumerHandle::committed`].
    ///
    /// # Errors
    /// As there.
    pub async fn committed<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, Option<OffsetAndMetadata>>> {
        let fetched = self.handle.committed(partitions);
        fetched.await
    }

    /// As [`ConsumerHandle::seek`].
    ///
    /// # Errors
    /// As there.
    pub async fn seek(&self, partition: &TopicPartition, offset: i64) -> Result<()> {
        self.handle.seek(partition, offset).await
    }

    /// As [`ConsumerHandle::seek_with_epoch`].
    ///
    /// # Errors
    /// As there.
    pub async fn seek_with_epoch(
        &self,
        partition: &TopicPartition,
        offset: i64,
        leader_epoch: i32,
    ) -> Result<()> {
        let sought = self.handle.seek_with_epoch(partition, offset, leader_epoch);
        sought.await
    }

    /// As [`ConsumerHandle::seek_with_metadata`].
    ///
    /// # Errors
    /// As there.
    pub async fn seek_with_metadata(
        &self,
        partition: &TopicPartition,
        to: &OffsetAndMetadata,
    ) -> Result<()> {
        self.handle.seek_with_metadata(partition, to).await
    }

    /// As [`ConsumerHandle::seek_to_beginning`].
    ///
    /// # Errors
    /// As there.
    pub async fn seek_to_beginning(&self, partition: &TopicPartition) -> Result<i64> {
        self.handle.seek_to_beginning(partition).await
    }

    /// As [`ConsumerHandle::seek_to_end`].
    ///
    /// # Errors
    /// As there.
    pub async fn seek_to_end(&self, partition: &TopicPartition) -> Result<i64> {
        self.handle.seek_to_end(partition).await
    }

    /// As [`ConsumerHandle::pause`].
    ///
    /// # Errors
    /// As there.
    pub async fn pause<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<()> {
        let paused = self.handle.pause(partitions);
        paused.await
    }

    /// As [`ConsumerHandle::resume`].
    ///
    /// # Errors
    /// As there.
    pub async fn resume<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<()> {
        let resumed = self.handle.resume(partitions);
        resumed.await
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
