use super::{TestBroker, change, find, out_of_range};
use crate::error::Error;

/// Where a partition begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionOffsets {
    /// The first offset.
    pub log_start_offset: i64,
    /// Where read_committed ends.
    pub last_stable_offset: i64,
    /// Where read_uncommitted ends.
    pub high_watermark: i64,
    /// The next offset to be written.
    pub log_end_offset: i64,
}

impl TestBroker {
    /// Where a partition begins and ends.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn offsets(&self, topic: &str, partition: i32) -> Result<PartitionOffsets, Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            Ok(PartitionOffsets {
                log_start_offset: found.log.log_start_offset(),
                last_stable_offset: found.log.last_stable_offset(),
                high_watermark: found.log.high_watermark(),
                log_end_offset: found.log.log_end_offset(),
            })
        })
    }

    /// The leader of a partition and its epoch; no leader in an election.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn leader(&self, topic: &str, partition: i32) -> Result<(Option<i32>, i32), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            Ok((found.leader, found.leader_epoch))
        })
    }

    /// Makes another node the leader, with a new epoch. A node without a replica takes the place of the old leader,
    /// which answers NOT_LEADER_OR_FOLLOWER from then on; among replicas the old leader becomes a follower, which
    /// consumers may still read from (KIP-392). The leader itself only gets a new epoch.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`], [`Error::UnknownNode`]; [`Error::NodeDown`].
    pub fn move_leader(&self, topic: &str, partition: i32, node: i32) -> Result<(), Error> {
        self.check_up(node)?;
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            found.move_to(node);
            Ok(())
        })
    }

    /// Takes the leader away: LEADER_NOT_AVAILABLE in metadata, NOT_LEADER_OR_FOLLOWER from every node, until
    /// [`move_leader`](Self::move_leader) makes one.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn remove_leader(&self, topic: &str, partition: i32) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            found.elect(None);
            Ok(())
        })
    }

    /// Raises the leader epoch, as if the leader had been elected again; the new epoch.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn bump_leader_epoch(&self, topic: &str, partition: i32) -> Result<i32, Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            found.elect(found.leader);
            Ok(found.leader_epoch)
        })
    }

    /// Keeps the high watermark where it is while records are appended, as followers that do not keep up would;
    /// releasing it moves it to the end. Producers do not wait for it.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn hold_high_watermark(
        &self,
        topic: &str,
        partition: i32,
        hold: bool,
    ) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        change(&mut cluster, topic, partition, |found, _| {
            found.log.hold_high_watermark(hold);
            Ok(())
        })
    }

    /// Holds a follower back: its log ends at `end`. `None` lets it catch up, as does becoming the leader.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`]; [`Error::OffsetOutOfRange`] for an end that the log does
    /// not have.
    pub fn hold_follower(
        &self,
        topic: &str,
        partition: i32,
        node: i32,
        end: Option<i64>,
    ) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        find(&mut cluster, topic, partition)?;
        change(&mut cluster, topic, partition, |found, _| {
            let Some(end) = end else {
                found.follower_ends.remove(&node);
                return Ok(());
            };
            if !(found.log.log_start_offset()..=found.log.log_end_offset()).contains(&end) {
                return Err(out_of_range(topic, partition, end, found));
            }
            found.follower_ends.insert(node, end);
            Ok(())
        })
    }
}
