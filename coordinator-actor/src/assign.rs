//! Who reads what: the assignors of the classic protocol, and what members tell each other through the coordinator.
//!
//! Each member of a classic group joins with a [`Subscription`] per assignor that it supports; the broker picks one name that all support, the
//! leader's [`Assignor`] of that name divides the partitions, and each member is sent its [`Assignment`].
//!
//! ```
//! use coordinator_actor::assign::{Assignor, Member, PartitionMetadata, RoundRobin, Subscription, TopicsMetadata};
//! use record_batch::TopicPartition;
//!
//! let mut cluster = TopicsMetadata::default();
//! cluster.insert("orders", vec![PartitionMetadata::default(); 3]);
//! let group = ["a", "b"].map(|id| Member::new(id, Subscription::new(["orders"])));
//!
//! let orders = |partition| TopicPartition::new("orders", partition);
//! assert_eq!(RoundRobin.assign(&cluster, &group), [vec![orders(0), orders(2)], vec![orders(1)]]);
//! ```

mod balance;
mod cooperative_sticky;
mod error;
mod owners;
mod protocol;
mod racks;
mod range;
mod round_robin;
mod sticky;
mod subscribers;
mod topics;
pub(crate) mod verified;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use record_batch::TopicPartition;

pub use cooperative_sticky::CooperativeSticky;
pub use error::AssignError;
pub use protocol::{Assignment, Subscription};
pub use range::Range;
pub use round_robin::RoundRobin;
pub use sticky::Sticky;
pub use topics::{PartitionMetadata, TopicsMetadata};

/// How a group passes from one assignment to the next. A later one is the higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RebalanceProtocol {
    /// Every member gives up all its partitions before it joins.
    Eager,
    /// A member keeps its partitions while it joins and gives up those that another is to have afterwards, which takes a second rebalance
    /// (KIP-429).
    Cooperative,
}

/// A member of the group, as its leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The id that the coordinator gave it.
    pub id: String,
    /// The `group.instance.id` of a static member (KIP-345).
    pub instance_id: Option<String>,
    /// What it joined with.
    pub subscription: Subscription,
}

impl Member {
    /// A dynamic member.
    pub fn new(id: impl Into<String>, subscription: Subscription) -> Self {
        Self {
            id: id.into(),
            instance_id: None,
            subscription,
        }
    }

    /// The same as a static member (KIP-345).
    #[must_use]
    pub fn with_instance_id(mut self, instance_id: impl Into<String>) -> Self {
        self.instance_id = Some(instance_id.into());
        self
    }
}

/// Divides the partitions among the members of a group: Java's `ConsumerPartitionAssignor`. Implement it for a rule of your own; all members
/// have to configure one of this name.
///
/// An assignor keeps nothing between rebalances: what was owned before comes with the subscriptions.
pub trait Assignor: fmt::Debug + Send + Sync + 'static {
    /// What the group agrees on, as in `partition.assignment.strategy`.
    fn name(&self) -> &str;

    /// The ways to rebalance that its assignments are safe for. An assignor that names [`Cooperative`](RebalanceProtocol::Cooperative) gives no
    /// partition to a member while another one owns it.
    fn supported_protocols(&self) -> &[RebalanceProtocol] {
        &[RebalanceProtocol::Eager]
    }

    /// What this member sends with its subscription for the eyes of the leader's assignor.
    ///
    /// `owned` is what the member was last assigned, also when it was given up since; `generation` is when, and -1 before the first time;
    /// `topics` are what it subscribes to.
    fn user_data(
        &self,
        owned: &[TopicPartition],
        generation: i32,
        topics: &[Arc<str>],
    ) -> Option<Bytes> {
        let _ = (owned, generation, topics);
        None
    }

    /// The partitions of each member, in the order of `group`. A topic that is not in `cluster` has no partitions to give.
    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>>;
}

/// How a member with these assignors rebalances: the highest protocol that all of them support. So Java's default of `range` and
/// `cooperative-sticky` is eager, and the way from the one to the other is two rolling restarts (KIP-429).
///
/// # Errors
///
/// [`AssignError::NoCommonProtocol`] if there is none, as with no assignor at all.
pub fn common_protocol(assignors: &[Arc<dyn Assignor>]) -> Result<RebalanceProtocol, AssignError> {
    [RebalanceProtocol::Cooperative, RebalanceProtocol::Eager]
        .into_iter()
        .filter(|_| !assignors.is_empty())
        .find(|protocol| {
            assignors
                .iter()
                .all(|assignor| assignor.supported_protocols().contains(protocol))
        })
        .ok_or_else(|| AssignError::NoCommonProtocol {
            assignors: assignors
                .iter()
                .map(|assignor| assignor.name().to_owned())
                .collect(),
        })
}
