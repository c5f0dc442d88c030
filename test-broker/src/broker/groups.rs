use std::collections::BTreeMap;
use std::sync::MutexGuard;

use record_batch::TopicPartition;

use super::{TestBroker, find};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::groups::{Committed, GroupDescription};

/// What a group has committed for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedOffset {
    /// The next offset to read.
    pub offset: i64,
    /// The epoch of the last record read; -1 if it was not told (KIP-320).
    pub leader_epoch: i32,
    /// What the consumer wrote to it.
    pub metadata: String,
}

impl From<&Committed> for CommittedOffset {
    fn from(committed: &Committed) -> Self {
        Self {
            offset: committed.offset,
            leader_epoch: committed.leader_epoch,
            metadata: committed.metadata.clone(),
        }
    }
}

impl TestBroker {
    /// What a group has committed for a partition; `None` if nothing.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), test_broker::Error> {
    /// # let broker = test_broker::TestBroker::builder().topic("orders", 1).start_in_memory()?;
    /// assert_eq!(broker.committed("billing", "orders", 0), None);
    /// broker.set_committed("billing", "orders", 0, 42)?;
    /// let committed = broker.committed("billing", "orders", 0);
    /// assert_eq!(committed.map(|committed| committed.offset), Some(42));
    /// # Ok(())
    /// # }
    /// ```
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<CommittedOffset> {
        let cluster = self.cluster_by_now();
        let group = cluster.groups.get(group)?;
        group.offsets.get(topic, partition).map(Into::into)
    }

    /// All that a group has committed.
    pub fn committed_offsets(&self, group: &str) -> BTreeMap<TopicPartition, CommittedOffset> {
        let cluster = self.cluster_by_now();
        let group = cluster.groups.get(group).into_iter();
        let topics = group.flat_map(|group| group.offsets.topics());
        let all = topics.flat_map(|(topic, partitions)| {
            partitions.map(move |(partition, committed)| {
                (TopicPartition::new(topic, partition), committed.into())
            })
        });
        all.collect()
    }

    /// Commits an offset for a group, whoever is in it. It need not be in the log.
    ///
    /// # Errors
    /// [`Error::UnknownTopic`], [`Error::UnknownPartition`].
    pub fn set_committed(
        &self,
        group: &str,
        topic: &str,
        partition: i32,
        offset: i64,
    ) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        find(&mut cluster, topic, partition)?;
        let committed = Committed {
            offset,
            leader_epoch: -1,
            metadata: String::new(),
        };
        cluster.groups.change_or_create(group, |group| {
            group.offsets.set(topic, partition, committed);
        });
        Ok(())
    }

    /// The node that coordinates a group; `None` if no node is up.
    ///
    /// By itself it is the one that Kafka's rule gives (hash of the group's id over 50 partitions of `__consumer_offsets`,
    /// which are spread over the nodes). If that one is killed, the next takes its groups over and keeps them.
    pub fn coordinator(&self, group: &str) -> Option<i32> {
        self.shared().cluster().groups.coordinators.of(group)
    }

    /// Moves a group's coordinator to another node. As in Kafka the group does not move alone: all groups of its
    /// partition of `__consumer_offsets` do. The old coordinator answers NOT_COORDINATOR from now on, also to requests
    /// that wait, and sessions begin anew.
    ///
    /// # Errors
    /// [`Error::UnknownNode`], [`Error::NodeDown`].
    pub fn move_coordinator(&self, group: &str, node: i32) -> Result<(), Error> {
        self.check_up(node)?;
        let now = self.shared().now();
        let mut cluster = self.shared().cluster();
        cluster.groups.move_coordinator(group, node, now);
        Ok(())
    }

    /// Has a group's coordinator answer COORDINATOR_LOAD_IN_PROGRESS, as it does for a while after it moved, until it is
    /// told otherwise, moved, or killed. It does so for all groups of the partition of `__consumer_offsets`.
    pub fn set_coordinator_loading(&self, group: &str, loading: bool) {
        let now = self.shared().now();
        let mut cluster = self.shared().cluster();
        cluster.groups.set_loading(group, loading, now);
    }

    /// The ids of all groups, of members or of committed offsets alone.
    pub fn groups(&self) -> Vec<String> {
        let cluster = self.cluster_by_now();
        let groups = cluster.groups.iter();
        groups.map(|(id, _)| id.to_owned()).collect()
    }

    /// A group's state and members; `None` if there is no such group.
    ///
    /// ```
    /// # async fn example(broker: &test_broker::TestBroker) {
    /// use test_broker::GroupState;
    ///
    /// let group = broker.wait_for_group("billing", |group| group.members.len() == 2).await;
    /// for member in &group.members {
    ///     println!("{}: {:?}", member.member_id, member.assignment);
    /// }
    /// assert_eq!(broker.group("billing").map(|group| group.state), Some(GroupState::Stable));
    /// # }
    /// ```
    pub fn group(&self, group: &str) -> Option<GroupDescription> {
        let cluster = self.cluster_by_now();
        let found = cluster.groups.get(group)?;
        Some(found.describe(&cluster.topics))
    }

    /// Waits until a group is there and fulfils a condition: a test that waits for a rebalance needs no sleep.
    pub async fn wait_for_group(
        &self,
        group: &str,
        mut condition: impl FnMut(&GroupDescription) -> bool,
    ) -> GroupDescription {
        let mut changes = self.shared().cluster().groups.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(found) = self.group(group).filter(|found| condition(found)) {
                return found;
            }
            tokio::select! {
                biased;
                // an error means that the broker is gone; `self` keeps it
                _ = changes.changed() => {}
                () = self.shared().group_time_passes() => {}
            }
        }
    }

    /// Takes a member out of a group as if its session had run out: it learns of it with its next request. Whether it
    /// was in it.
    pub fn expel_member(&self, group: &str, member_id: &str) -> bool {
        let now = self.shared().now();
        let mut cluster = self.cluster_by_now();
        cluster.groups.expel(group, member_id, now)
    }

    /// The cluster, with everything done to groups that was to be done by now.
    fn cluster_by_now(&self) -> MutexGuard<'_, Cluster> {
        let now = self.shared().now();
        let mut cluster = self.shared().cluster();
        cluster.groups.advance(now);
        cluster
    }
}
