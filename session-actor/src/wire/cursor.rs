use super::malformed::{Malformed, Problem};

/// Reads a message of a broker. Nothing the message says about itself is believed before it is compared with what is left,
/// so no read can leave the slice and no claim reaches an allocation.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    message: &'static str,
    version: i16,
    flexible: bool,
}

impl<'a> Cursor<'a> {
    /// `flexible`: counts and lengths are compact and structures end in tagged fields (KIP-482).
    pub(super) fn new(
        bytes: &'a [u8],
        message: &'static str,
        version: i16,
        flexible: bool,
    ) -> Self {
        Self {
            bytes,
            at: 0,
            message,
            version,
            flexible,
        }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn version(&self) -> i16 {
        self.version
    }

    pub(super) fn is_flexible(&self) -> bool {
        self.flexible
    }

    pub(super) fn fault(
        &self,
        position: usize,
        field: &'static str,
        problem: Problem,
    ) -> Malformed {
        Malformed {
            message: self.message,
            version: self.version,
            position,
            field,
            problem,
        }
    }

    pub(super) fn take(
        &mut self,
        needed: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        let Some((taken, _)) = self.rest().split_at_checked(needed) else {
            return Err(self.ended(needed, field));
        };
        self.at += needed;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let Some(taken) = self.rest().first_chunk() else {
            return Err(self.ended(N, field));
        };
        self.at += N;
        Ok(*taken)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn ended(&self, needed: usize, field: &'static str) -> Malformed {
        let left = self.left();
        self.fault(self.at, field, Problem::Ended { needed, left })
    }

    pub(super) fn i8(&mut self, field: &'static str) -> Result<i8, Malformed> {
        self.array(field).map(i8::from_be_bytes)
    }

    pub(super) fn i16(&mut self, field: &'static str) -> Result<i16, Malformed> {
        self.array(field).map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, Malformed> {
        self.array(field).map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self, field: &'static str) -> Result<i64, Malformed> {
        self.array(field).map(i64::from_be_bytes)
    }

    pub(super) fn uuid(&mut self, field: &'static str) -> Result<uuid::Uuid, Malformed> {
        self.array(field).map(uuid::Uuid::from_bytes)
    }

    pub(super) fn unsigned_varint(&mut self, field: &'static str) -> Result<u32, Malformed> {
        let position = self.at;
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array(field)?;
            if shift == 28 && byte > 0x0f {
                return Err(self.fault(position, field, Problem::Varint));
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    /// Count of an array whose entries take `least` bytes or more, `None` for null.
    pub(super) fn count(
        &mut self,
        least: usize,
        field: &'static str,
    ) -> Result<Option<usize>, Malformed> {
        let position = self.at;
        let Some(claimed) = self.claim_i32(field)? else {
            return Ok(None);
        };
        let left = self.left();
        match usize::try_from(claimed) {
            Ok(count) if count <= left / least.max(1) => Ok(Some(count)),
            _ => Err(self.fault(
                position,
                field,
                Problem::Count {
                    claimed,
                    least,
                    left,
                },
            )),
        }
    }

    /// Content of a string, `None` for null. Not checked for UTF-8.
    pub(super) fn string(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        let position = self.at;
        let claimed = if self.flexible {
            self.unsigned_varint(field)?.checked_sub(1)
        } else {
            match self.i16(field)? {
                -1 => None,
                claimed => Some(u32::try_from(claimed).map_err(|_| {
                    let claimed = i32::from(claimed);
                    self.fault(position, field, Problem::Negative { claimed })
                })?),
            }
        };
        self.content(position, claimed, field)
    }

    /// Content of a byte array or of records, `None` for null.
    pub(super) fn bytes(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        let position = self.at;
        let claimed = self.claim_i32(field)?;
        self.content(position, claimed, field)
    }

    /// A reader that ends where the tagged field just begun ends. `self` goes on behind it.
    pub(super) fn section(&mut self, field: &'static str) -> Result<Self, Malformed> {
        let position = self.at;
        let claimed = self.unsigned_varint(field)?;
        let start = self.at;
        self.content(position, Some(claimed), field)?;
        Ok(Self {
            bytes: &self.bytes[..self.at],
            at: start,
            ..*self
        })
    }

    /// Count of the tagged fields that end a structure of a flexible version.
    pub(super) fn tags(&mut self) -> Result<u32, Malformed> {
        let position = self.at;
        let claimed = self.unsigned_varint("tagged fields")?;
        let left = self.left();
        // a tag and a size, a byte each
        let least = 2;
        match usize::try_from(claimed) {
            Ok(count) if count <= left / least => Ok(claimed),
            _ => Err(self.fault(
                position,
                "tagged fields",
                Problem::Count {
                    claimed,
                    least,
                    left,
                },
            )),
        }
    }

    /// Passes over tagged fields of which none matters to the caller; nothing to do in a version that has none.
    pub(super) fn skip_tags(&mut self) -> Result<(), Malformed> {
        if self.flexible {
            for _ in 0..self.tags()? {
                self.unsigned_varint("tag")?;
                self.section("tagged field")?;
            }
        }
        Ok(())
    }

    /// Nothing may follow.
    pub(super) fn finish(&self, field: &'static str) -> Result<(), Malformed> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.fault(self.at, field, Problem::Trailing { left })),
        }
    }

    /// A count or length as arrays and byte arrays have it; `None` for null.
    fn claim_i32(&mut self, field: &'static str) -> Result<Option<u32>, Malformed> {
        if self.flexible {
            return Ok(self.unsigned_varint(field)?.checked_sub(1));
        }
        let position = self.at;
        match self.i32(field)? {
            -1 => Ok(None),
            claimed => u32::try_from(claimed)
                .map(Some)
                .map_err(|_| self.fault(position, field, Problem::Negative { claimed })),
        }
    }

    fn content(
        &mut self,
        position: usize,
        claimed: Option<u32>,
        field: &'static str,
    ) -> Result<Option<&'a [u8]>, Malformed> {
        let Some(claimed) = claimed else {
            return Ok(None);
        };
        let left = self.left();
        match usize::try_from(claimed) {
            Ok(len) if len <= left => self.take(len, field).map(Some),
            _ => Err(self.fault(position, field, Problem::Length { claimed, left })),
        }
    }
}
