//! The settings, as data.

use std::time::Duration;

use clap::ValueEnum;

/// What is going on around a lone record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    /// A record each 10 ms, to three nodes in turn.
    Trickle,
    /// One of the nodes has none.
    IdleNode,
    /// One of the nodes answers after 5 s.
    SlowNode,
    /// One of the nodes answers nothing.
    FrozenNode,
    /// `fetch.min.bytes` of 1 MiB, `fetch.max.wait.ms` of 500.
    MinBytes,
    /// The application gives each poll 1 ms.
    Storm,
    /// 1,000 partitions, of which one has records.
    OneOfMany,
    /// The application pauses and resumes partitions at random.
    Pauses,
}

pub(crate) const ALL: [Setting; 8] = [
    Setting::Trickle,
    Setting::IdleNode,
    Setting::SlowNode,
    Setting::FrozenNode,
    Setting::MinBytes,
    Setting::Storm,
    Setting::OneOfMany,
    Setting::Pauses,
];

/// How an application goes about its polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Habit {
    /// Waits in each poll for records.
    Waits,
    /// Gives each poll 1 ms: drops it then, or, with Java, has it time out.
    Storms,
    /// Pauses or resumes a partition after each poll, which it gives 20 ms.
    Pauses,
}

impl Setting {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Trickle => "trickle",
            Self::IdleNode => "idle-node",
            Self::SlowNode => "slow-node",
            Self::FrozenNode => "frozen-node",
            Self::MinBytes => "min-bytes",
            Self::Storm => "storm",
            Self::OneOfMany => "one-of-many",
            Self::Pauses => "pauses",
        }
    }

    /// Partitions that the consumers are assigned. Partition 0 is led by node 1, partition 1 by node 2, and so on round.
    pub(crate) fn partitions(self) -> usize {
        match self {
            Self::OneOfMany => 1_000,
            Self::Pauses => 6,
            _ => 3,
        }
    }

    /// Partitions that records are written to.
    pub(crate) fn live(self) -> &'static [i32] {
        match self {
            Self::Trickle | Self::MinBytes | Self::Storm => &[0, 1, 2],
            Self::IdleNode | Self::SlowNode | Self::FrozenNode => &[0, 1],
            Self::OneOfMany => &[617],
            Self::Pauses => &[0, 1, 2, 3, 4, 5],
        }
    }

    /// Time between two records.
    pub(crate) fn period(self) -> Duration {
        Duration::from_millis(10)
    }

    pub(crate) fn habit(self) -> Habit {
        match self {
            Self::Storm => Habit::Storms,
            Self::Pauses => Habit::Pauses,
            _ => Habit::Waits,
        }
    }

    pub(crate) fn properties(self, servers: &str) -> Vec<String> {
        let min_bytes = match self {
            Self::MinBytes => 1 << 20,
            _ => 1,
        };
        vec![
            format!("bootstrap.servers={servers}"),
            "auto.offset.reset=earliest".into(),
            "fetch.max.wait.ms=500".into(),
            format!("fetch.min.bytes={min_bytes}"),
        ]
    }

    /// For how long the brokers are asked to let a record wait.
    pub(crate) fn own_wait(self) -> Duration {
        match self {
            Self::MinBytes => Duration::from_millis(500),
            _ => Duration::ZERO,
        }
    }
}
