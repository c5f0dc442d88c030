//! Tests of the reader as its users see it. Right values come from the vectors of `tests/fixtures.txt`, which other
//! decoders confirmed, and from an encoder that shares no code with the reader.
//!
//! Names that begin with `f` or `b` and a number are items of the project's lists of field reports and of behaviour.

mod allocations;
mod bombs;
mod compression;
mod corruption;
mod entries;
mod fixtures;
mod legacy;
mod offsets;
mod produced;
mod properties;
mod records;
mod support;
mod transactions;
