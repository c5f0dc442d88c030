//! Keys of fetching: how much, how long, from where, and what memory it may take.

use std::time::Duration;

use session_actor::wire::fetch::IsolationLevel;

use super::ConsumerConfig;
use super::key::{ConfigKey, Field, Nature, Slot};
use super::kind::{Flag, Kind, Number, OneOf, Reset, Shown, Span, shown_by_copy};
use super::offset_reset::OffsetReset;
use super::section::{returned, section};

shown_by_copy!(IsolationLevel);

/// Below it a budget is smaller than one batch of a broker's default `message.max.bytes`, and every reply would
/// overdraw it.
const LEAST_BUFFER: u64 = 1_048_576;

section! {
    /// Fetching.
    Fetch in fetch, None;

    /// The broker answers as soon as it has this many bytes for a request.
    "fetch.min.bytes" => pub fetch_min_bytes: i32 = Number::int(0), 1;

    /// The broker answers after this time at the latest, however little it has.
    "fetch.max.wait.ms" => pub fetch_max_wait: Duration = Span::int_ms(0), Duration::from_millis(500);

    /// The most bytes in one response. A first batch that is larger is sent all the same, so that there is always
    /// progress (KIP-74).
    "fetch.max.bytes" => pub fetch_max_bytes: i32 = Number::int(0), 52_428_800;

    /// The most bytes per partition in one response, with the same exception. Twice as much is read ahead per
    /// partition.
    "max.partition.fetch.bytes" => pub max_partition_fetch_bytes: i32 = Number::int(0), 1_048_576;

    /// The most records that one `poll` gives.
    "max.poll.records" => pub max_poll_records: i32 = Number::int(1), 500;

    /// Where to begin in a partition without a valid position.
    "auto.offset.reset" => pub auto_offset_reset: OffsetReset = Reset, OffsetReset::Latest;

    /// Which records of transactions are read.
    "isolation.level" => pub isolation_level: IsolationLevel
        = OneOf::<IsolationLevel>::exactly(), IsolationLevel::ReadUncommitted;

    /// Whether each batch's checksum is verified before its records are given.
    "check.crcs" => pub check_crcs: bool = Flag, true;

    /// The most bytes of fetched records that are held at any time: asked for, buffered, or kept by the application
    /// (KIP-81).
    "buffer.memory" => pub buffer_memory: u64 = Number::long(LEAST_BUFFER), 67_108_864;

    /// The most bytes that one batch may decompress to; a larger one is an error that names its offset. The default
    /// is 128 times the compressed size that brokers allow by default.
    "max.decompressed.batch.bytes" => pub max_decompressed_batch_bytes: i32 = Number::int(1), 134_217_728;
}
