use bytes::Bytes;
use record_batch::{Compression, TopicPartition};

use super::{TestBroker, change, find, out_of_range};
use crate::error::Error;
use crate::log::{AppendError, ProduceLimits};
use crate::records::{BatchBuilder, ProducerRecord};

impl TestBroker {
    /// Appends records to a partition as one batch, not compressed. Records without a timestamp get the broker's time.
    /// The offset of the first one.
    ///
    /// ```
    /// use test_broker::{ProducerRecord, TestBroker};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), test_broker::Error> {
    /// let broker = TestBroker::builder().topic("orders", 1).start_in_memory()?;
    /// assert_eq!(broker.produce("orders", 0, ["a", "b"])?, 0);
    /// assert_eq!(broker.produce("orders", 0, [ProducerRecord::tombstone("k")])?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`]; [`Error::Append`] if there is no record or too much of it.
    pub fn produce<R: Into<ProducerRecord>>(
        &self,
        topic: &str,
        partition: i32,
        records: impl IntoIterator<Item = R>,
    ) -> Result<i64, Error> {
        self.produce_compressed(topic, partition, Compression::None, records)
    }

    /// Appends records to a partition as one compressed batch. The offset of the first one.
    ///
    /// # Errors
    /// As [`produce`](Self::produce).
    pub fn produce_compressed<R: Into<ProducerRecord>>(
        &self,
        topic: &str,
        partition: i32,
        codec: Compression,
        records: impl IntoIterator<Item = R>,
    ) -> Result<i64, Error> {
        let now = self.shared().cluster().settings.clock.now();
        let batch = BatchBuilder::new().compression(codec).timestamp(now);
        let records = records.into_iter();
        let batch = records.fold(batch, |batch, record| batch.record(record));
        self.append(topic, partition, &batch.build())
    }

    /// Appends a batch as a producer would: it is checked, and offsets and leader epoch are given to it. The offset of
    /// its first record, which for a batch that an idempotent producer sent before is the one it has.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`]; [`Error::Append`] for what a broker refuses.
    pub fn append(&self, topic: &str, partition: i32, batch: &Bytes) -> Result<i64, Error> {
        let mut cluster = self.shared().cluster();
        find(&mut cluster, topic, partition)?;
        let config = cluster.topics.get(topic).map(|topic| topic.config.clone());
        let config = config.unwrap_or_default();
        let now = cluster.settings.clock.now();
        let limits = ProduceLimits {
            max_message_bytes: config.max_message_bytes,
            log_append_time: config.log_append_time.then_some(now),
        };
        change(&mut cluster, topic, partition, |found, decoder| {
            let epoch = found.leader_epoch;
            let appended = found.log.append_produced(batch, epoch, limits, decoder);
            let appended = appended.map_err(|error| append_error(topic, partition, &error))?;
            Ok(appended.base_offset)
        })
    }

    /// Appends entries as they are, with the offsets, epochs and checksums that they carry: compacted batches with gaps,
    /// transactions and their markers, messages of magic 0 and 1, batches with a wrong CRC. What cannot stand in a log,
    /// such as offsets that go backwards, can be given to clients by [`Fault::records`](crate::Fault::records).
    ///
    /// ```
    /// use test_broker::{BatchBuilder, TestBroker};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), test_broker::Error> {
    /// let broker = TestBroker::builder().topic("orders", 1).start_in_memory()?;
    /// let aborted = BatchBuilder::new().producer(7, 0, 0).transactional().record("never seen");
    /// broker.append_raw("orders", 0, &aborted.build())?;
    /// assert_eq!(broker.offsets("orders", 0)?.last_stable_offset, 0);
    /// let abort = BatchBuilder::end_transaction(7, 0, false).base_offset(1);
    /// broker.append_raw("orders", 0, &abort.build())?;
    /// assert_eq!(broker.offsets("orders", 0)?.last_stable_offset, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`]; [`Error::Append`] if the bytes are not whole entries with
    /// rising offsets.
    pub fn append_raw(&self, topic: &str, partition: i32, entries: &Bytes) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, decoder| {
            let appended = found.log.append_as_is(entries, decoder);
            appended.map_err(|error| append_error(topic, partition, &error))
        })
    }

    /// Cuts the end of a log off, so that it ends at `offset`, as an unclean election does. A batch that contains the
    /// offset goes too. The leader and its epoch stay; see [`move_leader`](Self::move_leader).
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn truncate(&self, topic: &str, partition: i32, offset: i64) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, decoder| {
            found.log.truncate(offset, decoder);
            Ok(())
        })
    }

    /// Moves the start of a log up to `offset`, as retention and DeleteRecords do.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`]; [`Error::OffsetOutOfRange`] behind the high watermark.
    pub fn delete_records(&self, topic: &str, partition: i32, offset: i64) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            let deleted = found.log.delete_records(offset);
            deleted.map_err(|_| out_of_range(topic, partition, offset, found))
        })
    }

    /// Compacts a log as the cleaner does: the last record of each key stays, and all without a key. Batches keep their
    /// offsets, so that gaps remain; one without records goes, unless it is the last of an idempotent producer, which
    /// stays empty. Transactions are left alone. The number of records removed.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn compact(&self, topic: &str, partition: i32) -> Result<usize, Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, decoder| {
            Ok(found.log.compact(decoder))
        })
    }

    /// Removes whole batches, named by their base offsets, from the middle of a log: a gap. How many were there.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn remove_batches(
        &self,
        topic: &str,
        partition: i32,
        base_offsets: &[i64],
    ) -> Result<usize, Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, decoder| {
            Ok(found.log.remove_batches(base_offsets, decoder))
        })
    }
}

fn append_error(topic: &str, partition: i32, error: &AppendError) -> Error {
    Error::Append {
        partition: TopicPartition::new(topic, partition),
        reason: error.to_string(),
    }
}
