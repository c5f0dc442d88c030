//! What the fetch session of a node that leads 1,000 partitions costs (KIP-227): what a request must name, and what its answer does. A budget is
//! what was measured, the lower quartile on an AMD EPYC that had other things to do, and half as much again; each is in ns per partition.
//!
//! | stage | what it is | measured | budget |
//! |---|---|---|---|
//! | full request | the first of a session, which names all | 51 | 77 |
//! | diff of 10 moved | the next, after data of ten | 4.1 | 6.2 |
//! | diff of none moved | the next, after a long poll in vain | 4.2 | 6.2 |
//! | answer of 10 | an answer that mentions ten | 0.035 | 0.06 |

use std::sync::Arc;
use std::time::Instant;

use buffer_actor::{Ask, FetchEpoch, PartitionId};
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
    table: PartitionTable,
    asks: Vec<Ask>,
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
            table,
            asks,
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
        self.session.build(self.now, &self.asks, &self.table, true)
    }

    /// An answer that mentions the first `mentioned` partitions.
    fn receive(&mut self, mentioned: usize) {
        let head = AnswerHead {
            error_code: 0,
            session_id: 7,
            throttled: false,
        };
        let partitions = self
            .asks
            .iter()
            .take(mentioned)
            .map(|ask| Some(ask.partition));
        let verdict = self.session.receive(self.now, head, partitions);
        assert_eq!(verdict, Verdict::Accepted);
    }

    /// Some partitions had data.
    fn advance(&mut self) {
        for ask in self.asks.iter_mut().take(MOVED) {
            ask.offset += 1;
        }
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
        let moved = || {
            let mut world = World::live();
            world.advance();
            world
        };
        // budget: 6.2 ns per partition
        stages.add("diff of 10 moved", per, moved, |world| {
            let plan = world.build();
            assert_eq!(plan.named.len(), MOVED);
            plan
        });
        // budget: 6.2 ns per partition
        stages.add("diff of none moved", per, World::live, World::build);
        let awaited = || {
            let mut world = moved();
            world.build();
            world
        };
        // budget: 0.06 ns per partition
        stages.add("answer of 10", per, awaited, |world| world.receive(MOVED));
    });
}
