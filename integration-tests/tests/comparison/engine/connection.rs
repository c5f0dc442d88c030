//! One connection to a broker: requests out, answers in, in order.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// How long any answer may take. Longer than any wait that a case asks for, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    Closed,
    Late,
    Malformed(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::Late => write!(f, "nothing within {PATIENCE:?}"),
            Self::Malformed(why) => write!(f, "it cannot be read: {why}"),
        }
    }
}

/// What came back, and how long after the request was sent.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) answer: Result<T, NoAnswer>,
    pub(crate) took: Duration,
}

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    correlation_id: i32,
    /// Requests whose answers are still to come.
    asked: VecDeque<(i32, Instant)>,
    last_used: Instant,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            correlation_id: 0,
            asked: VecDeque::new(),
            last_used: Instant::now(),
        })
    }

    pub(crate) fn idle(&self) -> Duration {
        self.last_used.elapsed()
    }

    pub(crate) async fn ask<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<Reply<R::Response>> {
        self.send(request, version).await?;
        self.receive::<R>(version).await
    }

    pub(crate) async fn send<R: Request>(&mut self, request: &R, version: i16) -> Result<()> {
        let mut body = BytesMut::new();
        request
            .encode(&mut body, version)
            .with_context(|| format!("encode version {version} of API {}", R::KEY))?;
        self.send_as(R::KEY, version, R::header_version(version), &body)
            .await
    }

    /// Sends a request to which no answer comes.
    pub(crate) async fn send_unanswered<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<()> {
        self.send(request, version).await?;
        self.asked.pop_back();
        Ok(())
    }

    /// Sends a body under any API key and version.
    pub(crate) async fn send_as(
        &mut self,
        api_key: i16,
        version: i16,
        header_version: i16,
        body: &[u8],
    ) -> Result<()> {
        self.correlation_id += 1;
        let header = RequestHeader::default()
            .with_request_api_key(api_key)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("comparison")));
        let mut request = BytesMut::new();
        header.encode(&mut request, header_version)?;
        request.put_slice(body);
        let mut frame = BytesMut::new();
        frame.put_i32(i32::try_from(request.len())?);
        frame.put(request);
        let now = Instant::now();
        self.asked.push_back((self.correlation_id, now));
        self.last_used = now;
        self.stream.write_all(&frame).await?;
        Ok(())
    }

    /// The answer to the oldest request that has none yet.
    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> Result<Reply<R::Response>> {
        let (correlation_id, sent) = self.asked.pop_front().context("nothing was asked")?;
        let frame = match timeout(PATIENCE, self.frame()).await {
            Ok(frame) => frame,
            Err(_) => Err(NoAnswer::Late),
        };
        self.last_used = Instant::now();
        let took = self.last_used.duration_since(sent);
        let answer = match frame {
            Ok(frame) => decode::<R>(frame, version, correlation_id)?.map_err(NoAnswer::Malformed),
            Err(none) => Err(none),
        };
        Ok(Reply { answer, took })
    }

    async fn frame(&mut self) -> Result<Bytes, NoAnswer> {
        let closed = |_| NoAnswer::Closed;
        let length = self.stream.read_i32().await.map_err(closed)?;
        let length = usize::try_from(length)
            .map_err(|_| NoAnswer::Malformed(format!("{length} bytes long")))?;
        let mut frame = vec![0; length];
        self.stream.read_exact(&mut frame).await.map_err(closed)?;
        Ok(frame.into())
    }
}

fn decode<R: Request>(
    mut frame: Bytes,
    version: i16,
    correlation_id: i32,
) -> Result<Result<R::Response, String>> {
    let header = ResponseHeader::decode(&mut frame, R::Response::header_version(version))?;
    ensure!(
        header.correlation_id == correlation_id,
        "the answer to request {} came where that to {correlation_id} was expected",
        header.correlation_id
    );
    let response = R::Response::decode(&mut frame, version);
    Ok(match response {
        Ok(_) if frame.has_remaining() => Err(format!("{} bytes are left over", frame.remaining())),
        response => response.map_err(|error| error.to_string()),
    })
}
