//! What others found out about the cluster: positions, leaders, errors, topics that were made anew.

use std::time::Instant;

use record_batch::TopicPartition;

use super::partition::Position;
use super::{BufferMachine, Effects};
use crate::error::PartitionError;
use crate::ids::{FetchEpoch, PartitionId};
use crate::model::{CommittedOffset, Effect, Lookup, Sought};

impl<D> BufferMachine<D> {
    /// A lookup succeeded. It counts only if the partition still waits for it.
    pub fn position_found(
        &mut self,
        found: impl IntoIterator<Item = (PartitionId, FetchEpoch, i64)>,
        effects: &mut Effects<D>,
    ) {
        for (id, epoch, offset) in found {
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            if partition.epoch != epoch || !matches!(partition.position, Position::Wanted(_)) {
                continue;
            }
            partition.position = Position::At(offset);
            partition.eager = true;
            effects.push(Effect::Position {
                partition: id,
                data_epoch: partition.data_epoch,
                offset: Some(offset),
                leader_epoch: None,
            });
            self.check_partition(id);
        }
        self.settle(effects);
    }

    /// The coordinator answered what the group committed. It counts only for partitions that still wait for it. Where nothing
    /// was committed, the reset policy says what happens.
    pub fn committed_found(
        &mut self,
        now: Instant,
        found: impl IntoIterator<Item = (PartitionId, FetchEpoch, Option<CommittedOffset>)>,
        effects: &mut Effects<D>,
    ) {
        let reset = self.reset_position();
        for (id, epoch, committed) in found {
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            let waits = partition.position == Position::Committed && partition.data_epoch == epoch;
            if !waits && !mutated!(self, CommittedAfterSeek) {
                continue;
            }
            match committed.filter(|committed| committed.offset >= 0) {
                Some(CommittedOffset {
                    offset,
                    leader_epoch,
                }) => {
                    partition.position = Position::At(offset);
                    partition.offset_epoch = leader_epoch.filter(|epoch| *epoch >= 0);
                    partition.eager = true;
                    effects.push(Effect::Position {
                        partition: id,
                        data_epoch: partition.data_epoch,
                        offset: Some(offset),
                        leader_epoch: partition.offset_epoch,
                    });
                    self.validate(id, effects);
                    self.check_partition(id);
                }
                None => {
                    partition.position = reset;
                    self.begin(now, id, effects);
                    self.notice_data(now, id, effects);
                }
            }
        }
        self.settle(effects);
    }

    /// Somebody found out that a partition cannot be read for now; whoever found out tells when that changes or says it again.
    pub fn report_error(
        &mut self,
        now: Instant,
        name: &TopicPartition,
        error: PartitionError,
        effects: &mut Effects<D>,
    ) {
        if let Some(id) = self.partitions.find(name) {
            self.report(id, error);
            self.notice_data(now, id, effects);
            self.settle(effects);
        }
    }

    /// The planner learned of new leaders: what is in flight to the old ones is void, what was read from them stays.
    pub fn leaders_changed(
        &mut self,
        moved: impl IntoIterator<Item = PartitionId>,
        effects: &mut Effects<D>,
    ) {
        for id in moved {
            let mut epoch = self.next_epoch();
            self.end_backoff(id);
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            if mutated!(self, MoveKeepsEpoch) {
                epoch = partition.epoch;
            }
            partition.void_requests(epoch);
            // a lookup in flight went to the old leader and answers for the old epoch
            if let Position::Wanted(to) = partition.position {
                effects.push(Effect::Lookup(Lookup {
                    partition: id,
                    name: partition.name.clone(),
                    epoch,
                    sought: Sought::End(to),
                }));
            }
            self.check_partition(id);
            self.read_from_leader(id, effects);
            // until its new leader is offered, no node is: what stands for the old one names it still
            self.set_home(id, None);
        }
        self.settle(effects);
    }

    /// The topics of these were deleted and created again under their names (KIP-516): a position in the old log means nothing
    /// in the new one, and what was fetched of it is void.
    pub fn topics_recreated(
        &mut self,
        now: Instant,
        partitions: impl IntoIterator<Item = PartitionId>,
        effects: &mut Effects<D>,
    ) {
        for id in partitions {
            self.jump_partition(now, id, self.reset_position(), None, effects);
        }
        self.notice_change(effects);
        self.settle(effects);
    }
}
