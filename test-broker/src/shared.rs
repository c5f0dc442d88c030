use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::cluster::Cluster;
use crate::settings::Settings;

/// What a node's tasks go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// It accepts connections and answers nothing.
    Frozen,
    Down,
}

/// A node's tasks: one that accepts, one per connection.
#[derive(Debug)]
pub(crate) struct NodeTasks {
    phase: Mutex<Phase>,
    /// Wakes whoever waits while the node is frozen. A `watch` would wake them in a random order.
    thawed: Notify,
    tasks: Mutex<JoinSet<()>>,
    /// The port that the broker opened for it, and opens again when it is restarted.
    bound: Mutex<Option<SocketAddr>>,
}

/// What all tasks of a broker share.
#[derive(Debug)]
pub(crate) struct Shared {
    cluster: Mutex<Cluster>,
    started: Instant,
    nodes: BTreeMap<i32, NodeTasks>,
    /// Requests taken in, of all nodes.
    pub(crate) arrived: watch::Sender<u64>,
    connections: Mutex<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // no state is left half changed: a panic under the lock is a bug of the test or of the broker, and shows as such
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let nodes = settings.nodes.keys().map(|id| {
            let tasks = NodeTasks {
                phase: Mutex::new(Phase::Running),
                thawed: Notify::new(),
                tasks: Mutex::default(),
                bound: Mutex::default(),
            };
            (*id, tasks)
        });
        Arc::new(Self {
            nodes: nodes.collect(),
            cluster: Mutex::new(Cluster::new(settings)),
            started: Instant::now(),
            arrived: watch::Sender::new(0),
            connections: Mutex::new(0),
        })
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        lock(&self.cluster)
    }

    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn instant(&self, since_start: Duration) -> Instant {
        self.started + since_start
    }

    /// Waits until something is to happen in a group by the clock, and lets it happen; or until the time of that changes.
    pub(crate) async fn group_time_passes(&self) {
        let (first, changed) = self.cluster().groups.next();
        let happens = async {
            match first {
                Some(time) => sleep_until(self.instant(time)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // else the order is random, and a seed would not repeat a run
            biased;
            () = changed => {}
            () = happens => {
                let now = self.now();
                self.cluster().groups.advance(now);
            }
        }
    }

    pub(crate) fn node(&self, id: i32) -> Option<&NodeTasks> {
        self.nodes.get(&id)
    }

    pub(crate) fn next_connection(&self) -> u64 {
        let mut next = lock(&self.connections);
        let number = *next;
        *next += 1;
        number
    }

    pub(crate) fn abort_all(&self) {
        for node in self.nodes.values() {
            node.abort();
        }
    }

    /// Ends all tasks and waits until they are gone, with all that they hold.
    pub(crate) async fn shutdown(&self) {
        for node in self.nodes.values() {
            node.set_phase(Phase::Down);
            node.shutdown().await;
        }
    }
}

impl NodeTasks {
    pub(crate) fn phase(&self) -> Phase {
        *lock(&self.phase)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        *lock(&self.phase) = phase;
        if phase != Phase::Frozen {
            self.thawed.notify_waiters();
        }
    }

    /// Waits while the node is frozen.
    pub(crate) async fn thawed(&self) {
        loop {
            // hears of what happens from now on, whenever it is awaited
            let thawed = self.thawed.notified();
            if self.phase() != Phase::Frozen {
                return;
            }
            thawed.await;
        }
    }

    /// Runs a task until the node is stopped; one that is stopped already runs none.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        if self.phase() == Phase::Down {
            return;
        }
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn abort(&self) {
        lock(&self.tasks).abort_all();
    }

    /// Ends the node's tasks and waits until they are gone: the listener is closed, the connections are cut.
    pub(crate) async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
    }

    pub(crate) fn bound(&self) -> Option<SocketAddr> {
        *lock(&self.bound)
    }

    pub(crate) fn set_bound(&self, address: SocketAddr) {
        *lock(&self.bound) = Some(address);
    }
}
