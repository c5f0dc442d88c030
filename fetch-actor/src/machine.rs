//! The planner as a pure machine: which partitions each node is asked for, which of its lanes are free, and what is offered to the
//! buffer. It never decides what goes into a request: it offers an idle lane with the node's partitions, and sends exactly what
//! the buffer grants.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Candidate, Candidates, Grant, Lane, NodeId, PartitionId, TicketId};
use record_batch::TopicPartition;
use session_actor::fetch_session::SessionState;
use session_actor::machine::Job;
use session_actor::wire::Address;
use session_actor::{ClusterSnapshot, Located, PartitionTable};

/// A broker may give away the slot of a session that was not used for 120 s (KIP-227). One untouched for half of that is
/// touched.
const TOUCH_AFTER: Duration = Duration::from_secs(60);

/// What the planner tells others, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// To the buffer: this idle lane may be used for these partitions.
    Reserve {
        /// The node.
        node: NodeId,
        /// Its lane.
        lane: Lane,
        /// Names this list of candidates.
        plan: u64,
        /// What the node leads.
        candidates: Candidates,
        /// The node has refused a session.
        refused: bool,
    },
    /// To the buffer: the offer does not hold any more.
    Withdraw(NodeId, Lane),
    /// To the buffer: these have a new leader; what is in flight to the old one is void.
    LeadersChanged(Vec<PartitionId>),
    /// To the buffer: a grant is not used.
    Abandon(TicketId),
    /// Begin a lane; it is idle.
    Open(NodeId, Lane, Address),
    /// End a lane, and its session at the broker.
    Close(NodeId, Lane),
    /// To the lane: do this. The table has the names of what the grant speaks of.
    Start(NodeId, Lane, Job, Arc<PartitionTable>),
    /// To metadata: an assigned partition has no leader, or its leader no address.
    RefreshMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Assigned {
    name: TopicPartition,
    leader: Option<(NodeId, i32)>,
    /// The follower that is to be read from (KIP-392), if metadata has it.
    replica: Option<NodeId>,
    /// The buffer waits for the node that is asked for it to be offered anew.
    anew: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Node {
    address: Option<Address>,
    plan: u64,
    candidates: Candidates,
    lanes: [LaneState; 2],
    /// When lane 1 was last used.
    used: Instant,
    /// What lane 1 has at the broker.
    session: SessionState,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LaneState {
    opened: bool,
    phase: Phase,
    /// The plan that is offered to the buffer now, if any.
    offered: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// A request is out.
    Busy,
    /// A touch is out; a grant that came meanwhile.
    Touching(Option<Grant>),
    /// In a reconnect pause.
    Unavailable,
}

/// See the [module's documentation](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlannerMachine {
    uses_quick_lane: bool,
    snapshot: Arc<ClusterSnapshot>,
    /// By slot.
    assigned: BTreeMap<PartitionId, Assigned>,
    table: Arc<PartitionTable>,
    nodes: BTreeMap<NodeId, Node>,
    plans: u64,
}

impl PlannerMachine {
    /// Nothing assigned, nothing known of the cluster. `uses_quick_lane`: see [`Policy`](buffer_actor::Policy).
    pub fn new(uses_quick_lane: bool) -> Self {
        Self {
            uses_quick_lane,
            snapshot: Arc::default(),
            assigned: BTreeMap::new(),
            table: Arc::default(),
            nodes: BTreeMap::new(),
            plans: 0,
        }
    }

    /// The buffer tells what is assigned.
    pub fn assignment(
        &mut self,
        now: Instant,
        added: Vec<(PartitionId, TopicPartition)>,
        removed: &[PartitionId],
        effects: &mut Vec<Effect>,
    ) {
        for id in removed {
            self.assigned.remove(id);
        }
        for (id, name) in added {
            let assigned = Assigned {
                name,
                leader: None,
                replica: None,
                anew: false,
            };
            self.assigned.insert(id, assigned);
        }
        self.replan(now, effects);
    }

    /// The buffer tells from which replica partitions are to be read; `None`: from the leader. It asks nobody for them until they are
    /// offered anew, by whatever node. One answer may redirect thousands of partitions: they come together, since each plan looks at all
    /// that is assigned.
    pub fn read_from(
        &mut self,
        now: Instant,
        redirected: &[(PartitionId, Option<NodeId>)],
        effects: &mut Vec<Effect>,
    ) {
        let mut any = false;
        for &(id, replica) in redirected {
            if let Some(assigned) = self.assigned.get_mut(&id) {
                assigned.replica = replica;
                assigned.anew = true;
                any = true;
            }
        }
        if any {
            self.replan(now, effects);
        }
    }

    /// Metadata tells what the cluster looks like.
    pub fn snapshot(
        &mut self,
        now: Instant,
        snapshot: Arc<ClusterSnapshot>,
        effects: &mut Vec<Effect>,
    ) {
        self.snapshot = snapshot;
        self.replan(now, effects);
    }

    /// Brings leaders, candidates, lanes and offers in line with assignment and snapshot.
    fn replan(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let mut moved = Vec::new();
        let mut leaderless = false;
        let mut renewed = BTreeSet::new();
        let mut by_node: BTreeMap<NodeId, Vec<Candidate>> = BTreeMap::new();
        let mut table = PartitionTable::default();
        for (&id, assigned) in &mut self.assigned {
            let name = &assigned.name;
            let known = self.snapshot.leader(name.topic(), name.partition());
            // a partition in the middle of an election keeps its last leader: it is asked until the new one is known
            if let Some((node, epoch)) = known {
                if assigned.leader.is_some_and(|(former, _)| former != node) {
                    moved.push(id);
                    assigned.replica = None;
                }
                assigned.leader = Some((node, epoch));
            } else {
                leaderless = true;
            }
            // without the topic's id no request can name it
            let Some(topic) = self.snapshot.topics.get(name.topic()) else {
                continue;
            };
            table.insert(Located {
                partition: id,
                topic: Arc::clone(&topic.topic),
                index: name.partition(),
            });
            if let Some((leader, leader_epoch)) = assigned.leader {
                let brokers = &self.snapshot.brokers;
                let replica = assigned.replica.filter(|node| brokers.contains_key(node));
                // the replica that was named may be one that came since
                leaderless |= replica != assigned.replica;
                let node = replica.unwrap_or(leader);
                if std::mem::take(&mut assigned.anew) {
                    renewed.insert(node);
                }
                by_node.entry(node).or_default().push(Candidate {
                    partition: id,
                    leader_epoch,
                });
            }
        }
        if *self.table != table {
            self.table = Arc::new(table);
        }
        if !moved.is_empty() {
            effects.push(Effect::LeadersChanged(moved));
        }
        let gone: Vec<NodeId> = self
            .nodes
            .keys()
            .filter(|node| !by_node.contains_key(node))
            .copied()
            .collect();
        for node in gone {
            self.remove_node(node, effects);
        }
        for (id, candidates) in by_node {
            let anew = renewed.contains(&id);
            leaderless |= !self.plan_node(now, id, candidates, anew, effects);
        }
        if leaderless {
            effects.push(Effect::RefreshMetadata);
        }
    }

    /// Returns whether the node can be asked, as far as its address goes.
    fn plan_node(
        &mut self,
        now: Instant,
        id: NodeId,
        candidates: Vec<Candidate>,
        anew: bool,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let address = self.snapshot.brokers.get(&id).cloned();
        let address_changed = self
            .nodes
            .get(&id)
            .is_some_and(|node| address.is_some() && node.address != address);
        if address_changed {
            self.remove_node(id, effects);
        }
        let node = self.nodes.entry(id).or_insert_with(|| Node {
            address: None,
            plan: 0,
            candidates: Candidates::default(),
            lanes: [LaneState::new(), LaneState::new()],
            used: now,
            session: SessionState::None,
        });
        if address.is_some() {
            node.address = address;
        }
        if anew || *node.candidates != *candidates {
            self.plans += 1;
            node.plan = self.plans;
            node.candidates = candidates.into();
        }
        let reachable = node.address.is_some();
        self.offer(id, effects);
        reachable
    }

    fn remove_node(&mut self, id: NodeId, effects: &mut Vec<Effect>) {
        let Some(node) = self.nodes.remove(&id) else {
            return;
        };
        for (lane, state) in Lane::ALL.into_iter().zip(node.lanes) {
            if state.offered.is_some() {
                effects.push(Effect::Withdraw(id, lane));
            }
            if let Phase::Touching(Some(grant)) = state.phase {
                effects.push(Effect::Abandon(grant.ticket));
            }
            if state.opened {
                effects.push(Effect::Close(id, lane));
            }
        }
    }

    /// Offers what is idle, with the newest plan; takes back what is not.
    fn offer(&mut self, id: NodeId, effects: &mut Vec<Effect>) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let lane_1_usable = node.lanes[0].phase != Phase::Unavailable && node.address.is_some();
        for lane in Lane::ALL {
            let state = &mut node.lanes[lane as usize];
            // a node that cannot be reached on lane 1 is not tried on lane 2
            let usable = match lane {
                Lane::Session => lane_1_usable,
                Lane::Quick => lane_1_usable && self.uses_quick_lane,
            };
            let idle = match &state.phase {
                Phase::Idle | Phase::Touching(None) => true,
                Phase::Busy | Phase::Touching(Some(_)) | Phase::Unavailable => false,
            };
            if usable && idle {
                if state.offered != Some(node.plan) {
                    state.offered = Some(node.plan);
                    effects.push(Effect::Reserve {
                        node: id,
                        lane,
                        plan: node.plan,
                        candidates: Arc::clone(&node.candidates),
                        refused: node.session == SessionState::Refused,
                    });
                }
            } else if state.offered.take().is_some() {
                effects.push(Effect::Withdraw(id, lane));
            }
        }
    }

    /// The buffer granted a request. One for an offer that does not hold any more is given back.
    pub fn granted(&mut self, now: Instant, grant: Grant, effects: &mut Vec<Effect>) {
        let (id, lane) = (grant.node, grant.lane);
        let Some(node) = self.nodes.get_mut(&id) else {
            effects.push(Effect::Abandon(grant.ticket));
            return;
        };
        let state = &mut node.lanes[lane as usize];
        let current = state.offered.is_some() && grant.plan == node.plan;
        if !current {
            // the offer that replaced it stands at the buffer, and is looked at when the ticket is back
            effects.push(Effect::Abandon(grant.ticket));
            return;
        }
        state.offered = None;
        match &mut state.phase {
            Phase::Touching(held) => *held = Some(grant),
            Phase::Idle => {
                state.phase = Phase::Busy;
                if lane == Lane::Session {
                    node.used = now;
                }
                Self::open(id, lane, node, effects);
                effects.push(Effect::Start(
                    id,
                    lane,
                    Job::Fetch(grant),
                    Arc::clone(&self.table),
                ));
            }
            Phase::Busy | Phase::Unavailable => effects.push(Effect::Abandon(grant.ticket)),
        }
    }

    fn open(id: NodeId, lane: Lane, node: &mut Node, effects: &mut Vec<Effect>) {
        let state = &mut node.lanes[lane as usize];
        if let Some(address) = &node.address
            && !state.opened
        {
            state.opened = true;
            effects.push(Effect::Open(id, lane, address.clone()));
        }
    }

    /// A lane may be given its next request.
    pub fn idle(
        &mut self,
        now: Instant,
        id: NodeId,
        lane: Lane,
        session: SessionState,
        effects: &mut Vec<Effect>,
    ) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        if lane == Lane::Session {
            node.session = session;
        }
        let state = &mut node.lanes[lane as usize];
        match std::mem::replace(&mut state.phase, Phase::Idle) {
            Phase::Touching(Some(grant)) if grant.plan == node.plan => {
                state.phase = Phase::Busy;
                node.used = now;
                let job = Job::Fetch(grant);
                effects.push(Effect::Start(id, lane, job, Arc::clone(&self.table)));
            }
            Phase::Touching(Some(grant)) => effects.push(Effect::Abandon(grant.ticket)),
            _ => {}
        }
        self.offer(id, effects);
    }

    /// A lane cannot be used until it says that it is idle.
    pub fn unavailable(&mut self, id: NodeId, lane: Lane, effects: &mut Vec<Effect>) {
        // Only what was given something to do can fail. A lane that was closed may have failed before it heard of it, and the
        // one that took its place has not: it would never say that it is idle.
        let is_idle = |node: &Node| node.lanes[lane as usize].phase == Phase::Idle;
        if self.nodes.get(&id).is_none_or(is_idle) {
            return;
        }
        self.end(id, lane, Phase::Unavailable, effects);
    }

    /// A lane ended that was not closed: its actor failed. A fresh one is opened with the next request.
    pub fn lost(&mut self, id: NodeId, lane: Lane, effects: &mut Vec<Effect>) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.lanes[lane as usize].opened = false;
        }
        self.end(id, lane, Phase::Idle, effects);
    }

    /// What a lane had in hand is over, and its session with it.
    fn end(&mut self, id: NodeId, lane: Lane, phase: Phase, effects: &mut Vec<Effect>) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        if lane == Lane::Session {
            node.session = SessionState::None;
        }
        let state = &mut node.lanes[lane as usize];
        if let Phase::Touching(Some(grant)) = std::mem::replace(&mut state.phase, phase) {
            effects.push(Effect::Abandon(grant.ticket));
        }
        self.offer(id, effects);
    }

    /// The next moment at which [`timeout`](Self::timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.nodes
            .values()
            .filter(|node| node.session == SessionState::Live && node.lanes[0].phase == Phase::Idle)
            .map(|node| node.used + TOUCH_AFTER)
            .min()
    }

    /// Time has passed: sessions that rested too long are touched. Their offers stand meanwhile.
    pub fn timeout(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        for (&id, node) in &mut self.nodes {
            let state = &mut node.lanes[Lane::Session as usize];
            let due = node.session == SessionState::Live && node.used + TOUCH_AFTER <= now;
            if due && state.phase == Phase::Idle {
                state.phase = Phase::Touching(None);
                node.used = now;
                effects.push(Effect::Start(
                    id,
                    Lane::Session,
                    Job::Touch,
                    Arc::clone(&self.table),
                ));
            }
        }
    }

    /// Whether a lane has a request or a touch out.
    pub fn is_busy(&self, id: NodeId, lane: Lane) -> bool {
        self.nodes.get(&id).is_some_and(|node| {
            matches!(
                node.lanes[lane as usize].phase,
                Phase::Busy | Phase::Touching(_)
            )
        })
    }
}

impl LaneState {
    const fn new() -> Self {
        Self {
            opened: false,
            phase: Phase::Idle,
            offered: None,
        }
    }
}
