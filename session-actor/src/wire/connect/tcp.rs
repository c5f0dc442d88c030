use super::{Connect, ConnectFuture, Stream};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;

#[cfg(target_os = "linux")]
mod low_water;

const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(20))
    .with_interval(Duration::from_secs(5))
    .with_retries(3);

/// Settings of TCP connections, named as the Java client's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpOptions {
    /// `send.buffer.bytes`, 131,072 by default; `None` (-1) leaves it to the operating system.
    pub send_buffer_bytes: Option<u32>,
    /// `receive.buffer.bytes`, left to the operating system by default: Java's 64 KiB cap a 100 ms link near 1 MB/s.
    pub receive_buffer_bytes: Option<u32>,
    /// `socket.connection.setup.timeout.ms`, 10 s by default: how long one address may take to answer.
    pub setup_timeout: Duration,
    /// `socket.connection.setup.timeout.max.ms`, 30 s by default: the timeout doubles with each failure in a row up to this.
    pub setup_timeout_max: Duration,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            send_buffer_bytes: Some(131_072),
            receive_buffer_bytes: None,
            setup_timeout: Duration::from_secs(10),
            setup_timeout_max: Duration::from_secs(30),
        }
    }
}

/// What [`Resolve::resolve`] returns.
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Turns a name into addresses.
pub trait Resolve: Send + Sync {
    /// All addresses of a host, in the order in which they are to be tried.
    ///
    /// # Errors
    ///
    /// The resolver's, if it does not know the name or cannot be reached.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> ResolveFuture<'a>;
}

/// The operating system's resolver.
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> ResolveFuture<'a> {
        Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }
}

/// Connects over TCP: resolves the name at every attempt and tries every address it has (`client.dns.lookup` =
/// `use_all_dns_ips`), without Nagle's delay and with keep-alive, as the Java client does. It asks after 20 s, where the operating system
/// would after two hours: a machine that is gone without a word is noticed within 35 s, also by who may wait for an answer for longer,
/// as JoinGroup does (`max.poll.interval.ms`).
pub struct TcpConnect {
    options: TcpOptions,
    resolver: Box<dyn Resolve>,
    /// Failed attempts in a row by host and port; no entry for those that work.
    failures: Mutex<HashMap<(Box<str>, u16), u32>>,
}

impl TcpConnect {
    /// Resolves names as the operating system does.
    pub fn new(options: TcpOptions) -> Self {
        Self::with_resolver(options, Box::new(SystemResolver))
    }

    /// Resolves names in another way.
    pub fn with_resolver(options: TcpOptions, resolver: Box<dyn Resolve>) -> Self {
        Self {
            options,
            resolver,
            failures: Mutex::default(),
        }
    }

    async fn attempt(&self, host: &str, port: u16) -> io::Result<Stream> {
        let resolved = self.resolver.resolve(host, port).await;
        let addresses = resolved.map_err(|error| {
            let text =
                format!("the name {host:?} does not resolve ({error}); check it and the resolver");
            io::Error::new(io::ErrorKind::NotFound, text)
        })?;
        let limit = self.setup_timeout(host, port);
        let mut failed = Vec::new();
        for address in addresses {
            match timeout(limit, self.dial(address)).await {
                Ok(Ok(stream)) => return Ok(boxed(stream)),
                Ok(Err(error)) => failed.push((address, error)),
                Err(_) => {
                    let text = format!("no answer within {} ms", limit.as_millis());
                    failed.push((address, io::Error::new(io::ErrorKind::TimedOut, text)));
                }
            }
        }
        Err(all_failed(host, &failed))
    }

    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_nodelay(true)?;
        SockRef::from(&socket).set_tcp_keepalive(&KEEPALIVE)?;
        if let Some(bytes) = self.options.send_buffer_bytes {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.options.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.connect(address).await
    }

    fn setup_timeout(&self, host: &str, port: u16) -> Duration {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let in_a_row = failures.get(&(Box::from(host), port)).copied().unwrap_or(0);
        let options = &self.options;
        let grown = options.setup_timeout.saturating_mul(1 << in_a_row.min(16));
        // a maximum below the first timeout would shorten it
        grown.min(options.setup_timeout_max.max(options.setup_timeout))
    }

    fn note(&self, host: &str, port: u16, failed: bool) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Box::from(host), port);
        if failed {
            let in_a_row = failures.entry(key).or_default();
            *in_a_row = in_a_row.saturating_add(1);
        } else {
            failures.remove(&key);
        }
    }
}

impl Connect for TcpConnect {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let attempt = self.attempt(host, port).await;
            self.note(host, port, attempt.is_err());
            attempt
        })
    }
}

#[cfg(target_os = "linux")]
fn boxed(stream: TcpStream) -> Stream {
    Box::new(low_water::LowWater::new(stream))
}

#[cfg(not(target_os = "linux"))]
fn boxed(stream: TcpStream) -> Stream {
    Box::new(stream)
}

/// One error that names every address tried; its kind is that of the last.
fn all_failed(host: &str, failed: &[(SocketAddr, io::Error)]) -> io::Error {
    let Some((_, last)) = failed.last() else {
        let text = format!("the name {host:?} has no address");
        return io::Error::new(io::ErrorKind::NotFound, text);
    };
    let each: Vec<_> = failed
        .iter()
        .map(|(address, error)| format!("{address}: {error}"))
        .collect();
    io::Error::new(last.kind(), each.join("; "))
}

#[cfg(test)]
mod tests;
