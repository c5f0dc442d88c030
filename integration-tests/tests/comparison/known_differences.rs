//! What differs between the test broker and Apache Kafka 4.4.0, and why that may be.

use crate::engine::Known;

/// Each has to occur; whatever else differs is a failure.
pub(crate) const KNOWN_DIFFERENCES: [Known; 0] = [];
