//! What is read without a message: positions and pause flags by partition, and the word that says that something changed.
//! For observation, and for the reader to judge what it holds; never for a decision about a fetch.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dashmap::DashMap;
use record_batch::TopicPartition;

use crate::command::Commands;
use crate::consumed::{Consumed, Portion};
use crate::ids::{FetchEpoch, NodeId};
use crate::samples::{Sampled, Samples};
use crate::take_slot::TakeSlot;

/// In place of a node's id: no follower, as in the protocol.
const LEADER: i32 = -1;

/// Offsets of one partition that the application is told of or commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    /// Records below this epoch are void, and so are offsets reported for them.
    pub data_epoch: FetchEpoch,
    /// The next offset that the application will be given; `None` while it is looked up.
    pub given: Option<i64>,
    /// The next offset that the application has not processed: what was given when the current poll began.
    pub processed: Option<i64>,
    /// Leader epoch of the last record before `given`, if it had one: of the last that was given, or as the group committed it.
    pub leader_epoch: Option<i32>,
}

/// How far the application was behind the end of a partition, and before it ahead of its beginning, in records, after the polls
/// of the last minute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lags {
    /// Behind the end.
    pub lag: Sampled,
    /// Ahead of the beginning.
    pub lead: Sampled,
}

#[derive(Debug, Default)]
struct LagSamples {
    lag: Samples,
    lead: Samples,
}

/// What everyone may know of an assigned partition.
#[derive(Debug)]
pub struct PartitionState {
    name: TopicPartition,
    /// As in `offsets`, to be read without the lock.
    data_epoch: AtomicU64,
    paused: AtomicBool,
    offsets: Mutex<Offsets>,
    high_watermark: AtomicI64,
    last_stable_offset: AtomicI64,
    log_start_offset: AtomicI64,
    /// -1 for the leader.
    read_replica: AtomicI32,
    /// Of its topic.
    consumed: Arc<Consumed>,
    lags: Mutex<LagSamples>,
    /// Bytes of it that the reader or the application has.
    lent: AtomicU64,
}

impl PartitionState {
    pub(crate) fn new(name: TopicPartition, consumed: Arc<Consumed>) -> Self {
        Self {
            name,
            consumed,
            lags: Mutex::default(),
            lent: AtomicU64::new(0),
            data_epoch: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            offsets: Mutex::new(Offsets {
                data_epoch: FetchEpoch(0),
                given: None,
                processed: None,
                leader_epoch: None,
            }),
            high_watermark: AtomicI64::new(-1),
            last_stable_offset: AtomicI64::new(-1),
            log_start_offset: AtomicI64::new(-1),
            read_replica: AtomicI32::new(LEADER),
        }
    }

    /// Its name.
    pub const fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// Whether the application paused it.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Bytes of its records that are in the reader's or the application's hands, decompressed ones included.
    pub fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    pub(crate) fn lend(&self, bytes: u64) {
        self.lent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn take_back(&self, bytes: u64) {
        self.lent.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether records fetched under `epoch` still count (I6).
    pub fn is_valid(&self, epoch: FetchEpoch) -> bool {
        epoch.0 >= self.data_epoch.load(Ordering::Acquire)
    }

    /// Position and what was processed.
    pub fn offsets(&self) -> Offsets {
        *self.lock()
    }

    /// The high watermark that the last reply told, -1 before.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark.load(Ordering::Relaxed)
    }

    /// The last stable offset that the last reply told, -1 before.
    pub fn last_stable_offset(&self) -> i64 {
        self.last_stable_offset.load(Ordering::Relaxed)
    }

    /// The first offset of the log as the last reply told it, -1 before.
    pub fn log_start_offset(&self) -> i64 {
        self.log_start_offset.load(Ordering::Relaxed)
    }

    /// The follower that is read from in place of the leader, if one is (KIP-392).
    pub fn read_replica(&self) -> Option<NodeId> {
        let node = self.read_replica.load(Ordering::Relaxed);
        (node != LEADER).then_some(NodeId(node))
    }

    /// The reader gave out records up to `next`, fetched under `epoch`. Without effect if a seek came in between; returns
    /// whether it had one.
    pub fn give(&self, epoch: FetchEpoch, next: i64, leader_epoch: Option<i32>) -> bool {
        let mut offsets = self.lock();
        let valid = epoch >= offsets.data_epoch;
        if valid {
            offsets.given = Some(next);
            offsets.leader_epoch = leader_epoch;
        }
        valid
    }

    /// Counts what the application was given.
    pub fn consumed(&self, now: Instant, portion: Portion) {
        self.consumed.add(now, portion);
    }

    /// Takes note of how far `position` is from the ends of the log. An end that no broker told is left out (F065).
    pub fn observe_lag(&self, now: Instant, position: i64, end: i64) {
        let start = self.log_start_offset();
        let mut lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        if end >= 0 {
            let lag = end.saturating_sub(position.max(start)).max(0);
            lags.lag.record(now, lag as f64);
        }
        if start >= 0 {
            let lead = position.saturating_sub(start).max(0);
            lags.lead.record(now, lead as f64);
        }
    }

    /// What was observed.
    pub fn lags(&self, now: Instant) -> Lags {
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        Lags {
            lag: lags.lag.read(now),
            lead: lags.lead.read(now),
        }
    }

    /// A poll begins, or the application commits what it was given: that counts as processed. Returns the offsets after that.
    pub fn process(&self) -> Offsets {
        let mut offsets = self.lock();
        offsets.processed = offsets.given;
        *offsets
    }

    pub(crate) fn jump(
        &self,
        data_epoch: FetchEpoch,
        offset: Option<i64>,
        leader_epoch: Option<i32>,
    ) {
        let mut offsets = self.lock();
        *offsets = Offsets {
            data_epoch,
            given: offset,
            processed: offset,
            leader_epoch,
        };
        self.data_epoch.store(data_epoch.0, Ordering::Release);
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    pub(crate) fn set_watermarks(&self, now: Instant, high: i64, stable: i64, start: i64) {
        self.high_watermark.store(high, Ordering::Relaxed);
        self.last_stable_offset.store(stable, Ordering::Relaxed);
        self.log_start_offset.store(start, Ordering::Relaxed);
        if let Some(position) = self.offsets().given {
            // which end counts is the reader's to know
            self.observe_lag(now, position, -1);
        }
    }

    pub(crate) fn set_read_replica(&self, replica: Option<NodeId>) {
        let node = replica.map_or(LEADER, |NodeId(node)| node);
        self.read_replica.store(node, Ordering::Relaxed);
    }

    /// Nothing that was read of it counts any more: it is not assigned.
    pub(crate) fn retire(&self) {
        self.data_epoch.store(u64::MAX, Ordering::Release);
        self.lock().data_epoch = FetchEpoch(u64::MAX);
    }

    fn lock(&self) -> MutexGuard<'_, Offsets> {
        self.offsets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All assigned partitions, and the change word. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SharedState(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    partitions: DashMap<TopicPartition, Arc<PartitionState>>,
    /// By topic, also of topics that are not assigned any more: what was given does not become less.
    consumed: DashMap<Arc<str>, Arc<Consumed>>,
    changes: AtomicU64,
    takes: TakeSlot,
    commands: Commands,
}

impl SharedState {
    /// What handles told actors to do and is not done yet.
    pub fn commands(&self) -> &Commands {
        &self.0.commands
    }

    /// Where the reader leaves takes.
    pub fn takes(&self) -> &TakeSlot {
        &self.0.takes
    }

    /// An assigned partition.
    pub fn get(&self, name: &TopicPartition) -> Option<Arc<PartitionState>> {
        self.0.partitions.get(name).map(|state| Arc::clone(&state))
    }

    /// All assigned partitions, in no order.
    pub fn all(&self) -> Vec<Arc<PartitionState>> {
        self.0
            .partitions
            .iter()
            .map(|state| Arc::clone(&state))
            .collect()
    }

    /// What was given of each topic that is or was assigned, in no order.
    pub fn consumed(&self) -> Vec<(Arc<str>, Arc<Consumed>)> {
        let topics = self.0.consumed.iter();
        topics
            .map(|entry| (Arc::clone(entry.key()), Arc::clone(entry.value())))
            .collect()
    }

    /// The change word: if it is not what it was, the reader must look before it gives out another record.
    pub fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Moves the change word.
    pub fn notify(&self) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// A partition that is to be assigned.
    pub(crate) fn partition(&self, name: TopicPartition) -> PartitionState {
        let topics = &self.0.consumed;
        let known = topics.get(name.topic()).map(|known| Arc::clone(&known));
        let consumed = known.unwrap_or_else(|| {
            let entry = topics.entry(name.topic().into());
            Arc::clone(&entry.or_default())
        });
        PartitionState::new(name, consumed)
    }

    pub(crate) fn insert(&self, state: Arc<PartitionState>) {
        self.0.partitions.insert(state.name.clone(), state);
    }

    pub(crate) fn remove(&self, state: &Arc<PartitionState>) {
        // not one that was assigned anew under the same name
        self.0
            .partitions
            .remove_if(&state.name, |_, current| Arc::ptr_eq(current, state));
        state.retire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reported_under_an_old_epoch_does_not_undo_a_seek() {
        let state = SharedState::default().partition(TopicPartition::new("t", 0));
        state.jump(FetchEpoch(1), Some(0), None);
        assert!(state.give(FetchEpoch(1), 10, Some(3)));
        state.jump(FetchEpoch(2), Some(5), None);
        assert!(!state.give(FetchEpoch(1), 20, Some(3)));
        assert_eq!(state.offsets().given, Some(5));
        assert!(!state.is_valid(FetchEpoch(1)));
        // a leader move gives requests a new epoch and leaves records valid
        assert!(state.give(FetchEpoch(3), 7, None));
    }

    #[test]
    fn processed_is_what_was_given_when_the_poll_began() {
        let state = SharedState::default().partition(TopicPartition::new("t", 0));
        state.jump(FetchEpoch(1), Some(0), None);
        state.process();
        state.give(FetchEpoch(1), 5, None);
        assert_eq!(state.offsets().processed, Some(0));
        state.process();
        assert_eq!(state.offsets().processed, Some(5));
    }

    #[test]
    fn what_is_unassigned_is_void_and_a_successor_stays() {
        let shared = SharedState::default();
        let name = TopicPartition::new("t", 0);
        let old = Arc::new(shared.partition(name.clone()));
        let new = Arc::new(shared.partition(name.clone()));
        shared.insert(Arc::clone(&old));
        shared.insert(Arc::clone(&new));
        shared.remove(&old);
        assert!(!old.is_valid(FetchEpoch(9)));
        assert!(!old.give(FetchEpoch(9), 4, None));
        assert!(Arc::ptr_eq(&shared.get(&name).unwrap(), &new));
    }
}
