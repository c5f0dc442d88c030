//! The bytes of a partition as fields: a batch each, and what is cut off at the end.

use std::hash::{DefaultHasher, Hash, Hasher};

use record_batch::{BatchHeader, TimestampType, entries};

use super::fields::Fields;

/// Where a batch of format v2 has its CRC and its largest timestamp.
const CRC: std::ops::Range<usize> = 17..21;
const MAX_TIMESTAMP: std::ops::Range<usize> = 35..43;

pub(crate) fn fields(records: &[u8]) -> Fields {
    let mut fields = Fields::default();
    fields.push("bytes", records.len().to_string());
    let mut whole = 0;
    for (index, entry) in entries(records).enumerate() {
        match entry {
            Ok(entry) => {
                whole = entry.range().end;
                let bytes = records.get(entry.range()).unwrap_or_default();
                fields.extend(&format!("batch[{index}]"), batch(entry.header(), bytes));
            }
            Err(error) => fields.push(format!("batch[{index}]"), error.to_string()),
        }
    }
    let rest = records.get(whole..).unwrap_or_default();
    if !rest.is_empty() {
        fields.push("cut", format!("{} bytes {}", rest.len(), digest(rest)));
    }
    fields
}

fn batch(header: &BatchHeader, bytes: &[u8]) -> Fields {
    let mut fields = Fields::default();
    let offsets = header.base_offset()..=header.last_offset();
    fields.push("offsets", format!("{offsets:?}"));
    fields.push("size", header.size().to_string());
    fields.push(
        "leader_epoch",
        format!("{:?}", header.partition_leader_epoch()),
    );
    fields.push("max_timestamp", header.max_timestamp().to_string());
    fields.push("record_count", format!("{:?}", header.record_count()));
    let producer = (
        header.producer_id(),
        header.producer_epoch(),
        header.base_sequence(),
    );
    fields.push("producer", format!("{producer:?}"));
    fields.push("bytes", digest(&comparable(header, bytes)));
    fields
}

/// The batch without the broker's clock, which is in the CRC too.
fn comparable(header: &BatchHeader, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if header.timestamp_type() == TimestampType::LogAppendTime {
        for range in [CRC, MAX_TIMESTAMP] {
            if let Some(part) = bytes.get_mut(range) {
                part.fill(0);
            }
        }
    }
    bytes
}

/// The same for the same bytes, in every run.
fn digest(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
