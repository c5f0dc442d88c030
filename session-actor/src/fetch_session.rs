//! The client's half of an incremental fetch session (KIP-227): what a request must name so that the broker's cached
//! partitions are the ones that were granted, and what an answer does to the session.
//!
//! In an incremental request *omitted means fetched again at the offset last sent* (measured on 4.4). So whatever the grant
//! does not name is forgotten, and whatever it names with other values than before is named again.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Ask, Backoff, FetchEpoch, PartitionId};

use self::plan::next_epoch;
pub use self::plan::{AnswerHead, Forgotten, Named, Plan, Sent, SessionState, Verdict, Watermarks};
use crate::cluster::{Located, PartitionTable, Topic};
use crate::wire::fetch::TopicKey;

/// Epoch of a request that begins a session.
const INITIAL_EPOCH: i32 = 0;
/// Epoch of a request without a session, and of the one that ends one.
const FINAL_EPOCH: i32 = -1;

/// A broker that refused a session (all slots taken) is asked again after a growing pause. Java asks with every fetch, which
/// makes the broker look for a victim each time; franz-go never asks again.
const REFUSED: Backoff = Backoff {
    base: Duration::from_secs(1),
    max: Duration::from_secs(60),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    /// Name everything; closes session `closes` unless that is 0.
    Full { closes: i32 },
    /// Name what changed.
    Incremental { id: i32, epoch: i32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Entry {
    located: Located,
    sent: Sent,
    /// Under which the current request asks for it.
    epoch: FetchEpoch,
    /// The current request asks for it only so that it stays.
    parked: bool,
    told: Watermarks,
    /// The request that named it or left it as it was.
    request: u64,
    /// The answer that mentioned it.
    answer: u64,
}

/// See the [module's documentation](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FetchSession {
    wants_session: bool,
    next: Next,
    /// Whether the last full request asked for a session.
    begins: bool,
    /// Whether the session names topics by id; cannot change within a session.
    topic_ids: bool,
    /// By slot.
    entries: Vec<Option<Entry>>,
    /// Whom an answer means: topic id or name, then index.
    names: BTreeMap<Box<[u8]>, BTreeMap<i32, PartitionId>>,
    refusals: u32,
    ask_again_at: Option<Instant>,
    /// Asked for under a new epoch since the last answer.
    renewed: Vec<PartitionId>,
    requests: u64,
    answers: u64,
    /// A touch is not remembered: the next request names what it named before the touch, as far as the session knows (I5).
    #[cfg(feature = "mutants")]
    forgets_touches: bool,
}

impl FetchSession {
    /// Makes the session have a fault. For the explorer of `fetch-actor` only.
    #[cfg(feature = "mutants")]
    pub const fn forget_touches(&mut self) {
        self.forgets_touches = true;
    }

    /// Lane 1: wants a session.
    pub const fn incremental() -> Self {
        Self::new(true)
    }

    /// Lane 2: takes no slot of the broker's cache.
    pub const fn sessionless() -> Self {
        Self::new(false)
    }

    const fn new(wants_session: bool) -> Self {
        Self {
            wants_session,
            next: Next::Full { closes: 0 },
            begins: false,
            topic_ids: false,
            entries: Vec::new(),
            names: BTreeMap::new(),
            refusals: 0,
            ask_again_at: None,
            renewed: Vec::new(),
            requests: 0,
            answers: 0,
            #[cfg(feature = "mutants")]
            forgets_touches: false,
        }
    }

    /// The id of the live session.
    pub const fn id(&self) -> Option<i32> {
        match self.next {
            Next::Incremental { id, .. } => Some(id),
            Next::Full { .. } => None,
        }
    }

    /// What there is at the broker.
    pub const fn state(&self) -> SessionState {
        match (self.next, self.ask_again_at) {
            (Next::Incremental { .. }, _) => SessionState::Live,
            (Next::Full { .. }, Some(_)) => SessionState::Refused,
            (Next::Full { .. }, None) => SessionState::None,
        }
    }

    /// When the broker is asked for a session again; `None` if it was not refused, or is asked by the request that was planned last.
    pub fn asks_again_at(&self) -> Option<Instant> {
        self.ask_again_at.filter(|_| !self.begins)
    }

    /// Plans the request for a grant. `ids_allowed`: the broker speaks Fetch v13.
    pub fn build(
        &mut self,
        now: Instant,
        asks: &[Ask],
        table: &PartitionTable,
        ids_allowed: bool,
    ) -> Plan {
        let topic_ids = ids_allowed
            && asks
                .iter()
                .filter_map(|ask| table.get(ask.partition))
                .all(|located| !located.topic.id.is_nil());
        if let Next::Incremental { id, .. } = self.next
            && topic_ids != self.topic_ids
        {
            self.next = Next::Full { closes: id };
        }
        self.topic_ids = topic_ids;
        self.requests += 1;
        match self.next {
            Next::Full { closes } => self.build_full(now, closes, asks, table),
            Next::Incremental { id, epoch } => self.build_incremental(id, epoch, asks, table),
        }
    }

    fn build_full(
        &mut self,
        now: Instant,
        closes: i32,
        asks: &[Ask],
        table: &PartitionTable,
    ) -> Plan {
        self.entries.clear();
        self.names.clear();
        self.renewed.clear();
        self.begins = self.wants_session && self.ask_again_at.is_none_or(|at| at <= now);
        let mut order: Vec<&Ask> = asks.iter().collect();
        if !self.begins {
            // a broker turns the order only within a session (KAFKA-12330)
            order.sort_by_key(|ask| ask.served);
        }
        let mut named = Vec::with_capacity(asks.len());
        for ask in order {
            if let Some(located) = table.get(ask.partition) {
                named.push(self.enter(ask, located));
            }
        }
        Plan {
            session_id: closes,
            session_epoch: if self.begins {
                INITIAL_EPOCH
            } else {
                FINAL_EPOCH
            },
            topic_ids: self.topic_ids,
            named,
            forgotten: Vec::new(),
        }
    }

    fn build_incremental(
        &mut self,
        id: i32,
        epoch: i32,
        asks: &[Ask],
        table: &PartitionTable,
    ) -> Plan {
        let mut added = Vec::new();
        let mut altered = Vec::new();
        let mut forgotten = Vec::new();
        let mut renewed = Vec::new();
        for ask in asks {
            let Some(located) = table.get(ask.partition) else {
                continue;
            };
            let request = self.requests;
            match self.entry_mut(ask.partition) {
                Some(entry) if entry.located.topic.id == located.topic.id => {
                    entry.request = request;
                    if entry.epoch != ask.epoch {
                        entry.epoch = ask.epoch;
                        renewed.push(ask.partition);
                    }
                    entry.parked = ask.parked;
                    let mut sent = sent(ask);
                    if ask.parked {
                        // an answer may have told of records that the lane that holds it has not seen yet: named below them,
                        // it would end every long poll at once
                        sent.offset = sent.offset.max(entry.told.high);
                    }
                    if entry.sent != sent {
                        entry.sent = sent;
                        altered.push(entry.named());
                    }
                }
                Some(entry) => {
                    // the topic was created anew: the broker knows the partition under its old id (KIP-516)
                    forgotten.push(entry.forgotten());
                    self.remove(ask.partition);
                    added.push(self.enter(ask, located));
                }
                None => {
                    forgotten.extend(self.evict_from_slot(ask.partition));
                    added.push(self.enter(ask, located));
                }
            }
        }
        self.renewed.append(&mut renewed);
        let gone: Vec<PartitionId> = self
            .entries
            .iter()
            .flatten()
            .filter(|entry| entry.request != self.requests)
            .map(|entry| entry.located.partition)
            .collect();
        for partition in gone {
            if let Some(entry) = self.remove(partition) {
                forgotten.push(entry.forgotten());
            }
        }
        // The broker adds first and forgets then: a partition that came back under another id of ours must not be forgotten.
        forgotten.retain(|gone| {
            let named = self.names.get(&self.key(&gone.topic));
            named.is_none_or(|indices| !indices.contains_key(&gone.index))
        });
        added.append(&mut altered);
        Plan {
            session_id: id,
            session_epoch: epoch,
            topic_ids: self.topic_ids,
            named: added,
            forgotten,
        }
    }

    /// Plans a request that only keeps the session alive: every partition at its high watermark with a limit of 0. The next
    /// request names them all again. `None` without a session.
    pub fn touch(&mut self) -> Option<Plan> {
        let Next::Incremental { id, epoch } = self.next else {
            return None;
        };
        self.requests += 1;
        let request = self.requests;
        let mut named = Vec::new();
        #[cfg(feature = "mutants")]
        let forgets = self.forgets_touches;
        for entry in self.entries.iter_mut().flatten() {
            #[cfg(feature = "mutants")]
            let before = entry.sent;
            entry.request = request;
            entry.parked = true;
            let parked = Sent {
                offset: entry.sent.offset.max(entry.told.high),
                max_bytes: 0,
                ..entry.sent
            };
            if entry.sent != parked {
                entry.sent = parked;
                named.push(entry.named());
            }
            #[cfg(feature = "mutants")]
            if forgets {
                entry.sent = before;
            }
        }
        Some(Plan {
            session_id: id,
            session_epoch: epoch,
            topic_ids: self.topic_ids,
            named,
            forgotten: Vec::new(),
        })
    }

    /// Plans the request that ends the session; `None` if there is none. A second call gives nothing.
    pub fn close(&mut self) -> Option<Plan> {
        let id = match self.next {
            Next::Incremental { id, .. } => id,
            Next::Full { closes } => closes,
        };
        self.next = Next::Full { closes: 0 };
        self.entries.clear();
        self.names.clear();
        (id != 0).then_some(Plan {
            session_id: id,
            session_epoch: FINAL_EPOCH,
            topic_ids: self.topic_ids,
            named: Vec::new(),
            forgotten: Vec::new(),
        })
    }

    /// The partitions of a topic that an answer may mention, by index.
    pub fn topic(&self, key: TopicKey<'_>) -> Option<&BTreeMap<i32, PartitionId>> {
        match key {
            TopicKey::Name(name) => self.names.get(name),
            TopicKey::Id(id) => self.names.get(id.as_bytes().as_slice()),
        }
    }

    /// Under which epoch the current request asks for a partition; `None` if it does not or only parks it.
    pub fn asked(&self, partition: PartitionId) -> Option<FetchEpoch> {
        self.entry(partition)
            .filter(|entry| !entry.parked)
            .map(|entry| entry.epoch)
    }

    /// At which offset the current request asks for a partition; `None` as in [`asked`](Self::asked).
    pub fn asked_offset(&self, partition: PartitionId) -> Option<i64> {
        self.entry(partition)
            .filter(|entry| !entry.parked)
            .map(|entry| entry.sent.offset)
    }

    /// How many partitions an answer may mention.
    pub fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Whether no partition was asked for yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An answer told this.
    pub fn observe(&mut self, partition: PartitionId, told: Watermarks) {
        if let Some(entry) = self.entry_mut(partition) {
            entry.told = told;
        }
    }

    /// What the last answer left out since it has not changed, of partitions that are asked for under a new epoch: whoever asks
    /// under that one has not been told, and a broker does not repeat it.
    pub fn untold(&mut self) -> Vec<(PartitionId, FetchEpoch, Watermarks)> {
        let renewed = std::mem::take(&mut self.renewed);
        let entries = renewed.into_iter().filter_map(|id| self.entry(id));
        entries
            .filter(|entry| entry.answer != self.answers && !entry.parked && entry.told.high >= 0)
            .map(|entry| (entry.located.partition, entry.epoch, entry.told))
            .collect()
    }

    /// Judges an answer to the last plan. `partitions`: whom it mentions, `None` for one that nobody asked for.
    pub fn receive(
        &mut self,
        now: Instant,
        head: AnswerHead,
        partitions: impl IntoIterator<Item = Option<PartitionId>>,
    ) -> Verdict {
        const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
        const FETCH_SESSION_TOPIC_ID_ERROR: i16 = 106;
        const INCONSISTENT_TOPIC_ID: i16 = 103;
        let reject = |reason| Verdict::Rejected {
            reason,
            refresh_metadata: false,
        };
        match head.error_code {
            0 => {}
            FETCH_SESSION_ID_NOT_FOUND => {
                self.next = Next::Full { closes: 0 };
                return reject("the broker has evicted the session");
            }
            code => {
                self.next = Next::Full {
                    closes: self.id().unwrap_or(0),
                };
                return Verdict::Rejected {
                    reason: "the broker refused the session's request",
                    refresh_metadata: matches!(
                        code,
                        FETCH_SESSION_TOPIC_ID_ERROR | INCONSISTENT_TOPIC_ID
                    ),
                };
            }
        }
        self.answers += 1;
        let answer = self.answers;
        let (mut mentioned, mut strangers) = (0, 0);
        for partition in partitions {
            match partition.and_then(|partition| self.entry_mut(partition)) {
                Some(entry) if entry.answer != answer => {
                    entry.answer = answer;
                    mentioned += 1;
                }
                Some(_) => {}
                None => strangers += 1,
            }
        }
        match self.next {
            Next::Full { .. } => {
                let asked = self.entries.iter().flatten().count();
                if mentioned == 0 && head.throttled {
                    self.next = Next::Full { closes: 0 };
                    return reject("throttled");
                }
                if mentioned != asked || strangers > 0 {
                    self.next = Next::Full { closes: 0 };
                    return reject(
                        "the answer to a full request is not about the partitions asked for",
                    );
                }
                // a session that nobody asked for is none: no broker keeps it
                if head.session_id == 0 || !self.begins {
                    self.refused(now);
                } else {
                    self.refusals = 0;
                    self.ask_again_at = None;
                    self.next = Next::Incremental {
                        id: head.session_id,
                        epoch: 1,
                    };
                }
            }
            Next::Incremental { id, epoch } => {
                if strangers > 0 {
                    self.next = Next::Full { closes: id };
                    return reject("the answer mentions a partition that is not in the session");
                }
                self.next = if head.session_id == id {
                    Next::Incremental {
                        id,
                        epoch: next_epoch(epoch),
                    }
                } else {
                    // id 0: the broker closed it
                    Next::Full { closes: 0 }
                };
            }
        }
        Verdict::Accepted
    }

    /// The answer to the last plan never came, or was not read: what the broker did with it is unknown.
    pub fn lost(&mut self) {
        if let Some(id) = self.id() {
            self.next = Next::Full { closes: id };
        }
    }

    /// The answer to the last plan, a long one, was thrown away unread. A session goes on: its errors come in short answers.
    pub fn skipped(&mut self) {
        match self.next {
            Next::Incremental { id, epoch } => {
                self.next = Next::Incremental {
                    id,
                    epoch: next_epoch(epoch),
                };
            }
            Next::Full { .. } => self.next = Next::Full { closes: 0 },
        }
    }

    fn refused(&mut self, now: Instant) {
        self.next = Next::Full { closes: 0 };
        if self.begins {
            // without jitter: brokers serve the requests of one consumer only
            self.ask_again_at = Some(now + REFUSED.delay(self.refusals, 200));
            self.refusals = self.refusals.saturating_add(1);
        }
    }

    fn entry(&self, partition: PartitionId) -> Option<&Entry> {
        self.entries
            .get(partition.slot())?
            .as_ref()
            .filter(|entry| entry.located.partition == partition)
    }

    fn entry_mut(&mut self, partition: PartitionId) -> Option<&mut Entry> {
        self.entries
            .get_mut(partition.slot())?
            .as_mut()
            .filter(|entry| entry.located.partition == partition)
    }

    fn enter(&mut self, ask: &Ask, located: &Located) -> Named {
        let slot = ask.partition.slot();
        let entry = Entry {
            located: located.clone(),
            sent: sent(ask),
            epoch: ask.epoch,
            parked: ask.parked,
            told: Watermarks::UNKNOWN,
            request: self.requests,
            answer: self.answers,
        };
        let named = entry.named();
        self.names
            .entry(self.key(&located.topic))
            .or_default()
            .insert(located.index, ask.partition);
        if self.entries.len() <= slot {
            self.entries.resize(slot + 1, None);
        }
        self.entries[slot] = Some(entry);
        named
    }

    /// Removes a former occupant of the partition's slot.
    fn evict_from_slot(&mut self, partition: PartitionId) -> Option<Forgotten> {
        let former = self.entries.get(partition.slot())?.as_ref()?;
        let former = former.located.partition;
        self.remove(former).map(|entry| entry.forgotten())
    }

    fn remove(&mut self, partition: PartitionId) -> Option<Entry> {
        self.entry(partition)?;
        self.unname(partition);
        self.entries.get_mut(partition.slot())?.take()
    }

    fn unname(&mut self, partition: PartitionId) {
        let Some(entry) = self.entry(partition) else {
            return;
        };
        let (key, index) = (self.key(&entry.located.topic), entry.located.index);
        if let Some(indices) = self.names.get_mut(&key) {
            if indices.get(&index) == Some(&partition) {
                indices.remove(&index);
            }
            if indices.is_empty() {
                self.names.remove(&key);
            }
        }
    }

    fn key(&self, topic: &Topic) -> Box<[u8]> {
        if self.topic_ids {
            topic.id.as_bytes().as_slice().into()
        } else {
            topic.name.as_bytes().into()
        }
    }
}

impl Entry {
    fn named(&self) -> Named {
        Named {
            topic: Arc::clone(&self.located.topic),
            index: self.located.index,
            sent: self.sent,
        }
    }

    fn forgotten(&self) -> Forgotten {
        Forgotten {
            topic: Arc::clone(&self.located.topic),
            index: self.located.index,
        }
    }
}

const fn sent(ask: &Ask) -> Sent {
    Sent {
        offset: ask.offset,
        leader_epoch: ask.leader_epoch,
        max_bytes: ask.max_bytes,
    }
}
