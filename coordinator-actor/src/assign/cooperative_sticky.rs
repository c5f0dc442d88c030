//! `cooperative-sticky` (KIP-429).

use std::sync::Arc;

use bytes::Bytes;
use record_batch::TopicPartition;

use super::balance::balance;
use super::owners::{Claims, Owner, Owners};
use super::protocol::decode_generation;
use super::subscribers::Subscribers;
use super::{Assignor, Member, RebalanceProtocol, TopicsMetadata};

/// `cooperative-sticky`: what [`Sticky`](super::Sticky) assigns, except that a partition that moves is given to nobody yet. Its owner gives it up
/// when it sees that, and the rebalance which that begins gives it to the new one, so members go on reading what they keep (KIP-429).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CooperativeSticky;

impl Assignor for CooperativeSticky {
    fn name(&self) -> &str {
        "cooperative-sticky"
    }

    fn supported_protocols(&self) -> &[RebalanceProtocol] {
        &[RebalanceProtocol::Cooperative, RebalanceProtocol::Eager]
    }

    /// The generation, for leaders older than version 2 of the subscription.
    fn user_data(
        &self,
        _owned: &[TopicPartition],
        generation: i32,
        _topics: &[Arc<str>],
    ) -> Option<Bytes> {
        Some(Bytes::copy_from_slice(&generation.to_be_bytes()))
    }

    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        let group = Subscribers::new(cluster, group);
        let claims: Vec<Claims> = group.members.iter().map(|member| claims(member)).collect();
        let owners = Owners::new(&claims);
        let mut assigned = balance(&group, &owners);
        for (rank, partitions) in assigned.iter_mut().enumerate() {
            partitions.retain(|partition| match owners.of(partition) {
                None => true,
                Some(Owner::Member(owner)) => owner == rank,
                // each of them may be reading it
                Some(Owner::Contested) => false,
            });
        }
        group.in_place(assigned)
    }
}

/// What a member says that it owns while it joins.
pub(super) fn claims(member: &Member) -> Claims {
    let subscription = &member.subscription;
    let in_user_data = || decode_generation(subscription.user_data.as_ref()?);
    Claims {
        partitions: subscription.owned_partitions.clone(),
        generation: subscription
            .generation_id
            .or_else(in_user_data)
            .unwrap_or(-1),
    }
}
