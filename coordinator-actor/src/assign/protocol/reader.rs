use std::sync::Arc;

use bytes::Bytes;
use record_batch::TopicPartition;

use crate::assign::AssignError;

/// Reads the consumer protocol's types, none longer than what is left.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a Bytes,
    rest: &'a [u8],
    message: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a Bytes, message: &'static str) -> Self {
        Self {
            bytes,
            rest: bytes,
            message,
        }
    }

    /// Anything from 0 on.
    pub(super) fn version(&mut self) -> Result<i16, AssignError> {
        let version = i16::from_be_bytes(self.array("version")?);
        if version < 0 {
            return Err(AssignError::UnsupportedVersion {
                message: self.message,
                version,
            });
        }
        Ok(version)
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, AssignError> {
        Ok(i32::from_be_bytes(self.array(field)?))
    }

    /// The number of elements of an array, as far as that many of at least `element` bytes can follow.
    pub(super) fn count(
        &mut self,
        field: &'static str,
        element: usize,
    ) -> Result<usize, AssignError> {
        let count = self.i32(field)?;
        let count = self.not_negative(count, field)?;
        let needed = count.saturating_mul(element);
        if needed > self.rest.len() {
            return Err(self.truncated(field, needed));
        }
        Ok(count)
    }

    pub(super) fn string(&mut self, field: &'static str) -> Result<&'a str, AssignError> {
        match self.nullable_string(field)? {
            Some(text) => Ok(text),
            None => Err(AssignError::NegativeLength {
                message: self.message,
                field,
                length: -1,
            }),
        }
    }

    pub(super) fn nullable_string(
        &mut self,
        field: &'static str,
    ) -> Result<Option<&'a str>, AssignError> {
        let length = i32::from(i16::from_be_bytes(self.array(field)?));
        if length == -1 {
            return Ok(None);
        }
        let length = self.not_negative(length, field)?;
        let text = std::str::from_utf8(self.take(length, field)?);
        text.map(Some).map_err(|_| AssignError::NotUtf8 {
            message: self.message,
            field,
        })
    }

    pub(super) fn nullable_bytes(
        &mut self,
        field: &'static str,
    ) -> Result<Option<Bytes>, AssignError> {
        let length = self.i32(field)?;
        if length == -1 {
            return Ok(None);
        }
        let length = self.not_negative(length, field)?;
        let taken = self.take(length, field)?;
        Ok(Some(self.bytes.slice_ref(taken)))
    }

    /// An array of topics with an array of partition numbers each.
    pub(super) fn partitions(
        &mut self,
        field: &'static str,
    ) -> Result<Vec<TopicPartition>, AssignError> {
        let mut partitions = Vec::new();
        // a topic has at least the lengths of its name and of its array
        for _ in 0..self.count(field, 6)? {
            let topic: Arc<str> = self.string(field)?.into();
            for _ in 0..self.count(field, 4)? {
                partitions.push(TopicPartition::new(Arc::clone(&topic), self.i32(field)?));
            }
        }
        Ok(partitions)
    }

    fn not_negative(&self, length: i32, field: &'static str) -> Result<usize, AssignError> {
        usize::try_from(length).map_err(|_| AssignError::NegativeLength {
            message: self.message,
            field,
            length,
        })
    }

    fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], AssignError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| self.truncated(field, length))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], AssignError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.truncated(field, N))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn truncated(&self, field: &'static str, needed: usize) -> AssignError {
        AssignError::Truncated {
            message: self.message,
            field,
            needed,
            left: self.rest.len(),
        }
    }
}
