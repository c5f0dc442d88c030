//! Connections on which nothing happens for long: closed by us, by the broker, or by somebody in between who says nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use test_broker::TestBroker;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::Instant;

use crate::support::traffic::sessions;
use crate::support::{broker, builder, produce, read, run, tp};

/// What writes nothing for so long is cut, without a word to either side.
struct Middlebox {
    broker: TestBroker,
    limit: Duration,
}

impl Connect for Middlebox {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let node = self.broker.node_at(host, port).ok_or_else(refused)?;
            let inner = self.broker.connect(node).map_err(|_| refused())?;
            Ok(Box::new(Watched {
                inner,
                limit: self.limit,
                written: Instant::now(),
                is_cut: false,
            }) as Stream)
        })
    }
}

struct Watched {
    inner: DuplexStream,
    limit: Duration,
    written: Instant,
    is_cut: bool,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_cut |= self.written.elapsed() > self.limit;
        self.written = Instant::now();
        if self.is_cut {
            // it leaves, and arrives nowhere
            return Poll::Ready(Ok(buf.len()));
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[test]
fn f042_connections_are_closed_before_connections_max_idle_ms_is_over() {
    run(async {
        let broker = broker(1);
        let mut consumer = builder(&broker)
            .set("connections.max.idle.ms", "5000")
            .connector(Arc::new(Middlebox {
                broker: broker.clone(),
                limit: Duration::from_secs(6),
            }))
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        for round in 1..=10 {
            consumer.pause([&tp(0)]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert_eq!(broker.counters().connections_open, 0, "{round}");
            produce(&broker, 0, 1);
            consumer.resume([&tp(0)]).await.unwrap();
            let begun = Instant::now();
            assert_eq!(read(&mut consumer, 1).await, [round]);
            assert!(begun.elapsed() <= Duration::from_millis(5));
        }
        assert_eq!(sessions(&broker)[&1].ids.len(), 1);
    });
}

/// Where the limit is longer than that of a middlebox, the first request after a rest is lost, and nothing else.
#[test]
fn f042_a_connection_that_was_cut_without_a_word_costs_one_request_timeout() {
    run(async {
        let broker = broker(1);
        let mut consumer = builder(&broker)
            .set("request.timeout.ms", "3000")
            .connector(Arc::new(Middlebox {
                broker: broker.clone(),
                limit: Duration::from_secs(5),
            }))
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        for round in 1..=10 {
            consumer.pause([&tp(0)]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(20)).await;
            produce(&broker, 0, 1);
            consumer.resume([&tp(0)]).await.unwrap();
            let begun = Instant::now();
            // no error on the way
            assert_eq!(read(&mut consumer, 1).await, [round]);
            assert!(
                begun.elapsed() <= Duration::from_millis(3200),
                "{:?}",
                begun.elapsed()
            );
        }
    });
}
