//! Recycled buffers whose bytes are counted from the moment they are filled until the last slice of them is dropped,
//! on whatever thread that happens.

mod kept;
mod opened;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use actix::Recipient;
use bytes::Bytes;

pub use self::kept::{Claim, lend};
pub use self::opened::BatchBuffers;
use crate::messages::MemoryReleased;
use crate::shared::PartitionState;

/// Buffers are made in multiples of this, so that replies of about one size share them.
const GRAIN: usize = 16 * 1024;
/// Buffers may take more than the memory by one in so many bytes: two replies of half the memory each, the most that is asked of a node, have their framing
/// on top, and would be made anew each time if one of the two had to go.
const FRAMING_AND_GRAIN: usize = 32;
/// Of the memory, one in so many bytes may be in buffers of replies and not be filled.
const MOST_WASTED: usize = 16;
/// Smaller ones are not worth keeping.
const SMALLEST_KEPT: usize = GRAIN;

/// The memory of one consumer: shared by the sessions that fill buffers, the reader that decompresses into them, and the
/// buffer actor that keeps the budget.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// `buffer.memory`.
    limit: usize,
    idle: Mutex<Vec<Vec<u8>>>,
    /// Capacity of all buffers, in use or idle.
    allocated: AtomicU64,
    /// What buffers in use have beyond what counts of them.
    wasted: AtomicU64,
    /// Bytes that count and are alive.
    alive: AtomicU64,
    /// Bytes of them that the consumer itself has need of.
    claimed: AtomicU64,
    /// Set aside for replies that are on their way.
    reserved: AtomicU64,
    /// Bytes released since the buffer actor last asked.
    released: AtomicU64,
    /// Bytes charged since, for what is not part of a reservation.
    charged: AtomicU64,
    /// The buffer actor waits for bytes.
    wanted: AtomicBool,
    wake: OnceLock<Recipient<MemoryReleased>>,
}

impl Memory {
    /// `limit` is `buffer.memory`, in bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Shared {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            idle: Mutex::new(Vec::new()),
            allocated: AtomicU64::new(0),
            wasted: AtomicU64::new(0),
            alive: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            released: AtomicU64::new(0),
            charged: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            wake: OnceLock::new(),
        }))
    }

    /// Whom to tell of released bytes while it waits for them. Only the first call counts.
    pub fn set_wake(&self, wake: Recipient<MemoryReleased>) {
        let _ = self.0.wake.set(wake);
    }

    /// A buffer with room for `capacity` bytes. What it contains does not matter.
    pub fn buffer(&self, capacity: usize) -> Vec<u8> {
        self.0.buffer(capacity)
    }

    /// Turns a filled buffer into bytes that count until the last slice is dropped. The reservation of the reply covers them.
    pub fn seal_reply(&self, filled: Vec<u8>) -> Bytes {
        let counted = filled.len() as u64;
        self.seal(filled, counted, None)
    }

    /// Whether more is in use than `buffer.memory`, reservations included: decompressed batches may bring that about.
    pub fn is_over_limit(&self) -> bool {
        let used = self.0.alive.load(Ordering::Relaxed) + self.0.reserved.load(Ordering::Relaxed);
        used > self.0.limit as u64
    }

    /// What the buffer actor has set aside for replies.
    pub(crate) fn set_reserved(&self, bytes: u64) {
        self.0.reserved.store(bytes, Ordering::Relaxed);
    }

    fn seal(&self, filled: Vec<u8>, counted: u64, lent: Option<Arc<PartitionState>>) -> Bytes {
        let wasted = (filled.capacity() as u64).saturating_sub(counted);
        self.0.wasted.fetch_add(wasted, Ordering::Relaxed);
        self.0.alive.fetch_add(counted, Ordering::Relaxed);
        Bytes::from_owner(Owner {
            buffer: filled,
            counted,
            wasted,
            lent,
            shared: Arc::clone(&self.0),
        })
    }

    /// Gives a buffer back that nobody saw.
    pub fn give_back(&self, buffer: Vec<u8>) {
        self.0.give_back(buffer);
    }

    /// Bytes charged and bytes released since the last call.
    pub(crate) fn drain(&self) -> (u64, u64) {
        let charged = self.0.charged.swap(0, Ordering::AcqRel);
        let released = self.0.released.swap(0, Ordering::AcqRel);
        (charged, released)
    }

    /// Whether the buffer actor wants to be told of the next release. Returns whether something was released already.
    pub(crate) fn want(&self, wanted: bool) -> bool {
        self.0.wanted.store(wanted, Ordering::SeqCst);
        wanted && self.0.released.load(Ordering::SeqCst) > 0
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn buffer(&self, capacity: usize) -> Vec<u8> {
        let rounded = capacity.div_ceil(GRAIN).saturating_mul(GRAIN);
        let mut idle = self.idle();
        // the tightest that fits, but none that would waste more than it holds
        let fits = idle
            .iter()
            .enumerate()
            .filter(|(_, buffer)| {
                let has = buffer.capacity();
                has >= capacity && has <= rounded.saturating_mul(2)
            })
            .min_by_key(|(_, buffer)| buffer.capacity())
            .map(|(index, _)| index);
        if let Some(index) = fits {
            let mut buffer = idle.swap_remove(index);
            let wasted = usize::try_from(self.wasted.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
            let more = buffer.capacity().saturating_sub(rounded);
            if wasted.saturating_add(more) > self.limit / MOST_WASTED {
                // its end is given back to the system, and nothing is copied
                let had = buffer.capacity();
                buffer.truncate(rounded);
                buffer.shrink_to(rounded);
                self.resized(had, buffer.capacity());
            }
            return buffer;
        }
        // make room among what lies idle before more is taken from the system
        while self.allocated().saturating_add(rounded) > self.most_allocated()
            && let Some(buffer) = idle.pop()
        {
            self.allocated
                .fetch_sub(buffer.capacity() as u64, Ordering::Relaxed);
        }
        drop(idle);
        let buffer = Vec::with_capacity(rounded);
        self.allocated
            .fetch_add(buffer.capacity() as u64, Ordering::Relaxed);
        buffer
    }

    /// A buffer in use has another capacity now.
    fn resized(&self, from: usize, to: usize) {
        if to >= from {
            self.allocated
                .fetch_add((to - from) as u64, Ordering::Relaxed);
        } else {
            self.allocated
                .fetch_sub((from - to) as u64, Ordering::Relaxed);
        }
    }

    fn give_back(&self, buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        let mut idle = self.idle();
        if capacity >= SMALLEST_KEPT && self.allocated() <= self.most_allocated() {
            idle.push(buffer);
        } else {
            self.allocated.fetch_sub(capacity as u64, Ordering::Relaxed);
        }
    }

    /// Beyond it nothing is kept for reuse.
    const fn most_allocated(&self) -> usize {
        self.limit.saturating_add(self.limit / FRAMING_AND_GRAIN)
    }

    fn allocated(&self) -> usize {
        usize::try_from(self.allocated.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }
}

/// What all slices of a buffer share.
struct Owner {
    buffer: Vec<u8>,
    counted: u64,
    wasted: u64,
    /// The partition whose batch it is, if it is one's alone.
    lent: Option<Arc<PartitionState>>,
    shared: Arc<Shared>,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.give_back(std::mem::take(&mut self.buffer));
        if let Some(state) = &self.lent {
            state.take_back(self.counted);
        }
        self.shared.wasted.fetch_sub(self.wasted, Ordering::Relaxed);
        self.shared.alive.fetch_sub(self.counted, Ordering::Relaxed);
        self.shared
            .released
            .fetch_add(self.counted, Ordering::SeqCst);
        if self.shared.wanted.swap(false, Ordering::SeqCst)
            && let Some(wake) = self.shared.wake.get()
        {
            wake.do_send(MemoryReleased);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_slice_is_gone() {
        let memory = Memory::new(1 << 20);
        let mut buffer = memory.buffer(100_000);
        let address = buffer.as_ptr();
        buffer.clear();
        buffer.extend_from_slice(&[7; 100_000]);
        let bytes = memory.seal_reply(buffer);
        let slice = bytes.slice(10..20);
        drop(bytes);
        assert_eq!(memory.drain(), (0, 0));
        drop(slice);
        assert_eq!(memory.drain(), (0, 100_000));
        let again = memory.buffer(90_000);
        assert_eq!(again.as_ptr(), address, "recycled");
    }

    #[test]
    fn idle_buffers_never_grow_beyond_the_limit() {
        let memory = Memory::new(1 << 20);
        let buffers: Vec<_> = (0..4).map(|_| memory.buffer(400 << 10)).collect();
        assert!(memory.0.allocated() > 1 << 20);
        for buffer in buffers {
            memory.give_back(buffer);
        }
        assert!(memory.0.allocated() <= (1 << 20) + (1 << 15));
        // a large one takes the place of small ones that lie idle
        drop(memory.buffer(900 << 10));
        assert!(memory.0.allocated() <= (1 << 20) + (1 << 15));
    }

    /// One is read by the application while the next one comes.
    #[test]
    fn two_replies_of_half_the_memory_are_recycled() {
        for limit in [1 << 20, 64 << 20] {
            let memory = Memory::new(limit as u64);
            let reply = limit / 2 + 1_000;
            let two = [memory.buffer(reply), memory.buffer(reply)];
            let mut addresses = two.each_ref().map(|buffer| buffer.as_ptr());
            addresses.sort_unstable();
            drop(two.map(|buffer| memory.seal_reply(buffer)));
            let mut again =
                [memory.buffer(reply), memory.buffer(reply)].map(|buffer| buffer.as_ptr());
            again.sort_unstable();
            assert_eq!(again, addresses, "{limit}");
        }
    }

    #[test]
    fn a_small_answer_does_not_take_a_large_buffer() {
        let memory = Memory::new(64 << 20);
        let large = memory.buffer(8 << 20);
        memory.give_back(large);
        assert!(memory.buffer(100).capacity() <= 2 * GRAIN);
        assert!(memory.buffer(7 << 20).capacity() >= 8 << 20);
    }

    /// What recycled buffers have beyond what is in them takes no more than a sixteenth of the memory.
    #[test]
    fn f013_large_buffers_with_little_in_them_are_cut() {
        let memory = Memory::new(16 << 20);
        let large: Vec<_> = (0..10).map(|_| memory.buffer(1_000_000)).collect();
        for buffer in large {
            memory.give_back(buffer);
        }
        let mut alive = Vec::new();
        for _ in 0..10 {
            let mut buffer = memory.buffer(600_000);
            buffer.clear();
            buffer.resize(600_000, 1);
            alive.push(memory.seal_reply(buffer));
        }
        let most = 10 * 600_000 + (1 << 20) + 10 * GRAIN;
        assert!(memory.0.allocated() <= most, "{}", memory.0.allocated());
        drop(alive);
        assert_eq!(memory.0.wasted.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_who_waits_learns_of_a_release_that_came_before() {
        let memory = Memory::new(1 << 20);
        drop(memory.seal_reply(vec![0; 10]));
        assert!(memory.want(true));
        assert_eq!(memory.drain(), (0, 10));
        assert!(!memory.want(true));
    }
}
