//! The client's half of an incremental fetch session (KIP-227): what a request must name so that the broker's cached
//! partitions are the ones that were granted, and what an answer does to the session.
//!
//! In an incremental request *omitted means fetched again at the offset last sent* (measured on 4.4). So whatever the grant
//! does not name is forgotten, and whatever it names with other values than before is named again.

mod build;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Ask, Backoff, Derived, FetchEpoch, PartitionId};

use self::build::Base;
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
    /// The offset that was granted; that of a parked partition may be less than what was sent.
    granted: i64,
    /// Under which the current request asks for it.
    epoch: FetchEpoch,
    /// The current request asks for it only so that it stays.
    parked: bool,
    told: Watermarks,
    /// The last request for which it was looked at, which tells whom a look at all did not meet.
    request: Derived<u64>,
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
    /// How many there are.
    len: usize,
    /// Whom an answer means: topic id or name, then index.
    names: BTreeMap<Box<[u8]>, BTreeMap<i32, PartitionId>>,
    refusals: u32,
    ask_again_at: Option<Instant>,
    /// Asked for under a new epoch since the last answer.
    renewed: Vec<PartitionId>,
    /// Parked elsewhere than where an answer has told since that their records end.
    misparked: Derived<Vec<PartitionId>>,
    /// What the entries are in line with.
    base: Derived<Option<Base>>,
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
            len: 0,
            names: BTreeMap::new(),
            refusals: 0,
            ask_again_at: None,
            renewed: Vec::new(),
            misparked: Derived(Vec::new()),
            base: Derived(None),
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

    /// Plans a request that only keeps the session alive: every partition at its high watermark with a limit of 0. The next
    /// request names them all again. `None` without a session.
    pub fn touch(&mut self) -> Option<Plan> {
        let Next::Incremental { id, epoch } = self.next else {
            return None;
        };
        self.requests += 1;
        // without what the next request could be told apart from, it looks at every partition
        self.base.0 = None;
        self.misparked.clear();
        let mut named = Vec::new();
        #[cfg(feature = "mutants")]
        let forgets = self.forgets_touches;
        for entry in self.entries.iter_mut().flatten() {
            #[cfg(feature = "mutants")]
            let before = entry.sent;
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
        self.clear();
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
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no partition was asked for yet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An answer told this.
    pub fn observe(&mut self, partition: PartitionId, told: Watermarks) {
        if let Some(entry) = self.entry_mut(partition) {
            entry.told = told;
            if entry.parked && entry.parking() != entry.sent.offset {
                self.misparked.push(partition);
            }
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
                let asked = self.len;
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
            granted: ask.offset,
            epoch: ask.epoch,
            parked: ask.parked,
            told: Watermarks::UNKNOWN,
            request: Derived(self.requests),
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
        let former = self.entries[slot].replace(entry);
        self.len += usize::from(former.is_none());
        named
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.len = 0;
        self.names.clear();
        self.renewed.clear();
        self.misparked.clear();
        self.base.0 = None;
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
        self.len -= 1;
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

    /// Where a parked partition is named. An answer may have told of records that the lane that holds it has not seen yet: named below
    /// them, it would end every long poll at once.
    fn parking(&self) -> i64 {
        self.granted.max(self.told.high)
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
