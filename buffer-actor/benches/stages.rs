//! What the buffer's decisions cost for a node that leads 1,000 partitions. A budget is what was measured, the lower quartile on an AMD EPYC that had
//! other things to do, and half as much again; each is in ns per partition.
//!
//! | stage | what it is | measured | budget |
//! |---|---|---|---|
//! | reserve and grant | an idle lane is offered, and its request granted with custody of all: what was asked for before, again | 0.13 | 0.2 |
//! | reply without data | custody comes back, as after a long poll in vain | 0.07 | 0.11 |
//! | reply with data of all | positions move, data is queued | 33 | 50 |
//! | take of all | the reader is leased a completed fetch of each | 10 | 16 |

use std::time::{Duration, Instant};

use buffer_actor::machine::{BufferMachine, Effects};
use buffer_actor::{
    Backoff, BufferConfig, Candidate, Candidates, Effect, Fetched, Flaw, Grant, Lane, NodeId,
    Outcome, PartitionId, PartitionReply, Policy, ResetPolicy, Start, TakeId, TakeRequest,
};
use record_batch::TopicPartition;
use stage_bench::Per;

const PARTITIONS: u64 = 1000;
const NODE: NodeId = NodeId(1);

/// Bytes of each partition's data in a reply.
const BYTES: u32 = 1000;

fn config() -> BufferConfig {
    BufferConfig {
        buffer_memory: 64 << 20,
        fetch_min_bytes: 1,
        fetch_max_bytes: 50 << 20,
        max_partition_fetch_bytes: 1 << 20,
        retry: Backoff {
            base: Duration::from_millis(100),
            max: Duration::from_secs(1),
        },
        request_timeout: Duration::from_secs(30),
        metadata_max_age: Duration::from_secs(300),
        unasked_limit: Duration::from_secs(31),
        reset: ResetPolicy::Earliest,
        policy: Policy::ReadAhead,
    }
}

/// A buffer whose partitions are at offset 0, all led by one node.
struct World {
    machine: BufferMachine<()>,
    candidates: Candidates,
    now: Instant,
    effects: Effects<()>,
    takes: u64,
}

impl World {
    fn new() -> Self {
        let mut machine = BufferMachine::new(config(), 1);
        let mut effects = Vec::new();
        let wanted = (0..PARTITIONS as i32)
            .map(|index| (TopicPartition::new("orders", index), Start::Offset(0)));
        let now = now();
        machine.assign(now, wanted, &mut effects);
        let assigned: Vec<PartitionId> = machine.assignment().map(|(id, _)| id).collect();
        let candidate = |partition| Candidate {
            partition,
            leader_epoch: 5,
        };
        let mut world = Self {
            machine,
            candidates: assigned.into_iter().map(candidate).collect(),
            now,
            effects,
            takes: 0,
        };
        world.effects.clear();
        world
    }

    /// The node's first lane is offered; what it may ask for.
    fn reserve(&mut self) -> Grant {
        let candidates = Candidates::clone(&self.candidates);
        self.machine
            .reserve(NODE, Lane::Session, 1, candidates, false, &mut self.effects);
        self.effects.drain(..).find_map(granted).expect("a grant")
    }

    fn done(&mut self, grant: &Grant, replies: Vec<PartitionReply<()>>) -> usize {
        let received = replies.len() as u64 * u64::from(BYTES);
        self.machine.done(
            self.now,
            grant.ticket,
            Outcome::Reply(replies),
            received,
            &mut self.effects,
        );
        self.effects.drain(..).count()
    }

    /// The reader takes what there is, and has read what it had.
    fn take(&mut self) -> usize {
        self.takes += 1;
        let request = TakeRequest {
            id: TakeId(self.takes),
            received: u64::MAX,
            holding: Vec::new(),
            returned: Vec::new(),
            until: None,
        };
        self.machine.take(self.now, request, &mut self.effects);
        self.effects.drain(..).count()
    }
}

fn granted(effect: Effect<()>) -> Option<Grant> {
    match effect {
        Effect::Granted(grant) => Some(grant),
        _ => None,
    }
}

/// Data of the first `count` partitions that were asked for.
fn replies(grant: &Grant, count: usize) -> Vec<PartitionReply<()>> {
    let asked = grant.asks.iter().take(count);
    let reply = asked.map(|ask| PartitionReply {
        partition: ask.partition,
        epoch: ask.epoch,
        error_code: 0,
        high_watermark: ask.offset + 10,
        last_stable_offset: ask.offset + 10,
        log_start_offset: 0,
        preferred_replica: None,
        diverging: None,
        fetched: Some(Fetched {
            bytes: BYTES,
            next_offset: ask.offset + 10,
            leader_epoch: Some(5),
            largest_batch: BYTES,
            flaw: Flaw::None,
            data: (),
        }),
    });
    reply.collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a bench needs some moment to begin with"
)]
fn now() -> Instant {
    Instant::now()
}

fn main() {
    stage_bench::run("buffer-actor", |stages| {
        // budget: 0.2 ns per partition
        stages.add(
            "reserve and grant",
            Per::partition(PARTITIONS),
            || {
                // the node is known, and its long poll has ended in vain
                let mut world = World::new();
                let grant = world.reserve();
                world.done(&grant, Vec::new());
                world
            },
            |world| world.reserve().asks.len(),
        );
        let in_flight = |data| {
            let mut world = World::new();
            let grant = world.reserve();
            let replies = replies(&grant, data);
            (world, grant, replies)
        };
        // budget: 0.11 ns per partition
        stages.add(
            "reply without data",
            Per::partition(PARTITIONS),
            || in_flight(0),
            |(world, grant, replies)| world.done(grant, std::mem::take(replies)),
        );
        // budget: 50 ns per partition
        stages.add(
            "reply with data of all",
            Per::partition(PARTITIONS),
            || in_flight(PARTITIONS as usize),
            |(world, grant, replies)| world.done(grant, std::mem::take(replies)),
        );
        let buffered = || {
            let (mut world, grant, replies) = in_flight(PARTITIONS as usize);
            world.done(&grant, replies);
            world
        };
        // budget: 16 ns per partition
        stages.add(
            "take of all",
            Per::partition(PARTITIONS),
            buffered,
            World::take,
        );
    });
}
