use zstd::zstd_safe::{DCtx, get_error_name, get_frame_content_size, zstd_sys::ZSTD_ErrorCode};

use super::{CodecError, larger};

/// How the library says that the output does not fit.
const TOO_SMALL: usize = (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

pub(super) struct Zstd {
    context: DCtx<'static>,
}

impl Zstd {
    pub(super) fn new() -> Result<Self, CodecError> {
        let context = DCtx::try_create().ok_or("no memory for a zstd context")?;
        Ok(Self { context })
    }

    /// Decompresses all frames of `input`, of which the output will probably have `guess` bytes.
    ///
    /// In one call straight into the output: a stream would need a window beside it, as large as a frame claims, and a
    /// copy out of it. Where the room is too small it is doubled and all decoded again.
    pub(super) fn decompress(
        &mut self,
        input: &[u8],
        guess: usize,
        cap: usize,
        output: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        /// Up to this many times the input a frame's claim is worth a buffer of that size at once.
        const CREDIBLE: usize = 64;
        let claimed = match get_frame_content_size(input) {
            Ok(Some(claimed)) => usize::try_from(claimed).unwrap_or(usize::MAX),
            _ => guess,
        };
        if claimed > cap {
            return Err(CodecError::TooLarge);
        }
        output.clear();
        output.reserve_exact(claimed.min(input.len().saturating_mul(CREDIBLE)).min(cap));
        loop {
            match self.context.decompress(output, input) {
                Ok(written) if written > cap => return Err(CodecError::TooLarge),
                Ok(_) => return Ok(()),
                Err(TOO_SMALL) if output.capacity() < cap => {
                    // nothing in it is needed: freed before the larger one is allocated
                    let capacity = larger(output.capacity(), 0, cap);
                    *output = Vec::new();
                    output.reserve_exact(capacity);
                }
                Err(TOO_SMALL) => return Err(CodecError::TooLarge),
                Err(code) => return Err(CodecError::because(get_error_name(code))),
            }
        }
    }
}
