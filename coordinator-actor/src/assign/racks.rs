//! Whether racks matter to an assignment, and which consumer is near which partition (KIP-881).

use std::collections::{BTreeMap, BTreeSet};

use super::{Member, PartitionMetadata};

/// The rack of a consumer (`client.rack`), or the set of racks of a partition, as small numbers.
pub(super) type Rack = u32;

/// Racks by number.
#[derive(Debug, Default)]
pub(super) struct Racks<'a> {
    numbers: BTreeMap<&'a str, Rack>,
}

impl<'a> Racks<'a> {
    fn number(&mut self, rack: &'a str) -> Rack {
        let next = u32::try_from(self.numbers.len()).unwrap_or(Rack::MAX);
        *self.numbers.entry(rack).or_insert(next)
    }

    /// A member without a rack, or with an empty one, is near everything.
    pub(super) fn of_member(&mut self, member: &'a Member) -> Option<Rack> {
        let rack = member.subscription.rack_id.as_deref()?;
        (!rack.is_empty()).then(|| self.number(rack))
    }

    pub(super) fn of_partition(&mut self, partition: &'a PartitionMetadata) -> BTreeSet<Rack> {
        partition
            .racks
            .iter()
            .map(|rack| self.number(rack))
            .collect()
    }
}

/// Whether it makes a difference who gets which partition: not if nobody has a rack, if no replica is in a rack of a consumer, or if every
/// partition is in all racks.
pub(super) fn matter<'a>(
    consumers: impl Iterator<Item = Option<Rack>>,
    partitions: impl Iterator<Item = &'a BTreeSet<Rack>> + Clone,
) -> bool {
    let consumers: BTreeSet<Rack> = consumers.flatten().collect();
    let all: BTreeSet<Rack> = partitions.clone().flatten().copied().collect();
    !consumers.is_disjoint(&all) && partitions.into_iter().any(|racks| *racks != all)
}

/// Whether a consumer is far from a partition: it has a rack, and no replica is there.
pub(super) fn mismatch(consumer: Option<Rack>, partition: &BTreeSet<Rack>) -> bool {
    consumer.is_some_and(|rack| !partition.contains(&rack))
}
