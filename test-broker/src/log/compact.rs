use std::collections::HashMap;

use bytes::Bytes;
use record_batch::{
    BatchHeader, Compression, DecodedBatch, Decoder, FreshBuffers, TimestampType, entries,
};

use super::PartitionLog;
use crate::records::{BatchBuilder, ProducerRecord};

impl PartitionLog {
    /// Compacts the log as the cleaner does: of each key the last record stays, of records without a key all. Batches
    /// keep their offsets; one that is left without records goes, unless it is the last of its producer, which stays
    /// empty so that the sequence numbers are known. Batches of transactions and control batches stay as they are.
    ///
    /// The number of records removed.
    pub(crate) fn compact(&mut self, decoder: &mut Decoder) -> usize {
        let mut latest: HashMap<Bytes, i64> = HashMap::new();
        let decoded: Vec<Option<DecodedBatch>> = self
            .batches
            .iter()
            .map(|batch| {
                let header = &batch.header;
                if header.magic() != 2 || header.is_control() || header.is_transactional() {
                    return None;
                }
                let entry = entries(&batch.bytes).next()?.ok()?;
                decoder.decode(&batch.bytes, &entry, &mut FreshBuffers).ok()
            })
            .collect();
        for record in decoded.iter().flatten().flat_map(DecodedBatch::records) {
            if let Some(key) = record.key() {
                latest.insert(Bytes::copy_from_slice(key), record.offset());
            }
        }
        let last_of_producer: HashMap<i64, i64> = self
            .batches
            .iter()
            .filter_map(|batch| Some((batch.header.producer_id()?, batch.header.base_offset())))
            .collect();
        let mut removed = 0;
        let mut decoded = decoded.into_iter();
        self.batches.retain_mut(|batch| {
            let Some(old) = decoded.next().flatten() else {
                return true;
            };
            let rewritten = rewrite(&old, &latest);
            let kept = rewritten.records();
            removed += old.len() - kept;
            let header = old.header();
            let last_of_its_producer = header
                .producer_id()
                .and_then(|producer| last_of_producer.get(&producer))
                == Some(&header.base_offset());
            if kept == old.len() {
                return true;
            }
            if kept == 0 && !last_of_its_producer {
                return false;
            }
            batch.bytes = rewritten.build();
            if let Ok(header) = BatchHeader::parse(&batch.bytes) {
                batch.header = header;
            }
            true
        });
        self.rebuild(decoder);
        removed
    }
}

/// The batch without the records that are not the latest of their key.
fn rewrite(old: &DecodedBatch, latest: &HashMap<Bytes, i64>) -> BatchBuilder {
    let header = old.header();
    let mut batch = BatchBuilder::new()
        .base_offset(header.base_offset())
        .last_offset_delta(header.last_offset_delta())
        .leader_epoch(header.partition_leader_epoch().unwrap_or(-1))
        .timestamp(header.max_timestamp());
    if let Some(codec) = header.compression() {
        batch = batch.compression(codec);
    }
    if let Some(producer) = header.producer_id() {
        batch = batch.producer(producer, header.producer_epoch(), header.base_sequence());
    }
    if header.timestamp_type() == TimestampType::LogAppendTime {
        batch = batch.log_append_time(header.max_timestamp());
    }
    for record in old.records() {
        let superseded = |key| latest.get(key).is_some_and(|last| *last != record.offset());
        if record.key().is_some_and(superseded) {
            continue;
        }
        let mut copy = ProducerRecord {
            key: record.key().map(Bytes::copy_from_slice),
            value: record.value().map(Bytes::copy_from_slice),
            headers: Vec::new(),
            timestamp: Some(record.timestamp()),
        };
        for header in record.headers() {
            let value = header.value().map(Bytes::copy_from_slice);
            copy.headers
                .push((Bytes::copy_from_slice(header.key()), value));
        }
        let delta = record.offset() - header.base_offset();
        batch = batch.record_at(i32::try_from(delta).unwrap_or(i32::MAX), copy);
    }
    if batch.records() == 0 {
        batch = batch.compression(Compression::None);
    }
    batch
}
