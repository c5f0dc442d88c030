//! What is written, and how the application reads it.

use std::time::Duration;

use clap::ValueEnum;

/// Partitions of the topic, all on the one broker: a session that has lost none holds so many.
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
}

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
    /// `buffer.memory` of ours, if not its default.
    pub(crate) buffer_memory: Option<u32>,
    /// How long to wait before measuring, and how long to measure.
    pub(crate) skip: Duration,
    pub(crate) measure: Duration,
}

impl Setting {
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
            buffer_memory: None,
            // shortly before the first session is old enough to be lost
            skip: Duration::from_secs(100),
            measure: Duration::from_secs(300),
        };
        match self {
            Self::A => usual,
            Self::B => Load {
                records: 2,
                period: Duration::from_millis(300),
                work: around(150),
                max_poll_records: 500,
                fetch_max_wait: Duration::from_millis(500),
                ..usual
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
