//! What the application keeps: bytes that are alive although the consumer itself is done with them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::{Memory, Shared};
use crate::shared::PartitionState;

/// Says that the consumer itself has need of bytes that are alive: they are buffered, or its reader has not given out all of
/// them. What is alive and claimed by nobody is what the application keeps. Clones share one claim.
#[derive(Debug, Clone)]
pub struct Claim(Arc<Claimed>);

#[derive(Debug)]
struct Claimed {
    bytes: u64,
    shared: Arc<Shared>,
}

impl Claim {
    /// Of how many bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.shared.claimed.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Memory {
    /// Claims bytes that are alive.
    pub fn claim(&self, bytes: u64) -> Claim {
        self.0.claimed.fetch_add(bytes, Ordering::Relaxed);
        Claim(Arc::new(Claimed {
            bytes,
            shared: Arc::clone(&self.0),
        }))
    }

    /// Bytes that the application keeps: of whole replies where it keeps a record of one, since they are one piece of memory.
    pub fn kept(&self) -> u64 {
        let alive = self.0.alive.load(Ordering::Relaxed);
        alive.saturating_sub(self.0.claimed.load(Ordering::Relaxed))
    }

    /// `buffer.memory`.
    pub fn limit(&self) -> u64 {
        self.0.limit as u64
    }

    /// Whether the application keeps so much that what it is given next should not make it keep more than it needs. A reply may
    /// take half of `buffer.memory`, so that must be said early.
    pub fn is_much_kept(&self) -> bool {
        self.kept() > self.limit() / 4
    }
}

/// Bytes of a partition on their way to the application: as long as a slice of them lives they are in the partition's
/// [`lent`](PartitionState::lent).
pub fn lend(bytes: Bytes, state: &Arc<PartitionState>) -> Bytes {
    state.lend(bytes.len() as u64);
    Bytes::from_owner(Lent {
        bytes,
        state: Arc::clone(state),
    })
}

struct Lent {
    bytes: Bytes,
    state: Arc<PartitionState>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.state.take_back(self.bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use record_batch::TopicPartition;

    use super::*;
    use crate::shared::SharedState;

    #[test]
    fn f014_what_is_alive_and_not_claimed_is_kept_by_the_application() {
        let memory = Memory::new(1000);
        let reply = memory.seal_reply(vec![0; 600]);
        let claim = memory.claim(600);
        let second = claim.clone();
        assert_eq!(memory.kept(), 0);
        let record = reply.slice(10..20);
        drop(reply);
        drop(claim);
        assert_eq!(memory.kept(), 0, "another partition of the reply is unread");
        drop(second);
        assert_eq!(memory.kept(), 600, "one record keeps all of it");
        assert!(memory.is_much_kept());
        drop(record);
        assert_eq!(memory.kept(), 0);
    }

    #[test]
    fn a_claim_that_outlives_its_bytes_is_not_less_than_nothing() {
        let memory = Memory::new(1000);
        let claim = memory.claim(600);
        assert_eq!(memory.kept(), 0);
        drop(claim);
        assert_eq!(memory.kept(), 0);
    }

    #[test]
    fn a_partition_knows_what_of_it_lives() {
        let state = Arc::new(SharedState::default().partition(TopicPartition::new("t", 0)));
        let bytes = lend(Bytes::from_static(b"twelve bytes"), &state);
        let slice = bytes.slice(0..6);
        drop(bytes);
        assert_eq!((&slice[..], state.lent()), (&b"twelve"[..], 12));
        drop(slice);
        assert_eq!(state.lent(), 0);
    }
}
