//! Positions are held against the log of each new leader before they are fetched on (KIP-320; consumer-behaviour: truncation
//! detection).
//!
//! A leader that was elected without having all of the log (`unclean.leader.election.enable`) has lost records that were read
//! already, and may have others at their offsets. Where the records of the epoch end that a position is behind, it is told.

use std::time::Instant;

use super::partition::{Position, Validity};
use super::{BufferMachine, Effects, Pause};
use crate::error::PartitionError;
use crate::ids::{FetchEpoch, PartitionId};
use crate::model::{Effect, EpochAnswer, EpochEnd, Lookup, ResetPolicy, Sought};

impl<D> BufferMachine<D> {
    /// The leader of a partition is of another epoch than was known.
    pub(super) fn leader_epoch_learned(
        &mut self,
        id: PartitionId,
        leader_epoch: i32,
        effects: &mut Effects<D>,
    ) {
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        partition.leader_epoch = leader_epoch;
        self.read_from_leader(id, effects);
        if self.validate(id, effects) {
            return;
        }
        // an error pause was for the leader of before
        if let Some(partition) = self.partitions.get_mut(id)
            && partition.backoff_until.is_some()
            && matches!(partition.position, Position::At(_))
        {
            partition.eager = true;
            self.end_backoff(id);
            self.check_partition(id);
        }
    }

    /// Asks the leader whether the position is one of its log, if the epochs that this takes are known. Until it has answered, the
    /// partition is not fetched; what is in flight is void. Returns whether it is asked.
    pub(super) fn validate(&mut self, id: PartitionId, effects: &mut Effects<D>) -> bool {
        let Some(partition) = self.partitions.get_mut(id) else {
            return false;
        };
        let known = partition
            .offset_epoch
            .filter(|_| partition.leader_epoch >= 0);
        let (Position::At(_), Some(offset_epoch)) = (partition.position, known) else {
            partition.validity = Validity::Valid;
            return false;
        };
        self.end_backoff(id);
        let epoch = self.next_epoch();
        if let Some(partition) = self.partitions.get_mut(id) {
            partition.validity = Validity::Asked(epoch);
            partition.void_requests(epoch);
            effects.push(Effect::Lookup(Lookup {
                partition: id,
                name: partition.name.clone(),
                epoch,
                sought: Sought::EpochEnd(offset_epoch),
            }));
        }
        self.check_partition(id);
        true
    }

    /// Leaders answered where epochs end. An answer counts only for the question that the partition still waits for: a seek always
    /// wins.
    pub fn validated(
        &mut self,
        now: Instant,
        answers: impl IntoIterator<Item = (PartitionId, FetchEpoch, EpochAnswer)>,
        effects: &mut Effects<D>,
    ) {
        for (id, epoch, answer) in answers {
            let Some(partition) = self.partitions.get(id) else {
                continue;
            };
            let Position::At(offset) = partition.position else {
                continue;
            };
            if partition.validity != Validity::Asked(epoch) {
                continue;
            }
            match answer {
                EpochAnswer::Ends(end) if end.offset < offset => {
                    self.diverged(now, id, Some(end), effects);
                }
                EpochAnswer::Undefined => self.diverged(now, id, None, effects),
                EpochAnswer::Ends(_) | EpochAnswer::Unsupported => self.found_valid(id),
            }
        }
        self.settle(effects);
    }

    fn found_valid(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(id) {
            partition.validity = Validity::Valid;
            partition.eager = true;
            self.check_partition(id);
        }
    }

    /// The leader's log does not have what was read before the position. `end`: up to where it has.
    pub(super) fn diverged(
        &mut self,
        now: Instant,
        id: PartitionId,
        end: Option<EpochEnd>,
        effects: &mut Effects<D>,
    ) {
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        let Position::At(offset) = partition.position else {
            return;
        };
        partition.validity = Validity::Diverged(end);
        let name = partition.name.clone();
        if self.config.reset == ResetPolicy::None {
            let error = PartitionError::LogTruncated {
                partition: name,
                offset,
                leader_epoch: partition.offset_epoch,
                end,
            };
            self.report(id, error);
            self.notice_data(now, id, effects);
            self.back_off(now, id, Pause::Longest);
        } else {
            effects.push(Effect::Truncated { name, offset, end });
            self.diverged.insert(id);
            self.go_on_after_divergence(now, effects);
        }
    }

    /// Where the application was given all that was buffered of a partition whose log was truncated, it goes on at the end that the
    /// logs have in common, or, if the leader knows of none, where the reset policy says.
    pub(super) fn go_on_after_divergence(&mut self, now: Instant, effects: &mut Effects<D>) {
        for id in std::mem::take(&mut self.diverged) {
            let Some(partition) = self.partitions.get(id) else {
                continue;
            };
            let Validity::Diverged(end) = partition.validity else {
                continue;
            };
            // what was buffered gave way to something else, and the position went back with it
            if let (Position::At(offset), Some(end)) = (partition.position, end)
                && offset <= end.offset
            {
                self.found_valid(id);
                continue;
            }
            if partition.is_buffered() || partition.held_by_reader {
                self.diverged.insert(id);
                continue;
            }
            let (position, offset_epoch) = match end {
                Some(end) => (Position::At(end.offset), Some(end.leader_epoch)),
                None => (self.reset_position(), None),
            };
            self.jump_partition(now, id, position, offset_epoch, effects);
            self.notice_change(effects);
        }
    }
}
