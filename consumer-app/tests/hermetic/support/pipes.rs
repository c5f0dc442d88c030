//! Ways to the nodes of a broker in this process, reliable and not.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use test_broker::TestBroker;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Connects to the nodes of a broker in this process.
pub(crate) struct Pipe(pub(crate) TestBroker);

impl Pipe {
    fn open(&self, host: &str, port: u16) -> io::Result<DuplexStream> {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let node = self.0.node_at(host, port).ok_or_else(refused)?;
        self.0.connect(node).map_err(|_| refused())
    }
}

impl Connect for Pipe {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move { Ok(Box::new(self.open(host, port)?) as Stream) })
    }
}

/// Nodes at some distance: what they send arrives so much later.
pub(crate) struct FarPipe {
    pub(crate) pipe: Pipe,
    pub(crate) delay: Duration,
}

impl Connect for FarPipe {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            sleep(self.delay).await;
            let inner = self.pipe.open(host, port)?;
            let delay = self.delay;
            Ok(Box::new(FarStream {
                inner,
                delay,
                under_way: VecDeque::new(),
                arrival: Box::pin(sleep(delay)),
            }) as Stream)
        })
    }
}

/// What is on its way, and when it arrives: a distance, but no limit of bandwidth.
struct FarStream {
    inner: DuplexStream,
    delay: Duration,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    arrival: Pin<Box<Sleep>>,
}

impl AsyncRead for FarStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let mut bytes = vec![0; 64 * 1024];
            let mut read = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.inner).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => break,
            }
            let length = read.filled().len();
            bytes.truncate(length);
            // the end of the stream arrives like everything else
            this.under_way
                .push_back((Instant::now() + this.delay, bytes));
            if length == 0 {
                break;
            }
        }
        let Some((arrives, bytes)) = this.under_way.front_mut() else {
            return Poll::Pending;
        };
        if *arrives > Instant::now() {
            this.arrival.as_mut().reset(*arrives);
            if this.arrival.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        let taken = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..taken]);
        bytes.drain(..taken);
        if bytes.is_empty() {
            this.under_way.pop_front();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FarStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Connections that die after 0.5 to 1.5 s, wherever they are then; the times follow from the seed.
pub(crate) struct MortalPipe {
    pub(crate) pipe: Pipe,
    pub(crate) seed: AtomicU64,
}

impl Connect for MortalPipe {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let seed = self.seed.fetch_add(1, Ordering::Relaxed);
            let life = Duration::from_millis(fastrand::Rng::with_seed(seed).u64(500..=1500));
            let inner = self.pipe.open(host, port)?;
            let end = Box::pin(sleep_until(Instant::now() + life));
            Ok(Box::new(MortalStream { inner, end }) as Stream)
        })
    }
}

struct MortalStream {
    inner: DuplexStream,
    end: Pin<Box<Sleep>>,
}

impl MortalStream {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for MortalStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for MortalStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
