//! One of the two brokers, as the cases reach it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kafka_protocol::protocol::Request;
use tokio::time::{Instant, sleep};

use super::connection::{Connection, Reply};
use super::names::Names;

/// A connection that was not used for so long is not used again: the broker may be about to close it.
const REUSED_WITHIN: Duration = Duration::from_secs(1);

/// How long a broker is given to do what it was asked, and before it is asked again whether it has.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Side {
    addresses: BTreeMap<i32, SocketAddr>,
    connections: BTreeMap<i32, Connection>,
    pub(crate) names: Names,
}

impl Side {
    pub(crate) fn new(addresses: BTreeMap<i32, SocketAddr>) -> Self {
        let ports = addresses
            .iter()
            .map(|(node, address)| (*node, address.port()));
        Self {
            names: Names::new(ports),
            addresses,
            connections: BTreeMap::new(),
        }
    }

    /// A connection for whoever calls.
    pub(crate) async fn connect(&self, node: i32) -> Result<Connection> {
        let address = self.addresses.get(&node);
        let address = address.with_context(|| format!("there is no node {node}"))?;
        Connection::open(*address).await
    }

    /// Asks over the connection that the cases share.
    pub(crate) async fn ask<R: Request>(
        &mut self,
        node: i32,
        request: &R,
        version: i16,
    ) -> Result<Reply<R::Response>> {
        let known = self.connections.remove(&node);
        let mut connection = match known.filter(|known| known.idle() < REUSED_WITHIN) {
            Some(known) => known,
            None => self.connect(node).await?,
        };
        let reply = connection.ask(request, version).await?;
        if reply.answer.is_ok() {
            self.connections.insert(node, connection);
        }
        Ok(reply)
    }

    /// Asks until the answer is as it is to be.
    pub(super) async fn wait_until<R: Request>(
        &mut self,
        node: i32,
        request: &R,
        version: i16,
        done: impl Fn(&R::Response) -> bool,
    ) -> Result<()>
    where
        R::Response: std::fmt::Debug,
    {
        let end = Instant::now() + PATIENCE;
        loop {
            let reply = self.ask(node, request, version).await?;
            let answer = reply.answer.map_err(anyhow::Error::msg)?;
            if done(&answer) {
                return Ok(());
            }
            if Instant::now() >= end {
                bail!("node {node} still answers {answer:?}");
            }
            sleep(PAUSE).await;
        }
    }
}
