use bytes::Bytes;
use record_batch::{BatchErrorKind, Compression, DecodeOptions, Decoder, FreshBuffers, entries};

use crate::support::consume::{consume, consume_with};
use crate::support::encoder::{Codec, TestBatch, TestRecord, gzip, lz4, snappy_block, xerial};
use crate::support::vectors;

/// What stands before the records of a v2 batch.
const HEADER: usize = 61;

fn three() -> TestBatch {
    TestBatch::run(0, 3)
}

/// The error of a batch of this codec with these bytes in place of compressed records.
fn garbage(codec: Codec, body: &[u8]) -> BatchErrorKind {
    let bytes = three().codec(codec).encode_body(body);
    let consumed = consume(&bytes, 0);
    assert!(consumed.records.is_empty());
    assert_eq!(consumed.next, 0);
    let error = consumed.failed();
    assert_eq!((error.base_offset(), error.last_offset()), (0, Some(2)));
    assert!(error.offsets_verified());
    error.kind().clone()
}

fn assert_corrupt(codec: Codec, body: &[u8], because: &str) {
    match garbage(codec, body) {
        BatchErrorKind::Decompression { reason, .. } => {
            assert!(reason.contains(because), "{reason}");
        }
        other => panic!("{other}"),
    }
}

fn assert_reads(codec: Codec, body: &[u8]) {
    let bytes = three().codec(codec).encode_body(body);
    assert_eq!(consume(&bytes, 0).sound(), (vec![0, 1, 2], 3));
}

#[test]
fn b076_every_codec_gives_the_same_records() {
    let plain = consume(&TestBatch::run(7, 500).encode(), 7);
    assert_eq!(plain.records.len(), 500);
    for codec in Codec::ALL {
        let read = consume(&TestBatch::run(7, 500).codec(codec).encode(), 7);
        assert_eq!(read.error, None, "{codec:?}");
        assert_eq!(read.records, plain.records, "{codec:?}");
        assert_eq!(read.next, 507);
    }
}

#[test]
fn f045_snappy_in_its_wrappings() {
    for name in ["SNAPPY_RAW", "SNAPPY_XERIAL", "SNAPPY_SPLIT"] {
        let read = consume(&vectors::bytes(name), 0);
        assert_eq!(read.sound(), (vec![0, 1, 2], 3), "{name}");
    }
    // a bare block shorter than the header of a stream
    let mut one = TestBatch::run(0, 1).codec(Codec::SnappyRaw);
    one.body = vec![0x0c, 0, 0, 0, 1, 1, 0];
    assert!(snappy_block(&one.body).len() < 16);
    assert_eq!(consume(&one.encode(), 0).sound(), (vec![0], 1));

    // streams without chunks: nothing in them
    let empty = xerial([].into_iter());
    let emptied = TestBatch::emptied(0, 2).codec(Codec::SnappyXerial);
    assert_eq!(
        consume(&emptied.encode_body(&empty), 0).sound(),
        (vec![], 3)
    );
    let kind = garbage(Codec::SnappyXerial, &empty);
    let none = BatchErrorKind::ImpossibleRecordCount {
        count: 3,
        bytes: 0,
        most: 0,
    };
    assert_eq!(kind, none);
}

#[test]
fn f045_xerial_streams_in_a_row_and_other_versions() {
    let body = three().body;
    let (a, b) = body.split_at(10);
    let row = [xerial([a].into_iter()), xerial([b].into_iter())].concat();
    assert_reads(Codec::SnappyXerial, &row);

    let mut versions = xerial([&body[..]].into_iter());
    versions[8..16].copy_from_slice(&[0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]);
    assert_reads(Codec::SnappyXerial, &versions);
}

#[test]
fn snappy_refuses_what_is_none() {
    let stream = xerial([&three().body[..]].into_iter());
    assert_corrupt(Codec::SnappyRaw, b"", "");
    assert_corrupt(Codec::SnappyXerial, &stream[..12], "header ends early");
    assert_corrupt(Codec::SnappyXerial, &stream[..18], "length ends early");
    assert_corrupt(
        Codec::SnappyXerial,
        &stream[..30],
        "longer than what is left",
    );
    let mut negative = stream.clone();
    negative[16] = 0x80;
    assert_corrupt(Codec::SnappyXerial, &negative, "longer than what is left");
    // 1 MB claimed by 10 bytes
    assert_corrupt(
        Codec::SnappyRaw,
        b"\x80\x80\x40\0\0\0\0\0\0\0",
        "claims more",
    );
}

#[test]
fn f046_records_straddle_chunks_and_frames() {
    for name in ["SNAPPY_SPLIT", "ZSTD_2FRAMES"] {
        let read = consume(&vectors::bytes(name), 0);
        assert_eq!(read.sound(), (vec![0, 1, 2], 3), "{name}");
    }
    let body = three().body;
    for cut in 0..body.len() {
        let (a, b) = body.split_at(cut);
        let zstd = |plain| zstd::bulk::compress(plain, 1).unwrap();
        assert_reads(Codec::Zstd, &[zstd(a), zstd(b)].concat());
        assert_reads(Codec::Gzip, &[gzip(a), gzip(b)].concat());
        assert_reads(
            Codec::Lz4,
            &[lz4(a, Default::default()), lz4(b, Default::default())].concat(),
        );
        assert_reads(Codec::SnappyXerial, &xerial([a, b].into_iter()));
    }
}

#[test]
fn f046_zstd_without_content_size_at_50_to_1() {
    let records: Vec<_> = (0..200)
        .map(|delta| TestRecord::at(delta, &"abcdefghij".repeat(100)))
        .collect();
    let batch = TestBatch::new(0, &records);
    let compressed = zstd::stream::encode_all(&batch.body[..], 3).unwrap();
    assert!(compressed.len() * 50 < batch.body.len());
    let bytes = batch.codec(Codec::ZstdNoSize).encode_body(&compressed);
    let (offsets, next) = consume(&bytes, 0).sound();
    assert_eq!((offsets.len(), next), (200, 200));
}

#[test]
fn empty_frames_and_members_between() {
    let body = three().body;
    let many = |empty: Vec<u8>, full: Vec<u8>| [empty.repeat(1000), full, empty].concat();
    assert_reads(Codec::Gzip, &many(gzip(b""), gzip(&body)));
    let zstd = |plain: &[u8]| zstd::bulk::compress(plain, 1).unwrap();
    assert_reads(Codec::Zstd, &many(zstd(b""), zstd(&body)));
    let lz4 = |plain: &[u8]| lz4(plain, Default::default());
    assert_reads(Codec::Lz4, &many(lz4(b""), lz4(&body)));
    let empties = vec![&b""[..]; 1000];
    let chunks = empties.into_iter().chain([&body[..], b""]);
    assert_reads(Codec::SnappyXerial, &xerial(chunks));
}

#[test]
fn f047_header_checksum_of_old_lz4_producers() {
    let old = vectors::bytes("V0_LZ4_BROKENHC");
    assert_eq!(consume(&old, 40).sound(), (vec![40, 41, 42], 43));
    let right = vectors::bytes("LZ4_V2");
    assert_eq!(consume(&right, 0).sound(), (vec![0, 1, 2], 3));

    let mut body = right[HEADER..].to_vec();
    assert_eq!(body[6], 0x82);
    body[6] = 0x1a;
    assert_corrupt(Codec::Lz4, &body, "header checksum");
}

/// A frame with this descriptor, a right header checksum, and one stored block of the three records.
fn stored_frame(flg: u8, bd: u8, optional: &[u8]) -> Vec<u8> {
    let descriptor = [&[flg, bd], optional].concat();
    let checksum = twox_hash::XxHash32::oneshot(0, &descriptor).to_be_bytes()[2];
    let body = three().body;
    let mut frame = 0x184D_2204u32.to_le_bytes().to_vec();
    frame.extend(descriptor);
    frame.push(checksum);
    frame.extend((body.len() as u32 | 1 << 31).to_le_bytes());
    frame.extend(body);
    frame.extend([0; 4]);
    frame
}

#[test]
fn lz4_frames_as_java_takes_them() {
    assert_reads(Codec::Lz4, &stored_frame(0x60, 0x40, b""));
    assert_reads(Codec::Lz4, &stored_frame(0x60, 0x70, b""));
    // a content size is a claim, right or wrong
    assert_reads(
        Codec::Lz4,
        &stored_frame(0x68, 0x40, &1000u64.to_le_bytes()),
    );
    // a content checksum is not compared
    let checked = [stored_frame(0x64, 0x40, b""), vec![1, 2, 3, 4]].concat();
    assert_reads(Codec::Lz4, &checked);
    assert_corrupt(
        Codec::Lz4,
        &checked[..checked.len() - 1],
        "checksum ends early",
    );

    assert_corrupt(Codec::Lz4, &stored_frame(0x40, 0x40, b""), "depend");
    assert_corrupt(Codec::Lz4, &stored_frame(0xa0, 0x40, b""), "version");
    assert_corrupt(Codec::Lz4, &stored_frame(0x62, 0x40, b""), "reserved");
    assert_corrupt(Codec::Lz4, &stored_frame(0x60, 0x41, b""), "reserved");
    assert_corrupt(
        Codec::Lz4,
        &stored_frame(0x61, 0x40, &[0; 4]),
        "dictionaries",
    );
    assert_corrupt(Codec::Lz4, &stored_frame(0x60, 0x30, b""), "block size");
    let claim = stored_frame(0x68, 0x40, &u64::MAX.to_le_bytes());
    assert!(garbage(Codec::Lz4, &claim).is_too_large());
}

#[test]
fn lz4_blocks_are_checked() {
    let good = Codec::Lz4Checked.compress(&three().body);
    assert_reads(Codec::Lz4Checked, &good);
    // the checksum of the only block stands before the end mark and the content checksum
    let mut bad = good.clone();
    let at = bad.len() - 9;
    bad[at] ^= 1;
    assert_corrupt(Codec::Lz4Checked, &bad, "block's checksum");

    // a block of more than 64 KiB in a frame that allows no more
    let mut frame = stored_frame(0x60, 0x40, b"");
    frame[7..11].copy_from_slice(&(65_537u32 | 1 << 31).to_le_bytes());
    frame.extend([0; 70_000]);
    assert_corrupt(Codec::Lz4, &frame, "larger than its frame allows");
    // one that gives more than that: a literal, then a match of 255 bytes for each byte
    let mut block = vec![0x1f, b'a', 1, 0];
    block.extend([255; 300]);
    block.extend([0, 0x50]);
    block.extend(b"abcde");
    let mut frame = stored_frame(0x60, 0x40, b"")[..7].to_vec();
    frame.extend((block.len() as u32).to_le_bytes());
    frame.extend(&block);
    frame.extend([0; 4]);
    assert_corrupt(Codec::Lz4, &frame, "more than its frame allows");
}

#[test]
fn compressed_bytes_cut_anywhere_are_an_error() {
    for codec in Codec::ALL {
        if codec == Codec::None {
            continue;
        }
        let whole = codec.compress(&three().body);
        for length in 0..whole.len() {
            // may end between members or frames, whose records are then missing
            garbage(codec, &whole[..length]);
        }
    }
}

#[test]
fn f050_garbage_as_compressed_bytes() {
    for codec in Codec::ALL {
        let garbage = garbage(codec, &[0xa5; 40]);
        assert!(garbage.is_corrupt(), "{codec:?}: {garbage}");
        // and a good batch behind it is read once the application seeks there
        let log = [
            three().codec(codec).encode_body(&[0xa5; 40]),
            TestBatch::run(3, 2).codec(codec).encode(),
        ]
        .concat();
        let step_over = consume(&log, 0).failed().step_over().unwrap();
        assert_eq!(step_over, 3);
        assert_eq!(consume(&log, step_over).sound(), (vec![3, 4], 5));
    }
}

#[test]
fn bytes_behind_the_last_frame_are_an_error() {
    for codec in Codec::ALL {
        let body = [codec.compress(&three().body), vec![0xa5; 3]].concat();
        assert!(garbage(codec, &body).is_corrupt(), "{codec:?}");
    }
}

#[test]
fn b082_unknown_codecs_are_named() {
    for codec in 5..=7 {
        let batch = TestBatch {
            flags: codec,
            ..three()
        };
        let error = consume(&batch.encode(), 0);
        let kind = error.failed().kind();
        assert_eq!(
            kind,
            &BatchErrorKind::UnknownCompression { codec, magic: 2 }
        );
        assert!(kind.is_unsupported());
    }
    for id in 0..=4 {
        assert_eq!(Compression::from_id(id).unwrap().id(), id);
    }
}

#[test]
fn decoder_is_as_good_after_an_error() {
    let mut decoder = Decoder::new(DecodeOptions::default());
    for codec in Codec::ALL {
        let whole = codec.compress(&three().body);
        for length in 0..=whole.len() {
            let bytes = Bytes::from(three().codec(codec).encode_body(&whole[..length]));
            let entry = entries(&bytes).next().unwrap().unwrap();
            let decoded = decoder.decode(&bytes, &entry, &mut FreshBuffers);
            assert_eq!(decoded.is_ok(), length == whole.len(), "{codec:?}");
        }
    }
}

#[test]
fn b086_cap_is_exact_and_names_the_offsets() {
    // what does not compress takes other ways through the codecs
    let noise = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
    let noise = TestRecord {
        value: Some(noise.collect()),
        ..TestRecord::at(1999, "")
    };
    for batch in [TestBatch::run(0, 2000), TestBatch::new(0, &[noise])] {
        for codec in Codec::ALL.into_iter().filter(|codec| *codec != Codec::None) {
            let bytes = batch.clone().codec(codec).encode();
            let size = batch.body.len();
            let read = |max_decompressed_bytes| {
                let options = DecodeOptions {
                    max_decompressed_bytes,
                    ..DecodeOptions::default()
                };
                consume_with(&bytes, 0, options)
            };
            assert_eq!(read(size).records.len(), batch.count as usize, "{codec:?}");
            for cap in [0, 1, size / 2, size - 1] {
                let consumed = read(cap);
                let error = consumed.failed();
                assert!(error.kind().is_too_large(), "{codec:?}: {error}");
                assert_eq!((error.base_offset(), error.last_offset()), (0, Some(1999)));
            }
        }
    }
}
