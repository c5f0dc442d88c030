//! Positions of assigned partitions: where they are, and seeking elsewhere.

use std::future::Future;

use buffer_actor::ResetTo;
use buffer_actor::messages::{AwaitPosition, NoPosition, Seek, SeekTo};
use coordinator_actor::OffsetAndMetadata;
use record_batch::TopicPartition;

use crate::config::IsolationLevel;
use crate::consumer::ConsumerHandle;
use crate::error::{Error, Result};

impl ConsumerHandle {
    /// The next offset that the application will be given of a partition; `None` if it is not assigned or its position is still
    /// being looked up. No message, no waiting.
    pub fn position(&self, partition: &TopicPartition) -> Option<i64> {
        self.ports.shared.get(partition)?.offsets().given
    }

    /// Where a partition ended when a broker last answered a fetch of it: its high watermark or, with
    /// `isolation.level=read_committed`, its last stable offset. `None` if it is not assigned or no broker has answered since it
    /// was. No message, no waiting.
    pub fn known_end(&self, partition: &TopicPartition) -> Option<i64> {
        let state = self.ports.shared.get(partition)?;
        let end = match self.config.isolation_level() {
            IsolationLevel::ReadCommitted => state.last_stable_offset(),
            IsolationLevel::ReadUncommitted => state.high_watermark(),
        };
        (end >= 0).then_some(end)
    }

    /// How many offsets are left to read of a partition: from its position to the end that a broker told last, see
    /// [`known_end`](Self::known_end); Java's `currentLag`. `None` while either is not known. No message, no waiting.
    pub fn current_lag(&self, partition: &TopicPartition) -> Option<u64> {
        let (end, position) = (self.known_end(partition)?, self.position(partition)?);
        // what is not committed yet may have been given before, and is behind the end now (F067)
        Some(u64::try_from(end.saturating_sub(position)).unwrap_or(0))
    }

    /// As [`position`](Self::position), waiting for a position that is being looked up, no longer than `default.api.timeout.ms`.
    ///
    /// # Errors
    /// [`Error::NoPosition`].
    pub fn await_position(
        &self,
        partition: &TopicPartition,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        let question = AwaitPosition {
            partition: partition.clone(),
            limit: self.config.default_api_timeout(),
        };
        // behind a seek, and before a poll that begins later
        let found = self.command(&self.ports.buffer, question);
        async move { Ok(found.await??) }
    }

    /// Sets the position of an assigned partition. No poll that begins after this has completed gives a record of before it.
    ///
    /// # Errors
    /// [`Error::NegativeOffset`]; [`Error::NoPosition`] if the partition is not assigned.
    pub fn seek(
        &self,
        partition: &TopicPartition,
        offset: i64,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        self.seek_offset(partition, offset, SeekTo::Offset(offset))
    }

    /// As [`seek`](Self::seek), for applications that store their offsets themselves: `leader_epoch` is that of the record before
    /// `offset` ([`Record::leader_epoch`](crate::Record::leader_epoch)), stored along with it. If the log was truncated below `offset`
    /// since, which takes the election of a leader without all of it, that is found out before a record is given: the partition goes on
    /// where the logs part, or, if `auto.offset.reset` is `none`, a poll fails with
    /// [`PartitionError::LogTruncated`](crate::PartitionError::LogTruncated) (KIP-320).
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_with_epoch(
        &self,
        partition: &TopicPartition,
        offset: i64,
        leader_epoch: i32,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let to = SeekTo::Behind(offset, leader_epoch);
        self.seek_offset(partition, offset, to)
    }

    /// As [`seek_with_epoch`](Self::seek_with_epoch), to an offset as [`committed`](Self::committed) gives it or as the application
    /// stored it; without a leader epoch it is a plain [`seek`](Self::seek). The metadata is the application's: as in the Java client
    /// nothing is done with it, and a later [`commit`](Self::commit) does not repeat it.
    ///
    /// ```no_run
    /// # async fn example(consumer: consumer_app::Consumer) -> consumer_app::Result<()> {
    /// # let orders = consumer_app::TopicPartition::new("orders", 0);
    /// // back to where the group would go on
    /// if let Some(committed) = &consumer.committed([&orders]).await?[&orders] {
    ///     consumer.seek_with_metadata(&orders, committed).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_with_metadata(
        &self,
        partition: &TopicPartition,
        to: &OffsetAndMetadata,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let target = match to.leader_epoch {
            Some(epoch) => SeekTo::Behind(to.offset, epoch),
            None => SeekTo::Offset(to.offset),
        };
        self.seek_offset(partition, to.offset, target)
    }

    fn seek_offset(
        &self,
        partition: &TopicPartition,
        offset: i64,
        to: SeekTo,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let refused = (offset < 0).then(|| Error::NegativeOffset {
            partition: partition.clone(),
            offset,
        });
        let sent = match refused {
            Some(error) => Err(error),
            None => {
                let partition = partition.clone();
                Ok(self.command(&self.ports.buffer, Seek { partition, to }))
            }
        };
        async move { Ok(sent?.await?.map_err(NoPosition::from)?) }
    }

    /// Sets the position to the first offset of the log, and tells which that is.
    ///
    /// # Errors
    /// [`Error::NoPosition`] if the partition is not assigned or the offset was not found within `default.api.timeout.ms`.
    pub fn seek_to_beginning(
        &self,
        partition: &TopicPartition,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        self.seek_to(partition, ResetTo::Earliest)
    }

    /// Sets the position to the end of the log as it is now, and tells which offset that is: a record produced after this has
    /// completed is given.
    ///
    /// # Errors
    /// As [`seek_to_beginning`](Self::seek_to_beginning).
    pub fn seek_to_end(
        &self,
        partition: &TopicPartition,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        self.seek_to(partition, ResetTo::Latest)
    }

    fn seek_to(
        &self,
        partition: &TopicPartition,
        end: ResetTo,
    ) -> impl Future<Output = Result<i64>> + Send + 'static + use<> {
        let seek = Seek {
            partition: partition.clone(),
            to: SeekTo::End(end),
        };
        let sought = self.command(&self.ports.buffer, seek);
        // the position that the seek looks for
        let found = self.await_position(partition);
        async move {
            sought.await?.map_err(NoPosition::from)?;
            found.await
        }
    }
}
