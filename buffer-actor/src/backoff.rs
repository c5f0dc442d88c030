//! Exponential backoff with jitter (KIP-580), as a pure function of the attempt and a random number.

use std::time::Duration;

/// `retry.backoff.ms` .. `retry.backoff.max.ms`, or their `reconnect.` counterparts: base 2, jitter of 20 % either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// The delay before the first retry.
    pub base: Duration,
    /// The delay grows to this and no further (before jitter).
    pub max: Duration,
}

impl Backoff {
    /// The delay before retry number `attempt` (0 is the first). `random` is any number, evenly spread.
    pub fn delay(&self, attempt: u32, random: u64) -> Duration {
        let base = u64::try_from(self.base.as_micros()).unwrap_or(u64::MAX);
        let max = u64::try_from(self.max.as_micros())
            .unwrap_or(u64::MAX)
            .max(base);
        let grown = base.saturating_mul(1 << attempt.min(20)).min(max);
        // 80 % to 120 % in steps of a thousandth
        let permille = 800 + random % 401;
        Duration::from_micros(
            u64::try_from(u128::from(grown) * u128::from(permille) / 1000).unwrap_or(u64::MAX),
        )
    }
}

/// A small generator for jitter: no entropy, no clock, so that a machine that holds one stays reproducible.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Jitter(u64);

impl Jitter {
    /// A generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// The next number (xorshift64).
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_by_two_up_to_the_maximum_within_the_jitter() {
        let backoff = Backoff {
            base: Duration::from_millis(100),
            max: Duration::from_millis(1000),
        };
        let mut jitter = Jitter::new(7);
        for (attempt, middle) in [
            (0, 100),
            (1, 200),
            (2, 400),
            (3, 800),
            (4, 1000),
            (40, 1000),
        ] {
            for _ in 0..100 {
                let delay = backoff.delay(attempt, jitter.next());
                assert!(
                    delay >= Duration::from_millis(middle * 8 / 10),
                    "{attempt}: {delay:?}"
                );
                assert!(
                    delay <= Duration::from_millis(middle * 12 / 10),
                    "{attempt}: {delay:?}"
                );
            }
        }
    }

    #[test]
    fn a_maximum_below_the_base_and_huge_values_do_not_overflow() {
        let odd = Backoff {
            base: Duration::from_millis(100),
            max: Duration::ZERO,
        };
        assert!(odd.delay(5, 400) >= Duration::from_millis(100));
        let huge = Backoff {
            base: Duration::MAX,
            max: Duration::MAX,
        };
        assert!(huge.delay(u32::MAX, u64::MAX) > Duration::from_secs(1 << 30));
        let zero = Backoff {
            base: Duration::ZERO,
            max: Duration::ZERO,
        };
        assert_eq!(zero.delay(3, 5), Duration::ZERO);
    }
}
