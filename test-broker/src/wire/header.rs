use bytes::{Buf, Bytes};

use super::guard::{Budget, Malformed};
use super::schema::Reader;

/// The header of a request. Its first three fields have the same layout in every version, so that they can be read
/// even if the API or its version is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHeader {
    pub(crate) api_key: i16,
    pub(crate) api_version: i16,
    pub(crate) correlation_id: i32,
}

impl RequestHeader {
    /// Takes the fixed part of the header from the front of `frame`.
    pub(crate) fn take(frame: &mut Bytes) -> Result<Self, Malformed> {
        if frame.remaining() < 8 {
            return Err(Malformed::Cut);
        }
        Ok(Self {
            api_key: frame.get_i16(),
            api_version: frame.get_i16(),
            correlation_id: frame.get_i32(),
        })
    }

    /// Takes the rest of the header: the client id, and the tagged fields of a flexible one.
    pub(crate) fn take_client_id(
        frame: &mut Bytes,
        flexible: bool,
    ) -> Result<Option<String>, Malformed> {
        let mut reader = Reader::new(frame);
        let client_id = reader.string(false)?.map(String::from_utf8_lossy);
        let client_id = client_id.map(|id| id.into_owned());
        if flexible {
            reader.tags(&[], 0, &mut Budget::default())?;
        }
        let read = reader.position();
        frame.advance(read);
        Ok(client_id)
    }
}
