//! What is measured: sizes of records, what the application does, how much memory it allows.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

/// Partitions of each topic.
pub(crate) const PARTITIONS: i32 = 100;
pub(crate) const NODES: usize = 3;
/// A topic with one small record in each partition, compressed: what a consumer takes that has read them, and has nothing to do, is no matter of
/// the budget. Code and contexts of codecs are there by then.
pub(crate) const IDLE: &str = "idle";
/// One record in so many does not compress, the others do to nearly nothing.
const ONE_IN: u32 = 20;

/// Records of one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) topic: &'static str,
    pub(crate) record_bytes: u32,
    pub(crate) per_batch: u32,
    pub(crate) records: u32,
    pub(crate) compressed: bool,
}

impl Load {
    /// Bytes of a batch, decompressed, its framing left out.
    pub(crate) const fn batch_bytes(&self) -> u64 {
        self.record_bytes as u64 * self.per_batch as u64
    }

    /// Records of one partition.
    pub(crate) const fn records_of(&self, partition: u32) -> u32 {
        let partitions = PARTITIONS.unsigned_abs();
        self.records / partitions + (partition < self.records % partitions) as u32
    }

    /// How often a record that does not compress comes; `None`: all are such, or, in large ones, all compress alike.
    pub(crate) const fn one_in(&self) -> Option<u32> {
        if self.compressed && self.record_bytes < 1 << 20 {
            Some(ONE_IN)
        } else {
            None
        }
    }
}

const fn load(topic: &'static str, record_bytes: u32, per_batch: u32, records: u32) -> Load {
    Load {
        topic,
        record_bytes,
        per_batch,
        records,
        compressed: false,
    }
}

const fn compressed(topic: &'static str, of: Load, times: u32) -> Load {
    Load {
        topic,
        compressed: true,
        records: of.records * times,
        ..of
    }
}

const SMALL: Load = load("1KB", 1_000, 500, 200_000);
const MIDDLE: Load = load("100KB", 100_000, 5, 2_000);
const LARGE: Load = load("8MB", 8_000_000, 1, 25);
const SMALL_LZ4: Load = compressed("1KB-lz4", SMALL, 2);
const MIDDLE_LZ4: Load = compressed("100KB-lz4", MIDDLE, 2);
const LARGE_LZ4: Load = compressed("8MB-lz4", LARGE, 2);

const MIB: u32 = 1 << 20;

/// What the application does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Application {
    /// Does not poll for a while, then reads everything.
    Stop,
    /// Keeps a record of each poll until the end, without copying it.
    Keep,
    /// Waits until all partitions are buffered, pauses all but one, and reads that.
    One,
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stop => "stops, then reads",
            Self::Keep => "keeps a record of each poll",
            Self::One => "reads one partition",
        })
    }
}

/// Whose consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Ours, with so much `buffer.memory`.
    Ours(u32),
    /// Java's, which has no such limit.
    Java,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(memory) => write!(f, "ours, {} MiB", memory / MIB),
            Self::Java => f.write_str("Java 4.4.0"),
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) load: Load,
    pub(crate) application: Application,
    pub(crate) client: Client,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) short: bool,
    pub(crate) java: bool,
}

impl Extent {
    /// For how long an application stops.
    pub(crate) const fn stop(self) -> Duration {
        Duration::from_secs(if self.short { 4 } else { 30 })
    }

    pub(crate) fn cases(self) -> Vec<Case> {
        use Application::{Keep, One, Stop};
        let mut rows: Vec<(Load, Application, &[u32])> = if self.short {
            vec![
                (SMALL, Stop, &[MIB, 8 * MIB, 64 * MIB]),
                (SMALL, Keep, &[8 * MIB]),
                (SMALL, One, &[8 * MIB]),
                (SMALL_LZ4, Stop, &[MIB, 64 * MIB]),
                (LARGE, Stop, &[MIB, 64 * MIB]),
            ]
        } else {
            let all: &[u32] = &[MIB, 8 * MIB, 64 * MIB];
            let loads = [SMALL, MIDDLE, LARGE, SMALL_LZ4, MIDDLE_LZ4, LARGE_LZ4];
            let of = |load| [Stop, Keep, One].map(|application| (load, application, all));
            loads.into_iter().flat_map(of).collect()
        };
        // there is a record of 8 MB in every fourth partition: nothing to be behind with
        rows.retain(|&(load, application, _)| application != One || load.records >= 1_000);
        let mut cases = Vec::new();
        for (load, application, memories) in rows {
            let ours = memories.iter().map(|&memory| Client::Ours(memory));
            let java = (self.java && application == Stop).then_some(Client::Java);
            cases.extend(ours.chain(java).map(|client| Case {
                load,
                application,
                client,
            }));
        }
        cases
    }

    /// What must be written for them.
    pub(crate) fn loads(self) -> Vec<Load> {
        let mut loads: Vec<Load> = self.cases().into_iter().map(|case| case.load).collect();
        loads.dedup();
        loads
    }
}
