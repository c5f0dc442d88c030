//! Random values of the protocol's types, from a seed that proptest chooses and prints.

use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use uuid::Uuid;

pub(crate) struct Random(pub(crate) fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn i16(&mut self) -> i16 {
        self.0.i16(..)
    }

    pub(crate) fn i32(&mut self) -> i32 {
        // small and special values as often as large ones
        match self.0.u8(0..4) {
            0 => -1,
            1 => self.0.i32(0..100),
            _ => self.0.i32(..),
        }
    }

    pub(crate) fn i64(&mut self) -> i64 {
        match self.0.u8(0..4) {
            0 => -1,
            1 => self.0.i64(0..100),
            _ => self.0.i64(..),
        }
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.0.bool()
    }

    pub(crate) fn uuid(&mut self) -> Uuid {
        Uuid::from_u128(self.0.u128(1..))
    }

    pub(crate) fn text(&mut self) -> StrBytes {
        // now and then longer than one byte of a compact length can say
        let len = if self.0.u8(0..8) == 0 {
            200
        } else {
            self.0.usize(0..12)
        };
        let text: String = (0..len).map(|_| self.0.alphanumeric()).collect();
        StrBytes::from_string(text)
    }

    pub(crate) fn bytes(&mut self) -> Bytes {
        let len = if self.0.u8(0..8) == 0 {
            300
        } else {
            self.0.usize(0..20)
        };
        (0..len).map(|_| self.0.u8(..)).collect()
    }

    pub(crate) fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.bool().then(|| value(self))
    }

    pub(crate) fn list<T>(&mut self, mut value: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let len = self.0.usize(0..4);
        (0..len).map(|_| value(self)).collect()
    }

    /// Tagged fields with tags that no version knows. Encoded by flexible versions only.
    pub(crate) fn tags(&mut self) -> BTreeMap<i32, Bytes> {
        let count = self.0.usize(0..4).saturating_sub(1);
        (0..count)
            .map(|_| (self.0.i32(10..1000), self.bytes()))
            .collect()
    }
}
