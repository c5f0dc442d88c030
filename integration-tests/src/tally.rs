//! Count and checksum of the records of a log.

/// How many records were read, how many bytes, and a checksum on which two readers of the same log agree.
///
/// ```
/// use integration_tests::Tally;
///
/// let mut tally = Tally::default();
/// tally.add(0, Some(3), Some(10));
/// tally.add(1, None, None); // a tombstone without a key counts its offset only
/// assert_eq!(tally.records, 2);
/// assert_eq!(tally.checksum(), 1 + 31 * 3 + 1_000_003 * 10);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "real-kafka",
    derive(serde::Deserialize),
    serde(try_from = "Wire")
)]
pub struct Tally {
    /// Number of records.
    pub records: u64,
    /// Sum of the lengths of all keys, a null counting 0.
    pub key_bytes: u64,
    /// Sum of the lengths of all values, a null counting 0.
    pub value_bytes: u64,
    offsets: u64,
}

impl Tally {
    /// Counts one record: its offset and the lengths of its key and value, `None` for null.
    pub fn add(&mut self, offset: i64, key: Option<usize>, value: Option<usize>) {
        let length = |bytes: Option<usize>| bytes.map_or(0, |length| length as u64);
        self.records += 1;
        self.key_bytes = self.key_bytes.wrapping_add(length(key));
        self.value_bytes = self.value_bytes.wrapping_add(length(value));
        self.offsets = self.offsets.wrapping_add_signed(offset);
    }

    /// Counts what another tally counted, too.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.key_bytes = self.key_bytes.wrapping_add(other.key_bytes);
        self.value_bytes = self.value_bytes.wrapping_add(other.value_bytes);
        self.offsets = self.offsets.wrapping_add(other.offsets);
    }

    /// The wrapping 64-bit sum of all offsets + 31 × all key lengths + 1,000,003 × all value lengths, a null counting 0.
    pub fn checksum(&self) -> u64 {
        self.offsets
            .wrapping_add(self.key_bytes.wrapping_mul(31))
            .wrapping_add(self.value_bytes.wrapping_mul(1_000_003))
    }
}

/// A tally as the Java helper writes it: the checksum is a decimal string, since JSON readers may round a large number.
#[cfg(feature = "real-kafka")]
#[derive(serde::Deserialize)]
struct Wire {
    records: u64,
    key_bytes: u64,
    value_bytes: u64,
    checksum: String,
}

#[cfg(feature = "real-kafka")]
impl TryFrom<Wire> for Tally {
    type Error = std::num::ParseIntError;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let checksum: u64 = wire.checksum.parse()?;
        Ok(Self {
            records: wire.records,
            key_bytes: wire.key_bytes,
            value_bytes: wire.value_bytes,
            offsets: checksum
                .wrapping_sub(wire.key_bytes.wrapping_mul(31))
                .wrapping_sub(wire.value_bytes.wrapping_mul(1_000_003)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn merging_is_counting_both() {
        let (mut a, mut b, mut both) = (Tally::default(), Tally::default(), Tally::default());
        a.add(7, Some(1), Some(2));
        b.add(9, Some(3), None);
        both.add(7, Some(1), Some(2));
        both.add(9, Some(3), None);
        a.merge(&b);
        assert_eq!(a, both);
        assert_eq!(a.checksum(), 16 + 31 * 4 + 1_000_003 * 2);
    }

    #[test]
    fn the_sum_wraps() {
        let mut tally = Tally::default();
        tally.add(i64::MAX, None, None);
        tally.add(i64::MAX, None, None);
        tally.add(5, None, None);
        assert_eq!(tally.checksum(), 3);
    }
}
