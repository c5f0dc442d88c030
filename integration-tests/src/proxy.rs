//! A TCP proxy between clients and a broker: passes everything on, as late as it is told, and counts connections.

#![expect(
    clippy::disallowed_methods,
    reason = "blocking and the real clock are the point here: threads of its own, and no actor calls it"
)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Listens from [`open`](Self::open) on, until the process ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    delay: Duration,
    target: OnceLock<SocketAddr>,
    connections: AtomicUsize,
}

impl Proxy {
    /// Opens a port. What goes through takes `delay` each way, however much it is: a longer line, not a narrower one. What
    /// connects before [`connect_to`](Self::connect_to) is turned away.
    ///
    /// # Errors
    /// There is no free port.
    pub fn open(delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            delay,
            target: OnceLock::new(),
            connections: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // a client that is turned away sees it by itself
                let _ = serve(client, &shared);
            }
        });
        Ok(Self { address, state })
    }

    /// Says where connections lead; the first word counts.
    pub fn connect_to(&self, target: SocketAddr) {
        self.state.target.get_or_init(|| target);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were passed on.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }
}

fn serve(client: TcpStream, state: &State) -> io::Result<()> {
    let Some(target) = state.target.get() else {
        return Ok(());
    };
    let server = TcpStream::connect(target)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    state.connections.fetch_add(1, Ordering::Relaxed);
    pass(client.try_clone()?, server.try_clone()?, state.delay);
    pass(server, client, state.delay);
    Ok(())
}

/// Two threads, so that what waits does not keep more from being read.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let piece = (Instant::now() + delay, buffer[..read].to_vec());
            if sender.send(piece).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, piece) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        // the other side has gone already
        let _ = to.shutdown(Shutdown::Write);
    });
}
