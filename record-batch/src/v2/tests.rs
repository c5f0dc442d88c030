use proptest::prelude::*;

use super::{any_fields, short_fields};

/// Bytes that often are a record: a length that fits what follows, and small numbers in it.
fn almost_a_record() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![6 => 0..8u8, 1 => Just(0x80), 1 => any::<u8>()];
    let body = prop::collection::vec(byte, 5..60);
    (body, 0..4usize, any::<bool>()).prop_map(|(body, behind, wide)| {
        let length = (body.len() - body.len().min(behind)) as u8 * 2;
        // the same number in one byte or in two
        let mut record = if wide {
            vec![length | 0x80, length >> 7]
        } else {
            vec![length & 0x7f]
        };
        record.extend(body);
        record
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The fast walk is an optimisation: where it has an answer, it is that of the other one.
    #[test]
    fn short_walk_agrees_with_the_full_one(record in almost_a_record(), at in 0..3usize) {
        if let Some((short, next)) = short_fields(&record, at) {
            let (full, full_next) = any_fields(&record, at).expect("a record");
            prop_assert_eq!(next, full_next);
            prop_assert_eq!(short.timestamp_delta, full.timestamp_delta);
            prop_assert_eq!(short.offset_delta, full.offset_delta);
            prop_assert_eq!(short.key, full.key);
            prop_assert_eq!(short.value, full.value);
            prop_assert_eq!(short.headers, full.headers);
        }
    }
}

#[test]
fn usual_records_take_the_short_walk() {
    // length 27, timestamp delta 300, offset delta 200, key of 3, null value, no header
    let mut record = vec![
        27 << 1,
        0,
        0xd8,
        0x04,
        0x90,
        0x03,
        6,
        b'k',
        b'e',
        b'y',
        1,
        0,
    ];
    record.resize(28, 0);
    let (fields, next) = short_fields(&record, 0).expect("the short walk");
    assert_eq!(
        (fields.timestamp_delta, fields.offset_delta, next),
        (300, 200, 28)
    );
    assert_eq!((fields.key, fields.value), (Some(&b"key"[..]), None));
    // three bytes: -65,537 and 70,000
    record[2..8].copy_from_slice(&[0x81, 0x80, 0x08, 0xe0, 0xc5, 0x08]);
    record[8..10].copy_from_slice(&[1, 1]);
    let (fields, _) = short_fields(&record, 0).expect("the short walk");
    assert_eq!(
        (fields.timestamp_delta, fields.offset_delta),
        (-65_537, 70_000)
    );
    assert_eq!(fields.key, None);
}
