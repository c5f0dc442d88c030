//! Suites against a real Apache Kafka, simulations and labs.
//!
//! The library part is what the suites share: [`read_to`] reads a topic with our consumer, [`Tally`] is the count and checksum by which two
//! readers of a log are compared, [`Proxy`] and [`Line`] stand between clients and a broker, and, under the feature `real-kafka`, the module `kafka`
//! starts Apache Kafka and drives it with the Java client.

mod line;
mod proxy;
mod reading;
mod tally;

#[cfg(feature = "real-kafka")]
pub mod kafka;

pub use line::Line;
pub use proxy::Proxy;
pub use reading::{Reading, read_to};
pub use tally::Tally;
