use crate::wire::error::WireError;
use crate::wire::frame::{FrameReader, FrameWriter};
use crate::wire::header;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// A request on its way, and what becomes of its answer.
pub(super) struct Call {
    /// The whole frame.
    pub(super) frame: BytesMut,
    pub(super) correlation_id: i32,
    pub(super) api: &'static str,
    pub(super) deadline: Instant,
    /// What the deadline was made of.
    pub(super) limit: Duration,
    /// Told the answer, without its correlation id, or why there is none. Its own error is one of the connection.
    pub(super) finish: Finish,
}

type Finish = Box<dyn FnOnce(Result<Bytes, WireError>) -> Result<(), WireError> + Send>;

/// Owns a connection until it fails or nobody can call any more.
pub(super) async fn run<R, W>(
    reader: FrameReader<R>,
    writer: FrameWriter<W>,
    mut calls: mpsc::UnboundedReceiver<Call>,
    failed: watch::Sender<Option<WireError>>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut connection = Owned {
        reader,
        writer,
        waiting: VecDeque::new(),
        answer: Vec::new(),
    };
    let Err(error) = connection.serve(&mut calls).await else {
        return;
    };
    tracing::debug!(peer = %connection.reader.peer(), %error, "control connection ended");
    let waiting = connection.waiting;
    // told first, so that whoever learns of a failed call finds the client failed
    failed.send_replace(Some(error.clone()));
    calls.close();
    for call in waiting {
        let _ = (call.finish)(Err(error.clone()));
    }
    while let Some(call) = calls.recv().await {
        let _ = (call.finish)(Err(error.clone()));
    }
}

struct Owned<R, W> {
    reader: FrameReader<R>,
    writer: FrameWriter<W>,
    /// In the order of the requests, which is that of the answers.
    waiting: VecDeque<Call>,
    /// As much of the next answer as has come.
    answer: Vec<u8>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Owned<R, W> {
    /// Returns when nobody can call any more. Every branch keeps its progress outside of its future, so none loses anything
    /// when another one is ready first.
    async fn serve(&mut self, calls: &mut mpsc::UnboundedReceiver<Call>) -> Result<(), WireError> {
        loop {
            let next_deadline = self.waiting.iter().map(|call| call.deadline).min();
            tokio::select! {
                // in this order when several are ready: what has come is never late
                biased;
                read = read_answer(&mut self.reader, &mut self.answer) => {
                    read?;
                    let answer = std::mem::take(&mut self.answer);
                    self.answered(answer.into())?;
                }
                call = calls.recv() => match call {
                    Some(mut call) => {
                        self.writer.queue().extend_from_slice(&call.frame);
                        call.frame = BytesMut::new();
                        self.waiting.push_back(call);
                    }
                    None => return Ok(()),
                },
                flushed = self.writer.flush(), if !self.writer.is_flushed() => flushed?,
                () = wait_until(next_deadline) => return Err(self.late()),
            }
        }
    }

    fn answered(&mut self, mut answer: Bytes) -> Result<(), WireError> {
        let got = header::take_correlation_id(&mut answer);
        let expected = self.waiting.front().map(|call| call.correlation_id);
        match self.waiting.pop_front() {
            Some(call) if got == expected => (call.finish)(Ok(answer)),
            unanswered => {
                // it waits like the others for the error that ends them all
                self.waiting.extend(unanswered);
                Err(WireError::Correlation {
                    peer: self.reader.peer().clone(),
                    expected,
                    got: got.unwrap_or_default(),
                })
            }
        }
    }

    fn late(&self) -> WireError {
        let late = self.waiting.iter().min_by_key(|call| call.deadline);
        WireError::Timeout {
            peer: self.reader.peer().clone(),
            what: late.map_or("nothing", |call| call.api),
            after: late.map_or(Duration::ZERO, |call| call.limit),
        }
    }
}

async fn read_answer<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    answer: &mut Vec<u8>,
) -> Result<(), WireError> {
    /// Most bytes that are set aside on the word of a length alone.
    const TRUSTED: usize = 64 * 1024;
    let len = reader.read_len().await?;
    if answer.capacity() == 0 {
        answer.reserve_exact(len.min(TRUSTED));
    }
    reader.read_body_into(answer).await
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
