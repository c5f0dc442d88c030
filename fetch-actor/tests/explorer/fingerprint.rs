//! What makes two states the same.
//!
//! Machines name things by counters that only rise: tickets, epochs, plans, request numbers. Two states that differ in nothing
//! but how far these have come behave alike, since a machine only compares them and takes the next. So a fingerprint does not see
//! the numbers but their order: equal stays equal, less stays less. That is what makes a long poll that expires and is sent
//! again lead back to a state that was seen.
//!
//! Counters are told from other numbers by their size: [`World`](crate::world::World) chooses sizes in bytes, durations and
//! node ids of at least [`COUNTERS`], or 0. (Arrays of integers are hashed as bytes, so counters in them would count as they
//! are; there are none.)

use std::cell::{Cell, OnceCell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A `u64` or `i32` from 1 up to this is a counter.
pub(crate) const COUNTERS: u64 = 1 << 16;

const COUNTER_64: u64 = 1 << 63;
const COUNTER_32: u64 = 1 << 62;
const PLAIN: u64 = COUNTER_32 - 1;

/// A part of a state that its copies share until one of them changes it.
#[derive(Debug)]
pub(crate) struct Shared<T>(Rc<Part<T>>);

#[derive(Debug)]
struct Part<T> {
    value: T,
    tape: OnceCell<Box<[u64]>>,
    is_known: Cell<bool>,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Clone> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            tape: OnceCell::new(),
            is_known: Cell::new(false),
        }
    }
}

impl<T: Clone + Hash> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Rc::new(Part {
            value,
            tape: OnceCell::new(),
            is_known: Cell::new(false),
        }))
    }

    pub(crate) fn get(&self) -> &T {
        &self.0.value
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        let part = Rc::make_mut(&mut self.0);
        part.tape.take();
        part.is_known.set(false);
        &mut part.value
    }

    /// Whether this was not asked since it changed, in this state or in one that it was copied to.
    pub(crate) fn is_new(&self) -> bool {
        !self.0.is_known.replace(true)
    }

    fn tape(&self) -> &[u64] {
        self.0.tape.get_or_init(|| {
            let mut tape = Tape(Vec::with_capacity(256));
            self.0.value.hash(&mut tape);
            tape.0.into()
        })
    }
}

/// Writes down what is hashed, word by word.
struct Tape(Vec<u64>);

impl Hasher for Tape {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(7) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0.push(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.0.push(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.0.push(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.0.push(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0.push(if (1..COUNTERS).contains(&value) {
            COUNTER_64 | value
        } else {
            value & PLAIN
        });
    }

    fn write_usize(&mut self, value: usize) {
        self.0.push(value as u64 & PLAIN);
    }

    fn write_i16(&mut self, value: i16) {
        self.0.push(value as u64 & PLAIN);
    }

    fn write_i32(&mut self, value: i32) {
        self.0.push(if (1..COUNTERS as i32).contains(&value) {
            COUNTER_32 | value as u64
        } else {
            value as u64 & PLAIN
        });
    }

    fn write_i64(&mut self, value: i64) {
        self.0.push(value as u64 & PLAIN);
    }

    fn write_isize(&mut self, value: isize) {
        self.0.push(value as u64 & PLAIN);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Which counters a state has, and the place of each in their order.
struct Ranks {
    bits: Vec<u64>,
    before: Vec<u32>,
}

impl Ranks {
    fn new() -> Self {
        let words = (COUNTERS / 64) as usize;
        Self {
            bits: vec![0; words],
            before: vec![0; words],
        }
    }

    fn note(&mut self, counter: u64) {
        self.bits[(counter / 64) as usize] |= 1 << (counter % 64);
    }

    fn count(&mut self) {
        let mut sum = 0;
        for (bits, before) in self.bits.iter().zip(&mut self.before) {
            *before = sum;
            sum += bits.count_ones();
        }
    }

    fn rank(&self, counter: u64) -> u64 {
        let word = (counter / 64) as usize;
        let below = self.bits[word] & ((1 << (counter % 64)) - 1);
        u64::from(self.before[word] + below.count_ones())
    }
}

thread_local! {
    static RANKS: RefCell<[Ranks; 2]> = RefCell::new([Ranks::new(), Ranks::new()]);
}

/// Collects the parts of a state.
pub(crate) struct Fingerprint<'a> {
    tapes: Vec<&'a [u64]>,
    own: Tape,
}

impl<'a> Fingerprint<'a> {
    pub(crate) fn new() -> Self {
        Self {
            tapes: Vec::with_capacity(16),
            own: Tape(Vec::with_capacity(256)),
        }
    }

    pub(crate) fn part<T: Clone + Hash>(&mut self, part: &'a Shared<T>) {
        self.tapes.push(part.tape());
    }

    pub(crate) fn value(&mut self, value: &impl Hash) {
        value.hash(&mut self.own);
    }

    pub(crate) fn finish(self) -> u64 {
        RANKS.with_borrow_mut(|[wide, narrow]| {
            let own = &self.own.0[..];
            let tapes = || self.tapes.iter().copied().chain([own]);
            let words = || tapes().flatten().copied();
            wide.bits.fill(0);
            narrow.bits.fill(0);
            for word in words() {
                if word & COUNTER_64 != 0 {
                    wide.note(word & PLAIN);
                } else if word & COUNTER_32 != 0 {
                    narrow.note(word & PLAIN);
                }
            }
            wide.count();
            narrow.count();
            let mut sum: u64 = 0x9e37_79b9_7f4a_7c15;
            for tape in tapes() {
                sum = mix(sum, tape.len() as u64);
                for &word in tape {
                    let seen = if word & COUNTER_64 != 0 {
                        COUNTER_64 | wide.rank(word & PLAIN)
                    } else if word & COUNTER_32 != 0 {
                        COUNTER_32 | narrow.rank(word & PLAIN)
                    } else {
                        word
                    };
                    sum = mix(sum, seen);
                }
            }
            sum
        })
    }
}

/// One round: a 64 by 64 bit multiply, both halves folded.
fn mix(sum: u64, word: u64) -> u64 {
    let product =
        u128::from(sum ^ 0xa076_1d64_78bd_642f) * u128::from(word ^ 0xe703_7ed1_a0b4_28db);
    (product as u64) ^ ((product >> 64) as u64) ^ sum.rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(value: &impl Hash) -> u64 {
        let mut print = Fingerprint::new();
        print.value(value);
        print.finish()
    }

    #[test]
    fn counters_count_by_their_order_alone() {
        assert_eq!(print(&(3u64, 9u64, 3u64)), print(&(10u64, 11u64, 10u64)));
        assert_ne!(print(&(3u64, 9u64, 3u64)), print(&(9u64, 3u64, 9u64)));
        assert_ne!(print(&(3u64, 9u64, 3u64)), print(&(3u64, 9u64, 9u64)));
        assert_eq!(print(&(5i32, 7u64)), print(&(1i32, 1u64)));
    }

    #[test]
    fn everything_else_counts_as_it_is() {
        assert_ne!(print(&70_000u64), print(&70_001u64));
        assert_ne!(print(&0u64), print(&1u64));
        assert_ne!(print(&1i64), print(&2i64));
        assert_ne!(print(&"a"), print(&"b"));
        assert_ne!(print(&1u8), print(&2u8));
    }
}
