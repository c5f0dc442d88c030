use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Where connections of a node come from: TCP, a simulated network, whatever gives streams of bytes.
///
/// [`TestBroker::serve`](crate::TestBroker::serve) takes one. A simulated network needs a few lines:
///
/// ```
/// use std::io;
/// use test_broker::Listener;
///
/// struct Simulated(turmoil::net::TcpListener);
///
/// impl Listener for Simulated {
///     type Stream = turmoil::net::TcpStream;
///
///     async fn accept(&mut self) -> io::Result<Self::Stream> {
///         self.0.accept().await.map(|(stream, _)| stream)
///     }
/// }
/// ```
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next connection.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = Self::accept(self).await?;
        // answers are whole, so that waiting for more brings nothing
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
