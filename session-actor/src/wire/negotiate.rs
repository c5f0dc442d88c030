//! Which versions of which APIs a broker has (KIP-35, KIP-511).

#[cfg(test)]
mod tests;

use super::cursor::Cursor;
use super::error::WireError;
use super::error_code::ErrorCode;
use super::frame::{FrameReader, FrameWriter};
use super::guard;
use super::header::{self, RequestHeader};
use super::malformed::Malformed;
use super::peer::Peer;
use bytes::Bytes;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Decodable, Message, StrBytes, VersionRange};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// The name this client goes by in the broker's `ClientMetrics` and request log (KIP-511).
const SOFTWARE_NAME: &str = "consumer-app";
/// Its version there.
const SOFTWARE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a broker said about itself when the connection was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiVersionsMap {
    peer: Peer,
    /// By API key, sorted.
    ranges: Box<[(i16, VersionRange)]>,
    throttle_time: Duration,
}

impl ApiVersionsMap {
    fn new(peer: Peer, response: &ApiVersionsResponse) -> Self {
        let mut ranges: Vec<_> = response
            .api_keys
            .iter()
            .map(|api| (api.api_key, range(api.min_version, api.max_version)))
            .collect();
        ranges.sort_by_key(|(key, _)| *key);
        Self {
            peer,
            ranges: ranges.into(),
            throttle_time: throttle_time(response.throttle_time_ms),
        }
    }

    /// Versions that the broker has of an API, `None` if it does not have the API.
    pub fn range(&self, api: ApiKey) -> Option<VersionRange> {
        let at = self
            .ranges
            .binary_search_by_key(&(api as i16), |(key, _)| *key);
        at.ok().map(|at| self.ranges[at].1)
    }

    /// The newest version of an API that the broker and `ours` have in common.
    ///
    /// # Errors
    ///
    /// [`UnsupportedVersion`](WireError::UnsupportedVersion), which names both ranges, if there is none.
    pub fn choose(&self, api: ApiKey, ours: VersionRange) -> Result<i16, WireError> {
        let theirs = self.range(api);
        let common = theirs.map(|theirs| theirs.intersect(&ours));
        match common.filter(|common| !common.is_empty()) {
            Some(common) => Ok(common.max),
            None => Err(WireError::UnsupportedVersion {
                peer: self.peer.clone(),
                api,
                ours,
                theirs,
            }),
        }
    }

    /// How long the broker wants to be left alone after this answer (KIP-219).
    pub fn throttle_time(&self) -> Duration {
        self.throttle_time
    }
}

/// A throttle time as brokers send it; negative is none.
fn throttle_time(ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn range(min: i16, max: i16) -> VersionRange {
    VersionRange { min, max }
}

/// Asks for the broker's versions, with the newest ApiVersions first.
///
/// A broker that does not have that version answers UNSUPPORTED_VERSION in the layout of v0, and may list the versions that it
/// has (KIP-511); then the newest common one is asked with, or v0 if it lists nothing. Each attempt is with an older version
/// than the one before, so a broker that refuses them all ends it with an error.
pub(super) async fn negotiate<R, W>(
    reader: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    client_id: &str,
    next_correlation_id: &mut i32,
) -> Result<ApiVersionsMap, WireError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let peer = reader.peer().clone();
    let ours = ApiVersionsRequest::VERSIONS;
    let mut version = ours.max;
    loop {
        let correlation_id = *next_correlation_id;
        *next_correlation_id = correlation_id.wrapping_add(1);
        let header = RequestHeader {
            correlation_id,
            client_id,
        };
        let request = request(version);
        header::append_request(
            &peer,
            ApiKey::ApiVersions,
            version,
            header,
            &request,
            writer.queue(),
        )?;
        writer.flush().await?;
        let body = read_answer(reader, correlation_id).await?;
        match decode(&peer, version, body)? {
            Answer::Accepted(response) => return Ok(ApiVersionsMap::new(peer, &response)),
            Answer::Unsupported(theirs) => {
                let older = range(ours.min, version - 1);
                let common = theirs.unwrap_or(older).intersect(&older);
                if common.is_empty() {
                    return Err(WireError::UnsupportedVersion {
                        peer,
                        api: ApiKey::ApiVersions,
                        ours,
                        theirs,
                    });
                }
                version = if theirs.is_some() {
                    common.max
                } else {
                    common.min
                };
            }
        }
    }
}

fn request(version: i16) -> ApiVersionsRequest {
    let request = ApiVersionsRequest::default();
    if version < 3 {
        return request;
    }
    request
        .with_client_software_name(StrBytes::from_static_str(SOFTWARE_NAME))
        .with_client_software_version(StrBytes::from_static_str(SOFTWARE_VERSION))
}

/// The body of the next frame, whose header has no tagged fields in any version of ApiVersions.
async fn read_answer<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    expected: i32,
) -> Result<Bytes, WireError> {
    let peer = reader.peer().clone();
    let mut frame = Vec::new();
    match reader.read_len().await {
        Ok(_) => reader.read_body_into(&mut frame).await?,
        Err(WireError::Closed { peer }) => return Err(WireError::ClosedAtOnce { peer }),
        Err(error) => return Err(error),
    }
    let mut frame = Bytes::from(frame);
    match header::take_correlation_id(&mut frame) {
        Some(got) if got == expected => Ok(frame),
        got => Err(WireError::Correlation {
            peer,
            expected: Some(expected),
            got: got.unwrap_or_default(),
        }),
    }
}

enum Answer {
    Accepted(ApiVersionsResponse),
    /// With the versions of ApiVersions that the broker has, if it says so.
    Unsupported(Option<VersionRange>),
}

fn decode(peer: &Peer, version: i16, mut body: Bytes) -> Result<Answer, WireError> {
    let malformed = |source| WireError::Malformed {
        peer: peer.clone(),
        source,
    };
    let mut start = Cursor::new(&body, "ApiVersionsResponse", 0, false);
    match ErrorCode(start.i16("error_code").map_err(malformed)?) {
        ErrorCode::NONE => {}
        // A list that cannot be read is worth as much as none.
        ErrorCode::UNSUPPORTED_VERSION => {
            return Ok(Answer::Unsupported(listed(start).unwrap_or(None)));
        }
        code => {
            let peer = peer.clone();
            return Err(WireError::Refused {
                peer,
                version,
                code,
            });
        }
    }
    guard::skim(&guard::API_VERSIONS, version, &body).map_err(malformed)?;
    let decoded = ApiVersionsResponse::decode(&mut body, version);
    decoded
        .map(Answer::Accepted)
        .map_err(|error| WireError::Decode {
            peer: peer.clone(),
            api: ApiKey::ApiVersions,
            version,
            reason: error.to_string().into(),
        })
}

/// The range of ApiVersions itself in the list of a v0 answer.
fn listed(mut cursor: Cursor<'_>) -> Result<Option<VersionRange>, Malformed> {
    for _ in 0..cursor.count(6, "api_keys")?.unwrap_or(0) {
        let key = cursor.i16("api_key")?;
        let listed = range(cursor.i16("min_version")?, cursor.i16("max_version")?);
        if key == ApiKey::ApiVersions as i16 {
            return Ok(Some(listed));
        }
    }
    Ok(None)
}
