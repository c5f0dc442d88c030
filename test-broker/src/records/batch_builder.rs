use bytes::{BufMut, Bytes};
use record_batch::{Compression, produced};

use super::ProducerRecord;
use super::compress::compress;

const LOG_APPEND_TIME: i16 = 0b0000_1000;
const TRANSACTIONAL: i16 = 0b0001_0000;
const CONTROL: i16 = 0b0010_0000;

/// Builds one record batch of format v2, as a producer or a log cleaner would write it, or as neither would.
///
/// ```
/// use record_batch::Compression;
/// use test_broker::BatchBuilder;
///
/// // what compaction leaves of a batch of offsets 100 to 109
/// let batch = BatchBuilder::new()
///     .base_offset(100)
///     .compression(Compression::Lz4)
///     .record_at(3, ("key", "kept"))
///     .record_at(7, "kept too")
///     .last_offset_delta(9)
///     .build();
/// let header = record_batch::BatchHeader::parse(&batch)?;
/// assert_eq!((header.base_offset(), header.next_offset()), (100, 110));
/// assert_eq!(header.record_count(), Some(2));
/// # Ok::<_, record_batch::BatchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    base_offset: i64,
    leader_epoch: i32,
    compression: Compression,
    attributes: i16,
    producer: (i64, i16, i32),
    timestamp: i64,
    log_append_time: Option<i64>,
    last_offset_delta: Option<i32>,
    record_count: Option<i32>,
    records: Vec<(i32, ProducerRecord)>,
}

impl Default for BatchBuilder {
    fn default() -> Self {
        Self {
            base_offset: 0,
            leader_epoch: -1,
            compression: Compression::None,
            attributes: 0,
            producer: (-1, -1, -1),
            timestamp: 0,
            log_append_time: None,
            last_offset_delta: None,
            record_count: None,
            records: Vec::new(),
        }
    }
}

impl BatchBuilder {
    /// A batch without records at base offset 0, not compressed, of no producer, with timestamps of CreateTime.
    pub fn new() -> Self {
        Self::default()
    }

    /// The control batch that ends a transaction with COMMIT or ABORT (KIP-98). It takes one offset.
    ///
    /// ```
    /// use test_broker::BatchBuilder;
    ///
    /// let data = BatchBuilder::new().producer(7, 0, 0).transactional().record("aborted").build();
    /// let abort = BatchBuilder::end_transaction(7, 0, false).base_offset(1).build();
    /// # let _ = (data, abort);
    /// ```
    pub fn end_transaction(producer_id: i64, producer_epoch: i16, commit: bool) -> Self {
        // version 0, type ABORT 0 or COMMIT 1; version 0, coordinator epoch 0
        let key = [0, 0, 0, u8::from(commit)];
        let mut batch = Self::new()
            .producer(producer_id, producer_epoch, -1)
            .transactional()
            .record((&key, &[0; 6]));
        batch.attributes |= CONTROL;
        batch
    }

    /// The offset that the deltas of the records count from.
    pub fn base_offset(mut self, offset: i64) -> Self {
        self.base_offset = offset;
        self
    }

    /// `partitionLeaderEpoch`: the epoch of the leader that appended it; -1, none, by default.
    pub fn leader_epoch(mut self, epoch: i32) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// The codec; snappy in the framing of the Java producer.
    pub fn compression(mut self, codec: Compression) -> Self {
        self.compression = codec;
        self
    }

    /// Id, epoch and first sequence number of an idempotent or transactional producer.
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer = (id, epoch, base_sequence);
        self
    }

    /// Marks it as a part of a transaction of its producer.
    pub fn transactional(mut self) -> Self {
        self.attributes |= TRANSACTIONAL;
        self
    }

    /// The time in ms of records that have none of their own; 0 by default.
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Makes it a batch of LogAppendTime: all records have this time in ms, whatever their own.
    pub fn log_append_time(mut self, timestamp: i64) -> Self {
        self.attributes |= LOG_APPEND_TIME;
        self.log_append_time = Some(timestamp);
        self
    }

    /// Adds a record one offset behind the last one.
    pub fn record(self, record: impl Into<ProducerRecord>) -> Self {
        let last = self.records.last();
        let delta = last.map_or(0, |(delta, _)| delta.saturating_add(1));
        self.record_at(delta, record)
    }

    /// Adds a record `offset_delta` behind the base offset.
    pub fn record_at(mut self, offset_delta: i32, record: impl Into<ProducerRecord>) -> Self {
        self.records.push((offset_delta, record.into()));
        self
    }

    /// The last offset of the batch less its base offset; that of the last record by default. Compaction keeps it when
    /// it removes records.
    pub fn last_offset_delta(mut self, delta: i32) -> Self {
        self.last_offset_delta = Some(delta);
        self
    }

    /// What the batch claims to be the number of its records, to make a claim that is wrong.
    pub fn record_count(mut self, count: i32) -> Self {
        self.record_count = Some(count);
        self
    }

    /// How many records it has.
    pub(crate) fn records(&self) -> usize {
        self.records.len()
    }

    /// The bytes of the batch, with the right CRC.
    ///
    /// # Panics
    /// If its records take more than 2 GiB, which no batch can have.
    pub fn build(&self) -> Bytes {
        let times = self.records.iter().map(|(_, record)| self.time_of(record));
        let base_timestamp = times.clone().next().unwrap_or(self.timestamp);
        let max_timestamp = match self.log_append_time {
            Some(time) => time,
            None => times.max().unwrap_or(self.timestamp),
        };
        let mut records = Vec::new();
        let mut scratch = Vec::new();
        for (offset_delta, record) in &self.records {
            let timestamp_delta = self.time_of(record).wrapping_sub(base_timestamp);
            scratch.clear();
            put_record(&mut scratch, timestamp_delta, *offset_delta, record);
            put_varint(&mut records, scratch.len() as i64);
            records.extend_from_slice(&scratch);
        }
        let records = compress(self.compression, records).expect("a codec that writes to memory");

        let last_record = self.records.last().map_or(0, |(delta, _)| *delta);
        let (producer_id, producer_epoch, base_sequence) = self.producer;
        let mut batch = Vec::with_capacity(61 + records.len());
        batch.put_i64(self.base_offset);
        batch.put_i32(i32::try_from(49 + records.len()).expect("a batch of less than 2 GiB"));
        batch.put_i32(self.leader_epoch);
        batch.put_i8(2);
        batch.put_u32(0);
        batch.put_i16(self.attributes | i16::from(self.compression.id()));
        batch.put_i32(self.last_offset_delta.unwrap_or(last_record));
        batch.put_i64(base_timestamp);
        batch.put_i64(max_timestamp);
        batch.put_i64(producer_id);
        batch.put_i16(producer_epoch);
        batch.put_i32(base_sequence);
        batch.put_i32(self.record_count.unwrap_or(self.records.len() as i32));
        batch.extend(records);
        produced::write_crc(&mut batch).expect("one whole batch");
        Bytes::from(batch)
    }

    fn time_of(&self, record: &ProducerRecord) -> i64 {
        record.timestamp.unwrap_or(self.timestamp)
    }
}

fn put_record(
    buffer: &mut Vec<u8>,
    timestamp_delta: i64,
    offset_delta: i32,
    record: &ProducerRecord,
) {
    buffer.put_i8(0);
    put_varint(buffer, timestamp_delta);
    put_varint(buffer, i64::from(offset_delta));
    put_nullable(buffer, record.key.as_deref());
    put_nullable(buffer, record.value.as_deref());
    put_varint(buffer, record.headers.len() as i64);
    for (name, value) in &record.headers {
        put_nullable(buffer, Some(name));
        put_nullable(buffer, value.as_deref());
    }
}

fn put_nullable(buffer: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_varint(buffer, bytes.len() as i64);
            buffer.extend_from_slice(bytes);
        }
        None => put_varint(buffer, -1),
    }
}

/// Zigzag, seven bits a byte, least significant first.
fn put_varint(buffer: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        buffer.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    buffer.push(rest as u8);
}
