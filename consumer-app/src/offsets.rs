//! Offsets of partitions, assigned or not, that are asked for at the brokers (ListOffsets).

use std::collections::BTreeMap;
use std::future::Future;

use record_batch::TopicPartition;

use crate::consumer::ConsumerHandle;
use crate::error::{Error, Result};
use crate::metadata::{ListOffsets, OffsetsUnknown};

/// Which offset of a partition to ask for; Java's `OffsetSpec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OffsetSpec {
    /// The first offset of the log.
    Earliest,
    /// The end of the log: its high watermark or, with `isolation.level=read_committed`, its last stable offset.
    Latest,
    /// Of the first record whose timestamp, in milliseconds since 1970, is not less than this.
    Timestamp(i64),
    /// Of the record with the greatest timestamp (KIP-734, brokers from 3.0).
    MaxTimestamp,
    /// The first offset on the broker's own disk; without tiered storage the same as the first of the log (KIP-405, brokers from
    /// 3.4).
    EarliestLocal,
    /// The last offset in tiered storage (KIP-1005, brokers from 3.9).
    LatestTiered,
}

/// An offset that a broker told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedOffset {
    /// The offset.
    pub offset: i64,
    /// The timestamp of the record, in milliseconds since 1970, if one was looked for by its timestamp.
    pub timestamp: Option<i64>,
    /// The leader epoch of the offset, if the broker knows it (KIP-320).
    pub leader_epoch: Option<i32>,
}

impl ConsumerHandle {
    /// Asks the brokers for offsets. The partitions need not be assigned, and nothing is moved. `None` for a partition that has no
    /// such offset: no record so new, no record at all, nothing in tiered storage. Goes over a connection of its own, so it never
    /// waits for a fetch; leaders that move or are away are asked again, no longer than `default.api.timeout.ms` in all.
    ///
    /// ```no_run
    /// # async fn example(consumer: consumer_app::Consumer) -> consumer_app::Result<()> {
    /// use consumer_app::{OffsetSpec, TopicPartition};
    ///
    /// let orders = TopicPartition::new("orders", 0);
    /// let listed = consumer.list_offsets([(orders.clone(), OffsetSpec::MaxTimestamp)]).await?;
    /// if let Some(newest) = listed[&orders] {
    ///     println!("the newest record is at {}, of {:?}", newest.offset, newest.timestamp);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OffsetsUnknown`] with the partitions and what the brokers say; [`Error::Unreachable`]; [`Error::BlankTopic`].
    pub fn list_offsets<I>(
        &self,
        wanted: I,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, Option<ListedOffset>>>>
    + Send
    + 'static
    + use<I>
    where
        I: IntoIterator<Item = (TopicPartition, OffsetSpec)>,
    {
        let wanted: BTreeMap<_, _> = wanted.into_iter().collect();
        let is_blank = wanted
            .keys()
            .any(|partition| partition.topic().trim().is_empty());
        let asked = (!is_blank && !wanted.is_empty())
            .then(|| self.ports.metadata.send(ListOffsets(wanted)));
        let status = self.ports.status.clone();
        async move {
            match asked {
                None if is_blank => Err(Error::BlankTopic),
                None => Ok(BTreeMap::new()),
                Some(asked) => Ok(asked.await.map_err(|_| status.gone())??),
            }
        }
    }

    /// The first offset of each partition; Java's `beginningOffsets`. See [`list_offsets`](Self::list_offsets).
    ///
    /// # Errors
    /// As there.
    pub fn beginning_offsets<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, i64>>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.ends(partitions, OffsetSpec::Earliest)
    }

    /// The end of each partition: its high watermark or, with `isolation.level=read_committed`, its last stable offset; Java's
    /// `endOffsets`. See [`list_offsets`](Self::list_offsets).
    ///
    /// # Errors
    /// As there.
    pub fn end_offsets<'a, I>(
        &self,
        partitions: I,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, i64>>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        self.ends(partitions, OffsetSpec::Latest)
    }

    fn ends<'a, I>(
        &self,
        partitions: I,
        end: OffsetSpec,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, i64>>> + Send + 'static + use<I>
    where
        I: IntoIterator<Item = &'a TopicPartition>,
    {
        let wanted: Vec<_> = partitions
            .into_iter()
            .map(|partition| (partition.clone(), end))
            .collect();
        let listed = self.list_offsets(wanted);
        async move {
            let listed = listed.await?.into_iter();
            // every log has both ends
            Ok(listed
                .filter_map(|(partition, end)| Some((partition, end?.offset)))
                .collect())
        }
    }

    /// Of each partition the first record that is not older than a time, in milliseconds since 1970; `None` if there is none;
    /// Java's `offsetsForTimes`. See [`list_offsets`](Self::list_offsets).
    ///
    /// # Errors
    /// As there, and [`Error::NegativeTimestamp`].
    pub fn offsets_for_times<I>(
        &self,
        times: I,
    ) -> impl Future<Output = Result<BTreeMap<TopicPartition, Option<ListedOffset>>>>
    + Send
    + 'static
    + use<I>
    where
        I: IntoIterator<Item = (TopicPartition, i64)>,
    {
        let times: Vec<_> = times.into_iter().collect();
        // to the broker these would mean the ends of the log
        let negative = times.iter().find(|(_, timestamp)| *timestamp < 0).cloned();
        let sent = match negative {
            Some((partition, timestamp)) => Err(Error::NegativeTimestamp {
                partition,
                timestamp,
            }),
            None => {
                let wanted = times.into_iter();
                Ok(self.list_offsets(
                    wanted
                        .map(|(partition, timestamp)| (partition, OffsetSpec::Timestamp(timestamp)))
                        .collect::<Vec<_>>(),
                ))
            }
        };
        async move { sent?.await }
    }
}

impl From<OffsetsUnknown> for Error {
    fn from(unknown: OffsetsUnknown) -> Self {
        match unknown {
            OffsetsUnknown::Refused(partitions, error) => {
                Self::OffsetsUnknown { partitions, error }
            }
            OffsetsUnknown::Unreachable(source) => Self::Unreachable { source },
        }
    }
}
