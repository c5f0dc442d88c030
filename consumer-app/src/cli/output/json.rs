//! A record as a JSON object on a line of its own. Always UTF-8, and nothing of the record is lost: a text is a
//! string, bytes that are no UTF-8 are `{"base64": "…"}`, null is null.

use std::io::{self, Write};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use super::RecordView;

/// The timestamp of a record that has none, as it is stored.
const NO_TIMESTAMP: i64 = -1;

pub(super) fn append<'a, H>(record: RecordView<'a, H>, line: &mut Vec<u8>) -> io::Result<()>
where
    H: IntoIterator<Item = (&'a [u8], Option<&'a [u8]>)>,
{
    line.extend_from_slice(b"{\"topic\":");
    serde_json::to_writer(&mut *line, record.topic)?;
    write!(
        line,
        ",\"partition\":{},\"offset\":{},\"timestamp\":",
        record.partition, record.offset
    )?;
    match record.timestamp {
        NO_TIMESTAMP => line.extend_from_slice(b"null"),
        timestamp => write!(line, "{timestamp}")?,
    }
    line.extend_from_slice(b",\"key\":");
    append_bytes(record.key, line)?;
    line.extend_from_slice(b",\"value\":");
    append_bytes(record.value, line)?;
    line.extend_from_slice(b",\"headers\":[");
    for (index, (name, value)) in record.headers.into_iter().enumerate() {
        line.extend_from_slice(if index == 0 {
            b"{\"key\":"
        } else {
            b",{\"key\":"
        });
        append_bytes(Some(name), line)?;
        line.extend_from_slice(b",\"value\":");
        append_bytes(value, line)?;
        line.push(b'}');
    }
    line.extend_from_slice(b"]}\n");
    Ok(())
}

fn append_bytes(bytes: Option<&[u8]>, line: &mut Vec<u8>) -> io::Result<()> {
    let Some(bytes) = bytes else {
        line.extend_from_slice(b"null");
        return Ok(());
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(serde_json::to_writer(line, text)?),
        Err(_) => write!(
            line,
            "{{\"base64\":\"{}\"}}",
            Base64Display::new(bytes, &STANDARD)
        ),
    }
}
