//! Whole frames in and out of a stream: a length of four bytes, then so many bytes.
//!
//! Both sides keep their progress in themselves, not in the future that makes it, so any of their futures may be dropped at
//! any await and called again: no byte is lost, sent twice or left out.

#[cfg(test)]
mod tests;

use super::error::WireError;
use super::peer::Peer;
use bytes::{Buf, BufMut, BytesMut};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a frame's length.
const HEAD: usize = 4;
/// Every answer begins with a correlation id.
const LEAST_BODY: usize = 4;
/// What one read takes ahead. Holds an ordinary answer without records, which so costs one system call.
pub(crate) const READ_AHEAD: usize = 16 * 1024;

/// Reads frames.
///
/// The length and the body are two steps, since the memory for a body may have to be waited for.
///
/// ```
/// # use session_actor::wire::{Address, Peer, frame::FrameReader};
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let peer = Peer { node: Some(1), address: Address::new("localhost", 9092) };
/// let stream: &[u8] = &[0, 0, 0, 5, 1, 2, 3, 4, 5];
/// let mut reader = FrameReader::new(stream, peer, 1024);
/// let len = reader.read_len().await?;
/// let mut body = Vec::with_capacity(len);
/// reader.read_body_into(&mut body).await?;
/// assert_eq!(body, [1, 2, 3, 4, 5]);
/// # Ok::<(), session_actor::wire::WireError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct FrameReader<R> {
    io: R,
    peer: Peer,
    max_len: usize,
    /// `ahead[start..end]` was read and not yet asked for.
    ahead: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the current body that have not been handed out.
    body_left: usize,
    body_len: usize,
    /// No frame has begun yet.
    fresh: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// `max_len` is the longest body taken; a longer claim is an error. 2^31 - 1, the most a length can say, leaves the
    /// decision to the caller, who sees each length before any memory is used.
    pub fn new(io: R, peer: Peer, max_len: usize) -> Self {
        Self {
            io,
            peer,
            max_len,
            ahead: vec![0; READ_AHEAD].into_boxed_slice(),
            start: 0,
            end: 0,
            body_left: 0,
            body_len: 0,
            fresh: true,
        }
    }

    /// Waits for the next frame and returns the length of its body in bytes, 4 or more. While that body is not read, further
    /// calls return what is left of it.
    ///
    /// # Errors
    ///
    /// [`Closed`](WireError::Closed) at the end of the stream, [`FrameLength`](WireError::FrameLength) for a length that is
    /// none, or one that says what listens there if it is HTTP or TLS. The connection is of no use after any.
    pub async fn read_len(&mut self) -> Result<usize, WireError> {
        if self.body_left > 0 {
            return Ok(self.body_left);
        }
        while self.end - self.start < HEAD {
            self.ahead.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let read = self.io.read(&mut self.ahead[self.end..]).await;
            match read.map_err(|error| self.lost(error))? {
                0 if self.end == 0 => {
                    let peer = self.peer.clone();
                    return Err(WireError::Closed { peer });
                }
                0 => return Err(self.truncated(HEAD - self.end, HEAD)),
                count => self.end += count,
            }
        }
        let claimed = (&self.ahead[self.start..self.end]).get_i32();
        self.body_len = self.checked_len(claimed)?;
        self.body_left = self.body_len;
        self.start += HEAD;
        self.fresh = false;
        Ok(self.body_len)
    }

    /// Appends what is left of the current body to `buf`, from the stream straight into its spare capacity. A `buf` with too
    /// little of that grows as bytes arrive, never by what the length claims.
    ///
    /// # Errors
    ///
    /// [`Truncated`](WireError::Truncated) with what is missing if the stream ends before, [`Lost`](WireError::Lost) if reading
    /// fails, or if `buf` cannot grow and has no room for the body.
    pub async fn read_body_into<B: BufMut>(&mut self, buf: &mut B) -> Result<(), WireError> {
        if buf.remaining_mut() < self.body_left {
            let text = format!("no room for a body of {} bytes", self.body_left);
            return Err(self.lost(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        let ready = self.body_left.min(self.end - self.start);
        buf.put_slice(&self.ahead[self.start..self.start + ready]);
        self.start += ready;
        self.body_left -= ready;
        while self.body_left > 0 {
            let mut rest = (&mut *buf).limit(self.body_left);
            let read = self.io.read_buf(&mut rest).await;
            self.took(read)?;
        }
        Ok(())
    }

    /// Reads what is left of the current body and forgets it.
    ///
    /// # Errors
    ///
    /// As [`read_body_into`](Self::read_body_into).
    pub async fn discard_body(&mut self) -> Result<(), WireError> {
        let ready = self.body_left.min(self.end - self.start);
        self.start += ready;
        self.body_left -= ready;
        while self.body_left > 0 {
            let most = self.body_left.min(self.ahead.len());
            let read = self.io.read(&mut self.ahead[..most]).await;
            self.took(read)?;
        }
        Ok(())
    }

    /// Who writes the frames.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn took(&mut self, read: io::Result<usize>) -> Result<(), WireError> {
        match read.map_err(|error| self.lost(error))? {
            0 => Err(self.truncated(self.body_left, self.body_len)),
            count => {
                self.body_left -= count;
                Ok(())
            }
        }
    }

    fn checked_len(&self, claimed: i32) -> Result<usize, WireError> {
        if let Some(stranger) = self.stranger(claimed.to_be_bytes()) {
            return Err(stranger);
        }
        match usize::try_from(claimed) {
            Ok(len) if (LEAST_BODY..=self.max_len).contains(&len) => Ok(len),
            _ => Err(WireError::FrameLength {
                peer: self.peer.clone(),
                claimed,
                limit: self.max_len,
            }),
        }
    }

    /// What else can listen at a port. Its first bytes, read as a length, are over 350 MB, which no first answer has.
    fn stranger(&self, first: [u8; HEAD]) -> Option<WireError> {
        /// Record types alert and handshake, then the major version of TLS.
        const TLS: [[u8; 2]; 2] = [[0x15, 0x03], [0x16, 0x03]];
        let peer = self.peer.clone();
        match first {
            _ if !self.fresh => None,
            first if first == *b"HTTP" => Some(WireError::HttpServer { peer }),
            [kind, major, ..] if TLS.contains(&[kind, major]) => {
                Some(WireError::TlsServer { peer })
            }
            _ => None,
        }
    }

    fn lost(&self, source: io::Error) -> WireError {
        WireError::Lost {
            peer: self.peer.clone(),
            doing: "reading",
            source: Arc::new(source),
        }
    }

    fn truncated(&self, missing: usize, of: usize) -> WireError {
        WireError::Truncated {
            peer: self.peer.clone(),
            missing,
            of,
        }
    }
}

/// Writes frames, whole even when the futures that write them are not: whatever is in the queue goes out with the next
/// [`flush`](Self::flush), from the byte at which the last one stopped.
#[derive(Debug)]
pub struct FrameWriter<W> {
    io: W,
    peer: Peer,
    queue: BytesMut,
    flushed: bool,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Nothing is written before the first [`flush`](Self::flush).
    pub fn new(io: W, peer: Peer) -> Self {
        Self {
            io,
            peer,
            queue: BytesMut::new(),
            flushed: true,
        }
    }

    /// What is to be written: encode whole frames to its end.
    pub fn queue(&mut self) -> &mut BytesMut {
        self.flushed = false;
        &mut self.queue
    }

    /// Whether the stream has taken everything that was queued.
    pub fn is_flushed(&self) -> bool {
        self.flushed
    }

    /// Writes the queue. May be dropped at any await and called again.
    ///
    /// # Errors
    ///
    /// [`Lost`](WireError::Lost); the connection is of no use afterwards.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        let written = self.write_queue().await;
        written.map_err(|error| WireError::Lost {
            peer: self.peer.clone(),
            doing: "writing",
            source: Arc::new(error),
        })
    }

    async fn write_queue(&mut self) -> io::Result<()> {
        while self.queue.has_remaining() {
            if self.io.write_buf(&mut self.queue).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.io.flush().await?;
        self.flushed = true;
        Ok(())
    }
}
