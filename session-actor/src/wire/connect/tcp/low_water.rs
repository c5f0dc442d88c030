//! Reads of large replies that wake their reader once for many segments.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use nix::sys::socket::{GetSockOpt, SetSockOpt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::wire::frame::READ_AHEAD;

/// So much is there before a reader that is promised more is woken. The kernel halves it if its buffer is smaller.
const MOST: usize = 512 << 10;

/// The window is to be so wide, while there is a mark.
const WINDOW: usize = 2 * MOST;

sockopt_impl!(
    /// `SO_RCVLOWAT`: the socket counts as readable from so many bytes on, or at its end.
    LowWaterMark,
    Both,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    i32
);

/// A [`TcpStream`] that is read by a [`FrameReader`](crate::wire::frame::FrameReader) and nothing else.
///
/// A broker sends a reply of megabytes as fast as it is read, so who takes what is there is woken some twenty times a reply, and each time is a
/// system call and mostly a switch of threads. A read with room for more than [`READ_AHEAD`] is one of a body, and as much as there is room for will
/// come: it may as well wait until there is much.
pub(super) struct LowWater {
    stream: TcpStream,
    mark: usize,
    /// No mark is greater; `None` before there was one.
    most: Option<usize>,
}

impl LowWater {
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            mark: 1,
            most: None,
        }
    }

    fn set_mark(&mut self, mark: usize) -> io::Result<()> {
        if mark == self.mark {
            return Ok(());
        }
        let most = match self.most {
            Some(most) => most,
            None => {
                self.mark = WINDOW;
                *self.most.insert(widest(&self.stream)? / 2)
            }
        };
        let mark = mark.min(most);
        if mark == self.mark || most == 0 {
            return Ok(());
        }
        // MOST fits
        LowWaterMark.set(&self.stream, &(mark as i32))?;
        self.mark = mark;
        Ok(())
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

/// Sets a mark of [`WINDOW`], and returns what the kernel made of it: half of the buffer, if that is of a fixed size and smaller; nothing
/// where there is no such option, so that a reader is woken for each piece.
///
/// The kernel takes a mark that its buffer is too small for as the most that the sender may have on its way, too, and a sender that waits for
/// room for a whole segment could meet a reader that waits for that segment. So the first mark is one that no reader waits for.
fn widest(stream: &TcpStream) -> io::Result<usize> {
    if LowWaterMark.set(stream, &(WINDOW as i32)).is_err() {
        return Ok(0);
    }
    match LowWaterMark.get(stream) {
        Ok(width) => Ok(usize::try_from(width).unwrap_or(0)),
        Err(_) => {
            LowWaterMark.set(stream, &1)?;
            Ok(0)
        }
    }
}

/// From how many bytes on a read with so much room is to be woken.
fn mark(room: usize) -> usize {
    if room > READ_AHEAD { room.min(MOST) } else { 1 }
}

impl AsyncRead for LowWater {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.set_mark(mark(buf.remaining()))?;
        self.stream().poll_read(context, buf)
    }
}

impl AsyncWrite for LowWater {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
