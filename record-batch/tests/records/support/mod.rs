//! What the tests share: an encoder, the vectors, and a reader that goes over a `records` field as a consumer does.

pub(crate) mod consume;
pub(crate) mod encoder;
pub(crate) mod vectors;
