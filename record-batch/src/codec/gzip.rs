use flate2::{Decompress, FlushDecompress, Status};

use super::{CodecError, larger};

/// The largest window that deflate has, and the only one that Kafka's producers use.
const WINDOW_BITS: u8 = 15;

pub(super) struct Gzip {
    inflate: Decompress,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new_gzip(WINDOW_BITS),
        }
    }

    /// Decompresses all gzip members of `input`.
    pub(super) fn decompress(
        &mut self,
        input: &[u8],
        cap: usize,
        output: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let mut rest = input;
        output.clear();
        while !rest.is_empty() {
            self.inflate.reset(true);
            while !self.step(&mut rest, cap, output)? {}
        }
        Ok(())
    }

    /// Goes on with a member as far as there is room for its output; says whether it is complete.
    fn step(
        &mut self,
        rest: &mut &[u8],
        cap: usize,
        output: &mut Vec<u8>,
    ) -> Result<bool, CodecError> {
        if output.len() == output.capacity() {
            // one byte more than allowed, so that what fits exactly can be told from what does not
            let needed = output.len() + 1;
            let capacity = larger(output.capacity(), needed, cap.saturating_add(1));
            output.reserve_exact(capacity - output.len());
        }
        let (read, written) = (self.inflate.total_in(), output.len());
        let status = self
            .inflate
            .decompress_vec(rest, output, FlushDecompress::None)
            .map_err(CodecError::because)?;
        if output.len() > cap {
            return Err(CodecError::TooLarge);
        }
        let read = usize::try_from(self.inflate.total_in() - read).unwrap_or(usize::MAX);
        *rest = rest.get(read..).unwrap_or_default();
        match status {
            Status::StreamEnd => Ok(true),
            _ if read == 0 && output.len() == written => Err("a member ends early".into()),
            _ => Ok(false),
        }
    }
}
