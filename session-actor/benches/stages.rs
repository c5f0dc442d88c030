//! What the fetch session of a node that leads 1,000 partitions costs (KIP-227): what a request must name, and what its answer does. A budget is
//! what was measured, the lower quartile on an AMD EPYC that had other things to do, and half as much again; each is in ns per partition.
//!
//! | stage | what it is | measured | budget |
//! |---|---|---|---|
//! | full request | the first of a session, which names all | 49 | 77 |
//! | diff of 10 moved | the next, after data of ten | 0.21 | 0.32 |
//! | diff of none moved | the next, after a long poll in vain | 0.05 | 0.08 |
//! | diff of 10 moved, not known which | the next after a grant that was not used, or news of the cluster | 4.8 | 7.2 |
//! | answer of 10 | an answer that mentions ten | 0.035 | 0.06 |

use std::sync::Arc;
use std::time::Instant;

use buffer_actor::{
    Ask, Changes, Derived, FetchEpoch, Grant, Lane, MaxWait, NodeId, PartitionId, TicketId,
};
use session_actor::fetch_session::{AnswerHead, FetchSession, Plan, Verdict};
use session_actor::{Located, PartitionTable, Topic};
use stage_bench::Per;
use uuid::Uuid;

const PARTITIONS: u64 = 1000;

/// Partitions that had data since the request before.
const MOVED: usize = 10;

/// A session and what it is asked for.
struct World {
    session: FetchSession,
    table: Arc<PartitionTable>,
    grant: Grant,
    now: Instant,
}

impl World {
    /// 10 topics of 100 partitions, at offset 0, and no session.
    fn new() -> Self {
        let mut table = PartitionTable::default();
        let mut asks = Vec::new();
        for slot in 0..PARTITIONS as u32 {
            let (topic, index) = (slot / 100, slot % 100);
            let partition = PartitionId::new(slot, 1);
            table.insert(Located {
                partition,
                topic: Arc::new(Topic {
                    name: format!("topic {topic}").into(),
                    id: Uuid::from_u128(u128::from(topic) + 1),
                }),
                index: index as i32,
            });
            asks.push(Ask {
                partition,
                epoch: FetchEpoch(1),
                offset: 0,
                leader_epoch: 5,
                max_bytes: 1 << 20,
                parked: false,
                served: 0,
            });
        }
        Self {
            session: FetchSession::incremental(),
            table: Arc::new(table),
            grant: Grant {
                ticket: TicketId(1),
                node: NodeId(1),
                lane: Lane::Session,
                plan: 1,
                max_wait: MaxWait::Full,
                max_bytes: 50 << 20,
                reserved: 51 << 20,
                asks: Arc::new(asks),
                changes: Derived(None),
            },
            now: now(),
        }
    }

    /// With a session that has them all.
    fn live() -> Self {
        let mut world = Self::new();
        world.build();
        world.receive(PARTITIONS as usize);
        world
    }

    fn build(&mut self) -> Plan {
        self.session.build(self.now, &self.grant, &self.table, true)
    }

    /// An answer that mentions the first `mentioned` partitions.
    fn receive(&mut self, mentioned: usize) {
        let head = AnswerHead {
            error_code: 0,
            session_id: 7,
            throttled: false,
        };
        let partitions = self
            .grant
            .asks
            .iter()
            .take(mentioned)
            .map(|ask| Some(ask.partition));
        let verdict = self.session.receive(self.now, head, partitions);
        assert_eq!(verdict, Verdict::Accepted);
    }

    /// Some partitions had data, and it is granted what follows.
    fn advance(&mut self, moved: usize) {
        let asks = Arc::make_mut(&mut self.grant.asks);
        for ask in asks.iter_mut().take(moved) {
            ask.offset += 1;
        }
        self.grant.changes = Derived(Some(Changes {
            since: self.grant.ticket,
            asks: asks[..moved].to_vec(),
            gone: Vec::new(),
        }));
        self.grant.ticket.0 += 1;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a bench needs some moment to begin with"
)]
fn now() -> Instant {
    Instant::now()
}

fn main() {
    stage_bench::run("session-actor", |stages| {
        let per = Per::partition(PARTITIONS);
        // budget: 77 ns per partition
        stages.add("full request", per, World::new, World::build);
        let live = |moved| {
            let mut world = World::live();
            world.advance(moved);
            world
        };
        let moved = move || live(MOVED);
        let plan = |world: &mut World| {
            let plan = world.build();
            assert_eq!(plan.named.len(), MOVED);
            plan
        };
        // budget: 0.32 ns per partition
        stages.add("diff of 10 moved", per, moved, plan);
        // budget: 0.08 ns per partition
        stages.add("diff of none moved", per, move || live(0), World::build);
        let unknown = move || {
            let mut world = moved();
            world.grant.changes = Derived(None);
            world
        };
        // budget: 7.2 ns per partition
        stages.add("diff of 10 moved, not known which", per, unknown, plan);
        let awaited = || {
            let mut world = moved();
            world.build();
            world
        };
        // budget: 0.06 ns per partition
        stages.add("answer of 10", per, awaited, |world| world.receive(MOVED));
    });
}
