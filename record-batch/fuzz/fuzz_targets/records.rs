//! Any bytes as the `records` field of a Fetch response: the walk over headers, decoding with every codec, iterating and
//! the transaction filter must neither panic nor contradict each other.
//!
//! Once `cargo install cargo-fuzz --locked` was done, in the folder of the crate `record-batch`:
//! `fuzz/seed && cargo fuzz run -s none records -- -max_total_time=720 -max_len=65536 -malloc_limit_mb=64`

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use record_batch::{
    AbortedTransaction, DecodeOptions, DecodedBatch, Decoder, FreshBuffers, TransactionFilter,
    Verdict, entries, produced, scan,
};

const CAP: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let records = Bytes::copy_from_slice(data);
    let whole = scan(&records, 0);
    let mut next = 0;
    let mut filter = TransactionFilter::read_committed(aborted(data));
    // what a CRC would hide from the fuzzer is decoded too
    let mut strict = decoder(true);
    let mut lenient = decoder(false);
    for entry in entries(&records) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                assert_eq!(whole.corrupt.as_ref(), Some(&error));
                assert!(!error.to_string().is_empty());
                break;
            }
        };
        next = entry.header().next_offset().max(next);
        let verdict = filter.judge(entry.header());
        let decoded = lenient.decode(&records, &entry, &mut FreshBuffers);
        if strict.decode(&records, &entry, &mut FreshBuffers).is_ok() {
            assert!(decoded.is_ok());
        }
        match decoded {
            Ok(batch) => {
                let control = batch.control_type();
                if let (Verdict::ReadMarker, Ok(control)) = (verdict, control) {
                    filter.marker(entry.header(), control);
                }
                read(&batch);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert_eq!(whole.next_offset, next);
    place(data);
});

fn decoder(check_crcs: bool) -> Decoder {
    Decoder::new(DecodeOptions {
        check_crcs,
        max_decompressed_bytes: CAP,
    })
}

/// A list of aborted transactions out of the same bytes, so that it may name the producers in them.
fn aborted(data: &[u8]) -> impl Iterator<Item = AbortedTransaction> {
    data.windows(61).step_by(61).filter_map(|header| {
        Some(AbortedTransaction {
            producer_id: i64::from_be_bytes(*header.get(43..)?.first_chunk()?),
            first_offset: i64::from_be_bytes(*header.first_chunk()?),
        })
    })
}

/// All records are there, in order, whole, and again from any place.
fn read(batch: &DecodedBatch) {
    let mut records = batch.records();
    let mut least = i64::MIN;
    let mut count = 0;
    while let Some(record) = records.next() {
        assert!(record.offset() >= least && record.offset() <= batch.last_offset());
        least = record.offset().saturating_add(1);
        count += 1;
        let headers = record.headers();
        assert_eq!(headers.iter().count(), headers.len());
        if count < 10 {
            assert_eq!(record.to_owned().as_record(), record);
            let mut rest = batch.records_from(records.cursor());
            assert_eq!(rest.len(), batch.len() - count);
            assert_eq!(rest.next(), records.clone().next());
            let again = batch.records_from(batch.cursor_at(record.offset())).next();
            assert_eq!(again, Some(record));
            for part in [record.key(), record.value()].into_iter().flatten() {
                assert_eq!(batch.bytes_of(part).as_deref(), Some(part));
            }
        }
    }
    assert_eq!(count, batch.len());
}

/// What a broker does with them.
fn place(data: &[u8]) {
    let mut batch = data.to_vec();
    if produced::assign_offsets(&mut batch, 5, 1, Some(7)).is_ok() {
        let placed = scan(&batch, 5);
        assert_eq!((placed.entries, placed.whole_bytes), (1, batch.len()));
        assert_eq!(placed.last_leader_epoch, Some(1));
    } else {
        assert_eq!(batch, data);
    }
}
