use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

/// A partition as a Fetch request names it: by topic id from version 13 on (KIP-516), by name before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionKey {
    /// The topic's name; `None` while its id resolves to none.
    pub(crate) topic: Option<Arc<str>>,
    /// The topic's id, nil before version 13.
    pub(crate) topic_id: Uuid,
    pub(crate) partition: i32,
}

/// What makes two keys the same partition of a session: the id if there is one, the name otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    Id(Uuid, i32),
    Name(Option<Arc<str>>, i32),
}

impl PartitionKey {
    pub(crate) fn identity(&self) -> Identity {
        if self.topic_id.is_nil() {
            Identity::Name(self.topic.clone(), self.partition)
        } else {
            Identity::Id(self.topic_id, self.partition)
        }
    }
}

/// What a request asks of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchParameters {
    pub(crate) fetch_offset: i64,
    pub(crate) max_bytes: i32,
    /// -1 if the client does not check it.
    pub(crate) current_leader_epoch: i32,
    /// -1 if there is none; only followers send it.
    pub(crate) last_fetched_epoch: i32,
}

/// A partition of a session, with what the client was last told about it.
#[derive(Clone, Debug)]
pub(super) struct SessionPartition {
    pub(super) key: PartitionKey,
    pub(super) parameters: FetchParameters,
    /// -1 until told, and after an error, so that the next answer names the partition.
    pub(super) high_watermark: i64,
    /// -1 until told.
    pub(super) log_start_offset: i64,
}

/// One incremental fetch session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: i32,
    pub(super) privileged: bool,
    pub(super) uses_topic_ids: bool,
    pub(super) created: Duration,
    pub(super) last_used: Duration,
    /// The epoch that the next request must carry.
    pub(super) epoch: i32,
    /// Its size when it was last touched; what eviction compares.
    pub(super) cached_size: usize,
    places: HashMap<Identity, u64>,
    order: BTreeMap<u64, SessionPartition>,
    next_place: u64,
}

impl Session {
    pub(super) fn new(
        id: i32,
        privileged: bool,
        uses_topic_ids: bool,
        partitions: Vec<SessionPartition>,
        now: Duration,
    ) -> Self {
        let mut session = Self {
            id,
            privileged,
            uses_topic_ids,
            created: now,
            last_used: now,
            epoch: 1,
            cached_size: 0,
            places: HashMap::new(),
            order: BTreeMap::new(),
            next_place: 0,
        };
        for partition in partitions {
            session.push(partition);
        }
        session.cached_size = session.len();
        session
    }

    fn push(&mut self, partition: SessionPartition) {
        let place = self.next_place;
        self.next_place += 1;
        if let Some(old) = self.places.insert(partition.key.identity(), place) {
            self.order.remove(&old);
        }
        self.order.insert(place, partition);
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &PartitionKey> {
        self.order.values().map(|partition| &partition.key)
    }

    pub(super) fn partitions_mut(&mut self) -> impl Iterator<Item = &mut SessionPartition> {
        self.order.values_mut()
    }

    pub(super) fn get_mut(&mut self, identity: &Identity) -> Option<&mut SessionPartition> {
        let place = self.places.get(identity)?;
        self.order.get_mut(place)
    }

    /// Adds a partition that is new, changes one that is known. A new one's first answer always names it.
    pub(super) fn update(&mut self, key: PartitionKey, parameters: FetchParameters) {
        match self.get_mut(&key.identity()) {
            Some(partition) => partition.parameters = parameters,
            None => self.push(SessionPartition {
                key,
                parameters,
                high_watermark: -1,
                log_start_offset: -1,
            }),
        }
    }

    pub(super) fn forget(&mut self, identity: &Identity) {
        if let Some(place) = self.places.remove(identity) {
            self.order.remove(&place);
        }
    }

    /// Partitions that gave records go to the end (KAFKA-12330), so that none starves.
    pub(super) fn move_to_end(&mut self, identity: &Identity) {
        let Some(place) = self.places.get(identity) else {
            return;
        };
        if let Some(partition) = self.order.remove(place) {
            self.push(partition);
        }
    }
}

/// The epoch that follows: 1 after 2^31 - 1, since 0 asks for a new session.
pub(super) fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}
