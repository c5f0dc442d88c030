//! Request and response headers: what comes before the body of every message.

use super::cursor::Cursor;
use super::error::WireError;
use super::malformed::Malformed;
use super::peer::Peer;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::Request;

/// What the header of a request says.
#[derive(Debug, Clone, Copy)]
pub struct RequestHeader<'a> {
    /// Comes back in the answer.
    pub correlation_id: i32,
    /// `client.id`, at most 32,767 bytes.
    pub client_id: &'a str,
}

impl RequestHeader<'_> {
    /// `flexible`: header v2, which ends in tagged fields, in place of v1 (KIP-482).
    pub(super) fn encode(
        &self,
        api: ApiKey,
        version: i16,
        flexible: bool,
        out: &mut BytesMut,
    ) -> Result<(), TooLong> {
        let len = i16::try_from(self.client_id.len()).map_err(|_| TooLong("client.id"))?;
        out.put_i16(api as i16);
        out.put_i16(version);
        out.put_i32(self.correlation_id);
        out.put_i16(len);
        out.put_slice(self.client_id.as_bytes());
        if flexible {
            out.put_u8(0);
        }
        Ok(())
    }
}

/// A part of a request that is too long for the field that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is too long")]
pub struct TooLong(pub(super) &'static str);

/// Appends one frame to `out`: its length, then what `write` appends. Nothing is appended on an error.
pub(super) fn append_frame<E: From<TooLong>>(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.put_i32(0);
    let body = out.len();
    let written = write(out).and_then(|()| {
        let len = i32::try_from(out.len() - body).map_err(|_| TooLong("the request"))?;
        out[start..body].copy_from_slice(&len.to_be_bytes());
        Ok(())
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends a request of the crate as one frame.
pub(super) fn append_request<R: Request>(
    peer: &Peer,
    api: ApiKey,
    version: i16,
    header: RequestHeader<'_>,
    request: &R,
    out: &mut BytesMut,
) -> Result<(), WireError> {
    let appended = append_frame(out, |out| {
        header.encode(api, version, R::header_version(version) >= 2, out)?;
        let encoded = request.encode(out, version);
        encoded.map_err(|error| Unencodable(error.to_string()))
    });
    appended.map_err(|Unencodable(reason)| WireError::Encode {
        peer: peer.clone(),
        api,
        version,
        reason: reason.into(),
    })
}

/// The word of the crate's encoder, whose error has no type.
struct Unencodable(String);

impl From<TooLong> for Unencodable {
    fn from(error: TooLong) -> Self {
        Self(error.to_string())
    }
}

/// Takes the correlation id off the front of a response.
pub fn take_correlation_id(frame: &mut Bytes) -> Option<i32> {
    frame.try_get_i32().ok()
}

/// Takes the rest of the header off, which is the tagged fields of header v1.
pub(super) fn take_response_tags(
    frame: &mut Bytes,
    message: &'static str,
    version: i16,
    header_version: i16,
) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(frame, message, version, header_version >= 1);
    cursor.skip_tags()?;
    let taken = cursor.position();
    frame.advance(taken);
    Ok(())
}
