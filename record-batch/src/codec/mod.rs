//! Decompression of the compressed part of an entry: all chunks or frames of it into one buffer, which is never larger
//! than the cap, however the input was made.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

use std::borrow::Cow;

use crate::Compression;

pub(crate) use lz4::HeaderChecksum;

/// Why decompression failed.
#[derive(Debug)]
pub(crate) enum CodecError {
    /// The bytes are not what the codec writes.
    Corrupt(Cow<'static, str>),
    /// The output would exceed the cap.
    TooLarge,
}

impl CodecError {
    fn because(error: impl ToString) -> Self {
        Self::Corrupt(Cow::Owned(error.to_string()))
    }
}

impl From<&'static str> for CodecError {
    fn from(reason: &'static str) -> Self {
        Self::Corrupt(Cow::Borrowed(reason))
    }
}

/// The codecs with the state that is worth keeping from batch to batch.
pub(crate) struct Codecs {
    gzip: Option<gzip::Gzip>,
    zstd: Option<zstd::Zstd>,
    expansion: [Expansion; 5],
}

impl Codecs {
    pub(crate) fn new() -> Self {
        Self {
            gzip: None,
            zstd: None,
            expansion: [Expansion::FIRST; 5],
        }
    }

    /// How large a buffer `input` will probably need, by the batches before. Where its blocks tell what they give at most, that; but as
    /// they may lie, no more than batches had.
    pub(crate) fn guess(&self, codec: Compression, input: &[u8]) -> usize {
        let expansion = &self.expansion[codec as usize];
        let told = match codec {
            Compression::Lz4 => lz4::most_out(input),
            _ => None,
        };
        told.map_or_else(
            || expansion.of(input.len()),
            |told| told.min(expansion.credible(input.len())),
        )
    }

    /// Decompresses `input` into `output`, whose present contents do not matter, and which holds the result and nothing
    /// else afterwards. Grows it up to `cap` bytes as the output requires; no claim in the input makes it larger.
    pub(crate) fn decompress(
        &mut self,
        codec: Compression,
        checksum: HeaderChecksum,
        input: &[u8],
        cap: usize,
        output: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match codec {
            Compression::None => return Err("not compressed".into()),
            Compression::Gzip => self
                .gzip
                .get_or_insert_with(gzip::Gzip::new)
                .decompress(input, cap, output)?,
            Compression::Snappy => snappy::decompress(input, cap, output)?,
            Compression::Lz4 => {
                let guess = self.guess(codec, input);
                lz4::decompress(input, checksum, guess, cap, output)?;
            }
            Compression::Zstd => {
                let guess = self.guess(codec, input);
                match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::Zstd::new()?),
                }
                .decompress(input, guess, cap, output)?;
            }
        }
        self.expansion[codec as usize].see(input.len(), output.len());
        Ok(())
    }
}

/// What the batches before tell of the next one.
#[derive(Clone, Copy)]
struct Expansion {
    /// Bytes out per byte in of the last one, in sixteenths.
    ratio: usize,
    /// About the largest of the recent ones. A batch that compressed to nearly nothing has a ratio that says nothing of the next.
    largest: Option<usize>,
}

impl Expansion {
    const FIRST: Self = Self {
        ratio: 4 * 16,
        largest: None,
    };
    const MOST: usize = 1024 * 16;

    /// Takes note of a batch. The next one of the same kind will need an eighth more.
    fn see(&mut self, input: usize, output: usize) {
        let ratio = output.saturating_mul(18) / input.max(1);
        self.ratio = ratio.saturating_add(1).clamp(16, Self::MOST);
        let before = self.largest.unwrap_or(0);
        self.largest = Some(output.max(before - before / 16));
    }

    fn of(&self, input: usize) -> usize {
        self.alike(input).min(self.credible(input))
    }

    fn alike(&self, input: usize) -> usize {
        (input / 16 + 1).saturating_mul(self.ratio)
    }

    /// The most that is worth a buffer at once.
    fn credible(&self, input: usize) -> usize {
        let most = self.largest.map(|largest| largest + largest / 4);
        most.unwrap_or_else(|| self.alike(input))
    }
}

/// The next larger capacity for an output of at most `cap` bytes, of which `needed` are needed.
fn larger(capacity: usize, needed: usize, cap: usize) -> usize {
    const SMALLEST: usize = 4096;
    capacity
        .saturating_mul(2)
        .max(SMALLEST)
        .min(cap)
        .max(needed)
}

/// Makes the first `end` bytes of an output of at most `cap` bytes usable.
fn extend(output: &mut Vec<u8>, end: usize, cap: usize) {
    if output.capacity() < end {
        let capacity = larger(output.capacity(), end, cap);
        output.reserve_exact(capacity - output.len());
    }
    if output.len() < end {
        output.resize(end, 0);
    }
}

/// Takes `N` bytes off the front.
fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*taken)
}

/// Takes `count` bytes off the front.
fn take_slice<'a>(input: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(count)?;
    *input = rest;
    Some(taken)
}
