//! An opened connection.

use super::connect::{Connect, Stream, guarded};
use super::error::WireError;
use super::frame::{FrameReader, FrameWriter};
use super::negotiate::{ApiVersionsMap, negotiate};
use super::peer::Peer;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{ReadHalf, WriteHalf, split};
use tokio::time::timeout;

/// The reading half of a connection.
pub type Reader = FrameReader<ReadHalf<Stream>>;
/// The writing half of a connection.
pub type Writer = FrameWriter<WriteHalf<Stream>>;

/// A connection on which the broker has told its versions. Closed when both halves are dropped.
pub struct Connection {
    /// Where answers come from.
    pub reader: Reader,
    /// Where requests go.
    pub writer: Writer,
    /// What the broker can do.
    pub versions: ApiVersionsMap,
    /// For the next request; the ids before it are used up.
    pub next_correlation_id: i32,
}

impl Connection {
    /// Connects and exchanges ApiVersions, all within `limit`. `max_len` is the longest answer taken, in bytes.
    ///
    /// # Errors
    ///
    /// [`Connect`](WireError::Connect), [`Timeout`](WireError::Timeout), or what kept the broker and us from agreeing.
    pub async fn open(
        connector: &dyn Connect,
        peer: Peer,
        client_id: &str,
        max_len: usize,
        limit: Duration,
    ) -> Result<Self, WireError> {
        let mut what = "the connection setup";
        let opening = async {
            let stream = guarded::connect(connector, peer.address.host(), peer.address.port());
            let stream = stream.await.map_err(|error| WireError::Connect {
                peer: peer.clone(),
                source: Arc::new(error),
            })?;
            what = "ApiVersions";
            let (read, write) = split(stream);
            let mut reader = FrameReader::new(read, peer.clone(), max_len);
            let mut writer = FrameWriter::new(write, peer.clone());
            let mut next_correlation_id = 0;
            let versions = negotiate(
                &mut reader,
                &mut writer,
                client_id,
                &mut next_correlation_id,
            )
            .await?;
            Ok(Self {
                reader,
                writer,
                versions,
                next_correlation_id,
            })
        };
        match timeout(limit, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(WireError::Timeout {
                peer,
                what,
                after: limit,
            }),
        }
    }
}
