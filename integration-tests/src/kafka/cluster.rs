//! A cluster: how it is described, started and taken down.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::cache::RunFolder;
use super::error::{Context, Error, Result, tail};
use super::helper::{Helper, QUICK};
use super::jars::Jars;
use super::node::{Node, START_STOP};
use super::ports::Port;
use super::properties::{Listener, NodeProperties, PLAIN};

/// Any cluster id does: clusters never meet.
const CLUSTER_ID: &str = "AAAAAAAAQACAAAAAAAAAAQ";

/// Describes a cluster before it starts. Made by [`Cluster::builder`].
#[derive(Clone, Debug)]
#[must_use = "a cluster is there after `start`"]
pub struct Builder {
    nodes: usize,
    properties: Vec<(Option<i32>, String, String)>,
    listeners: Vec<Listener>,
    advertised: Vec<(i32, String, String)>,
    jvm_options: Vec<String>,
}

impl Builder {
    /// Number of nodes, 1 if not said. Node 1 is broker and the only controller, the others are brokers: kill node 2 to see what a lost broker
    /// does, node 1 to see what a cluster without a controller does. Topics of the cluster itself have min(nodes, 3) replicas.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// Sets a broker property on every node, in place of the harness's default or Kafka's.
    pub fn property(mut self, key: &str, value: &str) -> Self {
        self.properties.push((None, key.into(), value.into()));
        self
    }

    /// Sets a broker property on one node, as `broker.rack`.
    pub fn node_property(mut self, node: i32, key: &str, value: &str) -> Self {
        self.properties.push((Some(node), key.into(), value.into()));
        self
    }

    /// Adds a listener to every node, on a free port; `protocol` is `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. Its properties are given
    /// with [`property`](Self::property) (`listener.name.secure.…`). Brokers and the harness itself keep using the plain one.
    pub fn listener(mut self, name: &str, protocol: &str) -> Self {
        self.listeners.push(Listener {
            name: name.into(),
            protocol: protocol.into(),
        });
        self
    }

    /// Has a node tell clients another address (`host:port`) for a listener than its own: that of a proxy in front of it, which connects to
    /// [`Cluster::listener_address`]. With `PLAINTEXT`, the listener that every node has, the harness and the other brokers go there, too.
    pub fn advertised(mut self, node: i32, listener: &str, address: &str) -> Self {
        self.advertised
            .push((node, listener.into(), address.into()));
        self
    }

    /// Adds an option of the brokers' JVMs. The defaults are small (`-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1`); a later option wins, so
    /// a measurement gives `-Xmx1g` and `-XX:TieredStopAtLevel=4`.
    pub fn jvm_option(mut self, option: &str) -> Self {
        self.jvm_options.push(option.into());
        self
    }

    /// Sets the level of one of the brokers' loggers (`trace` to `error`); others log at `info`. See [`Cluster::log`].
    pub fn log_level(self, logger: &str, level: &str) -> Self {
        self.jvm_option(&format!("-Dorg.slf4j.simpleLogger.log.{logger}={level}"))
    }

    /// Formats and starts all nodes, and waits until each answers and all are registered.
    ///
    /// # Errors
    ///
    /// A missing `java` or `mvn` is [`Error::MissingTool`]; a node that ends or is not ready after 90 s shows the end of its log.
    pub fn start(self) -> Result<Cluster> {
        self.check()?;
        let jars = Jars::fetch()?;
        let run = RunFolder::create()?;
        let controller_port = Port::take()?;
        let ids = 1..=i32::try_from(self.nodes).unwrap_or(i32::MAX);
        let nodes = ids
            .map(|id| self.prepare(id, &run, &controller_port))
            .collect::<Result<Vec<Node>>>()?;
        let bootstrap_servers = bootstrap_servers(&nodes);
        let helper = Helper::start(&jars, &bootstrap_servers, &run.path().join("helper.log"))?;
        let cluster = Cluster {
            nodes,
            helper,
            jars,
            listeners: self.listeners,
            jvm_options: self.jvm_options,
            bootstrap_servers,
            run,
            controller_port,
        };
        for node in &cluster.nodes {
            cluster.format(node)?;
            node.spawn(&cluster.jars, &cluster.jvm_options)?;
        }
        for node in &cluster.nodes {
            cluster.await_ready(node)?;
        }
        Ok(cluster)
    }

    /// Nothing that was said may be without effect.
    fn check(&self) -> Result<()> {
        let named = self.properties.iter().filter_map(|(node, _, _)| *node);
        let told = self.advertised.iter().map(|(node, _, _)| *node);
        let exists =
            |node: i32| usize::try_from(node).is_ok_and(|node| (1..=self.nodes).contains(&node));
        if let Some(node) = [1]
            .into_iter()
            .chain(named)
            .chain(told)
            .find(|node| !exists(*node))
        {
            return Err(Error::UnknownNode {
                node,
                nodes: self.nodes,
            });
        }
        let mut known = vec![PLAIN.to_owned()];
        known.extend(self.listeners.iter().map(|listener| listener.name.clone()));
        match self
            .advertised
            .iter()
            .find(|(_, listener, _)| !known.contains(listener))
        {
            Some((_, name, _)) => Err(Error::UnknownListener {
                name: name.clone(),
                known,
            }),
            None => Ok(()),
        }
    }

    fn prepare(&self, id: i32, run: &RunFolder, controller_port: &Port) -> Result<Node> {
        let folder = run.path().join(format!("node-{id}"));
        fs::create_dir(&folder).context(|| format!("create the folder {}", folder.display()))?;
        let ports = (0..=self.listeners.len())
            .map(|_| Port::take())
            .collect::<Result<Vec<Port>>>()?;
        let node = Node::new(id, ports, Port::take()?, &folder);
        let numbers: Vec<u16> = node.ports.iter().map(Port::number).collect();
        let advertised = self.advertised.iter().filter(|(of, _, _)| *of == id);
        let advertised: Vec<(&str, &str)> = advertised
            .map(|(_, listener, address)| (listener.as_str(), address.as_str()))
            .collect();
        let properties = NodeProperties {
            id,
            nodes: self.nodes,
            data: &node.data,
            controller_port: controller_port.number(),
            ports: &numbers,
            listeners: &self.listeners,
            advertised: &advertised,
        };
        let for_this_node = self
            .properties
            .iter()
            .filter(|(of, _, _)| of.is_none_or(|of| of == id));
        let text =
            properties.text(for_this_node.map(|(_, key, value)| (key.as_str(), value.as_str())));
        fs::write(&node.properties, text)
            .context(|| format!("write {}", node.properties.display()))?;
        Ok(node)
    }
}

/// A running cluster. Dropping it kills every process and removes all data.
///
/// Methods come in groups: nodes (below), topics and offsets, [`produce`](Self::produce), [`java_consume`](Self::java_consume),
/// [`metric`](Self::metric), [`compact`](Self::compact), [`tool`](Self::tool).
#[derive(Debug)]
pub struct Cluster {
    // in the order in which they go: processes before their files
    nodes: Vec<Node>,
    pub(crate) helper: Helper,
    pub(crate) jars: Jars,
    listeners: Vec<Listener>,
    jvm_options: Vec<String>,
    bootstrap_servers: String,
    pub(crate) run: RunFolder,
    controller_port: Port,
}

impl Cluster {
    /// Describes a cluster: one node and Kafka's defaults, except that topics are not created by themselves, a group does not wait for more
    /// members before its first rebalance, and sizes fit a small machine.
    pub fn builder() -> Builder {
        Builder {
            nodes: 1,
            properties: Vec::new(),
            listeners: Vec::new(),
            advertised: Vec::new(),
            jvm_options: Vec::new(),
        }
    }

    /// The plain listeners of all nodes, as `bootstrap.servers` takes them.
    pub fn bootstrap_servers(&self) -> &str {
        &self.bootstrap_servers
    }

    /// The address of a node's plain listener. It stays the same when the node is restarted.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn address(&self, node: i32) -> Result<SocketAddr> {
        Ok(self.node(node)?.plain_address())
    }

    /// Where the controller listens, which speaks the protocol of Kafka and is no broker.
    pub fn controller_address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.controller_port.number()))
    }

    /// The address of a node's listener that was added with [`Builder::listener`]; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn listener_address(&self, node: i32, name: &str) -> Result<Option<SocketAddr>> {
        let place = self
            .listeners
            .iter()
            .position(|listener| listener.name == name);
        let node = self.node(node)?;
        Ok(place.and_then(|place| node.address(place + 1)))
    }

    /// The log file of a node: what it wrote to stdout and stderr, restarts included.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn log(&self, node: i32) -> Result<&Path> {
        Ok(&self.node(node)?.log)
    }

    /// The folder with a node's partitions (`log.dirs`), for tools that read segments.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn data(&self, node: i32) -> Result<&Path> {
        Ok(&self.node(node)?.data)
    }

    /// The process ids of everything that runs for this cluster.
    pub fn pids(&self) -> Vec<u32> {
        self.nodes
            .iter()
            .filter_map(Node::pid)
            .chain([self.helper.pid()])
            .collect()
    }

    pub(crate) fn node(&self, id: i32) -> Result<&Node> {
        self.nodes
            .iter()
            .find(|node| node.id == id)
            .ok_or(Error::UnknownNode {
                node: id,
                nodes: self.nodes.len(),
            })
    }

    pub(crate) fn jvm_options(&self) -> &[String] {
        &self.jvm_options
    }

    fn format(&self, node: &Node) -> Result<()> {
        let arguments = json!({
            "cluster_id": CLUSTER_ID,
            "properties": node.properties,
            // the controller's log begins with itself as the only voter (KIP-853)
            "standalone": node.id == 1,
        });
        self.helper
            .call::<String>("format", &format!("node {}", node.id), arguments, QUICK)?;
        Ok(())
    }

    /// Waits until a node answers and the cluster counts it among its brokers.
    pub(crate) fn await_ready(&self, node: &Node) -> Result<()> {
        node.await_ready()?;
        let end = Instant::now() + START_STOP;
        loop {
            node.check_alive()?;
            let brokers: Vec<i32> = self.helper.call("brokers", "", json!({}), QUICK)?;
            if brokers.contains(&node.id) {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(node.timeout(
                    "register",
                    format!("the cluster has the brokers {brokers:?}"),
                ));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            for node in &self.nodes {
                eprintln!(
                    "the test failed; the end of the log of node {}:\n{}\n",
                    node.id,
                    tail(&node.log)
                );
            }
        }
    }
}

fn bootstrap_servers(nodes: &[Node]) -> String {
    let addresses: Vec<String> = nodes
        .iter()
        .map(|node| node.plain_address().to_string())
        .collect();
    addresses.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_node_or_listener_that_is_not_there_is_an_error() {
        let refused = |builder: Builder| builder.check().unwrap_err().to_string();
        let builder = || Cluster::builder().nodes(2).listener("OUTSIDE", "SSL");
        assert!(
            builder()
                .node_property(2, "broker.rack", "r")
                .advertised(1, "OUTSIDE", "a:1")
                .check()
                .is_ok()
        );
        let no_node = "there is no node 3: the cluster has the nodes 1 to 2";
        assert_eq!(
            refused(builder().node_property(3, "broker.rack", "r")),
            no_node
        );
        assert_eq!(refused(builder().advertised(3, "OUTSIDE", "a:1")), no_node);
        let no_listener = "there is no listener INSIDE: the cluster has PLAINTEXT, OUTSIDE";
        assert_eq!(
            refused(builder().advertised(1, "INSIDE", "a:1")),
            no_listener
        );
        assert!(matches!(
            builder().nodes(0).check(),
            Err(Error::UnknownNode { node: 1, nodes: 0 })
        ));
    }
}
