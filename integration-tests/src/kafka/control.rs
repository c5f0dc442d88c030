//! What can be done to a node: stop, kill, freeze and back again.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use super::cluster::Cluster;
use super::error::{Context, Error, Result};
use super::probe;

/// # Nodes
///
/// Each command returns when it has taken effect. A node that does not exist is [`Error::UnknownNode`], one in the wrong state
/// [`Error::NodeState`], one that does not end or become ready within 90 s [`Error::NodeTimeout`].
impl Cluster {
    /// Asks a node to shut down (SIGTERM) and waits until it has. Leaders move away before, as far as there are other replicas.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn stop(&self, node: i32) -> Result<()> {
        self.node(node)?.stop()
    }

    /// Ends a node at once (SIGKILL), also a frozen one: what a crash does.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn kill(&self, node: i32) -> Result<()> {
        self.node(node)?.kill()
    }

    /// Starts a node that was stopped or killed, with the same data and ports, and waits until it answers and is registered. The controller
    /// lets a broker in only after its old session has run out, which takes 9 s, also after an orderly stop; a suite that restarts nodes often
    /// sets `broker.session.timeout.ms` and `broker.heartbeat.interval.ms` to less.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn start_node(&self, node: i32) -> Result<()> {
        let node = self.node(node)?;
        node.spawn(&self.jars, self.jvm_options())?;
        self.await_ready(node)
    }

    /// Stops a node and starts it again.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn restart(&self, node: i32) -> Result<()> {
        self.stop(node)?;
        self.start_node(node)
    }

    /// Halts a node where it is (SIGSTOP): connections stay, new ones are accepted by the kernel, nothing is answered.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn freeze(&self, node: i32) -> Result<()> {
        self.node(node)?.freeze()
    }

    /// Lets a frozen node go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// See above.
    pub fn thaw(&self, node: i32) -> Result<()> {
        self.node(node)?.thaw()
    }

    /// Whether a node's process is there and not frozen.
    ///
    /// # Errors
    ///
    /// See above.
    pub fn is_running(&self, node: i32) -> Result<bool> {
        Ok(self.node(node)?.is_running())
    }

    /// Sends ApiVersions to a node on a connection of its own and returns the connection, the answer unread.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if nobody accepts.
    pub fn ask(&self, node: i32) -> Result<Asked> {
        let address = self.address(node)?;
        let stream =
            probe::ask(address, CONNECT).context(|| format!("send ApiVersions to {address}"))?;
        Ok(Asked { stream })
    }
}

/// How long connecting to a port of this machine may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A request that was sent to a node. Made by [`Cluster::ask`].
#[derive(Debug)]
pub struct Asked {
    stream: TcpStream,
}

impl Asked {
    /// Whether the answer comes within `limit`. May be asked again after a false.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the connection is closed or something else than the answer comes.
    pub fn is_answered(&mut self, limit: Duration) -> Result<bool> {
        match probe::read_answer(&mut self.stream, limit) {
            Ok(()) => Ok(true),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                Ok(false)
            }
            Err(source) => Err(Error::Io {
                what: "read the answer to ApiVersions".into(),
                source,
            }),
        }
    }
}
