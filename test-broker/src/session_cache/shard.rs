use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;

use super::session::{Session, SessionPartition};

/// Order of eviction: unprivileged before privileged, small before large, then by id.
type Worth = (bool, usize, i32);

fn worth(session: &Session) -> Worth {
    (session.privileged, session.cached_size, session.id)
}

/// A part of the cache with slots and ids of its own.
#[derive(Debug)]
pub(super) struct Shard {
    slots: usize,
    min_eviction_age: Duration,
    ids: Range<i32>,
    sessions: HashMap<i32, Session>,
    by_last_use: BTreeSet<(Duration, i32)>,
    evictable_by_all: BTreeSet<Worth>,
    evictable_by_privileged: BTreeSet<Worth>,
    cached_partitions: usize,
    evictions: u64,
}

impl Shard {
    pub(super) fn new(slots: usize, min_eviction_age: Duration, ids: Range<i32>) -> Self {
        Self {
            slots,
            min_eviction_age,
            ids,
            sessions: HashMap::new(),
            by_last_use: BTreeSet::new(),
            evictable_by_all: BTreeSet::new(),
            evictable_by_privileged: BTreeSet::new(),
            cached_partitions: 0,
            evictions: 0,
        }
    }

    pub(super) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn cached_partitions(&self) -> usize {
        self.cached_partitions
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions
    }

    pub(super) fn get(&self, id: i32) -> Option<&Session> {
        self.sessions.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: i32) -> Option<&mut Session> {
        self.sessions.get_mut(&id)
    }

    pub(super) fn create(
        &mut self,
        rng: &mut Rng,
        privileged: bool,
        uses_topic_ids: bool,
        partitions: Vec<SessionPartition>,
        now: Duration,
    ) -> Option<i32> {
        let full = self.sessions.len() >= self.slots;
        if full && !self.evict_for((privileged, partitions.len(), 0), now) {
            return None;
        }
        let id = self.unused_id(rng);
        let session = Session::new(id, privileged, uses_topic_ids, partitions, now);
        self.enter(&session);
        self.sessions.insert(id, session);
        Some(id)
    }

    fn unused_id(&self, rng: &mut Rng) -> i32 {
        loop {
            let id = rng.i32(self.ids.clone());
            if !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Makes room for a newcomer of this worth, if a session is stale or worth no more. Among equals the newcomer
    /// loses, since its id counts as 0.
    fn evict_for(&mut self, newcomer: Worth, now: Duration) -> bool {
        let Some(&(last_used, oldest)) = self.by_last_use.first() else {
            return false;
        };
        let victim = if now.saturating_sub(last_used) > self.min_eviction_age {
            oldest
        } else {
            let candidates = match newcomer.0 {
                true => &self.evictable_by_privileged,
                false => &self.evictable_by_all,
            };
            match candidates.first() {
                Some(least) if *least <= newcomer => least.2,
                _ => return false,
            }
        };
        self.remove(victim);
        self.evictions += 1;
        true
    }

    pub(super) fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.leave(&session);
        }
    }

    /// Refreshes time of use, size and both orders of eviction: on creation and with each incremental request.
    pub(super) fn touch(&mut self, id: i32, now: Duration) {
        let Some(mut session) = self.sessions.remove(&id) else {
            return;
        };
        self.leave(&session);
        session.last_used = now;
        session.cached_size = session.len();
        self.enter(&session);
        self.sessions.insert(id, session);
    }

    fn enter(&mut self, session: &Session) {
        self.by_last_use.insert((session.last_used, session.id));
        let old = session.last_used.saturating_sub(session.created) > self.min_eviction_age;
        if old {
            self.evictable_by_all.insert(worth(session));
        }
        if old || !session.privileged {
            self.evictable_by_privileged.insert(worth(session));
        }
        self.cached_partitions += session.cached_size;
    }

    fn leave(&mut self, session: &Session) {
        self.by_last_use.remove(&(session.last_used, session.id));
        self.evictable_by_all.remove(&worth(session));
        self.evictable_by_privileged.remove(&worth(session));
        self.cached_partitions -= session.cached_size;
    }
}
