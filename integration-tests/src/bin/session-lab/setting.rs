//! What is written, and how the application reads it.

use std::time::Duration;

use clap::ValueEnum;

/// Partitions of the topic: all sessions of a consumer that have lost none hold so many.
pub(crate) const PARTITIONS: i32 = 24;
/// A broker keeps a session for so long whatever comes (`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`, a constant of Apache Kafka).
pub(crate) const SESSION_AGE: Duration = Duration::from_secs(120);

/// A way to have buffered records while other partitions are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setting {
    /// Small polls of much data: two records of each poll, 60 ms of work, 24 records each 2 s.
    A,
    /// A trickle: a poll takes all there is, and more comes in while the application works.
    B,
    /// A buffer lasts longer than a broker keeps a session that is not used.
    C,
    /// Memory for less than a round of the node's records, and an application that is away for 300 s.
    D,
    /// As B, on three brokers: each consumer has a session at each.
    E,
    /// As B, with each reader in a group of its own, into which a second member comes and which it leaves again.
    F,
    /// As B, with a half of each reader's partitions paused, another half each 5 s.
    G,
}

/// What a reader does about its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// It has all of them.
    Assigned,
    /// It has all of them, but for the half that another member of its group takes and gives back.
    InGroup,
    /// It pauses a half and resumes the other.
    Pausing,
}

/// How long the second member of a group stays, and how long it is gone.
pub(crate) const VISIT: Duration = Duration::from_secs(40);
/// How often other partitions are paused.
pub(crate) const PAUSE: Duration = Duration::from_secs(5);

/// A [`Setting`] in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Records that are written in each period, to the partitions in turn.
    pub(crate) records: u32,
    pub(crate) record_bytes: u32,
    pub(crate) period: Duration,
    /// Shortest and longest work after a poll that gave records.
    pub(crate) work: (Duration, Duration),
    pub(crate) max_poll_records: u32,
    pub(crate) fetch_max_wait: Duration,
    /// Consumers of the mode that is measured.
    pub(crate) readers: u32,
    pub(crate) habit: Habit,
    pub(crate) brokers: i32,
    /// `max.incremental.fetch.session.cache.slots` of each; a multiple of 8, in as many parts as the cache is divided.
    pub(crate) slots: u32,
    /// `buffer.memory` of ours, if not its default.
    pub(crate) buffer_memory: Option<u32>,
    /// How long to wait before measuring, and how long to measure.
    pub(crate) skip: Duration,
    pub(crate) measure: Duration,
}

impl Setting {
    /// What suffices to see what the setting is about, if that is less than its whole.
    pub(crate) const fn short(self) -> Option<Duration> {
        match self {
            // of which those after the first 20 are those in which sessions can be lost
            Self::A | Self::B | Self::E | Self::G => Some(Duration::from_secs(35)),
            // a visit, and the time between two
            Self::F => Some(Duration::from_secs(2 * VISIT.as_secs() + 5)),
            Self::C | Self::D => None,
        }
    }

    /// The numbers; those of A, B and C are from the study that found where sessions are lost.
    pub(crate) const fn load(self) -> Load {
        let usual = Load {
            records: 24,
            record_bytes: 200,
            period: Duration::from_millis(2_000),
            work: around(60),
            max_poll_records: 2,
            fetch_max_wait: Duration::from_millis(1_000),
            readers: 16,
            habit: Habit::Assigned,
            brokers: 1,
            slots: 16,
            buffer_memory: None,
            // shortly before the first session is old enough to be lost
            skip: Duration::from_secs(100),
            measure: Duration::from_secs(300),
        };
        let trickle = Load {
            records: 2,
            period: Duration::from_millis(300),
            work: around(150),
            max_poll_records: 500,
            fetch_max_wait: Duration::from_millis(500),
            ..usual
        };
        match self {
            Self::A => usual,
            Self::B => trickle,
            Self::E => Load {
                brokers: 3,
                ..trickle
            },
            // Whoever gives half of its partitions away, or pauses them, has a session that is smaller than a newcomer's: a broker is
            // right to give that its slot. So there are slots for all, and what is counted is which partitions leave their sessions.
            Self::F => Load {
                habit: Habit::InGroup,
                slots: 40,
                ..trickle
            },
            Self::G => Load {
                habit: Habit::Pausing,
                slots: 40,
                ..trickle
            },
            Self::C => Load {
                period: Duration::from_secs(156),
                work: around(5_640),
                max_poll_records: 1,
                fetch_max_wait: Duration::from_millis(500),
                readers: 32,
                measure: Duration::from_secs(568),
                ..usual
            },
            Self::D => Load {
                record_bytes: 100_000,
                period: Duration::from_secs(10),
                work: (Duration::from_secs(300), Duration::from_secs(300)),
                max_poll_records: 1,
                fetch_max_wait: Duration::from_millis(500),
                buffer_memory: Some(1 << 20),
                // while the application is away
                skip: Duration::from_secs(20),
                measure: Duration::from_secs(280),
                ..usual
            },
        }
    }
}

/// Between half and one and a half times the mean.
const fn around(mean_ms: u64) -> (Duration, Duration) {
    (
        Duration::from_millis(mean_ms / 2),
        Duration::from_millis(mean_ms / 2 + mean_ms),
    )
}

impl Load {
    /// Partitions of a session that has lost none.
    pub(crate) fn full_session(&self) -> f64 {
        f64::from(PARTITIONS) / f64::from(self.brokers)
    }

    /// What is written per second.
    pub(crate) fn written_per_second(&self) -> f64 {
        f64::from(self.records) / self.period.as_secs_f64()
    }

    /// The settings that all clients have in common, by the keys of the Java client.
    pub(crate) fn properties(&self, servers: &str) -> Vec<(&'static str, String)> {
        vec![
            ("bootstrap.servers", servers.to_owned()),
            ("auto.offset.reset", "latest".to_owned()),
            ("enable.auto.commit", "false".to_owned()),
            ("max.poll.records", self.max_poll_records.to_string()),
            (
                "fetch.max.wait.ms",
                self.fetch_max_wait.as_millis().to_string(),
            ),
        ]
    }
}
