//! What the coordinator needs to know of the configuration. Names are those of the Java client's keys.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use buffer_actor::Backoff;
use session_actor::wire::Address;

use crate::assign::Assignor;

/// The configuration of a group's member.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// `group.id`.
    pub group_id: Arc<str>,
    /// `group.instance.id`: a static member (KIP-345).
    pub instance_id: Option<Arc<str>>,
    /// `group.protocol`.
    pub protocol: GroupProtocol,
    /// `max.poll.interval.ms`: the longest time between two polls, and how long a rebalance may take.
    pub max_poll_interval: Duration,
    /// `client.rack`, not blank.
    pub rack: Option<Arc<str>>,
    /// `auto.commit.interval.ms`; `None` without `enable.auto.commit`.
    pub auto_commit: Option<Duration>,
    /// A rebalance listener wants to be called.
    pub has_listener: bool,
    /// `exclude.internal.topics`: patterns leave Kafka's own topics out.
    pub exclude_internal_topics: bool,
    /// `retry.backoff.ms` and `.max.ms`.
    pub retry: Backoff,
    /// `reconnect.backoff.ms` and `.max.ms`.
    pub reconnect: Backoff,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `default.api.timeout.ms`.
    pub api_timeout: Duration,
    /// `bootstrap.servers`, to be asked for the coordinator before metadata is there.
    pub bootstrap: Vec<Address>,
}

/// `group.protocol`: who computes the assignment.
#[derive(Clone)]
pub enum GroupProtocol {
    /// The members.
    Classic {
        /// `partition.assignment.strategy`, the preferred one first; not empty.
        assignors: Vec<Arc<dyn Assignor>>,
        /// `session.timeout.ms`.
        session_timeout: Duration,
        /// `heartbeat.interval.ms`.
        heartbeat_interval: Duration,
    },
    /// The coordinator (KIP-848).
    Consumer {
        /// `group.remote.assignor`; `None` leaves it to the coordinator.
        remote_assignor: Option<Arc<str>>,
    },
}

impl fmt::Debug for GroupProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classic { assignors, .. } => {
                let names: Vec<_> = assignors.iter().map(|assignor| assignor.name()).collect();
                f.debug_tuple("Classic").field(&names).finish()
            }
            Self::Consumer { remote_assignor } => {
                f.debug_tuple("Consumer").field(remote_assignor).finish()
            }
        }
    }
}
