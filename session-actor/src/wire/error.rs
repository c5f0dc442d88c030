use super::error_code::ErrorCode;
use super::malformed::Malformed;
use super::peer::Peer;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::VersionRange;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Why a connection, or one call on it, failed. Cheap to clone: everyone who waited for a connection is told the same.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// No connection could be made.
    #[error("cannot connect to {peer}: {source}")]
    Connect {
        /// Whom we called.
        peer: Peer,
        /// Why not: the name does not resolve, nobody listens there, no answer in `socket.connection.setup.timeout.ms`.
        source: Arc<io::Error>,
    },
    /// The deadline of a call, or of opening the connection, passed. The connection was closed.
    #[error(
        "{peer} did not complete {what} within {} ms; it is overloaded, frozen or out of reach (request.timeout.ms)",
        after.as_millis()
    )]
    Timeout {
        /// Who did not answer.
        peer: Peer,
        /// What was asked.
        what: &'static str,
        /// How long we waited, queueing and writing included.
        after: Duration,
    },
    /// The broker closed the connection between two frames, as it does when it stops or after `connections.max.idle.ms`.
    #[error("{peer} closed the connection")]
    Closed {
        /// Who closed.
        peer: Peer,
    },
    /// The broker closed a fresh connection in place of an answer.
    #[error(
        "{peer} closed the connection without an answer to ApiVersions; \
         check security.protocol (does the port want TLS or SASL?) and that a Kafka broker of 0.10 or later listens there"
    )]
    ClosedAtOnce {
        /// Who closed.
        peer: Peer,
    },
    /// Reading or writing failed.
    #[error("connection to {peer} lost while {doing}: {source}")]
    Lost {
        /// The other end.
        peer: Peer,
        /// "reading" or "writing".
        doing: &'static str,
        /// What the operating system says.
        source: Arc<io::Error>,
    },
    /// The connection ended inside a frame.
    #[error("{peer} closed the connection inside a frame: {missing} of {of} bytes are missing")]
    Truncated {
        /// Who closed.
        peer: Peer,
        /// Bytes that did not come.
        missing: usize,
        /// Length of the part that was being read: 4 for a frame's length, else the frame's body.
        of: usize,
    },
    /// A frame length that no broker sends.
    #[error(
        "{peer} claims a frame of {claimed} bytes (\"{}\"), allowed are 4 to {limit}; is it a Kafka broker?",
        claimed.to_be_bytes().escape_ascii()
    )]
    FrameLength {
        /// Who claims it.
        peer: Peer,
        /// The claim.
        claimed: i32,
        /// The most we take.
        limit: usize,
    },
    /// The first bytes were those of an HTTP server.
    #[error(
        "{peer} is an HTTP server, not a Kafka broker; check the port in bootstrap.servers or advertised.listeners"
    )]
    HttpServer {
        /// Who answered.
        peer: Peer,
    },
    /// The first bytes were those of TLS, and we spoke in plain.
    #[error(
        "{peer} speaks TLS on this port; set security.protocol to SSL or SASL_SSL, or use the port of the plaintext listener"
    )]
    TlsServer {
        /// Who answered.
        peer: Peer,
    },
    /// An answer that belongs to no request or to another one.
    #[error(
        "{peer} sent an answer with correlation id {got}, expected was {expected:?}; the connection was closed"
    )]
    Correlation {
        /// Who sent it.
        peer: Peer,
        /// Id of the request whose turn it was, `None` if nothing was asked.
        expected: Option<i32>,
        /// Id in the answer.
        got: i32,
    },
    /// An answer whose counts or lengths do not fit its bytes.
    #[error("{peer} sent a malformed answer: {source}; the connection was closed")]
    Malformed {
        /// Who sent it.
        peer: Peer,
        /// What is wrong with it, and where.
        source: Malformed,
    },
    /// An answer whose layout is sound and whose content is not, such as a name that is not UTF-8.
    #[error(
        "{peer} sent an answer to {api:?} v{version} that cannot be decoded: {reason}; the connection was closed"
    )]
    Decode {
        /// Who sent it.
        peer: Peer,
        /// What was asked.
        api: ApiKey,
        /// Version of the request.
        version: i16,
        /// The decoder's word for it.
        reason: Arc<str>,
    },
    /// A request that the version agreed on cannot carry. Nothing was sent; the connection is unharmed.
    #[error("{api:?} v{version} cannot carry the request for {peer}: {reason}")]
    Encode {
        /// For whom it was.
        peer: Peer,
        /// What was to be asked.
        api: ApiKey,
        /// Version of the request.
        version: i16,
        /// The encoder's word for it.
        reason: Arc<str>,
    },
    /// Broker and client have no version of an API in common. Nothing was sent; the connection is unharmed.
    #[error("{peer} {}", versions(*api, *ours, *theirs))]
    UnsupportedVersion {
        /// The broker.
        peer: Peer,
        /// The API.
        api: ApiKey,
        /// Versions that this client can speak.
        ours: VersionRange,
        /// Versions that the broker offers, `None` if it does not have the API.
        theirs: Option<VersionRange>,
    },
    /// The broker refused ApiVersions with an error of its own.
    #[error("{peer} answered ApiVersions v{version} with {code}")]
    Refused {
        /// The broker.
        peer: Peer,
        /// Version of the request.
        version: i16,
        /// Its error.
        code: ErrorCode,
    },
    /// An API whose answers the guard has no table for, which is a fault of this client. Nothing was sent.
    #[error("{api:?} cannot be called: the guard has no table for its answers")]
    Unguarded {
        /// The API.
        api: ApiKey,
    },
    /// The connection's task was ended from outside, as happens when its runtime shuts down.
    #[error("the connection to {peer} was shut down")]
    ShutDown {
        /// The other end.
        peer: Peer,
    },
}

fn versions(api: ApiKey, ours: VersionRange, theirs: Option<VersionRange>) -> String {
    let VersionRange { min, max } = ours;
    match theirs {
        Some(range) => format!(
            "has {api:?} {}..{}, this client {min}..{max}; upgrade the older side",
            range.min, range.max
        ),
        // what any broker has
        None if api == ApiKey::Metadata => {
            "does not have Metadata, so it is no broker; is it the port of a controller?".to_owned()
        }
        None => format!("does not have {api:?}, this client {min}..{max}; upgrade it"),
    }
}

impl WireError {
    /// The other end; `None` if none was called.
    pub const fn peer(&self) -> Option<&Peer> {
        match self {
            Self::Connect { peer, .. }
            | Self::Timeout { peer, .. }
            | Self::Closed { peer }
            | Self::ClosedAtOnce { peer }
            | Self::Lost { peer, .. }
            | Self::Truncated { peer, .. }
            | Self::FrameLength { peer, .. }
            | Self::HttpServer { peer }
            | Self::TlsServer { peer }
            | Self::Correlation { peer, .. }
            | Self::Malformed { peer, .. }
            | Self::Decode { peer, .. }
            | Self::Encode { peer, .. }
            | Self::UnsupportedVersion { peer, .. }
            | Self::Refused { peer, .. }
            | Self::ShutDown { peer } => Some(peer),
            Self::Unguarded { .. } => None,
        }
    }

    /// Whether a new connection, to this broker or to another one, may do what this one could not. What remains is a fault in
    /// the configuration, in a request, or in the program at the other end, which trying again does not cure.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Closed { .. }
            | Self::ClosedAtOnce { .. }
            | Self::Lost { .. }
            | Self::Truncated { .. }
            | Self::Correlation { .. }
            | Self::ShutDown { .. } => true,
            Self::Refused { code, .. } => code.is_retriable(),
            Self::FrameLength { .. }
            | Self::HttpServer { .. }
            | Self::TlsServer { .. }
            | Self::Malformed { .. }
            | Self::Decode { .. }
            | Self::Encode { .. }
            | Self::UnsupportedVersion { .. }
            | Self::Unguarded { .. } => false,
        }
    }
}
