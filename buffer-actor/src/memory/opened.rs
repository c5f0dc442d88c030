//! Buffers for batches that the reader opens: charged when they are made (KIP-81).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use record_batch::Buffers;

use super::{Claim, GRAIN, Memory};
use crate::shared::PartitionState;

/// Makes buffers for batches of one partition.
#[derive(Debug)]
pub struct BatchBuffers<'a> {
    memory: &'a Memory,
    state: &'a Arc<PartitionState>,
    sealed: u64,
    /// Capacity of the buffer that is being filled: a decoder makes it larger as it needs.
    taken: usize,
}

impl<'a> BatchBuffers<'a> {
    /// For batches of this partition.
    pub const fn new(memory: &'a Memory, state: &'a Arc<PartitionState>) -> Self {
        Self {
            memory,
            state,
            sealed: 0,
            taken: 0,
        }
    }

    /// A copy in a buffer of its own size: for bytes that live longer than what they are a part of.
    pub fn copy(&mut self, bytes: &[u8]) -> Bytes {
        self.taken = 0;
        self.seal(bytes.to_vec())
    }

    /// Claims what was sealed so far, if that is anything: the reader has not given out all of it.
    pub fn claim(&self) -> Option<Claim> {
        (self.sealed > 0).then(|| self.memory.claim(self.sealed))
    }
}

impl Buffers for BatchBuffers<'_> {
    fn take(&mut self, capacity: usize) -> Vec<u8> {
        let buffer = self.memory.buffer(capacity);
        self.taken = buffer.capacity();
        buffer
    }

    fn seal(&mut self, mut filled: Vec<u8>) -> Bytes {
        if filled.capacity() > 2 * filled.len() + GRAIN {
            // its end is given back to the system, and nothing is copied
            filled.shrink_to_fit();
        }
        // what it occupies, not what it contains
        let counted = filled.capacity() as u64;
        self.memory.0.resized(self.taken, filled.capacity());
        self.sealed += counted;
        self.memory.0.charged.fetch_add(counted, Ordering::AcqRel);
        self.state.lend(counted);
        self.memory
            .seal(filled, counted, Some(Arc::clone(self.state)))
    }

    fn give_back(&mut self, unused: Vec<u8>) {
        self.memory.0.resized(self.taken, unused.capacity());
        self.memory.give_back(unused);
    }
}

#[cfg(test)]
mod tests {
    use record_batch::TopicPartition;

    use super::*;
    use crate::shared::SharedState;

    #[test]
    fn what_is_opened_is_charged_lent_and_released() {
        let memory = Memory::new(1 << 20);
        let state = Arc::new(SharedState::default().partition(TopicPartition::new("t", 0)));
        let mut buffers = BatchBuffers::new(&memory, &state);
        let mut buffer = buffers.take(500);
        buffer.clear();
        buffer.extend_from_slice(&[1; 500]);
        let counted = buffer.capacity() as u64;
        let bytes = buffers.seal(buffer);
        assert_eq!(memory.drain(), (counted, 0));
        assert_eq!(state.lent(), counted);
        let claim = buffers.claim();
        assert_eq!(memory.kept(), 0);
        drop(claim);
        assert_eq!(memory.kept(), counted);
        drop(bytes);
        assert_eq!((memory.drain(), state.lent()), ((0, counted), 0));
    }

    /// What a batch will give is guessed, and a batch that is kept must not keep what was guessed too much.
    #[test]
    fn f014_a_buffer_much_larger_than_its_batch_is_cut() {
        let memory = Memory::new(64 << 20);
        let state = Arc::new(SharedState::default().partition(TopicPartition::new("t", 0)));
        let mut buffers = BatchBuffers::new(&memory, &state);
        let mut buffer = buffers.take(1_000_000);
        buffer.clear();
        buffer.extend_from_slice(&[1; 20_000]);
        let bytes = buffers.seal(buffer);
        assert!(memory.kept() <= 40_000, "{}", memory.kept());
        assert_eq!(memory.0.allocated() as u64, memory.kept());
        drop(bytes);
        // one that is not much larger stays what it is: to cut it would cost, and it is used again
        let mut buffer = buffers.take(20_000);
        buffer.clear();
        buffer.extend_from_slice(&[1; 18_000]);
        let (address, capacity) = (buffer.as_ptr(), buffer.capacity());
        let bytes = buffers.seal(buffer);
        assert_eq!((bytes.as_ptr(), memory.kept()), (address, capacity as u64));
    }

    /// A decoder lets a buffer grow, and whatever is counted of it must be what it is then.
    #[test]
    fn f013_a_buffer_that_grew_is_counted_as_it_is() {
        let memory = Memory::new(1 << 20);
        let state = Arc::new(SharedState::default().partition(TopicPartition::new("t", 0)));
        let seal = |buffers: &mut BatchBuffers<'_>, grown| drop(buffers.seal(grown));
        let give_back = |buffers: &mut BatchBuffers<'_>, grown| buffers.give_back(grown);
        let ways: [fn(&mut BatchBuffers<'_>, Vec<u8>); 2] = [seal, give_back];
        for way in ways {
            let mut buffers = BatchBuffers::new(&memory, &state);
            let mut buffer = buffers.take(500);
            buffer.resize(700_000, 1);
            way(&mut buffers, buffer);
            let idle: usize = memory.0.idle().iter().map(Vec::capacity).sum();
            assert!(idle >= 700_000);
            assert_eq!(memory.0.allocated(), idle);
        }
    }

    #[test]
    fn f014_a_copy_counts_no_more_than_it_has() {
        let memory = Memory::new(1 << 20);
        let state = Arc::new(SharedState::default().partition(TopicPartition::new("t", 0)));
        let copy = BatchBuffers::new(&memory, &state).copy(&[7; 100]);
        assert_eq!((&copy[..], memory.kept()), (&[7; 100][..], 100));
        drop(copy);
        assert_eq!((memory.kept(), memory.0.allocated()), (0, 0));
    }
}
