//! The buffer as a pure machine: every decision about custody, positions, budget and leases. No clock, no I/O, no actor;
//! `now` is an argument and what others must know is returned as [`Effect`]s, in the order in which they are to be told.
//!
//! Each public method is one event. Custody changes in these methods only, and they are synchronous: that is what makes a
//! reservation answer and take custody in one step (I1).

/// Whether the machine was asked to have this fault. Without the feature `mutants` it is no question.
#[cfg(feature = "mutants")]
macro_rules! mutated {
    ($machine:expr, $fault:ident) => {
        $machine.mutant == Some($crate::machine::Mutant::$fault)
    };
}
#[cfg(not(feature = "mutants"))]
macro_rules! mutated {
    ($machine:expr, $fault:ident) => {
        false
    };
}

mod assign;
mod budget;
mod cluster;
mod done;
mod invariants;
mod memory;
#[cfg(feature = "mutants")]
mod mutant;
mod partition;
mod partitions;
mod replica;
mod reserve;
mod session_view;
mod take;
#[cfg(test)]
mod tests;
mod unasked;
mod validate;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use record_batch::TopicPartition;

pub use invariants::{Reason, Violation};
#[cfg(feature = "mutants")]
pub use mutant::Mutant;
pub use unasked::Unasked;

use self::budget::Budget;
use self::memory::MemoryQueue;
use self::partition::{Custody, Partition, Position, Readiness, Validity};
use self::partitions::Partitions;
use self::reserve::Node;
use self::take::Reader;
use crate::backoff::Jitter;
use crate::error::PartitionError;
use crate::ids::{FetchEpoch, Lane, NodeId, PartitionId, TicketId};
use crate::model::{
    Ask, BufferConfig, Completed, Effect, Item, Lookup, LookupCommitted, MaxWait, Origin,
    ResetPolicy, ResetTo, Sought,
};

/// What the machine tells others, in order. `D` is the type of the records, which the machine never looks at.
pub type Effects<D> = Vec<Effect<D>>;

/// The partition is not assigned to this consumer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not assigned to this consumer; assign it first")]
pub struct NotAssigned(pub TopicPartition);

/// A request that was granted and did not come back yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Ticket {
    node: NodeId,
    lane: Lane,
    reserved: u64,
    /// What it names.
    asks: Arc<Vec<Ask>>,
    max_wait: MaxWait,
    /// The request's limit, for messages.
    max_bytes: u32,
    /// Of its reply, when that is there.
    origin: Origin,
}

impl Ticket {
    /// What it has custody of, unless something happened since.
    fn asked(&self) -> impl Iterator<Item = &Ask> {
        self.asks.iter().filter(|ask| !ask.parked)
    }
}

/// Counters of what the machine did; all only ever rise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BufferCounters {
    /// Replies that waited too long for memory and were thrown away.
    pub discarded_replies: u64,
    /// Replies that were read although the budget was full.
    pub overdrawn_replies: u64,
    /// Completed fetches of paused partitions dropped for the sake of others.
    pub dropped_paused: u64,
    /// Completed fetches dropped since their epoch was over.
    pub stale_replies: u64,
}

/// See the [module's documentation](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BufferMachine<D> {
    config: BufferConfig,
    partitions: Partitions<D>,
    nodes: BTreeMap<NodeId, Node>,
    tickets: BTreeMap<TicketId, Ticket>,
    budget: Budget,
    memory_queue: MemoryQueue,
    reader: Reader,
    /// Partitions that have something for the reader, the one served longest ago first.
    ready: VecDeque<PartitionId>,
    /// Ends of error pauses.
    backoffs: BTreeSet<(Instant, PartitionId)>,
    /// Ends of the leases of followers that are read from.
    replicas: BTreeSet<(Instant, PartitionId)>,
    /// Partitions whose log was truncated, and that go on when the application has what is buffered of them.
    diverged: BTreeSet<PartitionId>,
    jitter: Jitter,
    queued_bytes: u64,
    leased_bytes: u64,
    last_epoch: u64,
    last_ticket: u64,
    /// Replies with data so far.
    replies: u64,
    counters: BufferCounters,
    #[cfg(feature = "mutants")]
    mutant: Option<Mutant>,
}

impl<D> BufferMachine<D> {
    /// A buffer without partitions. `seed` is for jitter only.
    pub fn new(config: BufferConfig, seed: u64) -> Self {
        Self {
            budget: Budget::new(config.buffer_memory),
            config,
            partitions: Partitions::new(),
            nodes: BTreeMap::new(),
            tickets: BTreeMap::new(),
            memory_queue: MemoryQueue::default(),
            reader: Reader::default(),
            ready: VecDeque::new(),
            backoffs: BTreeSet::new(),
            replicas: BTreeSet::new(),
            diverged: BTreeSet::new(),
            jitter: Jitter::new(seed),
            queued_bytes: 0,
            leased_bytes: 0,
            last_epoch: 0,
            last_ticket: 0,
            replies: 0,
            counters: BufferCounters::default(),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// Makes the machine have a fault. For the explorer only.
    #[cfg(feature = "mutants")]
    pub const fn mutate(&mut self, mutant: Mutant) {
        self.mutant = Some(mutant);
    }

    /// What the machine did so far.
    pub const fn counters(&self) -> BufferCounters {
        self.counters
    }

    /// Bytes of the budget set aside for replies on their way.
    pub fn memory_reserved(&self) -> u64 {
        self.budget.reserved()
    }

    /// Bytes of the budget in use: reserved, buffered, leased, kept.
    pub fn memory_used(&self) -> u64 {
        self.budget.used()
    }

    /// The name of an assigned partition.
    pub fn name(&self, id: PartitionId) -> Option<&TopicPartition> {
        self.partitions.get(id).map(|partition| &partition.name)
    }

    /// The assigned partitions, in the order of their slots.
    pub fn assignment(&self) -> impl Iterator<Item = (PartitionId, &TopicPartition)> {
        self.partitions
            .iter()
            .map(|(id, partition)| (id, &partition.name))
    }

    /// The application's position of an assigned partition is now `offset`, whatever is in flight or buffered.
    ///
    /// # Errors
    /// The partition is not assigned.
    pub fn seek(
        &mut self,
        now: Instant,
        name: &TopicPartition,
        offset: i64,
        effects: &mut Effects<D>,
    ) -> Result<(), NotAssigned> {
        self.jump(now, name, Position::At(offset), effects)
    }

    /// As [`seek`](Self::seek), to an offset behind a record of this leader epoch: whether the leader has that record is found out
    /// before anything is given (KIP-320).
    ///
    /// # Errors
    /// The partition is not assigned.
    pub fn seek_behind(
        &mut self,
        now: Instant,
        name: &TopicPartition,
        offset: i64,
        leader_epoch: i32,
        effects: &mut Effects<D>,
    ) -> Result<(), NotAssigned> {
        let known = Some(leader_epoch).filter(|epoch| *epoch >= 0);
        let id = self
            .partitions
            .find(name)
            .ok_or_else(|| NotAssigned(name.clone()))?;
        self.jump_partition(now, id, Position::At(offset), known, effects);
        self.validate(id, effects);
        self.notice_change(effects);
        self.settle(effects);
        Ok(())
    }

    /// As [`seek`](Self::seek), to an end of the partition that must be looked up first.
    ///
    /// # Errors
    /// The partition is not assigned.
    pub fn seek_to(
        &mut self,
        now: Instant,
        name: &TopicPartition,
        to: ResetTo,
        effects: &mut Effects<D>,
    ) -> Result<(), NotAssigned> {
        self.jump(now, name, Position::Wanted(to), effects)
    }

    fn jump(
        &mut self,
        now: Instant,
        name: &TopicPartition,
        position: Position,
        effects: &mut Effects<D>,
    ) -> Result<(), NotAssigned> {
        let id = self
            .partitions
            .find(name)
            .ok_or_else(|| NotAssigned(name.clone()))?;
        self.jump_partition(now, id, position, None, effects);
        self.notice_change(effects);
        self.settle(effects);
        Ok(())
    }

    fn jump_partition(
        &mut self,
        now: Instant,
        id: PartitionId,
        position: Position,
        offset_epoch: Option<i32>,
        effects: &mut Effects<D>,
    ) {
        let mut epoch = self.next_epoch();
        self.end_backoff(id);
        self.diverged.remove(&id);
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if mutated!(self, SeekKeepsEpoch) {
            epoch = partition.epoch;
        }
        self.queued_bytes -= partition.queued_bytes;
        self.leased_bytes -= partition.leased_bytes;
        partition.jump(epoch, position);
        partition.offset_epoch = offset_epoch;
        self.reader.forget(id);
        self.begin(now, id, effects);
    }

    /// Announces a fresh position, or what is done to find it.
    fn begin(&mut self, now: Instant, id: PartitionId, effects: &mut Effects<D>) {
        let Some(partition) = self.partitions.get(id) else {
            return;
        };
        let (epoch, name) = (partition.epoch, partition.name.clone());
        let offset = match partition.position {
            Position::At(offset) => Some(offset),
            Position::Committed | Position::Wanted(_) | Position::Missing => None,
        };
        effects.push(Effect::Position {
            partition: id,
            data_epoch: partition.data_epoch,
            offset,
            leader_epoch: partition.offset_epoch,
        });
        match partition.position {
            Position::At(_) => {}
            Position::Committed => effects.push(Effect::LookupCommitted(LookupCommitted {
                partition: id,
                name,
                epoch: partition.data_epoch,
            })),
            Position::Wanted(to) => effects.push(Effect::Lookup(Lookup {
                partition: id,
                name,
                epoch,
                sought: Sought::End(to),
            })),
            Position::Missing => {
                self.report(id, PartitionError::NoOffsetForPartition { partition: name });
                self.back_off(now, id, Pause::Longest);
            }
        }
        if !mutated!(self, SeekLooksNotAgain) {
            self.check_partition(id);
        }
    }

    const fn reset_position(&self) -> Position {
        match self.config.reset {
            ResetPolicy::Earliest => Position::Wanted(ResetTo::Earliest),
            ResetPolicy::Latest => Position::Wanted(ResetTo::Latest),
            ResetPolicy::Since(age) => Position::Wanted(ResetTo::Since(age)),
            ResetPolicy::None => Position::Missing,
        }
    }

    /// Stops or resumes fetching of partitions. A pause changes what may be granted, too: a paused partition no longer holds
    /// up its node when its read-ahead is at the limit (I8).
    ///
    /// # Errors
    /// One of them is not assigned; then nothing is changed.
    pub fn pause<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a TopicPartition>,
        paused: bool,
        effects: &mut Effects<D>,
    ) -> Result<(), NotAssigned> {
        let mut ids = Vec::new();
        for name in names {
            ids.push(
                self.partitions
                    .find(name)
                    .ok_or_else(|| NotAssigned(name.clone()))?,
            );
        }
        let mut changed = false;
        for id in ids {
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            if partition.paused == paused {
                continue;
            }
            partition.paused = paused;
            partition.eager = !paused && !mutated!(self, ResumeIsNoEvent);
            changed = true;
            effects.push(Effect::Paused(id, paused));
            if !(paused && mutated!(self, PauseLooksNotAgain)) {
                self.check_partition(id);
            }
        }
        if changed {
            self.notice_change(effects);
            self.settle(effects);
        }
        Ok(())
    }

    /// The reader met a batch that cannot be read: nothing behind it is fetched until the application seeks.
    pub fn block(&mut self, id: PartitionId, data_epoch: FetchEpoch, effects: &mut Effects<D>) {
        let epoch = self.next_epoch();
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if partition.data_epoch > data_epoch {
            return;
        }
        partition.blocked = true;
        partition.queue.clear();
        self.queued_bytes -= std::mem::take(&mut partition.queued_bytes);
        // the reader keeps the error and drops the data: nobody may wait for a lease that ends with the application's seek
        self.leased_bytes -= std::mem::take(&mut partition.leased_bytes);
        // what is in flight lies behind it as well
        partition.epoch = epoch;
        partition.release();
        self.check_partition(id);
        self.settle(effects);
    }

    /// The next moment at which [`timeout`](Self::timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let backoff = self.backoffs.first().map(|&(at, _)| at);
        let replica = self.replicas.first().map(|&(at, _)| at);
        [
            backoff,
            replica,
            self.memory_queue.deadline(),
            self.reader.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Instant, effects: &mut Effects<D>) {
        while let Some(&(at, id)) = self.backoffs.first()
            && at <= now
        {
            self.backoffs.pop_first();
            let Some(partition) = self.partitions.get_mut(id) else {
                continue;
            };
            partition.backoff_until = None;
            partition.eager = true;
            if partition.position == Position::Missing {
                let error = PartitionError::NoOffsetForPartition {
                    partition: partition.name.clone(),
                };
                self.report(id, error);
                self.notice_data(now, id, effects);
                self.back_off(now, id, Pause::Longest);
            } else if matches!(partition.validity, Validity::Diverged(_)) {
                self.validate(id, effects);
            }
            self.check_partition(id);
        }
        self.end_replicas(now, effects);
        self.discard_overdue(now, effects);
        self.reader_timeout(now, effects);
        self.settle(effects);
    }

    /// Queues an error for the application, unless it has one of this partition to see already.
    fn report(&mut self, id: PartitionId, error: PartitionError) {
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        if partition
            .queue
            .iter()
            .any(|item| matches!(item, Item::Error(_)))
        {
            return;
        }
        partition.queue.push_back(Item::Error(error));
        self.list(id);
    }

    fn list(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(id)
            && !partition.listed
        {
            partition.listed = true;
            self.ready.push_back(id);
        }
    }

    fn back_off(&mut self, now: Instant, id: PartitionId, pause: Pause) {
        let random = self.jitter.next();
        self.end_backoff(id);
        let Some(partition) = self.partitions.get_mut(id) else {
            return;
        };
        let delay = match pause {
            Pause::Growing => self.config.retry.delay(partition.failures, random),
            Pause::Longest => self.config.retry.delay(u32::MAX, random),
        };
        partition.failures = partition.failures.saturating_add(1);
        partition.on_trial = true;
        partition.eager = false;
        let until = now + delay;
        partition.backoff_until = Some(until);
        self.backoffs.insert((until, id));
    }

    fn end_backoff(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(id)
            && let Some(until) = partition.backoff_until.take()
        {
            self.backoffs.remove(&(until, id));
        }
    }

    const fn next_epoch(&mut self) -> FetchEpoch {
        self.last_epoch += 1;
        FetchEpoch(self.last_epoch)
    }

    /// The request in flight that may move the partition.
    fn holder(&self, partition: &Partition<D>) -> Option<TicketId> {
        match partition.custody {
            Custody::Free => None,
            Custody::Request(ticket) => Some(ticket),
            Custody::Session(node) => self.nodes.get(&node)?.ticket(Lane::Session),
        }
    }

    fn readiness(&self, partition: &Partition<D>) -> Readiness {
        partition.readiness(self.credit(), self.holder(partition))
    }

    fn credit(&self) -> u64 {
        2 * u64::from(self.config.max_partition_fetch_bytes)
    }
}

/// How long a partition that was answered with an error is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// From `retry.backoff.ms` on, doubling: the cause may pass at any moment.
    Growing,
    /// `retry.backoff.max.ms`: the cause does not pass by itself.
    Longest,
}

fn completed_bytes<D>(item: &Item<D>) -> u64 {
    match item {
        Item::Data(Completed { bytes, .. }) => u64::from(*bytes),
        Item::Error(_) => 0,
    }
}
