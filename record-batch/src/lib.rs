//! Zero-copy reader of Kafka record batches: v0, v1 and v2, every codec, nothing trusted.
//!
//! It reads what a Fetch response has in its `records` field for one partition. It does no I/O and knows neither broker
//! nor topic. There are three levels, each of which does no more than it must:
//!
//! 1. [`scan`] and [`entries`] look at headers only: the next offset to fetch, which batches there are, and what a
//!    [`TransactionFilter`] makes of them.
//! 2. [`Decoder::decode`] checks the CRC of one batch, decompresses it, and checks all its records. Batches that the
//!    application will not see are not decoded at all.
//! 3. [`DecodedBatch::records`] yields views of the records, without an allocation, and cannot fail. It may stop after
//!    any record and go on later from a [`RecordCursor`].
//!
//! ```
//! use bytes::Bytes;
//! use record_batch::{
//!     AbortedTransaction, BatchError, DecodeOptions, Decoder, FreshBuffers, TransactionFilter, Verdict, entries, scan,
//! };
//!
//! /// Everything that an application with `isolation.level=read_committed` may see from `position` on.
//! fn read(
//!     records: &Bytes,
//!     position: i64,
//!     aborted: Vec<AbortedTransaction>,
//! ) -> Result<(), BatchError> {
//!     let mut decoder = Decoder::new(DecodeOptions::default());
//!     let mut filter = TransactionFilter::read_committed(aborted);
//!     for entry in entries(records) {
//!         let entry = entry?;
//!         let verdict = filter.judge(entry.header());
//!         if verdict == Verdict::Skip || entry.header().is_before(position) {
//!             continue;
//!         }
//!         let batch = decoder.decode(records, &entry, &mut FreshBuffers)?;
//!         if verdict == Verdict::ReadMarker {
//!             filter.marker(entry.header(), batch.control_type()?);
//!             continue;
//!         }
//!         for record in batch.records_from(batch.cursor_at(position)) {
//!             println!("{}: {:?} = {:?}", record.offset(), record.key(), record.value());
//!         }
//!     }
//!     println!("next offset: {}", scan(records, position).next_offset);
//!     Ok(())
//! }
//! # // base 100, lastOffsetDelta 9: only offset 103 survived compaction
//! # let gap = b"\0\0\0\0\0\0\0\x64\0\0\0\x3a\0\0\0\0\x02\xec\x0e\x84\xb8\0\0\0\0\0\x09\0\0\x01\x8b\xcf\xe5\x68\0\0\0\x01\
//! #     \x8b\xcf\xe5\x68\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x01\x10\0\0\x06\x02k\x02v\0";
//! # read(&Bytes::from_static(gap), 100, vec![]).unwrap();
//! # assert_eq!(scan(gap, 100).next_offset, 110);
//! ```
//!
//! # What is trusted
//! Nothing. Declared counts and lengths are compared with the bytes there are before they are used; no memory is
//! allocated by them. Decompression is bounded by a cap. An entry that is not sound is an error ([`BatchError`]) that
//! says which offsets it covers and what is wrong; the entries before it are not affected by it, and the position of a
//! consumer stays before it until the application seeks over it.
//!
//! # Positions
//! The offset after a batch is its last offset + 1, from its header ([`BatchHeader::next_offset`]), never that of its
//! last record + 1: compaction removes records, or all of them, and leaves the header. And a batch is sent whole even
//! if it begins below the offset asked for: [`DecodedBatch::cursor_at`].

mod batch_header;
mod buffers;
mod codec;
mod control;
mod crc;
mod decoded_batch;
mod decoder;
mod entries;
mod error;
mod legacy;
mod marks;
pub mod produced;
mod reader;
mod record;
mod record_headers;
mod scan;
mod topic_partition;
mod transactions;
mod v2;

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
