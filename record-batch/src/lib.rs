//! Zero-copy reader of Kafka record batches: v0, v1 and v2, every codec, nothing trusted.

mod batch_header;
mod buffers;
mod codec;
mod control;
mod decoded_batch;
mod decoder;
mod entries;
mod error;
mod legacy;
pub mod produced;
mod record;
mod record_headers;
mod scan;
mod topic_partition;
mod transactions;
mod v2;
mod varint;

pub use batch_header::{BatchHeader, Compression, TimestampType};
pub use buffers::{Buffers, FreshBuffers};
pub use control::ControlType;
pub use decoded_batch::{DecodedBatch, RecordCursor, Records};
pub use decoder::{DecodeOptions, Decoder};
pub use entries::{Entries, Entry, Tail, entries};
pub use error::{BatchError, BatchErrorKind, RecordProblem};
pub use record::{OwnedRecord, Record};
pub use record_headers::{Headers, HeadersIter, RecordHeader};
pub use scan::{Scan, scan};
pub use topic_partition::TopicPartition;
pub use transactions::{AbortedTransaction, TransactionFilter, Verdict};
