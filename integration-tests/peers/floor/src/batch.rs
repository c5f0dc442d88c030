//! Record batches of magic 2: headers, checksum, decompression, a walk over the records.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use contract::Tally;
use flate2::read::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use zstd::bulk::Decompressor;

/// Base offset and length, which the length does not count.
const PREFIX: usize = 12;
const CRC: usize = 17;
/// From here on the checksum covers everything.
const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
const COUNT: usize = 57;
const HEADER: usize = 61;
/// More than any batch of the topics that are read.
const ROOM: usize = 8 << 20;
/// What Java's Snappy puts before its chunks: a mark and two versions.
const SNAPPY_HEADER: usize = 16;

/// The offset after the last whole batch; `None` if there is none.
pub(crate) fn next_offset(records: &[u8]) -> Result<Option<i64>> {
    let mut next = None;
    for batch in batches(records) {
        let last = long(batch, 0)? + i64::from(int(batch, LAST_OFFSET_DELTA)?);
        next = Some(last + 1);
    }
    Ok(next)
}

/// The whole batches. The last one may be cut, since the broker keeps to the size that it was asked for.
fn batches(mut records: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = i32::from_be_bytes(*records.get(8..)?.first_chunk()?);
        let (batch, rest) = records.split_at_checked(PREFIX + usize::try_from(length).ok()?)?;
        records = rest;
        (batch.len() >= HEADER).then_some(batch)
    })
}

/// Reads records, in a buffer that is used again and again.
pub(crate) struct Decoder {
    zstd: Decompressor<'static>,
    snappy: snap::raw::Decoder,
    plain: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            zstd: Decompressor::new()?,
            snappy: snap::raw::Decoder::new(),
            plain: vec![0; ROOM],
        })
    }

    /// Counts all records from an offset on.
    pub(crate) fn read(&mut self, records: &[u8], from: i64, tally: &mut Tally) -> Result<()> {
        for batch in batches(records) {
            let covered = crc32c::crc32c(&batch[ATTRIBUTES..]);
            ensure!(
                covered == int(batch, CRC)?.cast_unsigned(),
                "a checksum that differs"
            );
            let (base, count) = (long(batch, 0)?, int(batch, COUNT)?);
            let body = &batch[HEADER..];
            let plain = match batch[ATTRIBUTES + 1] & 7 {
                0 => body,
                1 => fill(&mut self.plain, GzDecoder::new(body))?,
                2 => self.snappy(body)?,
                3 => fill(&mut self.plain, FrameDecoder::new(body))?,
                4 => {
                    let length = self.zstd.decompress_to_buffer(body, &mut self.plain[..])?;
                    &self.plain[..length]
                }
                other => bail!("no codec has the number {other}"),
            };
            walk(plain, base, count, from, tally).context("a batch that ends early")?;
        }
        Ok(())
    }

    /// Chunks, each after its length.
    fn snappy(&mut self, body: &[u8]) -> Result<&[u8]> {
        let mut chunks = body.get(SNAPPY_HEADER..).context("no Snappy of Java's")?;
        let mut filled = 0;
        while !chunks.is_empty() {
            let length = usize::try_from(int(chunks, 0)?)?;
            let chunk = chunks.get(4..4 + length).context("a cut chunk")?;
            filled += self.snappy.decompress(chunk, &mut self.plain[filled..])?;
            chunks = &chunks[4 + length..];
        }
        Ok(&self.plain[..filled])
    }
}

/// All that a decoder gives.
fn fill(room: &mut [u8], mut decoder: impl Read) -> Result<&[u8]> {
    let mut filled = 0;
    loop {
        let read = decoder.read(&mut room[filled..])?;
        if read == 0 {
            return Ok(&room[..filled]);
        }
        filled += read;
    }
}

#[inline]
fn walk(records: &[u8], base: i64, count: i32, from: i64, tally: &mut Tally) -> Option<()> {
    let mut at = 0;
    for _ in 0..count {
        let length = varint(records, &mut at)?;
        let end = at.checked_add(usize::try_from(length).ok()?)?;
        at += 1; // attributes
        varint(records, &mut at)?; // timestamp
        let offset = base + varint(records, &mut at)?;
        let key = usize::try_from(varint(records, &mut at)?).unwrap_or(0);
        at += key;
        let value = usize::try_from(varint(records, &mut at)?).unwrap_or(0);
        if offset >= from {
            tally.add(offset, key, value);
        }
        at = end;
    }
    Some(())
}

#[inline]
fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
        shift += 7;
    }
}

fn int(bytes: &[u8], at: usize) -> Result<i32> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    Ok(i32::from_be_bytes(*bytes.context("a cut batch")?))
}

fn long(bytes: &[u8], at: usize) -> Result<i64> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    Ok(i64::from_be_bytes(*bytes.context("a cut batch")?))
}
