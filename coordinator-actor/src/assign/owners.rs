//! Who owned what before, as far as the members' claims can be believed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use record_batch::TopicPartition;

/// What a member says that it owned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) partitions: Vec<TopicPartition>,
    /// The generation in which it was given them, -1 if it does not know.
    pub(super) generation: i32,
}

/// The claims to one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The rank of the one whose claim is of the highest generation.
    Member(usize),
    /// Several claim it in the highest generation. Nobody is believed, since only one can be right.
    Contested,
}

/// The partitions that were owned. A member that missed a rebalance claims what others have by now: the highest generation wins (KIP-792).
#[derive(Debug)]
pub(super) struct Owners<'a> {
    owners: HashMap<&'a TopicPartition, Claim>,
}

#[derive(Debug, Clone, Copy)]
struct Claim {
    generation: i32,
    rank: usize,
    contested: bool,
}

impl<'a> Owners<'a> {
    /// `claims` by rank.
    pub(super) fn new(claims: &'a [Claims]) -> Self {
        let mut owners: HashMap<&TopicPartition, Claim> = HashMap::new();
        for (rank, claims) in claims.iter().enumerate() {
            let claim = Claim {
                generation: claims.generation,
                rank,
                contested: false,
            };
            for partition in &claims.partitions {
                match owners.entry(partition) {
                    Entry::Vacant(entry) => {
                        entry.insert(claim);
                    }
                    Entry::Occupied(mut entry) => {
                        let other = entry.get_mut();
                        if claim.generation > other.generation {
                            *other = claim;
                        } else if claim.generation == other.generation && claim.rank != other.rank {
                            other.contested = true;
                        }
                    }
                }
            }
        }
        Self { owners }
    }

    /// Who owned a partition; `None` if nobody claims it.
    pub(super) fn of(&self, partition: &TopicPartition) -> Option<Owner> {
        self.owners.get(partition).map(|claim| {
            if claim.contested {
                Owner::Contested
            } else {
                Owner::Member(claim.rank)
            }
        })
    }
}
