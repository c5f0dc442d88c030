//! A client for everything but fetching, on a connection of its own: a lookup behind a long poll would wait as long as that.

mod task;
#[cfg(test)]
mod tests;

use super::connect::Connect;
use super::connection::Connection;
use super::error::WireError;
use super::guard;
use super::header::{self, RequestHeader};
use super::negotiate::ApiVersionsMap;
use super::peer::Peer;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// Longest answer that a [`ControlClient`] takes by default, in bytes. A million partitions of three replicas are 42 MB of
/// metadata.
pub const MAX_RESPONSE_BYTES: usize = 100 * 1024 * 1024;

/// Calls one broker. Cheap to clone; the connection closes when the last clone is dropped.
///
/// Requests go out in the order of the calls, and answers come back in it. A call whose future is dropped is still sent whole
/// and its answer thrown away. Answers are guarded, then decoded, on the task that owns the connection.
///
/// The first failure of the connection (the broker closes it, an answer is late or unsound) ends it and everything on it: all
/// calls that wait and all later ones get that same error, and the owner makes a new client.
///
/// `throttle_time_ms` of an answer is the caller's to obey: until it has passed, the broker answers nobody on this connection
/// (KIP-219).
#[derive(Debug, Clone)]
pub struct ControlClient {
    calls: mpsc::UnboundedSender<task::Call>,
    failure: watch::Receiver<Option<WireError>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    peer: Peer,
    client_id: Box<str>,
    versions: ApiVersionsMap,
    next_correlation_id: AtomicI32,
}

impl ControlClient {
    /// Connects, exchanges ApiVersions and starts the task that owns the connection, all within `limit`. Answers longer than
    /// `max_len` bytes are refused.
    ///
    /// # Errors
    ///
    /// Those of [`Connection::open`].
    ///
    /// # Panics
    ///
    /// Outside of a `LocalSet` or an actix arbiter.
    pub async fn connect(
        connector: &dyn Connect,
        peer: Peer,
        client_id: &str,
        max_len: usize,
        limit: Duration,
    ) -> Result<Self, WireError> {
        let opened = Connection::open(connector, peer.clone(), client_id, max_len, limit).await?;
        let shared = Shared {
            peer,
            client_id: client_id.into(),
            versions: opened.versions,
            next_correlation_id: AtomicI32::new(opened.next_correlation_id),
        };
        let (calls, queue) = mpsc::unbounded_channel();
        let (failed, failure) = watch::channel(None);
        tokio::task::spawn_local(task::run(opened.reader, opened.writer, queue, failed));
        Ok(Self {
            calls,
            failure,
            shared: Arc::new(shared),
        })
    }

    /// The broker.
    pub fn peer(&self) -> &Peer {
        &self.shared.peer
    }

    /// What the broker can do.
    pub fn versions(&self) -> &ApiVersionsMap {
        &self.shared.versions
    }

    /// The version in which [`call`](Self::call) asks: the newest that the broker and the crate have in common.
    ///
    /// # Errors
    ///
    /// [`UnsupportedVersion`](WireError::UnsupportedVersion).
    pub fn version<R: Request>(&self) -> Result<i16, WireError> {
        self.versions().choose(api::<R>(), R::VERSIONS)
    }

    /// Asks in the newest version that both sides have.
    ///
    /// # Errors
    ///
    /// Those of [`call_version`](Self::call_version), and [`UnsupportedVersion`](WireError::UnsupportedVersion).
    pub async fn call<R: Request>(
        &self,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, WireError>
    where
        R::Response: Send + 'static,
    {
        self.call_version(self.version::<R>()?, request, limit)
            .await
    }

    /// Asks in a version of the caller's choice and waits for the answer, no longer than `limit`, which covers queueing,
    /// writing and the answer. A call that takes longer closes the connection, since its answer would be taken for the next
    /// one's.
    ///
    /// # Errors
    ///
    /// [`Encode`](WireError::Encode) and [`Unguarded`](WireError::Unguarded) leave the connection as it was; every other error
    /// is that of the connection, which is then closed. Errors inside the answer are not looked at.
    pub async fn call_version<R: Request>(
        &self,
        version: i16,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, WireError>
    where
        R::Response: Send + 'static,
    {
        let api = api::<R>();
        let Some(schema) = guard::response(api) else {
            return Err(WireError::Unguarded { api });
        };
        let correlation_id = self
            .shared
            .next_correlation_id
            .fetch_add(1, Ordering::Relaxed);
        let header = RequestHeader {
            correlation_id,
            client_id: &self.shared.client_id,
        };
        let mut frame = BytesMut::new();
        header::append_request(self.peer(), api, version, header, request, &mut frame)?;
        let (answered, answer) = oneshot::channel();
        let peer = self.peer().clone();
        let call = task::Call {
            frame,
            correlation_id,
            api: schema.api_name(),
            deadline: deadline(limit),
            limit,
            finish: Box::new(move |frame| {
                let decoded = frame.and_then(|frame| decode(&peer, api, schema, version, frame));
                let failed = decoded.as_ref().err().cloned();
                // nobody waits for the answer of a dropped call
                let _ = answered.send(decoded);
                failed.map_or(Ok(()), Err)
            }),
        };
        if self.calls.send(call).is_err() {
            return Err(self.failure_or_shut_down());
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(self.failure_or_shut_down()),
        }
    }

    /// Why the client is of no use any more, `None` while it is.
    pub fn failure(&self) -> Option<WireError> {
        let failure = self.failure.borrow().clone();
        failure.or_else(|| self.calls.is_closed().then(|| self.failure_or_shut_down()))
    }

    /// Waits until the connection has failed, which may be while nothing is asked.
    pub async fn failed(&self) -> WireError {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(failure) => failure
                .clone()
                .unwrap_or_else(|| self.failure_or_shut_down()),
            Err(_) => self.failure_or_shut_down(),
        }
    }

    fn failure_or_shut_down(&self) -> WireError {
        let failure = self.failure.borrow().clone();
        failure.unwrap_or_else(|| WireError::ShutDown {
            peer: self.peer().clone(),
        })
    }
}

fn api<R: Request>() -> ApiKey {
    ApiKey::try_from(R::KEY).expect("the crate knows the keys of its requests")
}

/// A limit that no clock can hold is as good as a year.
fn deadline(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60))
}

fn decode<T: Decodable + HeaderVersion>(
    peer: &Peer,
    api: ApiKey,
    schema: &'static guard::Schema,
    version: i16,
    mut frame: Bytes,
) -> Result<T, WireError> {
    let header_version = T::header_version(version);
    header::take_response_tags(&mut frame, schema.name(), version, header_version)
        .and_then(|()| guard::skim(schema, version, &frame))
        .map_err(|source| WireError::Malformed {
            peer: peer.clone(),
            source,
        })?;
    T::decode(&mut frame, version).map_err(|error| WireError::Decode {
        peer: peer.clone(),
        api,
        version,
        reason: error.to_string().into(),
    })
}
