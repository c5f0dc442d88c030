//! The smallest TCP proxy: passes everything on and counts connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    target: OnceLock<SocketAddr>,
    connections: AtomicUsize,
}

impl Proxy {
    /// Listens; what connects before [`connect_to`](Self::connect_to) is turned away.
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            listener
                .incoming()
                .for_each(|client| serve(client, &shared))
        });
        Self { address, state }
    }

    pub(crate) fn connect_to(&self, target: SocketAddr) {
        self.state.target.set(target).unwrap();
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were passed on.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }
}

fn serve(client: io::Result<TcpStream>, state: &State) {
    let (Ok(client), Some(target)) = (client, state.target.get()) else {
        return;
    };
    let Ok(server) = TcpStream::connect(target) else {
        return;
    };
    state.connections.fetch_add(1, Ordering::Relaxed);
    let (mut from_client, mut from_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (mut to_client, mut to_server) = (client, server);
    thread::spawn(move || io::copy(&mut from_client, &mut to_server));
    thread::spawn(move || io::copy(&mut from_server, &mut to_client));
}
