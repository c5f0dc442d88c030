//! The lz4 frame format as Kafka uses it, over the block decoder of `lz4_flex`; why not its frame decoder:
//! docs/decisions/lz4.md.

use lz4_flex::block::{DecompressError, decompress_into};
use twox_hash::XxHash32;

use super::{CodecError, extend, take, take_slice};

const MAGIC: u32 = 0x184D_2204;
const FLG_VERSION_MASK: u8 = 0b1100_0000;
const FLG_VERSION: u8 = 0b0100_0000;
const FLG_INDEPENDENT: u8 = 0b0010_0000;
const FLG_BLOCK_CHECKSUM: u8 = 0b0001_0000;
const FLG_CONTENT_SIZE: u8 = 0b0000_1000;
const FLG_CONTENT_CHECKSUM: u8 = 0b0000_0100;
const FLG_DICTIONARY: u8 = 0b0000_0001;
const FLG_RESERVED: u8 = 0b0000_0010;
const BD_RESERVED: u8 = 0b1000_1111;
const STORED: u32 = 0x8000_0000;
/// No byte of a block gives more than 255 bytes.
const MOST_OUT_PER_BYTE: usize = 255;

/// Whether the header checksum of a frame must be right. Producers before 0.10 computed it wrongly (KAFKA-3160), and
/// wrote magic 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderChecksum {
    Verify,
    Ignore,
}

struct Frame {
    largest_block: usize,
    block_checksums: bool,
    content_checksum: bool,
}

/// Decompresses all frames of `input`, of which the output will probably have `guess` bytes.
pub(super) fn decompress(
    input: &[u8],
    checksum: HeaderChecksum,
    guess: usize,
    cap: usize,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let mut rest = input;
    let mut filled = 0;
    extend(output, guess.min(cap), cap);
    while !rest.is_empty() {
        let frame = header(&mut rest, checksum, cap)?;
        loop {
            let size = take(&mut rest).ok_or("a frame ends before its end mark")?;
            let size = u32::from_le_bytes(size);
            let length = (size & !STORED) as usize;
            if length == 0 {
                break;
            }
            if length > frame.largest_block {
                return Err("a block is larger than its frame allows".into());
            }
            let block = take_slice(&mut rest, length).ok_or("a block ends early")?;
            if frame.block_checksums {
                let stored = take(&mut rest).ok_or("a block's checksum ends early")?;
                if XxHash32::oneshot(0, block) != u32::from_le_bytes(stored) {
                    return Err("a block's checksum is wrong".into());
                }
            }
            if size & STORED != 0 {
                store(block, cap, output, &mut filled)?;
            } else {
                decode(block, frame.largest_block, cap, output, &mut filled)?;
            }
        }
        if frame.content_checksum {
            // not compared: the CRC of the batch covers all that is here
            take::<4>(&mut rest).ok_or("a frame's checksum ends early")?;
        }
    }
    output.truncate(filled);
    Ok(())
}

/// What a frame of several blocks gives at most. Encoders fill all blocks but the last one, so that is close; of a single block
/// nothing is known.
pub(super) fn most_out(input: &[u8]) -> Option<usize> {
    let mut rest = input;
    let frame = header(&mut rest, HeaderChecksum::Ignore, usize::MAX).ok()?;
    let (mut blocks, mut most) = (0, 0_usize);
    loop {
        let size = u32::from_le_bytes(take(&mut rest)?);
        let length = (size & !STORED) as usize;
        if length == 0 {
            return (blocks > 1).then_some(most);
        }
        take_slice(&mut rest, length)?;
        if frame.block_checksums {
            take::<4>(&mut rest)?;
        }
        blocks += 1;
        most += if size & STORED != 0 {
            length
        } else {
            frame
                .largest_block
                .min(length.saturating_mul(MOST_OUT_PER_BYTE))
        };
    }
}

fn header(rest: &mut &[u8], checksum: HeaderChecksum, cap: usize) -> Result<Frame, CodecError> {
    const EARLY: &str = "a frame's header ends early";
    if take(rest).map(u32::from_le_bytes).ok_or(EARLY)? != MAGIC {
        return Err("not the magic of a frame".into());
    }
    let descriptor = *rest;
    let [flg, bd] = take(rest).ok_or(EARLY)?;
    if flg & FLG_VERSION_MASK != FLG_VERSION {
        return Err("unknown version of the frame format".into());
    }
    if flg & FLG_RESERVED != 0 || bd & BD_RESERVED != 0 {
        return Err("reserved bits of a frame's header are set".into());
    }
    if flg & FLG_DICTIONARY != 0 {
        return Err("dictionaries are not supported".into());
    }
    if flg & FLG_INDEPENDENT == 0 {
        return Err("blocks that depend on each other are not supported".into());
    }
    let largest_block = match bd >> 4 {
        code @ 4..=7 => 1 << (8 + 2 * code),
        _ => return Err("unknown block size".into()),
    };
    if flg & FLG_CONTENT_SIZE != 0 {
        // a claim; good enough to give up early, and for nothing else
        let claimed = take(rest).map(u64::from_le_bytes).ok_or(EARLY)?;
        if usize::try_from(claimed).map_or(true, |claimed| claimed > cap) {
            return Err(CodecError::TooLarge);
        }
    }
    let length = descriptor.len() - rest.len();
    let [stored] = take(rest).ok_or(EARLY)?;
    if checksum == HeaderChecksum::Verify {
        let hash = XxHash32::oneshot(0, descriptor.get(..length).unwrap_or_default());
        if hash.to_le_bytes()[1] != stored {
            return Err("a frame's header checksum is wrong".into());
        }
    }
    Ok(Frame {
        largest_block,
        block_checksums: flg & FLG_BLOCK_CHECKSUM != 0,
        content_checksum: flg & FLG_CONTENT_CHECKSUM != 0,
    })
}

fn store(
    block: &[u8],
    cap: usize,
    output: &mut Vec<u8>,
    filled: &mut usize,
) -> Result<(), CodecError> {
    let end = *filled + block.len();
    if end > cap {
        return Err(CodecError::TooLarge);
    }
    extend(output, end, cap);
    if let Some(room) = output.get_mut(*filled..end) {
        room.copy_from_slice(block);
    }
    *filled = end;
    Ok(())
}

/// Decompresses one block behind the `filled` bytes of `output`. A block does not say how much it gives, so where the
/// room is too small it is doubled and the block decoded again.
fn decode(
    block: &[u8],
    largest_block: usize,
    cap: usize,
    output: &mut Vec<u8>,
    filled: &mut usize,
) -> Result<(), CodecError> {
    let most = largest_block.min(block.len() * MOST_OUT_PER_BYTE);
    let allowed = most.min(cap - *filled);
    loop {
        let end = output.len().min(*filled + allowed);
        let room = output.get_mut(*filled..end).unwrap_or_default();
        match decompress_into(block, room) {
            Ok(written) => {
                *filled += written;
                return Ok(());
            }
            Err(DecompressError::OutputTooSmall { .. }) => {
                let room = end - *filled;
                if room < allowed {
                    let room = (2 * room).max(2 * block.len()).min(allowed);
                    extend(output, *filled + room, cap);
                } else if allowed < most {
                    return Err(CodecError::TooLarge);
                } else {
                    return Err("a block gives more than its frame allows".into());
                }
            }
            Err(error) => return Err(CodecError::because(error)),
        }
    }
}
