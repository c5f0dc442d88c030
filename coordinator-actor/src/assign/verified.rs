//! An assignor may be anybody's: what it returns is looked at before the group goes by it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use record_batch::TopicPartition;

use super::cooperative_sticky::claims;
use super::owners::{Claims, Owner, Owners};
use super::{AssignError, Assignor, Member, RebalanceProtocol, TopicsMetadata};

/// What an assignor says, if it makes sense.
///
/// # Errors
/// [`AssignError::Nonsense`] for what no group can go by, or for a panic.
pub(crate) fn assign(
    assignor: &dyn Assignor,
    rebalances: RebalanceProtocol,
    cluster: &TopicsMetadata,
    group: &[Member],
) -> Result<Vec<Vec<TopicPartition>>, AssignError> {
    let nonsense = |reason| AssignError::Nonsense {
        assignor: assignor.name().to_owned(),
        reason,
    };
    // nothing is kept of it but what it returns
    let assigned = catch_unwind(AssertUnwindSafe(|| assignor.assign(cluster, group)))
        .map_err(|_| nonsense("it panicked".into()))?;
    verify(&assigned, cluster, group).map_err(nonsense)?;
    if rebalances == RebalanceProtocol::Cooperative {
        verify_handover(&assigned, group).map_err(nonsense)?;
    }
    Ok(assigned)
}

fn verify(
    assigned: &[Vec<TopicPartition>],
    cluster: &TopicsMetadata,
    group: &[Member],
) -> Result<(), String> {
    if assigned.len() != group.len() {
        return Err(format!(
            "it assigns to {} members where the group has {}",
            assigned.len(),
            group.len()
        ));
    }
    let mut taken = BTreeSet::new();
    for (partitions, member) in assigned.iter().zip(group) {
        for partition in partitions {
            let count = cluster.partitions(partition.topic()).len();
            let index = usize::try_from(partition.partition());
            if index.is_ok_and(|index| index >= count) || index.is_err() {
                return Err(format!(
                    "it assigns {partition}, and the topic has {count} partitions"
                ));
            }
            let topics = &member.subscription.topics;
            if !topics.iter().any(|topic| **topic == *partition.topic()) {
                return Err(format!(
                    "it assigns {partition} to {}, which does not subscribe to the topic",
                    member.id
                ));
            }
            if !taken.insert(partition) {
                return Err(format!("it assigns {partition} twice"));
            }
        }
    }
    Ok(())
}

/// KIP-429: nobody is given what another one owns, and may be reading.
fn verify_handover(assigned: &[Vec<TopicPartition>], group: &[Member]) -> Result<(), String> {
    let claims: Vec<Claims> = group.iter().map(claims).collect();
    let owners = Owners::new(&claims);
    for (rank, (partitions, member)) in assigned.iter().zip(group).enumerate() {
        for partition in partitions {
            if let Some(Owner::Member(owner)) = owners.of(partition)
                && owner != rank
            {
                return Err(format!(
                    "it assigns {partition} to {} while another member owns it, which a cooperative assignor must not",
                    member.id
                ));
            }
        }
    }
    Ok(())
}
