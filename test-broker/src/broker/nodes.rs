use super::TestBroker;
use crate::builder::bind;
use crate::error::Error;
use crate::shared::Phase;

impl TestBroker {
    /// Kills a node: its listeners are closed, its connections cut, its fetch sessions lost. Partitions that it led go to
    /// an in-sync replica on another node, or have no leader; the epoch rises. Groups that it coordinated go to another
    /// node. Killing a dead node does nothing.
    ///
    /// # Errors
    /// [`Error::UnknownNode`].
    pub async fn kill_node(&self, node: i32) -> Result<(), Error> {
        let tasks = self.shared().node(node);
        let tasks = tasks.ok_or_else(|| self.unknown_node(node))?;
        if tasks.phase() == Phase::Down {
            return Ok(());
        }
        tasks.set_phase(Phase::Down);
        tasks.shutdown().await;
        let now = self.shared().now();
        self.shared().cluster().node_died(node, now);
        Ok(())
    }

    /// Brings a killed node back, on the port that it had. It leads again what no other node could; that is a new epoch.
    /// Listeners that were given to [`serve`](Self::serve) have to be given again. Restarting a live node does nothing.
    ///
    /// # Errors
    /// [`Error::UnknownNode`]; [`Error::Bind`] if something else has taken the port.
    pub async fn restart_node(&self, node: i32) -> Result<(), Error> {
        let tasks = self.shared().node(node);
        let tasks = tasks.ok_or_else(|| self.unknown_node(node))?;
        if tasks.phase() != Phase::Down {
            return Ok(());
        }
        let listener = match tasks.bound() {
            Some(address) => Some(bind(node, address).await?),
            None => None,
        };
        let now = self.shared().now();
        self.shared().cluster().node_returned(node, now);
        tasks.set_phase(Phase::Running);
        if let Some((listener, address)) = listener {
            self.listen(node, listener, address);
        }
        Ok(())
    }

    /// From now on clients are told to find a node at this address: what a changed `advertised.listeners` does, or a broker that was moved.
    /// Connections stay. Whether somebody listens there is another matter: see [`serve`](Self::serve) and [`node_at`](Self::node_at).
    /// Several nodes may have one address.
    ///
    /// # Errors
    /// [`Error::UnknownNode`].
    pub fn advertise(&self, node: i32, host: impl Into<String>, port: u16) -> Result<(), Error> {
        let mut cluster = self.shared().cluster();
        if let Some(known) = cluster.nodes.get_mut(&node) {
            (known.host, known.port) = (host.into(), port);
            return Ok(());
        }
        // the error looks at the cluster as well
        drop(cluster);
        Err(self.unknown_node(node))
    }

    /// Freezes a node, as SIGSTOP does: connections are accepted, requests are read, nothing is answered, and nobody
    /// takes its partitions over.
    ///
    /// # Errors
    /// [`Error::UnknownNode`]; [`Error::NodeDown`].
    pub fn freeze_node(&self, node: i32) -> Result<(), Error> {
        self.set_phase(node, Phase::Frozen)
    }

    /// Lets a frozen node go on: it answers what has waited.
    ///
    /// # Errors
    /// [`Error::UnknownNode`]; [`Error::NodeDown`].
    pub fn unfreeze_node(&self, node: i32) -> Result<(), Error> {
        self.set_phase(node, Phase::Running)
    }

    fn set_phase(&self, node: i32, phase: Phase) -> Result<(), Error> {
        self.check_up(node)?;
        if let Some(tasks) = self.shared().node(node) {
            tasks.set_phase(phase);
        }
        Ok(())
    }
}
