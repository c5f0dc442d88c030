//! Two brokers as far as a consumer can tell: logs, leaders, and each node's cache of fetch sessions (KIP-227), as measured on
//! Apache Kafka 4.4.

use session_actor::fetch_session::Plan;

pub(crate) const NODES: usize = 2;
pub(crate) const PARTITIONS: usize = 2;
/// Records of a batch.
pub(crate) const BATCH: i64 = 2;

pub(crate) mod code {
    pub(crate) const OFFSET_OUT_OF_RANGE: i16 = 1;
    pub(crate) const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    pub(crate) const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
    pub(crate) const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
    pub(crate) const FENCED_LEADER_EPOCH: i16 = 74;
    pub(crate) const UNKNOWN_LEADER_EPOCH: i16 = 75;
}

/// What a request asks of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) partition: usize,
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) max_bytes: i32,
}

/// A partition of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cached {
    wanted: Wanted,
    /// As last told; -1 makes the next answer mention the partition.
    high_watermark: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Session {
    id: i32,
    /// Of the next request.
    epoch: i32,
    parts: Vec<Cached>,
}

/// A request that reached its broker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    /// Session and its epoch when this was applied; `None`: the answer mentions everything.
    session: Option<(i32, i32)>,
    begins_session: bool,
    parts: Vec<Wanted>,
    max_bytes: i64,
    may_wait: bool,
}

/// An answer on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reply {
    pub(crate) error_code: i16,
    pub(crate) session_id: i32,
    pub(crate) parts: Vec<ReplyPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReplyPart {
    pub(crate) partition: usize,
    pub(crate) error_code: i16,
    pub(crate) high_watermark: i64,
    /// First offset and the offset that follows, whole batches.
    pub(crate) records: Option<(i64, i64)>,
    pub(crate) bytes: u32,
    pub(crate) largest_batch: u32,
}

/// What the brokers have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Logs {
    /// Batches in each partition.
    pub(crate) batches: [i64; PARTITIONS],
    /// Bytes of a batch: of the first, of the second, and so on round.
    pub(crate) sizes: [[u32; 2]; PARTITIONS],
    /// Index of the leading node.
    pub(crate) leaders: [usize; PARTITIONS],
    pub(crate) leader_epochs: [i32; PARTITIONS],
}

impl Logs {
    pub(crate) fn end(&self, partition: usize) -> i64 {
        self.batches[partition] * BATCH
    }

    fn batch_size(&self, partition: usize, batch: i64) -> u32 {
        self.sizes[partition][(batch % 2) as usize]
    }

    fn error(&self, node: usize, wanted: Wanted) -> i16 {
        let p = wanted.partition;
        if self.leaders[p] != node {
            code::NOT_LEADER_OR_FOLLOWER
        } else if wanted.leader_epoch < self.leader_epochs[p] {
            code::FENCED_LEADER_EPOCH
        } else if wanted.leader_epoch > self.leader_epochs[p] {
            code::UNKNOWN_LEADER_EPOCH
        } else if wanted.offset > self.end(p) {
            code::OFFSET_OUT_OF_RANGE
        } else {
            0
        }
    }
}

/// One node's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Broker {
    sessions: Vec<Session>,
    /// All slots are taken: the next newcomer gets none.
    pub(crate) refuses: bool,
    /// Sessions begun so far.
    pub(crate) begun: i32,
}

/// What the broker does with a request.
pub(crate) enum Received {
    Answer(Reply),
    Wait(Pending),
}

impl Broker {
    /// Takes a request in. `wanted` resolves a partition of the plan.
    pub(crate) fn receive(
        &mut self,
        node: usize,
        logs: &Logs,
        plan: &Plan,
        max_bytes: u32,
        may_wait: bool,
    ) -> Received {
        let named = plan.named.iter().map(|named| Wanted {
            partition: named.index as usize,
            offset: named.sent.offset,
            leader_epoch: named.sent.leader_epoch,
            max_bytes: named.sent.max_bytes,
        });
        let failed = |error_code| {
            Received::Answer(Reply {
                error_code,
                session_id: 0,
                parts: Vec::new(),
            })
        };
        let pending = if plan.session_epoch <= 0 {
            self.sessions
                .retain(|session| session.id != plan.session_id);
            Pending {
                session: None,
                begins_session: plan.session_epoch == 0,
                parts: named.collect(),
                max_bytes: i64::from(max_bytes),
                may_wait,
            }
        } else {
            let Some(index) = self.find(plan.session_id) else {
                return failed(code::FETCH_SESSION_ID_NOT_FOUND);
            };
            let session = &mut self.sessions[index];
            if session.epoch != plan.session_epoch {
                return failed(code::INVALID_FETCH_SESSION_EPOCH);
            }
            for wanted in named {
                match session.position(wanted.partition) {
                    Some(at) => session.parts[at].wanted = wanted,
                    None => session.parts.push(Cached {
                        wanted,
                        high_watermark: -1,
                    }),
                }
            }
            for gone in &plan.forgotten {
                session
                    .parts
                    .retain(|part| part.wanted.partition != gone.index as usize);
            }
            if session.parts.is_empty() {
                self.sessions.remove(index);
                return Received::Answer(Reply {
                    error_code: 0,
                    session_id: 0,
                    parts: Vec::new(),
                });
            }
            session.epoch += 1;
            Pending {
                session: Some((session.id, session.epoch)),
                begins_session: false,
                parts: session.parts.iter().map(|part| part.wanted).collect(),
                max_bytes: i64::from(max_bytes),
                may_wait,
            }
        };
        if self.is_due(node, logs, &pending, true) {
            Received::Answer(self.answer(node, logs, &pending))
        } else {
            Received::Wait(pending)
        }
    }

    /// Whether the answer goes out now. A partition with limit 0 counts when the request comes, since its first batch is
    /// sent whole, but not later: what may be sent of it is 0 bytes.
    pub(crate) fn is_due(
        &self,
        node: usize,
        logs: &Logs,
        pending: &Pending,
        arrives: bool,
    ) -> bool {
        !pending.may_wait
            || pending.parts.iter().any(|&wanted| {
                let readable =
                    wanted.offset < logs.end(wanted.partition) && (arrives || wanted.max_bytes > 0);
                readable || logs.error(node, wanted) != 0
            })
    }

    pub(crate) fn answer(&mut self, node: usize, logs: &Logs, pending: &Pending) -> Reply {
        let index = match pending.session {
            None => None,
            // evicted meanwhile, it is answered from what it was
            Some((id, _)) => self.find(id),
        };
        if let (Some(index), Some((_, epoch))) = (index, pending.session)
            && self.sessions[index].epoch != epoch
        {
            return Reply {
                error_code: code::INVALID_FETCH_SESSION_EPOCH,
                session_id: 0,
                parts: Vec::new(),
            };
        }
        let all = read(node, logs, pending);
        let session_id = match pending.session {
            Some((id, _)) => id,
            None if pending.begins_session => self.begin(pending, &all),
            None => 0,
        };
        let mut parts = Vec::with_capacity(all.len());
        for part in all {
            let changed = match index {
                Some(index) => self.sessions[index].tell(&part),
                None => true,
            };
            if changed {
                parts.push(part);
            }
        }
        Reply {
            error_code: 0,
            session_id,
            parts,
        }
    }

    fn begin(&mut self, pending: &Pending, parts: &[ReplyPart]) -> i32 {
        if std::mem::take(&mut self.refuses) {
            return 0;
        }
        self.begun += 1;
        // far from what counts as a counter
        let id = 1_000_000 + self.begun;
        let cached = |(&wanted, part): (&Wanted, &ReplyPart)| Cached {
            wanted,
            high_watermark: part.high_watermark,
        };
        self.sessions.push(Session {
            id,
            epoch: 1,
            parts: pending.parts.iter().zip(parts).map(cached).collect(),
        });
        id
    }

    fn find(&self, id: i32) -> Option<usize> {
        self.sessions.iter().position(|session| session.id == id)
    }

    pub(crate) fn has_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Gives all slots away.
    pub(crate) fn evict(&mut self) {
        self.sessions.clear();
    }

    pub(crate) fn close(&mut self, id: i32) {
        self.sessions.retain(|session| session.id != id);
    }

    /// What a session asks for now.
    pub(crate) fn parts_of(&self, id: i32) -> impl Iterator<Item = Wanted> {
        let session = self.find(id).map(|index| &self.sessions[index]);
        session
            .into_iter()
            .flat_map(|session| session.parts.iter().map(|part| part.wanted))
    }
}

impl Session {
    fn position(&self, partition: usize) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| part.wanted.partition == partition)
    }

    /// Whether an answer mentions the partition; what was told is remembered, and who gave records goes to the end (KAFKA-12330).
    fn tell(&mut self, part: &ReplyPart) -> bool {
        let Some(at) = self.position(part.partition) else {
            return true;
        };
        let cached = &mut self.parts[at];
        let changed = part.records.is_some()
            || part.error_code != 0
            || cached.high_watermark != part.high_watermark;
        // after an error the next success is told too
        cached.high_watermark = part.high_watermark;
        if part.records.is_some() {
            let last = self.parts.remove(at);
            self.parts.push(last);
        }
        changed
    }
}

/// Reads in order: the first batch of the first partition that has one is sent whole (KIP-74), everything else within the
/// limits. Where not one whole batch fits, nothing is sent, as since Fetch v3.
fn read(node: usize, logs: &Logs, pending: &Pending) -> Vec<ReplyPart> {
    let mut left = pending.max_bytes;
    let mut first = true;
    let mut parts = Vec::with_capacity(pending.parts.len());
    for &wanted in &pending.parts {
        let p = wanted.partition;
        let mut part = ReplyPart {
            partition: p,
            error_code: logs.error(node, wanted),
            high_watermark: -1,
            records: None,
            bytes: 0,
            largest_batch: 0,
        };
        if part.error_code == 0 {
            part.high_watermark = logs.end(p);
            let limit = left.min(i64::from(wanted.max_bytes));
            // a batch is sent from its beginning, wherever in it the offset lies
            let begin = wanted.offset / BATCH;
            let mut end = begin;
            while end < logs.batches[p] {
                let size = logs.batch_size(p, end);
                let fits = i64::from(part.bytes) + i64::from(size) <= limit;
                let whole_all_the_same = first && end == begin;
                if !(fits || whole_all_the_same) {
                    break;
                }
                part.bytes += size;
                part.largest_batch = part.largest_batch.max(size);
                end += 1;
                if !fits {
                    break;
                }
            }
            if end > begin {
                part.records = Some((begin * BATCH, end * BATCH));
                first = false;
                left = (left - i64::from(part.bytes)).max(0);
            }
        }
        parts.push(part);
    }
    parts
}
