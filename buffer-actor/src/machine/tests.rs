//! Tables and scripts for the machine. A [`World`] holds it together with what its neighbours would know.

mod budget;
mod committed;
mod custody;
mod errors;
mod lanes;
mod reading;
mod replicas;
mod unasked;
mod validation;
mod walk;

use std::time::{Duration, Instant};

use record_batch::TopicPartition;

use super::*;
use crate::model::{
    Ask, Candidate, CommittedOffset, Fetched, Flaw, Grant, Lease, MaxWait, Outcome, PartitionReply,
    Start, TakeRequest,
};
use crate::{Backoff, Policy, TakeId};

const MIB: u32 = 1 << 20;

pub(super) fn config() -> BufferConfig {
    BufferConfig {
        buffer_memory: 64 << 20,
        fetch_min_bytes: 1,
        fetch_max_bytes: 50 << 20,
        max_partition_fetch_bytes: MIB,
        retry: Backoff {
            base: Duration::from_millis(100),
            max: Duration::from_millis(1000),
        },
        request_timeout: Duration::from_secs(30),
        metadata_max_age: Duration::from_secs(300),
        unasked_limit: Duration::from_secs(31),
        reset: ResetPolicy::Earliest,
        policy: Policy::ReadAhead,
    }
}

/// The machine, a clock, and one node that leads every partition unless told otherwise.
#[derive(Clone)]
pub(super) struct World {
    pub(super) machine: BufferMachine<u32>,
    pub(super) now: Instant,
    pub(super) ids: Vec<PartitionId>,
    pub(super) lookups: Vec<Lookup>,
    takes: u64,
}

pub(super) const NODE: NodeId = NodeId(1);

impl World {
    /// `partitions` partitions at offset 0; the reader knows of them.
    pub(super) fn new(config: BufferConfig, partitions: i32) -> Self {
        let mut world = Self::empty(config);
        world.assign(partitions);
        world.take();
        world
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test needs some moment to begin with"
    )]
    pub(super) fn empty(config: BufferConfig) -> Self {
        Self {
            machine: BufferMachine::new(config, 1),
            now: Instant::now(),
            ids: Vec::new(),
            lookups: Vec::new(),
            takes: 0,
        }
    }

    pub(super) fn assign(&mut self, partitions: i32) {
        let wanted = (0..partitions).map(|partition| (tp(partition), Start::Offset(0)));
        let mut effects = Vec::new();
        self.machine.assign(self.now, wanted, &mut effects);
        self.note(&effects);
    }

    pub(super) fn note(&mut self, effects: &[Effect<u32>]) {
        for effect in effects {
            match effect {
                Effect::Assignment { added, removed } => {
                    self.ids.retain(|id| !removed.contains(id));
                    self.ids.extend(added.iter().map(|(id, _)| *id));
                }
                Effect::Lookup(lookup) => self.lookups.push(lookup.clone()),
                _ => {}
            }
        }
    }

    /// Runs one event and returns what it caused.
    pub(super) fn run(
        &mut self,
        event: impl FnOnce(&mut BufferMachine<u32>, Instant, &mut Effects<u32>),
    ) -> Effects<u32> {
        let mut effects = Vec::new();
        event(&mut self.machine, self.now, &mut effects);
        self.note(&effects);
        effects
    }

    pub(super) fn candidates(&self) -> crate::Candidates {
        self.ids
            .iter()
            .map(|&partition| Candidate {
                partition,
                leader_epoch: 5,
            })
            .collect()
    }

    /// Offers a lane of the node; what is granted at once.
    pub(super) fn reserve(&mut self, lane: Lane) -> Option<Grant> {
        self.reserve_of(lane, false)
    }

    /// The same, by a planner that says whether the node has refused a session.
    pub(super) fn reserve_of(&mut self, lane: Lane, refused: bool) -> Option<Grant> {
        let candidates = self.candidates();
        grant(self.run(|machine, _, effects| {
            machine.reserve(NODE, lane, 1, candidates, refused, effects);
        }))
    }

    /// The same of another node, which is asked for all partitions in this epoch of their leader.
    pub(super) fn reserve_at(&mut self, node: NodeId, leader_epoch: i32) -> Effects<u32> {
        let candidates = self.ids.iter().map(|&partition| Candidate {
            partition,
            leader_epoch,
        });
        let candidates = candidates.collect();
        self.run(|machine, _, effects| {
            machine.reserve(node, Lane::Session, 2, candidates, false, effects)
        })
    }

    /// All partitions have moved: nobody is asked until a node is offered.
    pub(super) fn move_leaders(&mut self) -> Effects<u32> {
        let moved = self.ids.clone();
        self.run(|machine, _, effects| machine.leaders_changed(moved, effects))
    }

    pub(super) fn done(
        &mut self,
        grant: &Grant,
        replies: Vec<PartitionReply<u32>>,
    ) -> Effects<u32> {
        let received = replies
            .iter()
            .filter_map(|reply| reply.fetched.as_ref())
            .map(|fetched| u64::from(fetched.bytes))
            .sum();
        let ticket = grant.ticket;
        self.run(|machine, now, effects| {
            machine.done(now, ticket, Outcome::Reply(replies), received, effects);
        })
    }

    pub(super) fn fail(&mut self, grant: &Grant) -> Effects<u32> {
        let ticket = grant.ticket;
        self.run(|machine, now, effects| machine.done(now, ticket, Outcome::Failed, 0, effects))
    }

    /// Takes what is there, holding nothing.
    pub(super) fn take(&mut self) -> Vec<Item<u32>> {
        let effects = self.request(Vec::new(), Vec::new(), None);
        answer(effects).expect("a take without a deadline is answered at once")
    }

    pub(super) fn request(
        &mut self,
        holding: Vec<PartitionId>,
        returned: Vec<Completed<u32>>,
        wait: Option<Duration>,
    ) -> Effects<u32> {
        self.takes += 1;
        let id = TakeId(self.takes);
        self.run(|machine, now, effects| {
            let until = wait.map(|wait| now + wait);
            let request = TakeRequest {
                id,
                received: u64::MAX,
                holding,
                returned,
                until,
            };
            machine.take(now, request, effects);
        })
    }

    pub(super) fn release(&mut self, bytes: u64) -> Effects<u32> {
        self.run(|machine, _, effects| machine.release(bytes, effects))
    }

    /// Lets time pass up to the machine's next deadline, if that is within `limit`.
    pub(super) fn wait_for_deadline(&mut self, limit: Duration) -> Effects<u32> {
        let at = self.machine.poll_timeout().expect("a deadline");
        assert!(at <= self.now + limit, "{:?}", at - self.now);
        self.now = at;
        self.run(|machine, now, effects| machine.timeout(now, effects))
    }
}

pub(super) fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

pub(super) fn grant(effects: Effects<u32>) -> Option<Grant> {
    grants(effects).into_iter().next()
}

pub(super) fn grants(effects: Effects<u32>) -> Vec<Grant> {
    effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Granted(grant) => Some(grant),
            _ => None,
        })
        .collect()
}

pub(super) fn answer(effects: Effects<u32>) -> Option<Vec<Item<u32>>> {
    effects.into_iter().rev().find_map(|effect| match effect {
        Effect::Answer(_, Lease { items }) => Some(items),
        _ => None,
    })
}

/// A reply to `ask` with `records` records in `bytes` bytes.
pub(super) fn data(ask: &Ask, records: i64, bytes: u32) -> PartitionReply<u32> {
    PartitionReply {
        partition: ask.partition,
        epoch: ask.epoch,
        error_code: 0,
        high_watermark: ask.offset + records,
        last_stable_offset: ask.offset + records,
        log_start_offset: 0,
        preferred_replica: None,
        diverging: None,
        fetched: (bytes > 0).then_some(Fetched {
            bytes,
            next_offset: ask.offset + records,
            leader_epoch: Some(ask.leader_epoch),
            largest_batch: bytes,
            flaw: Flaw::None,
            data: bytes,
        }),
    }
}

pub(super) fn error(ask: &Ask, error_code: i16) -> PartitionReply<u32> {
    PartitionReply {
        error_code,
        high_watermark: -1,
        ..data(ask, 0, 0)
    }
}

/// (partition, from, next) of each completed fetch.
pub(super) fn spans(world: &World, items: &[Item<u32>]) -> Vec<(i32, i64, i64)> {
    items
        .iter()
        .map(|item| match item {
            Item::Data(completed) => {
                let name = world.machine.name(completed.partition).expect("assigned");
                (name.partition(), completed.from, completed.next)
            }
            Item::Error(error) => panic!("unexpected {error}"),
        })
        .collect()
}

/// (offset, parked) of each ask.
pub(super) fn offsets(grant: &Grant) -> Vec<(i64, bool)> {
    grant
        .asks
        .iter()
        .map(|ask| (ask.offset, ask.parked))
        .collect()
}

pub(super) fn errors(items: &[Item<u32>]) -> Vec<&PartitionError> {
    items
        .iter()
        .filter_map(|item| match item {
            Item::Error(error) => Some(error),
            Item::Data(_) => None,
        })
        .collect()
}
