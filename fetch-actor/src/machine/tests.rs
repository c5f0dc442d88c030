//! Tables and scripts: what the planner is told, and what it makes of it.

mod lanes;
mod offers;
mod replicas;
mod touch;

use buffer_actor::{Ask, Derived, FetchEpoch, MaxWait};
use session_actor::{PartitionLeader, Topic, TopicMetadata};
use uuid::Uuid;

use super::*;

const ONE: NodeId = NodeId(1);
const TWO: NodeId = NodeId(2);

/// The planner, a clock, and how the cluster looks.
struct World {
    machine: PlannerMachine,
    now: Instant,
    cluster: ClusterSnapshot,
    tickets: u64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test needs some moment to begin with"
)]
fn start() -> Instant {
    Instant::now()
}

fn id(partition: i32) -> PartitionId {
    PartitionId::new(partition as u32, 1)
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn address(port: u16) -> Address {
    Address::new("broker", port)
}

impl World {
    /// Two nodes, and a topic whose partitions are led by these.
    fn new(leaders: &[NodeId]) -> Self {
        let mut world = Self {
            machine: PlannerMachine::new(true),
            now: start(),
            cluster: ClusterSnapshot::default(),
            tickets: 0,
        };
        world.cluster.brokers = [(ONE, address(9001)), (TWO, address(9002))].into();
        world.lead(leaders);
        world
    }

    fn lead(&mut self, leaders: &[NodeId]) {
        let leaders: Vec<_> = leaders.iter().map(|&node| (Some(node), 5)).collect();
        self.lead_since(&leaders);
    }

    /// Leaders with the epochs since which they lead.
    fn lead_since(&mut self, leaders: &[(Option<NodeId>, i32)]) {
        let partitions = leaders
            .iter()
            .map(|&(node, epoch)| PartitionLeader { node, epoch })
            .collect();
        let topic = TopicMetadata {
            topic: Arc::new(Topic {
                name: "t".into(),
                id: Uuid::from_u128(1),
            }),
            partitions,
            replicas: Arc::default(),
            internal: false,
        };
        self.cluster.topics = [("t".into(), topic)].into();
    }

    /// Both known: the cluster, and partitions 0 to before this one.
    fn assigned(leaders: &[NodeId]) -> Self {
        let mut world = Self::new(leaders);
        world.snapshot();
        world.assign(0..leaders.len() as i32);
        world
    }

    fn run(
        &mut self,
        event: impl FnOnce(&mut PlannerMachine, Instant, &mut Vec<Effect>),
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        event(&mut self.machine, self.now, &mut effects);
        effects
    }

    fn snapshot(&mut self) -> Vec<Effect> {
        let snapshot = Arc::new(self.cluster.clone());
        self.run(|machine, now, effects| machine.snapshot(now, snapshot, effects))
    }

    fn assign(&mut self, partitions: impl IntoIterator<Item = i32>) -> Vec<Effect> {
        let added = partitions.into_iter().map(|p| (id(p), tp(p))).collect();
        self.run(|machine, now, effects| machine.assignment(now, added, &[], effects))
    }

    fn unassign(&mut self, partition: i32) -> Vec<Effect> {
        self.run(|machine, now, effects| {
            machine.assignment(now, Vec::new(), &[id(partition)], effects);
        })
    }

    /// What the buffer would grant for the newest plan of the node.
    fn grant(&mut self, node: NodeId, lane: Lane) -> Grant {
        self.tickets += 1;
        let plan = self.machine.nodes.get(&node).map_or(0, |node| node.plan);
        Grant {
            ticket: TicketId(self.tickets),
            node,
            lane,
            plan,
            max_wait: MaxWait::Full,
            max_bytes: 1000,
            reserved: 1500,
            asks: Arc::new(vec![Ask {
                partition: id(0),
                epoch: FetchEpoch(1),
                offset: 0,
                leader_epoch: 5,
                max_bytes: 1000,
                parked: false,
                served: 0,
            }]),
            changes: Derived::default(),
        }
    }

    fn granted(&mut self, grant: Grant) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.granted(now, grant, effects))
    }

    /// Makes a lane busy.
    fn busy(&mut self, node: NodeId, lane: Lane) {
        let grant = self.grant(node, lane);
        let effects = self.granted(grant);
        assert!(
            matches!(effects.last(), Some(Effect::Start(..))),
            "{effects:?}"
        );
    }

    fn idle(&mut self, node: NodeId, lane: Lane) -> Vec<Effect> {
        self.idle_in(node, lane, SessionState::Live)
    }

    fn idle_in(&mut self, node: NodeId, lane: Lane, session: SessionState) -> Vec<Effect> {
        self.run(|machine, now, effects| machine.idle(now, node, lane, session, effects))
    }

    fn unavailable(&mut self, node: NodeId, lane: Lane) -> Vec<Effect> {
        self.run(|machine, _, effects| machine.unavailable(node, lane, effects))
    }

    /// Lets time pass up to the next deadline.
    fn wait(&mut self) -> Vec<Effect> {
        self.now = self.machine.poll_timeout().expect("a deadline");
        self.run(|machine, now, effects| machine.timeout(now, effects))
    }
}

/// An effect in short: lanes by number, partitions by slot.
fn short(effect: &Effect) -> String {
    let number = |lane: &Lane| *lane as usize + 1;
    match effect {
        Effect::Reserve {
            node,
            lane,
            candidates,
            ..
        } => {
            let slots: Vec<usize> = candidates.iter().map(|one| one.partition.slot()).collect();
            format!("reserve {node}/{} {slots:?}", number(lane))
        }
        Effect::Withdraw(node, lane) => format!("withdraw {node}/{}", number(lane)),
        Effect::LeadersChanged(moved) => {
            let slots: Vec<usize> = moved.iter().map(|id| id.slot()).collect();
            format!("moved {slots:?}")
        }
        Effect::Abandon(ticket) => format!("abandon {}", ticket.0),
        Effect::Open(node, lane, address) => {
            format!("open {node}/{} {}", number(lane), address.port())
        }
        Effect::Close(node, lane) => format!("close {node}/{}", number(lane)),
        Effect::Start(node, lane, Job::Fetch(grant), _) => {
            format!("fetch {node}/{} {}", number(lane), grant.ticket.0)
        }
        Effect::Start(node, lane, Job::Touch, _) => format!("touch {node}/{}", number(lane)),
        Effect::RefreshMetadata => "refresh".into(),
    }
}

fn all(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(short).collect()
}
