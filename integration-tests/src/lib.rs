//! Suites against a real Apache Kafka, simulations and labs.
//!
//! The library part is what the suites share: [`Tally`], the count and checksum by which two readers of a log are compared, and, under the
//! feature `real-kafka`, the module `kafka`, which starts Apache Kafka and drives it with the Java client.

mod tally;

#[cfg(feature = "real-kafka")]
pub mod kafka;

pub use tally::Tally;
