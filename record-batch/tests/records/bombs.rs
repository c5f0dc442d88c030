use allocation_counter::measure;
use bytes::Bytes;
use record_batch::{BatchErrorKind, Buffers, DecodeOptions, Decoder, FreshBuffers, entries};

use crate::support::encoder::{Codec, TestBatch, gzip, xerial};
use crate::support::vectors;

const CAP: usize = 8 << 20;
/// This allocator never grows a block in place, so a buffer is there twice while its contents move. The largest state
/// is that of gzip, of about 50 KB.
const MOST_MEMORY: u64 = 2 * CAP as u64 + (64 << 10);

/// Decodes a batch with this compressed body: it must be stopped at the cap, with bounded memory.
fn stopped(codec: Codec, body: &[u8]) {
    let bytes = Bytes::from(TestBatch::run(0, 3).codec(codec).encode_body(body));
    let entry = entries(&bytes).next().unwrap().unwrap();
    let mut decoder = Decoder::new(DecodeOptions {
        max_decompressed_bytes: CAP,
        ..DecodeOptions::default()
    });
    let mut error = None;
    let memory = measure(|| error = decoder.decode(&bytes, &entry, &mut FreshBuffers).err());
    let error = error.expect("an error");
    assert!(error.kind().is_too_large(), "{codec:?}: {error}");
    assert_eq!(error.base_offset(), 0);
    assert!(memory.bytes_max <= MOST_MEMORY, "{codec:?}: {memory:?}");
}

#[test]
fn f052_b086_gzip_of_1_gb() {
    let member = gzip(&vec![0; 64 << 20]);
    let bomb = member.repeat(16);
    assert!(bomb.len() < 1_100_000);
    stopped(Codec::Gzip, &bomb);
}

/// A zstd frame with this header behind its magic, of `runs` runs: 4 bytes for 128 KiB each.
fn zstd_runs(header: &[u8], runs: usize) -> Vec<u8> {
    let mut frame = 0xFD2F_B528u32.to_le_bytes().to_vec();
    frame.extend(header);
    for left in (0..runs).rev() {
        let run = (128 << 10) << 3 | 1 << 1 | u32::from(left == 0);
        frame.extend(&run.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[test]
fn f052_b086_zstd_of_4_gb() {
    // no content size, a window of 128 KiB
    let header = [0, 0x38];
    let bomb = zstd_runs(&header, 32 << 10);
    assert!(bomb.len() < 1_000_000);
    stopped(Codec::ZstdNoSize, &bomb);
    // 128 KiB of it are what the library itself reads
    let small = zstd::stream::decode_all(&zstd_runs(&header, 1)[..]);
    assert_eq!(small.unwrap(), vec![b'x'; 128 << 10]);
}

#[test]
fn f052_b086_zstd_that_declares_what_it_gives() {
    let with_size = |size: u64| [&[0xe0][..], &size.to_le_bytes()].concat();
    stopped(Codec::Zstd, &zstd_runs(&with_size(1 << 30), 8 << 10));
    let small = zstd::bulk::decompress(&zstd_runs(&with_size(128 << 10), 1), 1 << 20);
    assert_eq!(small.unwrap(), vec![b'x'; 128 << 10]);
}

#[test]
fn f052_b086_lz4_of_250_mb() {
    // a block of 4 MB: a literal, then a match of 255 bytes for each byte
    let mut block = vec![0x1f, b'a', 1, 0];
    block.extend([255; 16_448 - 2]);
    block.extend([0, 0x50]);
    block.extend(b"abcde");
    let mut frame = 0x184D_2204u32.to_le_bytes().to_vec();
    frame.extend([0x60, 0x70, 0x73]);
    for _ in 0..60 {
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(&block);
    }
    frame.extend([0; 4]);
    assert!(frame.len() < 1_000_000);
    stopped(Codec::Lz4, &frame);
}

#[test]
fn f052_b086_snappy_of_20_mb() {
    let chunk = vec![0; 1 << 20];
    let bomb = xerial(std::iter::repeat_n(&chunk[..], 20));
    assert!(bomb.len() < 1_100_000);
    stopped(Codec::SnappyXerial, &bomb);
}

/// Decodes a batch with this compressed body, which must fail: with what, and the most memory that it took.
fn failed(codec: Codec, body: &[u8]) -> (BatchErrorKind, u64) {
    let bytes = Bytes::from(TestBatch::run(0, 1).codec(codec).encode_body(body));
    let entry = entries(&bytes).next().unwrap().unwrap();
    let mut decoder = Decoder::new(DecodeOptions::default());
    let mut decoded = None;
    let memory = measure(|| decoded = Some(decoder.decode(&bytes, &entry, &mut FreshBuffers)));
    let error = decoded.unwrap().unwrap_err();
    (error.kind().clone(), memory.bytes_max)
}

/// A zstd frame that declares `size` and has one empty block.
fn zstd_claim(size: u64) -> Vec<u8> {
    let magic = 0xFD2F_B528u32.to_le_bytes();
    [&magic[..], &[0xe0], &size.to_le_bytes(), &[1, 0, 0]].concat()
}

#[test]
fn f052_claims_cost_nothing() {
    let snappy = vectors::bytes("SNAPPY_BOMB");
    for (codec, body) in [
        (Codec::SnappyRaw, &snappy[61..]),
        (Codec::Zstd, &zstd_claim(1 << 63)),
    ] {
        let (kind, memory) = failed(codec, body);
        assert!(kind.is_too_large(), "{codec:?}: {kind}");
        assert!(memory < 8192, "{codec:?}: {memory}");
    }
    // within the cap, but not credible: snappy cannot give so much, zstd could
    for (codec, body) in [
        (Codec::SnappyRaw, &b"\x80\x80\x80\x18\0\0\0\0"[..]),
        (Codec::Zstd, &zstd_claim(50 << 20)),
    ] {
        let (kind, memory) = failed(codec, body);
        assert!(kind.is_corrupt(), "{codec:?}: {kind}");
        assert!(memory < 8192, "{codec:?}: {memory}");
    }
}

/// Hands out vectors that are larger than the cap.
struct Large;

impl Buffers for Large {
    fn take(&mut self, _: usize) -> Vec<u8> {
        vec![0xee; 1 << 20]
    }

    fn seal(&mut self, filled: Vec<u8>) -> Bytes {
        filled.into()
    }
}

#[test]
fn b086_cap_holds_in_a_large_buffer() {
    let batch = TestBatch::run(0, 2000);
    let size = batch.body.len();
    for codec in Codec::ALL.into_iter().filter(|codec| *codec != Codec::None) {
        let bytes = Bytes::from(batch.clone().codec(codec).encode());
        let entry = entries(&bytes).next().unwrap().unwrap();
        let decode = |max_decompressed_bytes| {
            let options = DecodeOptions {
                max_decompressed_bytes,
                ..DecodeOptions::default()
            };
            Decoder::new(options).decode(&bytes, &entry, &mut Large)
        };
        assert_eq!(decode(size).unwrap().bytes(), &batch.body, "{codec:?}");
        let error = decode(size - 1).unwrap_err();
        assert!(error.kind().is_too_large(), "{codec:?}: {error}");
    }
}

#[test]
fn f051_counts_cost_nothing() {
    for name in ["NEGCOUNT", "HUGECOUNT"] {
        let bytes = Bytes::from(vectors::bytes(name));
        let entry = entries(&bytes).next().unwrap().unwrap();
        let mut decoder = Decoder::new(DecodeOptions::default());
        let mut failed = false;
        let memory = measure(|| {
            failed = decoder.decode(&bytes, &entry, &mut FreshBuffers).is_err();
        });
        assert!(failed);
        assert_eq!(memory.bytes_total, 0, "{name}");
    }
}
