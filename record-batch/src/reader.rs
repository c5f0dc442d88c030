/// Reads the fields of v2 records off the front of a slice. Their numbers are signed varints: zigzag, 7 bits a byte, the
/// least significant first.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from byte `at` on.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Position of the next byte in the slice.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Number of bytes left.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// All bytes left.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.rest().get(..count)?;
        self.at += count;
        Some(taken)
    }

    /// At most 5 bytes; bits beyond 32 are dropped, as Java does.
    #[inline]
    pub(crate) fn varint(&mut self) -> Option<i32> {
        let mut value = self.byte()? as u32;
        if value >= 0x80 {
            value &= 0x7f;
            let mut shift = 7;
            loop {
                let byte = self.byte()? as u32;
                value |= (byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
                shift += 7;
                if shift > 28 {
                    return None;
                }
            }
        }
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// At most 10 bytes; bits beyond 64 are dropped, as Java does.
    #[inline]
    pub(crate) fn varlong(&mut self) -> Option<i64> {
        let mut value = self.byte()? as u64;
        if value >= 0x80 {
            value &= 0x7f;
            let mut shift = 7;
            loop {
                let byte = self.byte()? as u64;
                value |= (byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
                shift += 7;
                if shift > 63 {
                    return None;
                }
            }
        }
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}
