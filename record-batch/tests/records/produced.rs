use record_batch::{BatchErrorKind, BatchHeader, produced};

use crate::support::consume::consume;
use crate::support::encoder::{Codec, TestBatch, TestMessage};

#[test]
fn sound_batches_are_accepted() {
    for codec in Codec::ALL {
        let header = produced::validate(&TestBatch::run(0, 3).codec(codec).encode()).unwrap();
        assert_eq!(header.record_count(), Some(3));
    }
}

/// The checksum is that of another crate, over lengths around every block size of the one in use.
#[test]
fn checksums_agree_at_every_length() {
    for length in (0..1100).chain([4095, 4096, 4097, 70_001]) {
        let mut batch = TestBatch::run(0, 1);
        batch.body.resize(length, 0xa7);
        let encoded = batch.encode();
        produced::validate(&encoded).unwrap();
        let mut blank = encoded.clone();
        blank[17..21].fill(0);
        produced::write_crc(&mut blank).unwrap();
        assert_eq!(blank, encoded);
    }
}

#[test]
fn unsound_batches_are_refused() {
    let good = TestBatch::run(0, 3).encode();
    let kind = |bytes: &[u8]| produced::validate(bytes).unwrap_err().kind().clone();

    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(matches!(kind(&flipped), BatchErrorKind::WrongCrc { .. }));
    for (count, last_offset_delta) in [
        (2, 2),
        (3, 3),
        (0, -1),
        (-1, -2),
        (3, -1),
        (i32::MIN, i32::MAX),
    ] {
        let lying = TestBatch {
            count,
            last_offset_delta,
            ..TestBatch::run(0, 3)
        };
        let expected = BatchErrorKind::CountAgainstOffsets {
            count,
            last_offset_delta,
        };
        assert_eq!(kind(&lying.encode()), expected);
    }
    let extra = good.len();
    assert_eq!(
        kind(&good.repeat(2)),
        BatchErrorKind::MoreThanOneBatch { extra }
    );
    let old = TestMessage::new(1, 0).encode();
    assert_eq!(kind(&old), BatchErrorKind::UnknownMagic { found: 1 });
    for length in 0..good.len() {
        assert!(matches!(
            kind(&good[..length]),
            BatchErrorKind::Truncated { .. }
        ));
    }
}

#[test]
fn batches_get_their_place_in_the_log() {
    for codec in Codec::ALL {
        let mut batch = TestBatch::run(0, 3).codec(codec).encode();
        let crc = BatchHeader::parse(&batch).unwrap().crc();
        let header = produced::assign_offsets(&mut batch, 500, 7, None).unwrap();
        assert_eq!((header.base_offset(), header.last_offset()), (500, 502));
        assert_eq!(header.partition_leader_epoch(), Some(7));
        // neither is under the CRC
        assert_eq!(header.crc(), crc);
        assert_eq!(consume(&batch, 500).sound(), (vec![500, 501, 502], 503));

        let header = produced::assign_offsets(&mut batch, 600, 8, Some(1234)).unwrap();
        assert_eq!(header.max_timestamp(), 1234);
        let read = consume(&batch, 600);
        assert!(read.records.iter().all(|record| record.timestamp() == 1234));
        assert_eq!(read.sound(), (vec![600, 601, 602], 603));
    }
}

#[test]
fn what_is_no_batch_is_left_alone() {
    let mut old = TestMessage::new(1, 0).encode();
    let before = old.clone();
    assert!(produced::assign_offsets(&mut old, 5, 1, Some(1)).is_err());
    assert!(produced::write_crc(&mut old).is_err());
    assert_eq!(old, before);
}
