//! Whose consumers are measured.

use std::fmt;
use std::str::FromStr;

use anyhow::Error;
use consumer_app::Policy;

/// A client, and how it treats buffered partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Our consumer with a policy of the planner.
    Ours(Policy),
    /// The Java consumer.
    Java(Client, Version),
}

/// Which of the Java client's two consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// `group.protocol=classic`.
    Classic,
    /// `group.protocol=consumer` (KIP-848), which fetches in a thread of its own.
    Async,
}

/// A version of the Java client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Before KAFKA-17182 was fixed.
    V3_9_1,
    /// A node that leads buffered partitions is not asked.
    V4_4_0,
}

const ALL: [(&str, Mode); 8] = [
    ("read-ahead", Mode::Ours(Policy::ReadAhead)),
    ("omit", Mode::Ours(Policy::OmitBuffered)),
    ("stop", Mode::Ours(Policy::StopWhileBuffered)),
    ("max-bytes-1", Mode::Ours(Policy::MaxBytesOne)),
    ("skip-node", Mode::Ours(Policy::SkipNode)),
    (
        "classic-4.4.0",
        Mode::Java(Client::Classic, Version::V4_4_0),
    ),
    ("async-4.4.0", Mode::Java(Client::Async, Version::V4_4_0)),
    ("async-3.9.1", Mode::Java(Client::Async, Version::V3_9_1)),
];

impl Client {
    pub(crate) fn group_protocol(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Async => "consumer",
        }
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|(known, _)| *known).collect();
            Error::msg(format!("no mode {name}; there are {}", known.join(", ")))
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(_, mode)| mode == self);
        let name = name.map_or("", |(name, _)| name);
        match self {
            Self::Ours(_) => write!(f, "ours {name}"),
            Self::Java(..) => write!(f, "Java {name}"),
        }
    }
}
