//! Who reads, and what is measured of it.

use std::fmt;
use std::time::Duration;

use consumer_app::Policy;

/// A client, and how it treats buffered partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Our consumer with a policy of the planner.
    Ours(Policy),
    /// The Java client 4.4.0 with this `group.protocol`.
    Java(&'static str),
}

/// The one that is compared, and with whom.
pub(crate) const DEFAULT: Client = Client::Ours(Policy::ReadAhead);
pub(crate) const JAVA_ASYNC: Client = Client::Java("consumer");

impl Client {
    /// Ours with Java's rule (a node with buffered partitions is not asked) tells the rule's share in the difference.
    pub(crate) const ALL: [Self; 4] = [
        DEFAULT,
        JAVA_ASYNC,
        Self::Java("classic"),
        Self::Ours(Policy::SkipNode),
    ];
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours(Policy::SkipNode) => "ours, skip-node",
            Self::Ours(_) => "ours",
            Self::Java("consumer") => "Java async 4.4.0",
            Self::Java(_) => "Java classic 4.4.0",
        })
    }
}

/// One client, once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) client: Client,
    pub(crate) measured: Measured,
}

/// What a client read in how long, with how many polls and fetches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) records: u64,
    pub(crate) time: Duration,
    pub(crate) polls: u64,
    pub(crate) fetches: u64,
}

impl Measured {
    pub(crate) fn seconds_per_record(&self) -> f64 {
        self.time.as_secs_f64() / self.records as f64
    }

    pub(crate) fn records_per_fetch(&self) -> f64 {
        self.records as f64 / self.fetches as f64
    }

    pub(crate) fn polls_per_fetch(&self) -> f64 {
        self.polls as f64 / self.fetches as f64
    }
}
