//! What a reader counted, comparable with what any other Kafka client counts.

use std::fmt;

use consumer_app::Record;

/// Records, bytes of keys and values, and a checksum that does not depend on the order of partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Wrapping sum of all offsets + 31 x all key lengths + 1,000,003 x all value lengths, a null counting 0.
    pub(super) checksum: u64,
}

impl Tally {
    pub(super) fn add(&mut self, record: &Record<'_>) {
        let key = record.key().map_or(0, <[u8]>::len);
        let value = record.value().map_or(0, <[u8]>::len);
        self.count(record.offset(), key, value);
    }

    pub(super) fn count(&mut self, offset: i64, key: usize, value: usize) {
        let (key, value) = (key as u64, value as u64);
        self.records += 1;
        self.bytes += key + value;
        self.checksum = self
            .checksum
            .wrapping_add(offset.cast_unsigned())
            .wrapping_add(key.wrapping_mul(31))
            .wrapping_add(value.wrapping_mul(1_000_003));
    }
}

/// How fast something was read, for people.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    records_per_second: f64,
    bytes_per_second: f64,
}

impl Rate {
    pub(super) fn of(records: u64, bytes: u64, seconds: f64) -> Self {
        Self {
            records_per_second: records as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} million records/s, {:.0} MB/s",
            self.records_per_second / 1e6,
            self.bytes_per_second / 1e6
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_sum_that_all_peers_agree_on() {
        let mut tally = Tally::default();
        tally.count(7, 3, 2);
        tally.count(8, 0, 0);
        assert_eq!(tally.checksum, 7 + 31 * 3 + 1_000_003 * 2 + 8);
        assert_eq!((tally.records, tally.bytes), (2, 5));
    }
}
