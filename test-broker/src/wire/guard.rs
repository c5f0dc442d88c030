//! The check of a request before it is decoded.
//!
//! The decoder of crate `kafka-protocol` allocates what the count of an array claims: eight bytes suffice to abort the
//! process, and that cannot be caught. So a request is first walked over by its layout (`schema`), and each count and
//! length held against the bytes that are there. What passes is decoded along the same path, so that every count that
//! the decoder allocates for was seen here.

use kafka_protocol::messages::ApiKey;

use super::schema::{Reader, layout_of};

/// Elements of all arrays and tagged fields of one request together. A decoded one takes some hundred bytes, its encoding
/// as few as two, so that the frame's size alone does not bound the memory.
const MAX_ELEMENTS: usize = 1_000_000;

/// Why a request is refused before it is decoded. The connection is closed, as a real broker does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the request ends within a field")]
    Cut,
    #[error("a length below -1")]
    NegativeLength,
    #[error("an array of {count} elements in {left} bytes")]
    Count { count: usize, left: usize },
    #[error("more than {MAX_ELEMENTS} array elements and tagged fields in one request")]
    TooManyElements,
    #[error("a variable-length integer of more than 32 bits")]
    Varint,
    #[error("tagged field {number} is not {size} bytes long")]
    TagSize { number: u32, size: usize },
    #[error("the request cannot be decoded: {0}")]
    Undecodable(String),
}

/// How many array elements and tagged fields a request may still have.
pub(super) struct Budget {
    elements: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            elements: MAX_ELEMENTS,
        }
    }
}

impl Budget {
    pub(super) fn spend(&mut self, elements: usize) -> Result<(), Malformed> {
        let left = self.elements.checked_sub(elements);
        self.elements = left.ok_or(Malformed::TooManyElements)?;
        Ok(())
    }
}

/// Checks the body of a request of `api`, which must be one that the broker answers in `version`.
pub(crate) fn check(api: ApiKey, version: i16, body: &[u8]) -> Result<(), Malformed> {
    let Some(layout) = layout_of(api) else {
        return Err(Malformed::Undecodable(format!("{api:?} is not served")));
    };
    layout.check(&mut Reader::new(body), version, &mut Budget::default())
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
