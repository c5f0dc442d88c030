//! What a reply does: positions move, data is buffered, errors are answered (consumer-behaviour: FetchCollector).

use std::time::Instant;

use super::partition::{Custody, Partition, Position};
use super::{BufferMachine, Effects, Pause, Ticket};
use crate::error::PartitionError;
use crate::ids::{Lane, PartitionId, TicketId};
use crate::model::{Completed, Effect, Fetched, Flaw, Item, Outcome, PartitionReply, ResetPolicy};

/// The error codes that a broker answers to a partition's fetch, as the consumer treats them.
mod code {
    pub(super) const NONE: i16 = 0;
    pub(super) const UNKNOWN_SERVER_ERROR: i16 = -1;
    pub(super) const OFFSET_OUT_OF_RANGE: i16 = 1;
    pub(super) const CORRUPT_MESSAGE: i16 = 2;
    pub(super) const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
    pub(super) const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    pub(super) const REPLICA_NOT_AVAILABLE: i16 = 9;
    pub(super) const TOPIC_AUTHORIZATION_FAILED: i16 = 29;
    pub(super) const KAFKA_STORAGE_ERROR: i16 = 56;
    pub(super) const FENCED_LEADER_EPOCH: i16 = 74;
    pub(super) const UNKNOWN_LEADER_EPOCH: i16 = 75;
    pub(super) const OFFSET_NOT_AVAILABLE: i16 = 78;
    pub(super) const UNKNOWN_TOPIC_ID: i16 = 100;
    pub(super) const INCONSISTENT_TOPIC_ID: i16 = 103;
}

/// Replies without one whole batch, in a row, before the application is told.
const TRIES_WITHOUT_PROGRESS: u32 = 3;

impl<D> BufferMachine<D> {
    /// A granted request ended. `received` is what of its reply is alive, in bytes.
    ///
    /// A ticket that comes back twice, or a reply of an older epoch, changes nothing but the budget (I3).
    pub fn done(
        &mut self,
        now: Instant,
        ticket: TicketId,
        outcome: Outcome<D>,
        received: u64,
        effects: &mut Effects<D>,
    ) {
        if mutated!(self, DiscardKeepsTicket) && matches!(outcome, Outcome::Discarded) {
            return;
        }
        let Some(mut live) = self.tickets.remove(&ticket) else {
            return;
        };
        live.origin.bytes = received;
        self.budget.convert(live.reserved, received);
        self.memory_queue.forget(ticket);
        match outcome {
            Outcome::Reply(replies) => {
                let brings = |reply: &&PartitionReply<D>| reply.fetched.is_some();
                live.origin.parts = replies.iter().filter(brings).count() as u32;
                for reply in replies {
                    self.partition_reply(now, ticket, &live, reply, effects);
                }
            }
            // what made lane 2 ask at once has not been served
            Outcome::Abandoned | Outcome::Discarded => {
                self.of_ticket(&live, |partition| partition.eager = true);
            }
            // lane 1 takes them: a second connection that does not work must not keep them from being fetched
            Outcome::Failed => {
                if live.lane == Lane::Quick {
                    self.of_ticket(&live, |partition| {
                        partition.on_trial = false;
                        partition.quick_failed = true;
                    });
                }
                self.leave_followers(&live, effects);
            }
        }
        match live.lane {
            // the others stay with the session
            Lane::Session => self.free_strays(live.node),
            Lane::Quick => {
                for ask in live.asked() {
                    if let Some(partition) = self.partitions.get_mut(ask.partition)
                        && partition.custody == Custody::Request(ticket)
                    {
                        partition.release();
                        // another node may lead it by now
                        self.check_partition(ask.partition);
                    }
                }
            }
        }
        self.free_lane(ticket, live.node, live.lane);
        self.settle(effects);
    }

    /// The partitions of which a ticket has custody still.
    fn of_ticket(&mut self, live: &Ticket, change: impl Fn(&mut Partition<D>)) {
        for ask in live.asked() {
            if let Some(partition) = self.partitions.get_mut(ask.partition)
                && partition.epoch == ask.epoch
            {
                change(partition);
            }
        }
    }

    /// Whether a reply is used: epochs are compared, not offsets (I3).
    fn counts(&self, ticket: TicketId, reply: &PartitionReply<D>) -> bool {
        self.partitions
            .get(reply.partition)
            .is_some_and(|partition| {
                partition.epoch == reply.epoch
                    && (self.holder(partition) == Some(ticket) || mutated!(self, NoCustody))
            })
    }

    #[cfg(feature = "mutants")]
    fn counts_by_offset(&self, live: &Ticket, reply: &PartitionReply<D>) -> bool {
        live.asked().any(|ask| {
            let found = self.partitions.get(ask.partition);
            let position = found.map(|partition| partition.position);
            ask.partition == reply.partition && position == Some(Position::At(ask.offset))
        })
    }

    fn partition_reply(
        &mut self,
        now: Instant,
        ticket: TicketId,
        live: &Ticket,
        reply: PartitionReply<D>,
        effects: &mut Effects<D>,
    ) {
        let id = reply.partition;
        let counts = self.counts(ticket, &reply);
        #[cfg(feature = "mutants")]
        let counts = if mutated!(self, JudgesByOffset) {
            self.counts_by_offset(live, &reply)
        } else {
            counts
        };
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if !counts {
            self.counters.stale_replies += 1;
            return;
        }
        let Position::At(offset) = partition.position else {
            return;
        };
        if reply.error_code != code::NONE {
            self.partition_error(now, id, offset, live, reply.error_code, effects);
            return;
        }
        if let Some(end) = reply.diverging
            && end.offset < offset
        {
            self.diverged(now, id, Some(end), effects);
            return;
        }
        partition.on_trial = false;
        if reply.high_watermark >= 0 {
            partition.high_watermark = reply.high_watermark;
            partition.last_stable_offset = reply.last_stable_offset;
            partition.log_start_offset = reply.log_start_offset;
            effects.push(Effect::Watermarks {
                partition: id,
                high_watermark: reply.high_watermark,
                last_stable_offset: reply.last_stable_offset,
                log_start_offset: reply.log_start_offset,
            });
        }
        match reply.fetched {
            Some(fetched) if fetched.bytes > 0 => {
                self.data(now, id, offset, live, fetched, effects);
            }
            _ if reply.preferred_replica.is_none() => partition.failures = 0,
            _ => {}
        }
        if let Some(replica) = reply.preferred_replica {
            self.redirected(now, id, live.node, replica, effects);
        }
    }

    fn data(
        &mut self,
        now: Instant,
        id: PartitionId,
        offset: i64,
        live: &Ticket,
        fetched: Fetched<D>,
        effects: &mut Effects<D>,
    ) {
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        let progress = fetched.next_offset > offset;
        let needed = match fetched.flaw {
            Flaw::NoWholeBatch { needed } => Some(needed),
            Flaw::None if !progress => Some(0),
            Flaw::None | Flaw::Corrupt => None,
        };
        if let Some(needed) = needed {
            // Lane 2 asks for it alone, where the first-batch rule (KIP-74) brings it whole if the broker knows that rule.
            if partition.failures + 1 >= TRIES_WITHOUT_PROGRESS {
                let partition = partition.name.clone();
                let allowed = live.max_bytes.min(self.config.max_partition_fetch_bytes);
                let error = match needed {
                    // nothing says how large a batch is, so no limit that could be raised
                    0 => PartitionError::NoProgress { partition, offset },
                    needed => PartitionError::RecordTooLarge {
                        partition,
                        offset,
                        needed,
                        allowed: u64::from(allowed),
                    },
                };
                self.report(id, error);
                self.notice_data(now, id, effects);
            }
            self.back_off(now, id, Pause::Growing);
            return;
        }
        partition.failures = 0;
        self.replies += 1;
        partition.served = self.replies;
        partition.blocked = fetched.flaw == Flaw::Corrupt;
        partition.position = Position::At(fetched.next_offset.max(offset));
        let from_epoch = std::mem::replace(&mut partition.offset_epoch, fetched.leader_epoch);
        // a partition that gave data on lane 2 has more, perhaps: it need not wait for lane 1
        partition.eager = live.lane == Lane::Quick;
        let bytes = fetched.bytes;
        let completed = Completed {
            partition: id,
            epoch: partition.epoch,
            from: offset,
            from_epoch,
            next: fetched.next_offset.max(offset),
            bytes,
            origin: live.origin,
            data: fetched.data,
        };
        partition.queue.push_back(Item::Data(completed));
        partition.queued_bytes += u64::from(bytes);
        self.queued_bytes += u64::from(bytes);
        if let Some(node) = self.nodes.get_mut(&live.node) {
            node.largest_batch = node.largest_batch.max(u64::from(fetched.largest_batch));
        }
        self.list(id);
        self.notice_data(now, id, effects);
    }

    /// The table of consumer-behaviour, section 4. The position stays where it is unless the policy resets it.
    fn partition_error(
        &mut self,
        now: Instant,
        id: PartitionId,
        offset: i64,
        live: &Ticket,
        error_code: i16,
        effects: &mut Effects<D>,
    ) {
        // one that was read from until its lease ended, while the request was under way, is asked as a follower, too
        let home = self.partitions.get(id).and_then(|found| found.home);
        let follows = self.follows(id, live.node) || home != Some(live.node);
        let Some(name) = self.name(id).cloned() else {
            return;
        };
        let reported = |partition| match error_code {
            code::TOPIC_AUTHORIZATION_FAILED => {
                PartitionError::TopicAuthorizationFailed { partition }
            }
            code::CORRUPT_MESSAGE => PartitionError::CorruptMessage { partition, offset },
            _ => PartitionError::UnexpectedError {
                partition,
                offset,
                error_code,
            },
        };
        match error_code {
            // a follower may lag behind, or have less of the log: only the leader's word counts (KIP-392)
            code::OFFSET_OUT_OF_RANGE if follows => {
                self.read_from_leader(id, effects);
                // it does not pause, and nothing else would make lane 2 ask for a partition that is on trial
                if let Some(partition) = self.partitions.get_mut(id) {
                    partition.eager = true;
                }
            }
            code::OFFSET_OUT_OF_RANGE if self.config.reset != ResetPolicy::None => {
                effects.push(Effect::Troubled {
                    name,
                    error_code,
                    offset,
                });
                self.reset(now, id, effects);
                return;
            }
            code::OFFSET_OUT_OF_RANGE => {
                self.report(
                    id,
                    PartitionError::OffsetOutOfRange {
                        partition: name,
                        offset,
                    },
                );
                self.back_off(now, id, Pause::Longest);
            }
            code::NOT_LEADER_OR_FOLLOWER
            | code::REPLICA_NOT_AVAILABLE
            | code::KAFKA_STORAGE_ERROR
            | code::FENCED_LEADER_EPOCH
            | code::OFFSET_NOT_AVAILABLE => {
                effects.push(Effect::RefreshMetadata(name));
                self.read_from_leader(id, effects);
                self.back_off(now, id, Pause::Growing);
            }
            code::UNKNOWN_TOPIC_OR_PARTITION
            | code::UNKNOWN_TOPIC_ID
            | code::INCONSISTENT_TOPIC_ID => {
                effects.push(Effect::Troubled {
                    name: name.clone(),
                    error_code,
                    offset,
                });
                effects.push(Effect::RefreshMetadata(name));
                self.read_from_leader(id, effects);
                self.back_off(now, id, Pause::Longest);
            }
            // the broker has not heard of the leader that metadata named: it will
            code::UNKNOWN_LEADER_EPOCH => self.back_off(now, id, Pause::Growing),
            code::UNKNOWN_SERVER_ERROR => {
                effects.push(Effect::Troubled {
                    name,
                    error_code,
                    offset,
                });
                self.back_off(now, id, Pause::Growing);
            }
            _ => {
                self.report(id, reported(name));
                self.back_off(now, id, Pause::Longest);
            }
        }
        self.notice_data(now, id, effects);
    }

    /// Looks for a new position: at once, but after a pause where the last one was found to be of no use, too.
    fn reset(&mut self, now: Instant, id: PartitionId, effects: &mut Effects<D>) {
        let failures = self.partitions.get(id).map_or(0, |found| found.failures);
        self.jump_partition(now, id, self.reset_position(), None, effects);
        if let Some(partition) = self.partitions.get_mut(id) {
            partition.failures = failures.max(1);
        }
        if failures > 0 {
            self.back_off(now, id, Pause::Growing);
        }
        self.notice_change(effects);
    }
}
