//! What the reader of record batches costs, stage by stage. A budget is what was measured, the lower quartile on an AMD EPYC with
//! AVX-512 that had other things to do, and half as much again.
//!
//! | stage | what it is | measured | budget |
//! |---|---|---|---|
//! | scan | a `records` field of 64 batches: where to fetch on | 18 ns per batch | 27 |
//! | crc | the checksum of a batch of 14.9 KB, and its header | 0.018 ns per byte | 0.027 |
//! | walk | all views of a batch's 140 records of 100 bytes | 4.2 ns per record | 6.4 |
//! | decode none | such a batch as it came: checksum, and the check of each record | 5.4 ns per record | 8.2 |
//! | decode gzip | the same, decompressed | 124 ns per record | 187 |
//! | decode snappy |  | 61 ns per record | 92 |
//! | decode lz4 |  | 29 ns per record | 43 |
//! | decode zstd |  | 97 ns per record | 145 |

use bytes::Bytes;
use record_batch::{
    Compression, DecodeOptions, DecodedBatch, Decoder, Entry, FreshBuffers, Record, entries,
    produced, scan,
};
use stage_bench::{Per, Stages};
use test_broker::{BatchBuilder, ProducerRecord};

/// Records of a batch: what a producer with the default `batch.size` of 16 KiB sends of records of 100 bytes.
const RECORDS: u64 = 140;

/// Batches of a `records` field of about 1 MiB.
const BATCHES: u64 = 64;

/// Values that compress about as well as JSON does: words of a small vocabulary, by a fixed seed.
fn value(random: &mut fastrand::Rng) -> String {
    const WORDS: [&str; 16] = [
        "order", "customer", "amount", "EUR", "2026", "Berlin", "created", "shipped", "null",
        "true", "7f3a", "\":\"", "\",\"", "id", "name", "0.99",
    ];
    let mut value = String::new();
    while value.len() < 90 {
        value.push_str(WORDS[random.usize(..WORDS.len())]);
        value.push(char::from(random.u8(b'a'..=b'z')));
    }
    value.truncate(90);
    value
}

fn batch(compression: Compression, base_offset: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(base_offset);
    let builder = BatchBuilder::new()
        .base_offset(base_offset as i64)
        .compression(compression);
    let records = (0..RECORDS).map(|n| {
        let record = ProducerRecord::new(value(&mut random)).key(format!("key {n}"));
        record.timestamp(1_700_000_000_000 + n as i64)
    });
    records.fold(builder, BatchBuilder::record).build()
}

fn decode(decoder: &mut Decoder, field: &Bytes, entry: &Entry) -> DecodedBatch {
    decoder
        .decode(field, entry, &mut FreshBuffers)
        .expect("a sound batch")
}

fn only_entry(field: &Bytes) -> Entry {
    entries(field)
        .next()
        .expect("an entry")
        .expect("a sound entry")
}

/// Looks at all of a record but its headers.
fn look(sum: u64, record: &Record<'_>) -> u64 {
    let lengths = record.key().map_or(0, <[u8]>::len) + record.value().map_or(0, <[u8]>::len);
    sum.wrapping_add(record.offset().cast_unsigned())
        .wrapping_add(record.timestamp().cast_unsigned())
        .wrapping_add(lengths as u64)
}

/// The headers of a whole field: where to fetch on.
fn scanning(stages: &mut Stages) {
    let field: Vec<u8> = (0..BATCHES)
        .flat_map(|n| batch(Compression::None, n * RECORDS))
        .collect();
    // budget: 27 ns per batch
    stages.add(
        "scan",
        Per {
            count: BATCHES,
            unit: "batch",
        },
        || field.as_slice(),
        |field| scan(field, 0).next_offset,
    );
}

/// The checksum of a batch, and the walk over the records of one that was decoded.
fn walking(stages: &mut Stages) {
    let field = batch(Compression::None, 0);
    let bytes = field.len() as u64;
    // budget: 0.027 ns per byte
    stages.add(
        "crc",
        Per::byte(bytes),
        || &field,
        |field| produced::validate(field).is_ok(),
    );
    let decoded = decode(
        &mut Decoder::new(DecodeOptions::default()),
        &field,
        &only_entry(&field),
    );
    // budget: 6.4 ns per record
    stages.add(
        "walk",
        Per::record(RECORDS),
        || &decoded,
        |decoded| decoded.records().fold(0, |sum, record| look(sum, &record)),
    );
}

/// From a batch as it came to one whose records can be given: checksum, decompression, and the check of each record.
fn decoding(stages: &mut Stages) {
    // budgets: 8.2, 187, 92, 43, 145 ns per record
    let decoders = [
        ("decode none", Compression::None),
        ("decode gzip", Compression::Gzip),
        ("decode snappy", Compression::Snappy),
        ("decode lz4", Compression::Lz4),
        ("decode zstd", Compression::Zstd),
    ];
    for (name, compression) in decoders {
        let field = batch(compression, 0);
        let entry = only_entry(&field);
        let mut decoder = Decoder::new(DecodeOptions::default());
        stages.add(
            name,
            Per::record(RECORDS),
            || (),
            |()| decode(&mut decoder, &field, &entry),
        );
    }
}

fn main() {
    stage_bench::run("record-batch", |stages| {
        scanning(stages);
        walking(stages);
        decoding(stages);
    });
}
