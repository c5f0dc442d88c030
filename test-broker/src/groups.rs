//! Consumer groups: who coordinates them, who is in them, and what they have committed.
//!
//! Time is an argument everywhere. What is to happen later stands in [`Timers`](timers::Timers), and whoever takes a
//! request in, looks at a group or waits for one first lets the time pass ([`Groups::advance`]); so no task of the
//! broker's own keeps time.

pub(crate) mod classic;
pub(crate) mod consumer;
mod coordinators;
mod describe;
mod offsets;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};

use classic::ClassicGroup;
use consumer::{Beat, ConsumerGroup};
pub(crate) use coordinators::Coordinators;
pub use describe::{GroupDescription, GroupMember, GroupProtocol, GroupState};
use kafka_protocol::ResponseError;
pub(crate) use offsets::{Committed, Offsets};

use crate::settings::GroupSettings;

/// All groups of the cluster. They are not the nodes' own, as they are not in Kafka, where a topic keeps them.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) coordinators: Coordinators,
    pub(crate) settings: GroupSettings,
    by_id: BTreeMap<Arc<str>, Group>,
    /// When something is to happen in which group.
    due: BTreeSet<(Duration, Arc<str>)>,
    /// The first of them, as those who wait know it.
    next: Option<Duration>,
    /// It is another one. A `watch` would wake those who wait in a random order.
    next_changed: Arc<Notify>,
    /// Rises with every change of a group.
    pub(crate) changes: watch::Sender<u64>,
    rng: Rng,
}

/// One group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) offsets: Offsets,
    membership: Membership,
}

/// Which protocol the members use. A group without members can change it.
#[derive(Debug)]
enum Membership {
    Classic(Box<ClassicGroup>),
    Consumer(Box<ConsumerGroup>),
}

impl Default for Membership {
    fn default() -> Self {
        Self::Classic(Box::default())
    }
}

impl Group {
    /// The classic group that this is.
    pub(crate) fn classic(&self) -> Option<&ClassicGroup> {
        match &self.membership {
            Membership::Classic(group) => Some(group),
            Membership::Consumer(_) => None,
        }
    }

    /// The group of KIP-848 that this is.
    pub(crate) fn consumer(&self) -> Option<&ConsumerGroup> {
        match &self.membership {
            Membership::Classic(_) => None,
            Membership::Consumer(group) => Some(group),
        }
    }

    /// For who is a member of a classic group. In another one nobody is.
    pub(crate) fn classic_member(&mut self) -> Result<&mut ClassicGroup, ResponseError> {
        match &mut self.membership {
            Membership::Classic(group) => Ok(group),
            Membership::Consumer(_) => Err(ResponseError::UnknownMemberId),
        }
    }

    /// Takes members out, each named by its id, or by its instance id alone. What became of each, in order.
    pub(crate) fn leave(
        &mut self,
        members: &[(&str, Option<&str>)],
        now: Duration,
        initial_delay: Duration,
    ) -> Vec<Result<(), ResponseError>> {
        match &mut self.membership {
            Membership::Classic(group) => group.leave(members, now, initial_delay),
            Membership::Consumer(group) => group.remove(members),
        }
    }

    /// For who joins a classic group. One without members becomes classic.
    pub(crate) fn as_classic(&mut self) -> Result<&mut ClassicGroup, ResponseError> {
        if self
            .consumer()
            .is_some_and(|group| group.members().is_empty())
        {
            self.membership = Membership::default();
        }
        match &mut self.membership {
            Membership::Classic(group) => Ok(group),
            Membership::Consumer(_) => Err(ResponseError::InconsistentGroupProtocol),
        }
    }

    /// For a heartbeat of KIP-848. A group without members becomes one of KIP-848 if the member joins.
    pub(crate) fn as_consumer(
        &mut self,
        beat: &Beat<'_>,
        session_timeout: Duration,
    ) -> Result<&mut ConsumerGroup, ResponseError> {
        if beat.joins() && self.classic().is_some_and(ClassicGroup::is_empty) {
            beat.check_regex()?;
            self.membership = Membership::Consumer(Box::new(ConsumerGroup::new(session_timeout)));
        }
        match &mut self.membership {
            Membership::Classic(_) => Err(ResponseError::GroupIdNotFound),
            Membership::Consumer(group) => Ok(group),
        }
    }

    fn first_deadline(&self) -> Option<Duration> {
        match &self.membership {
            Membership::Classic(group) => group.first_deadline(),
            Membership::Consumer(group) => group.first_deadline(),
        }
    }

    fn advance(&mut self, now: Duration, initial_delay: Duration) {
        match &mut self.membership {
            Membership::Classic(group) => group.advance(now, initial_delay),
            Membership::Consumer(group) => group.advance(now),
        }
    }

    fn reload(&mut self, now: Duration) {
        match &mut self.membership {
            Membership::Classic(group) => group.reload(now),
            Membership::Consumer(group) => group.reload(now),
        }
    }

    fn expel(&mut self, member: &str, now: Duration, initial_delay: Duration) -> bool {
        match &mut self.membership {
            Membership::Classic(group) => group.expel(member, now, initial_delay),
            Membership::Consumer(group) => group.fence(member),
        }
    }
}

impl Groups {
    pub(crate) fn new(nodes: &[i32], settings: GroupSettings, rng: Rng) -> Self {
        Self {
            coordinators: Coordinators::new(nodes),
            settings,
            by_id: BTreeMap::new(),
            due: BTreeSet::new(),
            next: None,
            next_changed: Arc::new(Notify::new()),
            changes: watch::Sender::new(0),
            rng,
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.by_id.get(id)
    }

    /// All groups, by their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.by_id.iter().map(|(id, group)| (&**id, group))
    }

    /// An id for a member that has none: Kafka begins it with the client's name, or the instance's.
    pub(crate) fn new_member_id(&mut self, name: &str) -> Arc<str> {
        let random = uuid::Builder::from_random_bytes(self.rng.u128(..).to_be_bytes());
        Arc::from(format!("{name}-{}", random.into_uuid()))
    }

    /// An id for a member of KIP-848 that has none: as long as Kafka's own way to write UUIDs, in Base64.
    pub(crate) fn new_consumer_id(&mut self) -> String {
        (0..22).map(|_| self.rng.alphanumeric()).collect()
    }

    /// Changes a group; `None` if there is none.
    pub(crate) fn change<T>(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut Group) -> T,
    ) -> Option<T> {
        let (id, group) = match self.by_id.get_key_value(id) {
            Some((id, _)) => {
                let id = Arc::clone(id);
                let group = self.by_id.get_mut(&id)?;
                (id, group)
            }
            None => return None,
        };
        let before = group.first_deadline();
        let result = change(group);
        let after = group.first_deadline();
        if before != after {
            if let Some(before) = before {
                self.due.remove(&(before, Arc::clone(&id)));
            }
            if let Some(after) = after {
                self.due.insert((after, id));
            }
            self.tell_next();
        }
        self.changes.send_modify(|count| *count += 1);
        Some(result)
    }

    /// Changes a group, which need not be there yet.
    pub(crate) fn change_or_create<T>(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut Group) -> T,
    ) -> Option<T> {
        if !self.by_id.contains_key(id) {
            self.by_id.insert(Arc::from(id), Group::default());
        }
        self.change(id, change)
    }

    fn tell_next(&mut self) {
        let next = self.due.first().map(|(time, _)| *time);
        if self.next != next {
            self.next = next;
            self.next_changed.notify_waiters();
        }
    }

    /// When something is to happen next, and a wait until that changes.
    pub(crate) fn next(&self) -> (Option<Duration>, OwnedNotified) {
        (self.next, Arc::clone(&self.next_changed).notified_owned())
    }

    /// Lets everything happen that was to happen by now, in order. Groups whose coordinator reads them stand still.
    pub(crate) fn advance(&mut self, now: Duration) {
        let delay = self.settings.initial_rebalance_delay;
        while let Some((time, id)) = self.due.first().filter(|(time, _)| *time <= now).cloned() {
            self.change(&id, |group| group.advance(time, delay));
        }
    }

    /// Takes a member out; whether there was one.
    pub(crate) fn expel(&mut self, group: &str, member: &str, now: Duration) -> bool {
        let delay = self.settings.initial_rebalance_delay;
        let expelled = self.change(group, |group| group.expel(member, now, delay));
        expelled.unwrap_or(false)
    }

    fn reload(&mut self, partitions: &[usize], now: Duration) {
        let ids = self.by_id.keys();
        let moved = ids.filter(|id| partitions.contains(&coordinators::partition_of(id)));
        let moved: Vec<Arc<str>> = moved.cloned().collect();
        for id in moved {
            self.change(&id, |group| group.reload(now));
        }
    }

    /// A node is gone: another one coordinates its groups.
    pub(crate) fn node_died(&mut self, node: i32, live: &[i32], now: Duration) {
        let moved = self.coordinators.node_died(node, live);
        self.reload(&moved, now);
    }

    /// A node is back and takes what no other could.
    pub(crate) fn node_returned(&mut self, node: i32, now: Duration) {
        let moved = self.coordinators.node_returned(node);
        self.reload(&moved, now);
    }

    /// Moves a group, and with it all groups of its partition of `__consumer_offsets`.
    pub(crate) fn move_coordinator(&mut self, group: &str, node: i32, now: Duration) {
        let partition = coordinators::partition_of(group);
        self.coordinators.set_node(partition, node);
        self.reload(&[partition], now);
    }

    pub(crate) fn set_loading(&mut self, group: &str, loading: bool, now: Duration) {
        let partition = coordinators::partition_of(group);
        self.coordinators.set_loading(partition, loading);
        self.reload(&[partition], now);
    }

    /// A topic was deleted, and with it what was committed for it.
    pub(crate) fn forget_topic(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.offsets.forget_topic(topic);
        }
    }
}
