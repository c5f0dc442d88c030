//! Streams to brokers.
//!
//! Everything above takes any [`Stream`], so TCP, TLS, a simulated network and a pipe to a broker in the same process are
//! alike to it.

pub(crate) mod guarded;
mod tcp;

pub use tcp::{Resolve, ResolveFuture, TcpConnect, TcpOptions};

use std::io;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite};

/// What a connection runs over.
pub trait AsyncReadWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + ?Sized> AsyncReadWrite for T {}

/// A connected stream of whatever kind.
pub type Stream = Box<dyn AsyncReadWrite>;

/// What [`Connect::connect`] returns. Runs on the thread of the consumer's actors.
pub type ConnectFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Stream>> + 'a>>;

/// Makes streams to brokers.
///
/// A pipe to a broker in the same process:
///
/// ```
/// use session_actor::wire::connect::{Connect, ConnectFuture, Stream};
///
/// struct Pipe;
///
/// impl Connect for Pipe {
///     fn connect<'a>(&'a self, _host: &'a str, _port: u16) -> ConnectFuture<'a> {
///         let (client, broker) = tokio::io::duplex(64 * 1024);
///         drop(broker); // or rather: hand it to the broker
///         Box::pin(async move { Ok(Box::new(client) as Stream) })
///     }
/// }
/// ```
pub trait Connect: Send + Sync {
    /// Connects to a broker by the name or address that the configuration or the metadata gives. Names are resolved anew each
    /// time, since brokers move.
    ///
    /// # Errors
    ///
    /// Whatever kept the connection from being made, in words that tell the user what to check. A panic is taken for one.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a>;
}
