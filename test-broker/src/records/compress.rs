use std::io::{self, Write};

use flate2::write::GzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use record_batch::Compression;

/// Compresses the records of a batch, framed as the Java producer frames them.
pub(super) fn compress(codec: Compression, records: Vec<u8>) -> io::Result<Vec<u8>> {
    match codec {
        Compression::None => Ok(records),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&records)?;
            encoder.finish()
        }
        Compression::Snappy => xerial(&records),
        Compression::Lz4 => {
            let frame = FrameInfo::new()
                .block_mode(BlockMode::Independent)
                .block_size(BlockSize::Max64KB);
            let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
            encoder.write_all(&records)?;
            Ok(encoder.finish()?)
        }
        Compression::Zstd => zstd::encode_all(&records[..], zstd::DEFAULT_COMPRESSION_LEVEL),
    }
}

/// The stream format of snappy-java: a header, then blocks of up to 32 KiB, each behind its compressed length.
fn xerial(records: &[u8]) -> io::Result<Vec<u8>> {
    const HEADER: &[u8] = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01";
    const BLOCK: usize = 32 * 1024;
    let mut stream = HEADER.to_vec();
    let mut encoder = snap::raw::Encoder::new();
    for block in records.chunks(BLOCK) {
        let compressed = encoder.compress_vec(block)?;
        stream.extend((compressed.len() as u32).to_be_bytes());
        stream.extend(compressed);
    }
    Ok(stream)
}
