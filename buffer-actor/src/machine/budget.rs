//! The byte budget (KIP-81): what is reserved for requests in flight and what is alive of replies.

/// Shares are not cut below this while memory is scarce: small requests waste, since the broker cuts the last batch.
const SMALLEST_USEFUL: u64 = 1 << 20;

/// Bytes that the framing of a reply may take: a fixed part, and for each partition its fields, its share of the topic's
/// name or id, and the longest tagged fields that a broker sends.
pub(super) const fn framing(partitions: usize) -> u64 {
    (partitions as u64).saturating_mul(160).saturating_add(256)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    limit: u64,
    /// Set aside for requests in flight.
    reserved: u64,
    /// Alive: buffered, leased, kept by the application, and decompressed.
    held: i64,
}

/// How much a request may ask for, before its framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    /// What it would like.
    pub(super) most: u64,
    /// What it takes rather than wait.
    pub(super) least: u64,
    /// Never below it, however scarce memory is.
    pub(super) floor: u64,
}

impl Budget {
    pub(super) const fn new(limit: u64) -> Self {
        Self {
            limit,
            reserved: 0,
            held: 0,
        }
    }

    pub(super) const fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(super) fn used(&self) -> u64 {
        self.reserved + u64::try_from(self.held).unwrap_or(0)
    }

    pub(super) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    pub(super) const fn reserve(&mut self, bytes: u64) {
        self.reserved += bytes;
    }

    /// A request ended: what it had reserved comes back, what it received is alive.
    pub(super) fn convert(&mut self, reserved: u64, received: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.held = self.held.saturating_add_unsigned(received);
    }

    /// Bytes came to life outside a request: a batch was decompressed.
    pub(super) const fn charge(&mut self, bytes: u64) {
        self.held = self.held.saturating_add_unsigned(bytes);
    }

    /// The last slice of a buffer was dropped. May come before the reply it belonged to was converted.
    pub(super) const fn release(&mut self, bytes: u64) {
        self.held = self.held.saturating_sub_unsigned(bytes);
    }

    /// What is free for the records of a request for `partitions`, its framing taken off.
    pub(super) fn free_for(&self, partitions: usize) -> u64 {
        self.free().saturating_sub(framing(partitions))
    }

    /// Sizes a request for `partitions` of one of `nodes` nodes in use.
    pub(super) fn wish(
        &self,
        nodes: usize,
        partitions: usize,
        fetch_max: u32,
        partition_max: u32,
        largest: u64,
    ) -> Wish {
        let share = (self.limit / (2 * nodes.max(1) as u64)).max(1);
        let most = u64::from(fetch_max)
            .min((partitions as u64).saturating_mul(u64::from(partition_max)))
            .min(share)
            .max(1);
        // A node whose batches are larger than its share would starve the others if it reserved them: its replies wait at
        // their length instead.
        let floor = largest.min(share).max(1);
        let most = most.max(floor);
        let least = if self.free_for(partitions) < self.limit / 2 {
            most.min(SMALLEST_USEFUL).max(floor)
        } else {
            most
        };
        Wish { most, least, floor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_wish_is_the_smallest_of_the_three_limits() {
        // limit, nodes, partitions, fetch.max, partition.max -> most
        let table = [
            (64 * MIB, 1, 4, 50 << 20, 1 << 20, 4 * MIB),
            (64 * MIB, 1, 100, 50 << 20, 1 << 20, 32 * MIB),
            (64 * MIB, 4, 100, 50 << 20, 1 << 20, 8 * MIB),
            (64 * MIB, 1, 100, 1 << 20, 1 << 20, MIB),
            (MIB, 2, 4, 50 << 20, 1 << 20, MIB / 4),
        ];
        for (limit, nodes, partitions, fetch, partition, most) in table {
            let wish = Budget::new(limit).wish(nodes, partitions, fetch, partition, 0);
            assert_eq!((wish.most, wish.least), (most, most));
        }
    }

    #[test]
    fn it_shrinks_only_when_over_half_is_used_and_never_below_a_mebibyte_or_the_largest_batch() {
        let mut budget = Budget::new(64 * MIB);
        budget.reserve(33 * MIB);
        let wish = budget.wish(1, 8, 50 << 20, 1 << 20, 0);
        assert_eq!((wish.most, wish.least), (8 * MIB, MIB));
        assert_eq!(budget.wish(1, 8, 50 << 20, 1 << 20, 3 * MIB).least, 3 * MIB);
        assert_eq!(budget.free(), 31 * MIB);
        // a share of half the budget does not fit beside its framing when exactly the other half is in use
        let mut half = Budget::new(64 * MIB);
        half.reserve(32 * MIB);
        assert_eq!(half.wish(1, 64, 50 << 20, 1 << 20, 0).least, MIB);
    }

    #[test]
    fn bytes_released_before_their_reply_is_converted_are_not_lost() {
        let mut budget = Budget::new(100);
        budget.reserve(60);
        budget.release(40);
        assert_eq!(budget.used(), 60);
        budget.convert(60, 40);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn hostile_numbers_do_not_overflow() {
        let budget = Budget::new(u64::MAX);
        let wish = budget.wish(0, usize::MAX, u32::MAX, u32::MAX, u64::MAX);
        assert!(wish.most >= wish.least);
    }
}
