use super::{CodecError, extend, take, take_slice};

/// Begins each xerial stream. No bare block begins so: its first element would be a copy, of which nothing is there yet.
const XERIAL_MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
/// Version and lowest compatible version follow the magic; producers write various values there.
const XERIAL_VERSIONS: usize = 8;
/// No element of a block gives more than 64 bytes for 3.
const MOST_OUT: usize = 64;
const FOR_BYTES_IN: usize = 3;

/// Decompresses a bare block, or the chunks of an xerial stream.
pub(super) fn decompress(input: &[u8], cap: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut filled = 0;
    if !input.starts_with(&XERIAL_MAGIC) {
        block(input, cap, output, &mut filled)?;
    } else {
        let mut rest = input;
        while !rest.is_empty() {
            // streams may follow each other; read as a chunk's length the magic would be negative
            if rest.starts_with(&XERIAL_MAGIC) {
                take_slice(&mut rest, XERIAL_MAGIC.len() + XERIAL_VERSIONS)
                    .ok_or("the xerial header ends early")?;
                continue;
            }
            let length = take(&mut rest).ok_or("a chunk's length ends early")?;
            let chunk = usize::try_from(i32::from_be_bytes(length))
                .ok()
                .and_then(|length| take_slice(&mut rest, length))
                .ok_or("a chunk is longer than what is left")?;
            block(chunk, cap, output, &mut filled)?;
        }
    }
    output.truncate(filled);
    Ok(())
}

/// Decompresses one block behind the `filled` bytes of `output`.
fn block(
    block: &[u8],
    cap: usize,
    output: &mut Vec<u8>,
    filled: &mut usize,
) -> Result<(), CodecError> {
    let claimed = snap::raw::decompress_len(block).map_err(CodecError::because)?;
    let end = filled.saturating_add(claimed);
    if end > cap {
        return Err(CodecError::TooLarge);
    }
    if claimed / MOST_OUT > block.len() / FOR_BYTES_IN {
        return Err("a block claims more than its bytes can give".into());
    }
    extend(output, end, cap);
    let room = output.get_mut(*filled..end).unwrap_or_default();
    snap::raw::Decoder::new()
        .decompress(block, room)
        .map_err(CodecError::because)?;
    *filled = end;
    Ok(())
}
