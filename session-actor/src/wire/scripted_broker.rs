//! The other end of a pipe, for tests that say themselves what a broker answers.

use super::connect::{Connect, ConnectFuture, Stream};
use super::peer::{Address, Peer};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::protocol::Encodable;
use std::io;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

pub(super) fn peer() -> Peer {
    Peer {
        node: Some(1),
        address: Address::new("b1", 9092),
    }
}

/// Connects once, to the broker it was made with.
pub(super) struct Pipe(Mutex<Option<DuplexStream>>);

impl Connect for Pipe {
    fn connect<'a>(&'a self, _host: &'a str, _port: u16) -> ConnectFuture<'a> {
        let stream = self.0.lock().expect("no panic elsewhere").take();
        Box::pin(async move {
            let stream = stream.ok_or(io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(stream) as Stream)
        })
    }
}

/// A request as the broker sees it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) api_key: i16,
    pub(super) version: i16,
    pub(super) correlation_id: i32,
    /// What follows the correlation id.
    pub(super) rest: Bytes,
}

pub(super) struct ScriptedBroker {
    stream: DuplexStream,
}

impl ScriptedBroker {
    /// A broker and a connector to it, over a pipe that holds so many bytes.
    pub(super) fn new(capacity: usize) -> (Pipe, Self) {
        let (client, stream) = duplex(capacity);
        (Pipe(Mutex::new(Some(client))), Self { stream })
    }

    pub(super) async fn receive(&mut self) -> Received {
        let len = self.stream.read_i32().await.expect("a request");
        let mut frame = vec![0; usize::try_from(len).expect("a length")];
        self.stream
            .read_exact(&mut frame)
            .await
            .expect("a whole request");
        let mut frame = Bytes::from(frame);
        Received {
            api_key: frame.get_i16(),
            version: frame.get_i16(),
            correlation_id: frame.get_i32(),
            rest: frame,
        }
    }

    /// Answers with what follows the correlation id.
    pub(super) async fn answer(&mut self, correlation_id: i32, rest: &[u8]) {
        let mut frame = BytesMut::new();
        frame.put_u32(u32::try_from(rest.len() + 4).expect("a length"));
        frame.put_i32(correlation_id);
        frame.put_slice(rest);
        self.write(&frame).await;
    }

    /// Writes bytes of no particular meaning.
    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.stream
            .write_all(bytes)
            .await
            .expect("somebody who listens");
    }

    /// Agrees to the first ApiVersions it gets, with these versions of these APIs.
    pub(super) async fn agree(&mut self, apis: &[(i16, i16, i16)]) -> Received {
        let request = self.receive().await;
        assert_eq!(request.api_key, 18);
        let keys = apis.iter().map(|(key, min, max)| {
            ApiVersion::default()
                .with_api_key(*key)
                .with_min_version(*min)
                .with_max_version(*max)
        });
        let response = ApiVersionsResponse::default().with_api_keys(keys.collect());
        let mut body = BytesMut::new();
        response
            .encode(&mut body, request.version)
            .expect("a response");
        self.answer(request.correlation_id, &body).await;
        request
    }

    /// Waits until the client has closed, and fails if it sends anything before.
    pub(super) async fn closed(&mut self) {
        let mut byte = [0];
        let read = self.stream.read(&mut byte).await.expect("the end");
        assert_eq!(read, 0, "the client sent something");
    }
}
