//! Random walks: whatever happens in whatever order, what lane 1 keeps of one request to the next is what a look at everything finds
//! (checked at each step in debug builds, with the other invariants), and at the end every partition is asked for.

use super::*;
use crate::backoff::Jitter;
use crate::model::Candidates;

const LEADER: NodeId = NODE;
const FOLLOWER: NodeId = NodeId(7);
const PARTITIONS: i32 = 4;

/// A planner, brokers and an application that do what comes to their mind.
struct Walk {
    world: World,
    random: Jitter,
    /// Where the planner has each partition read from.
    at: Vec<(PartitionId, NodeId)>,
    plans: [(NodeId, Candidates, u64); 2],
    last_plan: u64,
    live: Vec<Grant>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut walk = Self {
            world: World::empty(config()),
            random: Jitter::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            at: Vec::new(),
            plans: [LEADER, FOLLOWER].map(|node| (node, Candidates::default(), 0)),
            last_plan: 0,
            live: Vec::new(),
        };
        walk.assign(PARTITIONS);
        walk
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.next() as usize % bound
    }

    fn some(&mut self) -> Option<PartitionId> {
        let ids = self.world.ids.len().max(1);
        let index = self.below(ids);
        self.world.ids.get(index).copied()
    }

    fn assign(&mut self, partitions: i32) {
        let wanted = (0..partitions).map(|partition| (tp(partition), Start::Offset(0)));
        self.run(|machine, now, effects| machine.assign(now, wanted, effects));
        let ids = &self.world.ids;
        self.at.retain(|(id, _)| ids.contains(id));
        let known: Vec<_> = self.at.iter().map(|(id, _)| *id).collect();
        let added = ids.iter().filter(|id| !known.contains(id));
        self.at.extend(added.map(|id| (*id, LEADER)));
        self.replan();
    }

    /// Nodes whose list is as before keep it, as the planner does.
    fn replan(&mut self) {
        for (node, candidates, plan) in &mut self.plans {
            let led = self.at.iter().filter(|(_, at)| at == node);
            let mut led: Vec<_> = led.map(|(id, _)| *id).collect();
            led.sort_unstable();
            if candidates
                .iter()
                .map(|known| known.partition)
                .ne(led.iter().copied())
            {
                self.last_plan += 1;
                *plan = self.last_plan;
                let candidate = |partition| Candidate {
                    partition,
                    leader_epoch: 5,
                };
                *candidates = led.into_iter().map(candidate).collect();
            }
        }
    }

    fn run(&mut self, event: impl FnOnce(&mut BufferMachine<u32>, Instant, &mut Effects<u32>)) {
        let effects = self.world.run(event);
        self.note(effects);
        self.check_take();
    }

    /// I1: no request asks for what another one that is out asks for under the same epoch.
    fn check_custody(&self, grant: &Grant) {
        let asked = |grant: &Grant| {
            let asks = grant.asks.iter().filter(|ask| !ask.parked);
            asks.map(|ask| (ask.partition, ask.epoch))
                .collect::<Vec<_>>()
        };
        let new = asked(grant);
        for other in &self.live {
            let twice = asked(other).into_iter().find(|ask| new.contains(ask));
            assert_eq!(twice, None, "{other:?} {grant:?}");
        }
    }

    /// A take that need not be sent changes nothing but that it waits.
    fn check_take(&self) {
        if !self.world.machine.take_would_wait() {
            return;
        }
        let mut effects = Vec::new();
        let request = TakeRequest {
            id: TakeId(u64::MAX),
            received: u64::MAX,
            holding: Vec::new(),
            returned: Vec::new(),
            until: Some(self.world.now + Duration::from_secs(1)),
        };
        let mut machine = self.world.machine.clone();
        machine.take(self.world.now, request, &mut effects);
        assert!(effects.is_empty(), "{effects:?}");
    }

    /// The reader takes what there is, and has read what it had.
    fn take(&mut self) {
        let effects = self.world.request(Vec::new(), Vec::new(), None);
        self.note(effects);
    }

    fn note(&mut self, effects: Effects<u32>) {
        let mut anew = false;
        for effect in effects {
            match effect {
                Effect::ReadFrom(id, node) => {
                    let entry = self.at.iter_mut().find(|(known, _)| *known == id);
                    if let Some((_, at)) = entry {
                        *at = node.unwrap_or(LEADER);
                        anew = true;
                    }
                }
                Effect::Granted(grant) => {
                    self.check_custody(&grant);
                    self.live.push(grant);
                }
                _ => {}
            }
        }
        if anew {
            // whom the buffer waits for is offered anew, whatever the list
            for (_, candidates, _) in &mut self.plans {
                *candidates = Candidates::default();
            }
            self.replan();
        }
    }

    fn offer(&mut self, node: usize, lane: Lane) {
        let (node, candidates, plan) = self.plans[node].clone();
        let is_idle = |grant: &Grant| (grant.node, grant.lane) != (node, lane);
        if self.live.iter().all(is_idle) && !candidates.is_empty() {
            self.run(|machine, _, effects| {
                machine.reserve(node, lane, plan, candidates, false, effects);
            });
        }
    }

    /// A request comes back.
    fn end(&mut self, goes_well: bool) {
        if self.live.is_empty() {
            return;
        }
        let index = self.below(self.live.len());
        let grant = self.live.swap_remove(index);
        let outcome = match self.below(12) {
            0 if !goes_well => Outcome::Failed,
            1 if !goes_well => Outcome::Abandoned,
            2 if !goes_well => Outcome::Discarded,
            _ => {
                let asked: Vec<Ask> = grant
                    .asks
                    .iter()
                    .filter(|ask| !ask.parked)
                    .copied()
                    .collect();
                let replies = asked
                    .iter()
                    .filter_map(|ask| self.reply(&grant, ask, goes_well));
                Outcome::Reply(replies.collect())
            }
        };
        self.run(|machine, now, effects| machine.done(now, grant.ticket, outcome, 0, effects));
    }

    /// An answer of lane 2 speaks of all that it was asked for.
    fn reply(&mut self, grant: &Grant, ask: &Ask, goes_well: bool) -> Option<PartitionReply<u32>> {
        let nothing = (grant.lane == Lane::Quick).then(|| data(ask, 0, 0));
        match self.below(10) {
            _ if goes_well => nothing,
            0 => Some(error(ask, 6)),
            1 => Some(error(ask, 1)),
            2 | 3 if grant.node == LEADER => Some(PartitionReply {
                preferred_replica: Some(FOLLOWER),
                ..data(ask, 0, 0)
            }),
            4 => Some(data(ask, 0, 0)),
            5 => Some(data(ask, 10, 3 * MIB)),
            6 | 7 => Some(data(ask, 3, 100)),
            _ => nothing,
        }
    }

    fn step(&mut self) {
        let lane = Lane::ALL[self.below(2)];
        match self.below(16) {
            0..=3 => {
                let node = self.below(2);
                self.offer(node, lane);
            }
            4..=7 => self.end(false),
            8 => {
                let node = self.plans[self.below(2)].0;
                self.run(|machine, _, effects| machine.withdraw(node, lane, effects));
            }
            9 => self.take(),
            10 => {
                let partitions = self.below(PARTITIONS as usize + 1);
                self.assign(partitions as i32);
            }
            11 => {
                let (id, offset) = (self.some(), self.below(50) as i64);
                if let Some(name) = id.and_then(|id| self.world.machine.name(id).cloned()) {
                    self.run(|machine, now, effects| {
                        machine.seek(now, &name, offset, effects).expect("assigned");
                    });
                }
            }
            12 => {
                let (id, paused) = (self.some(), self.below(2) == 0);
                if let Some(name) = id.and_then(|id| self.world.machine.name(id).cloned()) {
                    self.run(|machine, _, effects| {
                        machine.pause([&name], paused, effects).expect("assigned");
                    });
                }
            }
            13 => self.pass(),
            14 => {
                if let Some(id) = self.some() {
                    self.run(|machine, _, effects| machine.leaders_changed([id], effects));
                    self.forget_plans();
                }
            }
            _ => self.find_positions(),
        }
    }

    fn forget_plans(&mut self) {
        for (_, candidates, _) in &mut self.plans {
            *candidates = Candidates::default();
        }
        self.replan();
    }

    /// Time goes on to whatever is due next: ends of pauses, and of leases of followers.
    fn pass(&mut self) {
        if let Some(at) = self.world.machine.poll_timeout() {
            self.world.now = self.world.now.max(at);
            self.run(|machine, now, effects| machine.timeout(now, effects));
        }
    }

    fn find_positions(&mut self) {
        for lookup in std::mem::take(&mut self.world.lookups) {
            self.run(|machine, _, effects| {
                machine.position_found([(lookup.partition, lookup.epoch, 0)], effects);
            });
        }
    }

    /// From now on all goes well; whatever can be asked for is, again and again.
    fn settle(&mut self, seed: u64) {
        let mut never: Vec<PartitionId> = Vec::new();
        for round in 0..40 {
            self.find_positions();
            // data that the application does not take holds its node up
            self.take();
            self.take();
            while !self.live.is_empty() && self.below(4) > 0 {
                self.end(true);
            }
            if round < 20 {
                self.pass();
                never.clone_from(&self.world.ids);
            }
            for node in 0..2 {
                for lane in Lane::ALL {
                    self.offer(node, lane);
                }
            }
            let machine = &self.world.machine;
            never.retain(|&id| {
                !matches!(machine.reason(id), Some(Reason::InFlight | Reason::Paused))
            });
        }
        if let Some(&id) = never.first() {
            let partition = self.world.machine.partitions.get(id);
            let reason = self.world.machine.reason(id);
            panic!(
                "seed {seed}: {reason:?}, {partition:#?} {:#?}",
                self.world.machine.nodes
            );
        }
    }
}

#[test]
fn whatever_happens_the_next_request_is_what_a_look_at_everything_finds() {
    for seed in 0..3000 {
        let mut walk = Walk::new(seed);
        for _ in 0..200 {
            walk.step();
        }
        walk.settle(seed);
    }
}
