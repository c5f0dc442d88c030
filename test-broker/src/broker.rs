//! The handle that tests and embedding programs hold.

mod data;
mod groups;
mod nodes;
mod observe;
mod partitions;
mod topics;

use std::net::SocketAddr;
use std::sync::Arc;

use record_batch::TopicPartition;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

use crate::builder::Builder;
use crate::cluster::{Cluster, Partition, PartitionId};
use crate::error::Error;
use crate::fault::{Fault, FaultId};
use crate::listener::Listener;
use crate::server;
use crate::shared::{Phase, Shared};

pub use groups::CommittedOffset;
pub use partitions::PartitionOffsets;

/// Bytes that an in-memory connection holds in each direction before the writer waits.
const PIPE: usize = 64 * 1024;

/// A Kafka cluster of one or several nodes in this process.
///
/// Cloning gives another handle of the same cluster. It stops when it is [shut down](Self::shutdown), or when the last
/// handle is dropped.
///
/// ```
/// use test_broker::TestBroker;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), test_broker::Error> {
/// let broker = TestBroker::builder().nodes(2).topic("orders", 6).start().await?;
/// broker.produce("orders", 0, [("key", "value")])?;
/// // any client: broker.bootstrap_servers() is what it needs
/// assert!(broker.bootstrap_servers().starts_with("127.0.0.1:"));
/// broker.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TestBroker {
    owner: Arc<Owner>,
}

/// Ends the tasks with the last handle.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.abort_all();
    }
}

impl TestBroker {
    /// Settings, and then a start: on TCP or without a network.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            owner: Arc::new(Owner { shared }),
        }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.owner.shared
    }

    /// Serves a TCP listener that is opened again when the node is restarted.
    pub(crate) fn listen(&self, node: i32, listener: TcpListener, address: SocketAddr) {
        if let Some(tasks) = self.shared().node(node) {
            tasks.set_bound(address);
        }
        server::serve(self.shared(), node, listener);
    }

    /// `bootstrap.servers` of the cluster: the addresses of all nodes, as clients are told them.
    pub fn bootstrap_servers(&self) -> String {
        let cluster = self.shared().cluster();
        let nodes = cluster.nodes.values();
        let addresses: Vec<_> = nodes.map(|n| format!("{}:{}", n.host, n.port)).collect();
        addresses.join(",")
    }

    /// The ids of all nodes, live or not.
    pub fn node_ids(&self) -> Vec<i32> {
        self.shared().cluster().nodes.keys().copied().collect()
    }

    /// The node that clients are told to find at this address.
    pub fn node_at(&self, host: &str, port: u16) -> Option<i32> {
        let cluster = self.shared().cluster();
        let mut nodes = cluster.nodes.values();
        let found = nodes.find(|node| node.host == host && node.port == port);
        found.map(|node| node.id)
    }

    /// Opens a connection to a node without a network.
    ///
    /// ```
    /// use test_broker::TestBroker;
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let broker = TestBroker::builder().start_in_memory()?;
    /// let mut connection = broker.connect(1)?;
    /// // ApiVersions, version 0, correlation id 7, no client id
    /// connection.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]).await?;
    /// let _length = connection.read_i32().await?;
    /// assert_eq!(connection.read_i32().await?, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NodeDown`] if the node was killed, [`Error::UnknownNode`].
    pub fn connect(&self, node: i32) -> Result<DuplexStream, Error> {
        self.check_up(node)?;
        let (client, server) = tokio::io::duplex(PIPE);
        server::connect(self.shared(), node, server);
        Ok(client)
    }

    /// Serves what a listener accepts as connections of a node, until the node is killed: a simulated network, a port of
    /// one's own. A node may have several.
    ///
    /// # Errors
    /// [`Error::NodeDown`] if the node was killed, [`Error::UnknownNode`].
    pub fn serve(&self, node: i32, listener: impl Listener) -> Result<(), Error> {
        self.check_up(node)?;
        server::serve(self.shared(), node, listener);
        Ok(())
    }

    /// Closes all listeners and connections and waits until they are closed. State and data remain readable by the
    /// handle.
    pub async fn shutdown(&self) {
        self.shared().shutdown().await;
    }

    /// Makes something go wrong.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.shared().cluster().faults.inject(fault)
    }

    /// Ends a fault. Requests that it has hit already are not affected.
    pub fn remove_fault(&self, fault: FaultId) {
        self.shared().cluster().faults.remove(fault);
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        self.shared().cluster().faults.clear();
    }

    /// How many requests a fault has hit; 0 once it was removed.
    pub fn fault_hits(&self, fault: FaultId) -> u64 {
        self.shared().cluster().faults.hits(fault)
    }

    fn check_up(&self, node: i32) -> Result<(), Error> {
        match self.shared().node(node).map(|tasks| tasks.phase()) {
            None => Err(self.unknown_node(node)),
            Some(Phase::Down) => Err(Error::NodeDown { node }),
            Some(_) => Ok(()),
        }
    }

    fn unknown_node(&self, node: i32) -> Error {
        let nodes = self.shared().cluster().nodes.len();
        Error::UnknownNode {
            node,
            nodes: i32::try_from(nodes).unwrap_or(i32::MAX),
        }
    }
}

/// Looks a partition up for the methods of the handle.
fn find(cluster: &mut Cluster, topic: &str, partition: i32) -> Result<PartitionId, Error> {
    let Some(found) = cluster.topics.get(topic) else {
        return Err(Error::UnknownTopic {
            topic: topic.to_owned(),
        });
    };
    if found.partition(partition).is_none() {
        return Err(Error::UnknownPartition {
            topic: topic.to_owned(),
            partition,
            last: i32::try_from(found.partitions.len()).unwrap_or(i32::MAX) - 1,
        });
    }
    Ok((found.id, partition))
}

/// Changes a partition and wakes those who wait for it.
fn change<T>(
    cluster: &mut Cluster,
    topic: &str,
    partition: i32,
    change: impl FnOnce(&mut Partition, &mut record_batch::Decoder) -> Result<T, Error>,
) -> Result<T, Error> {
    let id = find(cluster, topic, partition)?;
    let result = match cluster.partition_mut(topic, partition) {
        Some((partition, decoder, _)) => change(partition, decoder),
        None => Err(Error::UnknownTopic {
            topic: topic.to_owned(),
        }),
    };
    cluster.purgatory.wake(id);
    result
}

fn out_of_range(topic: &str, partition: i32, offset: i64, found: &Partition) -> Error {
    Error::OffsetOutOfRange {
        partition: TopicPartition::new(topic, partition),
        offset,
        log_start: found.log.log_start_offset(),
        high_watermark: found.log.high_watermark(),
    }
}
