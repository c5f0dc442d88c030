//! One connection: requests in, one at a time, answers out, in order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::api::{RequestContext, frame_body};
use crate::dispatcher::{Admitted, Dispatcher, Refused};
use crate::fault::{Ending, Moment};
use crate::shared::Shared;
use crate::wire::{FrameError, Malformed, Payload, RequestHeader, read_frame};

pub(crate) struct Connection<S> {
    dispatcher: Dispatcher,
    stream: S,
    max_request_bytes: usize,
    max_idle: Duration,
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum Closed {
    #[error("the client closed it")]
    ByClient,
    #[error("nothing was read or written for connections.max.idle.ms")]
    Idle,
    #[error("a fault closed it")]
    ByFault,
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<S> Connection<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    pub(crate) fn open(shared: Arc<Shared>, node: i32, stream: S) -> Self {
        let connection = shared.next_connection();
        let mut cluster = shared.cluster();
        if let Some(node) = cluster.nodes.get_mut(&node) {
            node.counters.connections_accepted += 1;
            node.counters.connections_open += 1;
        }
        let max_request_bytes = cluster.settings.max_request_bytes;
        let max_idle = cluster.settings.max_idle;
        drop(cluster);
        Self {
            dispatcher: Dispatcher {
                shared,
                node,
                connection,
            },
            stream,
            max_request_bytes,
            max_idle,
        }
    }

    pub(crate) async fn run(mut self) {
        let (node, connection) = (self.dispatcher.node, self.dispatcher.connection);
        tracing::debug!(node, connection, "connection opened");
        loop {
            if let Err(reason) = self.serve_one().await {
                tracing::debug!(node, connection, %reason, "connection closed");
                return;
            }
        }
    }

    async fn serve_one(&mut self) -> Result<(), Closed> {
        let frame = read_frame(&mut self.stream, self.max_request_bytes);
        let frame = timeout(self.max_idle, frame).await;
        let frame = frame.map_err(|_| Closed::Idle)??;
        let mut frame = frame.ok_or(Closed::ByClient)?;
        self.dispatcher.thawed().await;
        let header = RequestHeader::take(&mut frame)?;
        if let Some(answer) = self.dispatcher.version_unknown(&header)? {
            return self.send(answer).await;
        }
        let admitted = self.dispatcher.admit(&header, frame)?;
        let throttle = admitted.plan.throttle;
        let faults = admitted.plan.bytes.clone();
        if let Some(answer) = self.answer(admitted).await? {
            self.dispatcher.thawed().await;
            let (answer, close) = self.dispatcher.touch(&faults, answer);
            self.send(answer).await?;
            if close {
                return Err(Closed::ByFault);
            }
        }
        // a throttled client stays away, and its connection is not read for as long (KIP-219)
        sleep_if_any(throttle).await;
        Ok(())
    }

    /// The answer to a request, if there is to be one.
    async fn answer(&mut self, admitted: Admitted) -> Result<Option<Payload>, Closed> {
        let Admitted {
            api,
            version,
            correlation_id,
            client_id,
            request,
            plan,
        } = admitted;
        self.pass(plan.before).await?;
        let custom = plan.answer;
        let own = if custom.as_ref().is_some_and(|custom| !custom.after_applying) {
            None
        } else {
            let context = RequestContext {
                node: self.dispatcher.node,
                version,
                correlation_id,
                client_id,
                now: self.dispatcher.shared.now(),
                errors: plan.errors,
                throttle_ms: i32::try_from(plan.throttle.as_millis()).unwrap_or(i32::MAX),
            };
            self.dispatcher.apply(&context, request).await?
        };
        self.pass(plan.after).await?;
        Ok(match custom {
            Some(custom) if custom.framed => {
                Some(frame_body(api, version, correlation_id, &custom.bytes))
            }
            Some(custom) => Some(Payload::from(custom.bytes)),
            None => own,
        })
    }

    /// What faults do before, or after, a request is applied.
    async fn pass(&mut self, moment: Moment) -> Result<(), Closed> {
        sleep_if_any(moment.delay).await;
        match moment.ending {
            None => Ok(()),
            Some(Ending::Close) => Err(Closed::ByFault),
            Some(Ending::Silence) => {
                // what the client still sends is not looked at
                let mut ignored = [0; 4096];
                while self.stream.read(&mut ignored).await? > 0 {}
                Err(Closed::ByClient)
            }
        }
    }

    async fn send(&mut self, mut answer: Payload) -> Result<(), Closed> {
        let size = answer.len();
        while answer.has_remaining() {
            let written = timeout(self.max_idle, self.stream.write_buf(&mut answer)).await;
            if written.map_err(|_| Closed::Idle)?? == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
        }
        self.stream.flush().await?;
        let mut cluster = self.dispatcher.shared.cluster();
        if let Some(node) = cluster.nodes.get_mut(&self.dispatcher.node) {
            node.counters.bytes_sent += size as u64;
        }
        Ok(())
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        let mut cluster = self.dispatcher.shared.cluster();
        if let Some(node) = cluster.nodes.get_mut(&self.dispatcher.node) {
            node.counters.connections_open -= 1;
        }
    }
}

async fn sleep_if_any(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}
