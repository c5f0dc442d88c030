//! Streams of the simulated network, on both sides.
//!
//! Each node of the broker is a host of the network, so that each can be cut off, slow or down by itself. The broker lives in one
//! more host: its nodes share state and must share a clock, and each host has its own. A node's host therefore only carries bytes
//! between its connections and the broker.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use test_broker::{Listener, TestBroker};
use tokio::io::{DuplexStream, copy_bidirectional};
use tokio::sync::{mpsc, watch};
use turmoil::net::{TcpListener, TcpStream};

/// As the test broker says by default: `node-1:9092` and so on.
pub(crate) const PORT: u16 = 9092;

/// Bytes that a node takes from its connection before the broker has read them, and the other way round.
const PIPE: usize = 64 * 1024;

/// The host of a node.
pub(crate) fn host_of(node: i32) -> String {
    format!("node-{node}")
}

/// Which hosts cannot reach each other at the moment.
///
/// The network drops what is sent between them. It answers an attempt to connect with a refusal, though, where a real one says
/// nothing at all; so those who connect ask here first.
#[derive(Clone, Default)]
pub(crate) struct Cuts(Arc<Mutex<BTreeSet<(String, String)>>>);

impl Cuts {
    /// Drops everything between two hosts. Connections that have lost something stay silent for ever: nothing is sent again.
    pub(crate) fn cut(&self, client: &str, node: i32) {
        turmoil::partition(client, host_of(node));
        self.change(|cuts| cuts.insert((client.to_owned(), host_of(node))));
    }

    pub(crate) fn heal(&self, client: &str, node: i32) {
        turmoil::repair(client, host_of(node));
        self.change(|cuts| cuts.remove(&(client.to_owned(), host_of(node))));
    }

    fn change<R>(&self, change: impl FnOnce(&mut BTreeSet<(String, String)>) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How a host connects.
pub(crate) struct Dial {
    pub(crate) client: String,
    pub(crate) cuts: Cuts,
}

impl Connect for Dial {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let way = (self.client.clone(), host.to_owned());
            if self.cuts.change(|cuts| cuts.contains(&way)) {
                std::future::pending::<()>().await;
            }
            Ok(Box::new(TcpStream::connect((host, port)).await?) as Stream)
        })
    }
}

/// Where a node's host hands over its connections; closed while the node is down.
type Door = Option<mpsc::UnboundedSender<DuplexStream>>;

/// The doors of all nodes.
#[derive(Clone, Default)]
pub(crate) struct Doors(Rc<RefCell<BTreeMap<i32, watch::Sender<Door>>>>);

impl Doors {
    /// Has the broker take connections of a node. To be called in the broker's host, with the node up.
    pub(crate) fn open(&self, broker: &TestBroker, node: i32) -> Result<(), test_broker::Error> {
        let (door, visitors) = mpsc::unbounded_channel();
        broker.serve(node, Visitors(visitors))?;
        self.door(node).send_replace(Some(door));
        Ok(())
    }

    /// Lets nobody in any more: connecting is refused.
    pub(crate) fn close(&self, node: i32) {
        self.door(node).send_replace(None);
    }

    fn door(&self, node: i32) -> watch::Sender<Door> {
        self.0.borrow_mut().entry(node).or_default().clone()
    }

    /// What a node's host runs.
    pub(crate) async fn serve(self, node: i32) -> turmoil::Result {
        let mut door = self.door(node).subscribe();
        loop {
            let way_in = door.wait_for(Option::is_some).await?.clone();
            let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
            loop {
                tokio::select! {
                    biased;
                    closed = door.wait_for(Option::is_none) => {
                        closed?;
                        break;
                    }
                    accepted = listener.accept() => {
                        let (outside, _) = accepted?;
                        let (inside, visitor) = tokio::io::duplex(PIPE);
                        if way_in.as_ref().is_some_and(|way_in| way_in.send(visitor).is_ok()) {
                            // not `spawn`: in a crash those end in an order that is not the same again
                            tokio::task::spawn_local(carry(outside, inside));
                        }
                    }
                }
            }
        }
    }
}

/// Until both sides have said all, or one of them is gone.
async fn carry(mut outside: TcpStream, mut inside: DuplexStream) {
    let carried = copy_bidirectional(&mut outside, &mut inside).await;
    if let Err(error) = carried {
        tracing::debug!(%error, "a connection broke");
    }
}

struct Visitors(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for Visitors {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<DuplexStream> {
        match self.0.recv().await {
            Some(visitor) => Ok(visitor),
            // the door was closed or replaced
            None => std::future::pending().await,
        }
    }
}
