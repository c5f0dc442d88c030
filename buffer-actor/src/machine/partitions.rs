//! The table of assigned partitions.

use std::collections::BTreeMap;

use record_batch::TopicPartition;

use super::partition::Partition;
use crate::derived::Derived;
use crate::ids::PartitionId;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot<D> {
    generation: u32,
    partition: Option<Partition<D>>,
}

/// A slab with generations, so that an id of a partition that went finds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Partitions<D> {
    slots: Vec<Slot<D>>,
    free: Vec<u32>,
    by_name: BTreeMap<TopicPartition, PartitionId>,
    /// Something happened to them since they were popped last.
    touched: Derived<Vec<PartitionId>>,
}

impl<D> Partitions<D> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_name: BTreeMap::new(),
            touched: Derived(Vec::new()),
        }
    }

    pub(super) fn insert(&mut self, partition: Partition<D>) -> PartitionId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                partition: None,
            });
            // an assignment of 2^32 partitions would need terabytes
            (self.slots.len() - 1) as u32
        });
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let id = PartitionId::new(slot, entry.generation);
        self.by_name.insert(partition.name.clone(), id);
        entry.partition = Some(partition);
        id
    }

    pub(super) fn remove(&mut self, id: PartitionId) -> Option<Partition<D>> {
        self.get(id)?;
        let partition = self.slots[id.slot()].partition.take()?;
        self.by_name.remove(&partition.name);
        self.free.push(id.slot() as u32);
        Some(partition)
    }

    pub(super) fn get(&self, id: PartitionId) -> Option<&Partition<D>> {
        let slot = self.slots.get(id.slot())?;
        (slot.generation == id.generation())
            .then_some(slot.partition.as_ref())
            .flatten()
    }

    /// To change a partition: it counts as touched.
    pub(super) fn get_mut(&mut self, id: PartitionId) -> Option<&mut Partition<D>> {
        let partition = of_slots(&mut self.slots, id)?;
        if !std::mem::replace(&mut *partition.touched, true) {
            self.touched.push(id);
        }
        Some(partition)
    }

    /// To change what no request depends on.
    pub(super) fn get_mut_quietly(&mut self, id: PartitionId) -> Option<&mut Partition<D>> {
        of_slots(&mut self.slots, id)
    }

    /// One that was touched since the last time that there was none.
    pub(super) fn pop_touched(&mut self) -> Option<PartitionId> {
        self.touched.pop()
    }

    pub(super) fn find(&self, name: &TopicPartition) -> Option<PartitionId> {
        self.by_name.get(name).copied()
    }

    /// From here on none was asked for.
    pub(super) fn clear_asked(&mut self) {
        for partition in self.slots.iter_mut().flat_map(|slot| &mut slot.partition) {
            partition.asked = false;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PartitionId, &Partition<D>)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let partition = slot.partition.as_ref()?;
            Some((PartitionId::new(index as u32, slot.generation), partition))
        })
    }
}

fn of_slots<D>(slots: &mut [Slot<D>], id: PartitionId) -> Option<&mut Partition<D>> {
    let slot = slots.get_mut(id.slot())?;
    (slot.generation == id.generation())
        .then_some(slot.partition.as_mut())
        .flatten()
}
