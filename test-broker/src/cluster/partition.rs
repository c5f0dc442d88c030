use std::cmp::Ordering;
use std::collections::BTreeMap;

use kafka_protocol::ResponseError;

use crate::log::PartitionLog;

/// One partition: who leads it, who follows, and its log, which they share.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) leader: Option<i32>,
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<i32>,
    pub(crate) in_sync: Vec<i32>,
    pub(crate) log: PartitionLog,
    /// Where the log ends at followers that a test holds back.
    pub(crate) follower_ends: BTreeMap<i32, i64>,
}

impl Partition {
    pub(super) fn new(replicas: Vec<i32>) -> Self {
        let mut log = PartitionLog::default();
        log.begin_epoch(0);
        Self {
            leader: replicas.first().copied(),
            leader_epoch: 0,
            in_sync: replicas.clone(),
            replicas,
            log,
            follower_ends: BTreeMap::new(),
        }
    }

    /// A new leadership, with or without a leader: the epoch rises.
    pub(crate) fn elect(&mut self, leader: Option<i32>) {
        self.leader = leader;
        self.leader_epoch += 1;
        if let Some(leader) = leader {
            self.follower_ends.remove(&leader);
            self.log.begin_epoch(self.leader_epoch);
        }
    }

    /// Makes `node` the leader. If it holds no replica, the partition is reassigned to it: it takes the place of the
    /// old leader, which then knows the partition no more.
    pub(crate) fn move_to(&mut self, node: i32) {
        if !self.replicas.contains(&node) {
            let old = self.leader.or(self.replicas.first().copied());
            let take_place = |replicas: &mut Vec<i32>| {
                replicas.retain(|replica| Some(*replica) != old);
                replicas.insert(0, node);
            };
            take_place(&mut self.replicas);
            take_place(&mut self.in_sync);
        } else if !self.in_sync.contains(&node) {
            self.in_sync.push(node);
        }
        self.elect(Some(node));
    }

    /// Whether this changed anything.
    pub(super) fn node_died(&mut self, node: i32, live: &[i32]) -> bool {
        if !self.replicas.contains(&node) {
            return false;
        }
        // the last one stays, since it alone has all the data
        if self.in_sync.iter().any(|replica| *replica != node) {
            self.in_sync.retain(|replica| *replica != node);
        }
        if self.leader == Some(node) {
            let mut candidates = self.in_sync.iter();
            let next = candidates.find(|replica| live.contains(replica)).copied();
            self.elect(next);
        }
        true
    }

    /// Whether this changed anything.
    pub(super) fn node_returned(&mut self, node: i32) -> bool {
        if !self.replicas.contains(&node) {
            return false;
        }
        if self.leader.is_none() && self.in_sync.contains(&node) {
            self.elect(Some(node));
        }
        if !self.in_sync.contains(&node) {
            self.in_sync.push(node);
        }
        true
    }

    /// Whether `node` holds a replica. Without a leader nobody does, as if its node were gone.
    pub(crate) fn is_hosted_by(&self, node: i32) -> bool {
        self.leader.is_some() && self.replicas.contains(&node)
    }

    /// Whether `node` may answer for the partition: the client's leader epoch is that of the partition, or unchecked (-1,
    /// KIP-320), and the node leads it, or at least follows where that is enough.
    pub(crate) fn check_access(
        &self,
        node: i32,
        current_leader_epoch: i32,
        leader_only: bool,
    ) -> Result<(), ResponseError> {
        if !self.is_hosted_by(node) {
            return Err(ResponseError::NotLeaderOrFollower);
        }
        if current_leader_epoch != -1 {
            match current_leader_epoch.cmp(&self.leader_epoch) {
                Ordering::Less => return Err(ResponseError::FencedLeaderEpoch),
                Ordering::Greater => return Err(ResponseError::UnknownLeaderEpoch),
                Ordering::Equal => {}
            }
        }
        if leader_only && self.leader != Some(node) {
            return Err(ResponseError::NotLeaderOrFollower);
        }
        Ok(())
    }

    /// The end of the log at `node`, if it is a follower that lags.
    pub(crate) fn replica_end(&self, node: i32) -> Option<i64> {
        self.follower_ends.get(&node).copied()
    }
}
