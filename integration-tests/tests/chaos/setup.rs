//! What a run is made of: its seed, its cluster, the lines to it, and what is left to read when it fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use integration_tests::Line;
use integration_tests::kafka::Cluster;
use tempfile::TempDir;
use tracing_subscriber::EnvFilter;

#[cfg(target_os = "linux")]
use super::namespace::Namespace;

pub(crate) const NODES: i32 = 3;
pub(crate) const TOPIC: &str = "chaos";
pub(crate) const PARTITIONS: i32 = 6;
/// Where the groups' offsets are.
pub(crate) const OFFSETS: &str = "__consumer_offsets";
pub(crate) const OFFSETS_PARTITIONS: i32 = 4;
const LISTENER: &str = "LINE";
const USUAL: Duration = Duration::from_secs(22);

/// Where a group's offsets are: by the hash that Java has for its name. The partition's leader coordinates the group.
pub(crate) fn offsets_partition_of(group: &str) -> i32 {
    let hash = group.bytes().fold(0i32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(i32::from(byte))
    });
    (hash & i32::MAX) % OFFSETS_PARTITIONS
}

/// What makes a run what it is, as far as a test can say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub(crate) seed: u64,
    /// How long faults come.
    pub(crate) length: Duration,
}

impl Seed {
    /// From CHAOS_SEED and CHAOS_SECONDS, as far as they are given.
    pub(crate) fn from_environment() -> Result<Self> {
        let number = |name: &str| match std::env::var(name) {
            Ok(number) => number.parse().map(Some).context(name.to_owned()),
            Err(_) => Ok(None),
        };
        Ok(Self {
            seed: number("CHAOS_SEED")?.unwrap_or_else(|| fastrand::u64(..1_000_000)),
            length: number("CHAOS_SECONDS")?.map_or(USUAL, Duration::from_secs),
        })
    }

    pub(crate) fn rng(self, subject: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed << 8 | subject)
    }
}

/// How clients reach the brokers.
pub(crate) enum Network {
    /// Through lines of this machine.
    Lines,
    /// Through lines at the other end of cables that lead into a namespace in which only our clients are.
    #[cfg(target_os = "linux")]
    Namespace(Namespace),
}

impl Network {
    /// Where the line to a node is.
    fn address(&self, node: i32) -> IpAddr {
        match self {
            Self::Lines => Ipv4Addr::LOCALHOST.into(),
            #[cfg(target_os = "linux")]
            Self::Namespace(namespace) => namespace.address(node).into(),
        }
    }

    /// Has what this thread opens, and threads that it starts, use this network.
    pub(crate) fn enter(&self) -> Result<()> {
        match self {
            Self::Lines => Ok(()),
            #[cfg(target_os = "linux")]
            Self::Namespace(namespace) => namespace.enter(),
        }
    }

    /// Pulls the cable to a node, or plugs it in again. There are cables only into a namespace.
    pub(crate) fn set_plugged(&self, node: i32, plugged: bool) -> Result<()> {
        match self {
            Self::Lines => {
                bail!("no cable leads to node {node}, to be plugged in ({plugged}) or not")
            }
            #[cfg(target_os = "linux")]
            Self::Namespace(namespace) => namespace.set_plugged(node, plugged),
        }
    }
}

/// Cluster, lines, and who is in trouble.
pub(crate) struct World {
    pub(crate) kafka: Arc<Cluster>,
    pub(crate) network: Network,
    lines: BTreeMap<i32, Line>,
    pub(crate) troubled_brokers: Troubled<i32>,
    pub(crate) troubled_lines: Troubled<i32>,
    /// Topics and partitions whose leader is about to move.
    pub(crate) troubled_partitions: Troubled<(&'static str, i32)>,
    begin: Instant,
}

impl World {
    pub(crate) fn start(network: Network) -> Result<Self> {
        let mut lines = BTreeMap::new();
        let mut builder = Cluster::builder()
            .nodes(3)
            // a broker that is away is noticed, and let in again, soon; and so are members
            .property("broker.session.timeout.ms", "3000")
            .property("broker.heartbeat.interval.ms", "300")
            .property("replica.socket.timeout.ms", "3000")
            .property("replica.lag.time.max.ms", "5000")
            .property("group.min.session.timeout.ms", "1000")
            .property("group.consumer.min.session.timeout.ms", "1000")
            .property("group.consumer.session.timeout.ms", "6000")
            .property("group.consumer.min.heartbeat.interval.ms", "300")
            .property("group.consumer.heartbeat.interval.ms", "500")
            .property(
                "offsets.topic.num.partitions",
                &OFFSETS_PARTITIONS.to_string(),
            )
            .listener(LISTENER, "PLAINTEXT");
        for node in 1..=NODES {
            let line = Line::open(network.address(node))?;
            builder = builder.advertised(node, LISTENER, &line.address().to_string());
            lines.insert(node, line);
        }
        let kafka = builder.start()?;
        for (node, line) in &lines {
            let target = kafka.listener_address(*node, LISTENER)?;
            line.connect_to(target.context("a listener was asked for")?);
        }
        kafka.create_topic(TOPIC, PARTITIONS, 3, &[("min.insync.replicas", "2")])?;
        Ok(Self {
            kafka: Arc::new(kafka),
            network,
            lines,
            troubled_brokers: Troubled::default(),
            troubled_lines: Troubled::default(),
            troubled_partitions: Troubled::default(),
            begin: Instant::now(),
        })
    }

    pub(crate) fn line(&self, node: i32) -> Result<&Line> {
        self.lines
            .get(&node)
            .context("there is a line to each node")
    }

    /// The lines, as `bootstrap.servers`.
    pub(crate) fn bootstrap_servers(&self) -> String {
        let addresses = self.lines.values().map(|line| line.address().to_string());
        addresses.collect::<Vec<_>>().join(",")
    }

    /// Tells what happens, here and in the consumers' log.
    pub(crate) fn tell(&self, what: &str) {
        println!("{:8.3} {what}", self.begin.elapsed().as_secs_f64());
        tracing::info!("{what}");
    }
}

/// Those to which something happens.
pub(crate) struct Troubled<T>(Mutex<BTreeSet<T>>);

impl<T> Default for Troubled<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + Ord> Troubled<T> {
    /// Takes one until the answer is dropped; `None` if it is taken, or if `at_most` are.
    pub(crate) fn take(&self, one: T, at_most: usize) -> Option<Taken<'_, T>> {
        let mut taken = self.lock();
        (taken.len() < at_most && taken.insert(one)).then(|| Taken { of: self, one })
    }

    /// Whether no more than one is taken.
    pub(crate) fn is_alone(&self) -> bool {
        self.lock().len() <= 1
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Taken<'a, T: Copy + Ord> {
    of: &'a Troubled<T>,
    one: T,
}

impl<T: Copy + Ord> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.of.lock().remove(&self.one);
    }
}

/// The logs of a run, which stay if it fails.
pub(crate) struct Logs(TempDir);

impl Logs {
    /// Has our consumers log into a file, as RUST_LOG says.
    pub(crate) fn begin() -> Result<Self> {
        let mut folder = tempfile::tempdir()?;
        folder.disable_cleanup(true);
        let file = File::create(folder.path().join("consumers.log"))?;
        let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new("debug"))?;
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(Mutex::new(file))
            // each consumer has a thread of its own
            .with_thread_ids(true)
            .with_ansi(false);
        // another run in this process has begun before: it has the log of both
        let _ = subscriber.try_init();
        Ok(Self(folder))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Adds those of the brokers, which go with their cluster.
    pub(crate) fn keep(&self, kafka: &Cluster) -> Result<()> {
        for node in 1..=NODES {
            fs::copy(
                kafka.log(node)?,
                self.folder().join(format!("broker-{node}.log")),
            )?;
        }
        Ok(())
    }

    pub(crate) fn remove(mut self) {
        self.0.disable_cleanup(false);
    }
}
