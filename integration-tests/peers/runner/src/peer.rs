//! The peers: which client, through which of its APIs, with which properties.

/// The programs that read, one per client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    Floor,
    Ours,
    Java,
    Librdkafka,
    Franz,
    Krafka,
}

/// How many passes a process makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passes {
    pub(crate) all: usize,
    /// Of these, so many at the end count.
    pub(crate) counted: usize,
}

impl Program {
    /// Java compiles for four passes or so; what came before was measured in a program that is not the one that runs later. The others
    /// need one to have their buffers.
    pub(crate) fn passes(self, short: bool) -> Passes {
        let (all, counted) = match (self, short) {
            (Self::Java, false) => (8, 4),
            (Self::Java, true) => (4, 1),
            (_, false) => (3, 2),
            (_, true) => (2, 1),
        };
        Passes { all, counted }
    }
}

type Properties = &'static [(&'static str, &'static str)];

/// One row of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) program: Program,
    pub(crate) mode: &'static str,
    /// Its properties where batches are large; `None` if it does not read these.
    pub(crate) large: Option<Properties>,
    /// Its properties where each record is a fetch; `None` if it does not read these.
    pub(crate) single: Option<Properties>,
}

pub(crate) const FLOOR: &str = "floor";
pub(crate) const OURS: &str = "ours";
pub(crate) const OURS_8_MIB: &str = "ours-8MiB";
pub(crate) const BACKLOG: &str = "ours-backlog";
pub(crate) const JAVA: &str = "java-classic";
pub(crate) const LIBRDKAFKA: &str = "librdkafka-poll";

/// The reply then has the first batch there is, of one partition (KIP-74).
const ONE_BATCH: (&str, &str) = ("max.partition.fetch.bytes", "1");
const CRC: (&str, &str) = ("check.crcs", "true");

pub(crate) static PEERS: [Peer; 13] = [
    Peer {
        name: FLOOR,
        what: "a bare reader: no groups, errors, sessions or API",
        program: Program::Floor,
        mode: "",
        large: Some(&[]),
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: OURS,
        what: "`poll`, borrowed views",
        program: Program::Ours,
        mode: "poll",
        large: Some(&[]),
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: "ours-local",
        what: "`poll` with the actors on the application's own thread",
        program: Program::Ours,
        mode: "local",
        large: None,
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: "ours-batches",
        what: "`poll_batches`, decoded on the same thread",
        program: Program::Ours,
        mode: "batches",
        large: Some(&[]),
        single: None,
    },
    Peer {
        name: OURS_8_MIB,
        what: "`poll`, `max.partition.fetch.bytes` 8 MiB",
        program: Program::Ours,
        mode: "poll",
        large: Some(&[("max.partition.fetch.bytes", "8388608")]),
        single: None,
    },
    Peer {
        name: BACKLOG,
        what: "`poll` every 10 ms of all that is there, `fetch.max.bytes` 1",
        program: Program::Ours,
        mode: "backlog",
        large: None,
        single: Some(&[("fetch.max.bytes", "1")]),
    },
    Peer {
        name: JAVA,
        what: "`group.protocol=classic`; `-Xmx1g`, serial collector",
        program: Program::Java,
        mode: "classic",
        large: Some(&[]),
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: "java-async",
        what: "`group.protocol=consumer`; `-Xmx1g`, serial collector",
        program: Program::Java,
        mode: "async",
        large: Some(&[]),
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: LIBRDKAFKA,
        what: "crate `rdkafka`, `BaseConsumer::poll`; its defaults, CRC off",
        program: Program::Librdkafka,
        mode: "poll",
        large: Some(&[]),
        single: Some(&[ONE_BATCH]),
    },
    Peer {
        name: "librdkafka-batch",
        what: "`rd_kafka_consume_batch_queue`, CRC on",
        program: Program::Librdkafka,
        mode: "batch",
        large: Some(&[CRC]),
        single: Some(&[ONE_BATCH, CRC]),
    },
    Peer {
        name: "franz-default",
        what: "`PollFetches`",
        program: Program::Franz,
        mode: "default",
        large: Some(&[]),
        single: None,
    },
    Peer {
        name: "franz-pools",
        what: "`PollFetches`, pools for bytes and records, recycled",
        program: Program::Franz,
        mode: "pools",
        large: Some(&[]),
        single: None,
    },
    Peer {
        name: "krafka",
        what: "`poll`, no limit on buffered records",
        program: Program::Krafka,
        mode: "",
        large: Some(&[]),
        single: None,
    },
];

impl Peer {
    /// Another client, which ours is measured against.
    pub(crate) fn is_other(&self) -> bool {
        !matches!(self.program, Program::Floor | Program::Ours)
    }
}

/// The peer of this name.
pub(crate) fn named(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}
