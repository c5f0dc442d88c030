//! A record as its value, and its key when asked for.

use super::{RecordView, Separator};

/// How records are told apart in text, and keys from values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLayout {
    /// What stands between key and value; without it keys are not printed.
    pub(crate) key_separator: Option<Separator>,
    /// What follows each record.
    pub(crate) record_separator: Separator,
}

impl Default for TextLayout {
    fn default() -> Self {
        Self {
            key_separator: None,
            record_separator: Separator::from_bytes(b"\n"),
        }
    }
}

/// What a null is printed as, as `kafka-console-consumer` does.
const NULL: &[u8] = b"null";

impl TextLayout {
    pub(super) fn append<H>(&self, record: &RecordView<'_, H>, output: &mut Vec<u8>) {
        if let Some(separator) = &self.key_separator {
            output.extend_from_slice(record.key.unwrap_or(NULL));
            output.extend_from_slice(separator.as_bytes());
        }
        output.extend_from_slice(record.value.unwrap_or(NULL));
        output.extend_from_slice(self.record_separator.as_bytes());
    }
}
