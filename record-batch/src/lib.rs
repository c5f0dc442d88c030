//! Zero-copy reader of Kafka record batches: v0, v1 and v2, every codec, nothing trusted.

mod batch_header;
mod entries;
mod error;
pub mod produced;
mod scan;
mod topic_partition;

pub use batch_header::{BatchHeader, Compression, TimestampType};
pub use entries::{Entries, Entry, Tail, entries};
pub use error::{BatchError, BatchErrorKind, RecordProblem};
pub use scan::{Scan, scan};
pub use topic_partition::TopicPartition;
