//! A separator as it is given on the command line.

use std::str::FromStr;

/// Bytes that separate, given as a text in which `\n`, `\r`, `\t`, `\0`, `\\` and `\xHH` stand for what cannot be
/// typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Separator(Vec<u8>);

impl Separator {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The text has a backslash that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a backslash must be followed by n, r, t, 0, another backslash, or x and two hexadecimal digits"
)]
pub(crate) struct SeparatorError;

impl FromStr for Separator {
    type Err = SeparatorError;

    fn from_str(text: &str) -> Result<Self, SeparatorError> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            bytes.extend_from_slice(before.as_bytes());
            let mut escape = after.chars();
            bytes.push(match escape.next() {
                Some('n') => b'\n',
                Some('r') => b'\r',
                Some('t') => b'\t',
                Some('0') => 0,
                Some('\\') => b'\\',
                Some('x') => hex_byte(&mut escape).ok_or(SeparatorError)?,
                _ => return Err(SeparatorError),
            });
            rest = escape.as_str();
        }
        bytes.extend_from_slice(rest.as_bytes());
        Ok(Self(bytes))
    }
}

fn hex_byte(digits: &mut std::str::Chars<'_>) -> Option<u8> {
    let (high, low) = (digits.next()?.to_digit(16)?, digits.next()?.to_digit(16)?);
    u8::try_from(high << 4 | low).ok()
}
