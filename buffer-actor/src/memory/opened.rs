//! Buffers for batches that the reader opens: charged when they are made (KIP-81).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use record_batch::Buffers;

use super::{Claim, Memory};
use crate::shared::PartitionState;

/// Makes buffers for batches of one partition.
#[derive(Debug)]
pub struct BatchBuffers<'a> {
    memory: &'a Memory,
    state: &'a Arc<PartitionState>,
    sealed: u64,
}

impl<'a> BatchBuffers<'a> {
    /// For batches of this partition.
    pub const fn new(memory: &'a Memory, state: &'a Arc<PartitionState>) -> Self {
        Self {
            memory,
            state,
            sealed: 0,
        }
    }

    /// A copy in a buffer of its own size: for bytes that live longer than what they are a part of.
    pub fn copy(&mut self, bytes: &[u8]) -> Bytes {
        let copied = bytes.to_vec();
        self.memory
            .0
            .allocated
            .fetch_add(copied.capacity() as u64, Ordering::Relaxed);
        self.seal(copied)
    }

    /// Claims what was sealed so far, if that is anything: the reader has not given out all of it.
    pub fn claim(&self) -> Option<Claim> {
        (self.sealed > 0).then(|| self.memory.claim(self.sealed))
    }
}

impl Buffers for BatchBuffers<'_> {
    fn take(&mut self, capacity: usize) -> Vec<u8> {
        self.memory.buffer(capacity)
    }

    fn seal(&mut self, filled: Vec<u8>) -> Bytes {
        // what it occupies, not what it contains
        let counted = filled.capacity() as u64;
        self.sealed += counted;
        self.memory.0.charged.fetch_add(counted, Ordering::AcqRel);
        self.state.lend(counted);
        self.memory
            .seal(filled, counted, Some(Arc::clone(self.state)))
    }

    fn give_back(&mut self, unused: Vec<u8>) {
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
