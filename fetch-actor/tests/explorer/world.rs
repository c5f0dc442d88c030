//! The data path in one value: the real machines, their mailboxes, the brokers, and the application.
//!
//! Who does what is one of four parts, each an `impl` of [`World`]: the [buffer and planner](crate::actors), the
//! [connections](crate::network), the [application](crate::events), and what must [hold](crate::checks).
//!
//! Every actor has one mailbox in which messages stand in the order in which they were sent, and an actor is free to look at
//! it when it likes: that is what actix gives. Sessions have none here. They talk to nobody but through a connection, and a slow
//! mailbox looks no different from a slow connection. What the application or a timer does to the buffer is done at once:
//! it may happen at any moment, so it need not also wait in a mailbox.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::machine::BufferMachine;
use buffer_actor::{
    Ask, Backoff, BufferConfig, Candidates, Derived, FetchEpoch, Grant, Lane, MaxWait, NodeId,
    Outcome, PartitionId, ResetPolicy, Sought, TakeRequest, TicketId,
};
use fetch_actor::machine::PlannerMachine;
use record_batch::TopicPartition;
use session_actor::fetch_session::{AnswerHead, FetchSession, SessionState};
use session_actor::machine::SessionConfig;
use session_actor::wire::Address;
use session_actor::{ClusterSnapshot, PartitionLeader, Topic, TopicMetadata};
use uuid::Uuid;

use crate::broker::{Broker, Logs, NODES, PARTITIONS};
use crate::data::{Data, Held};
use crate::events::{Allowance, Allowances};
use crate::fingerprint::{Fingerprint, Shared};
use crate::lane::LaneActor;
use crate::notes::Notes;
use crate::reader::{Reader, Table};
use crate::scenario::Scenario;

/// `fetch.max.wait.ms`.
pub(crate) const FETCH_MAX_WAIT: Duration = Duration::from_millis(500);

/// What the buffer finds in its mailbox.
#[derive(Debug, Clone, Hash)]
pub(crate) enum ToBuffer {
    Reserve(NodeId, Lane, u64, Candidates, bool),
    Withdraw(NodeId, Lane),
    LeadersChanged(Vec<PartitionId>),
    Done(TicketId, Outcome<Data>, u64),
    /// A ticket was dropped unused.
    Abandoned(TicketId),
    NeedMore(TicketId, u64),
    Take(TakeRequest<Data>),
    MemoryReleased,
}

/// What the planner finds in its mailbox.
#[derive(Debug, Clone, Hash)]
pub(crate) enum ToPlanner {
    Granted(Grant),
    Assignment(Vec<(PartitionId, TopicPartition)>, Vec<PartitionId>),
    Snapshot(Arc<ClusterSnapshot>),
    Idle(NodeId, Lane, SessionState),
    Unavailable(NodeId, Lane),
}

/// Where the right to a request is (I4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    ToPlanner,
    Planner,
    Session,
    ToBuffer,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LiveTicket {
    pub(crate) id: TicketId,
    pub(crate) place: Place,
    pub(crate) node: NodeId,
    pub(crate) lane: Lane,
    pub(crate) asks: [Option<Ask>; PARTITIONS],
    pub(crate) excused: [bool; PARTITIONS],
}

/// A fault put into the world, where the machines cannot be asked to make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Sessions tell the planner before the buffer (I7).
    IdleBeforeDone,
    /// The forgotten list does not reach the broker.
    ForgottenNotSent,
    /// An abandoned ticket does not come back to the buffer.
    TicketLost,
}

/// What does not change in a run.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) scenario: Scenario,
    pub(crate) fault: Option<Fault>,
    topic: Arc<Topic>,
    names: [TopicPartition; PARTITIONS],
    /// A session of each lane whose counters begin in a range of their own.
    sessions: Vec<FetchSession>,
    session_config: SessionConfig,
    addresses: [Address; NODES],
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) frame: Rc<Frame>,
    pub(crate) notes: Rc<Notes>,
    /// What happens is said here, for a reader of a violation.
    pub(crate) trace: Option<Rc<RefCell<Vec<String>>>>,
    pub(crate) now: Instant,
    pub(crate) buffer: Shared<BufferMachine<Data>>,
    pub(crate) planner: Shared<PlannerMachine>,
    pub(crate) lanes: [Option<Shared<LaneActor>>; 4],
    pub(crate) to_buffer: VecDeque<ToBuffer>,
    pub(crate) to_planner: VecDeque<ToPlanner>,
    pub(crate) logs: Logs,
    pub(crate) brokers: [Broker; NODES],
    pub(crate) reader: Reader,
    pub(crate) table: Table,
    pub(crate) tickets: Vec<LiveTicket>,
    /// Memory of replies that is alive.
    pub(crate) held: Vec<Held>,
    /// Bytes released that the buffer does not know of yet.
    pub(crate) released: u64,
    /// The buffer wants to be told of the next release.
    pub(crate) wanted: bool,
    /// Records alive, bytes by partition.
    pub(crate) alive: [u64; PARTITIONS],
    /// Positions being looked up.
    pub(crate) lookups: Vec<(PartitionId, FetchEpoch, Sought)>,
    /// Committed positions being looked up.
    pub(crate) committed: Vec<(PartitionId, FetchEpoch)>,
    /// Leaders that the planner was last told.
    pub(crate) told_leaders: [Option<usize>; PARTITIONS],
    pub(crate) refresh_wanted: bool,
    /// The last answer for the partition was an error.
    pub(crate) troubled: [bool; PARTITIONS],
    /// Became fetchable, and was not asked for since.
    pub(crate) owed: [bool; PARTITIONS],
    /// Lane 2 failed to ask for it, and nothing did since.
    pub(crate) left_to_lane_1: [bool; PARTITIONS],
    pub(crate) left: Allowances,
    /// There is something for the application that is not in the buffer, and no poll looked since.
    pub(crate) elsewhere: bool,
    /// Replies made so far.
    pub(crate) replies: u64,
    pub(crate) violation: Option<String>,
}

/// Counters begin here, each kind in a range of its own, so that one kind's growth does not change another's order.
const FIRST_EPOCH: u32 = 8_000;
const FIRST_REPLY: u64 = 20_000;
const FIRST_TAKE: u64 = 28_000;
const FIRST_WORD: u64 = 34_000;
const FIRST_REQUEST: u32 = 36_000;
const REQUESTS: u32 = 6_000;

pub(crate) const fn node_id(node: usize) -> NodeId {
    NodeId(100_001 + node as i32)
}

pub(crate) const fn node_of(id: NodeId) -> usize {
    (id.0 - 100_001) as usize
}

pub(crate) const FIRST_LEADER_EPOCH: i32 = 200_000;

impl Frame {
    fn new(scenario: Scenario, fault: Option<Fault>) -> Self {
        let topic = Arc::new(Topic {
            name: "t".into(),
            id: Uuid::from_u128(1 << 100),
        });
        let name: Arc<str> = Arc::clone(&topic.name);
        Self {
            fault,
            names: [0, 1].map(|partition| TopicPartition::new(Arc::clone(&name), partition)),
            topic,
            sessions: (0..4).map(session).collect(),
            session_config: SessionConfig {
                fetch_max_wait: FETCH_MAX_WAIT,
                request_timeout: REQUEST_TIMEOUT,
                reconnect: NO_PAUSE,
                max_idle: None,
            },
            addresses: [9_001, 9_002].map(|port| Address::new("broker", port)),
            scenario,
        }
    }

    pub(crate) fn name(&self, partition: usize) -> &TopicPartition {
        &self.names[partition]
    }

    pub(crate) fn topic_id(&self) -> Uuid {
        self.topic.id
    }

    pub(crate) fn lane(&self, index: usize) -> LaneActor {
        LaneActor::new(self.session_config.clone(), self.sessions[index].clone())
    }
}

/// Pauses end at the moment at which they begin, so that time need not pass for them; [`Event::Fire`](crate::events::Event)
/// says when.
const NO_PAUSE: Backoff = Backoff {
    base: Duration::ZERO,
    max: Duration::ZERO,
};
const REQUEST_TIMEOUT: Duration = Duration::from_secs(100_000);

fn session(index: u32) -> FetchSession {
    let mut session = if index.is_multiple_of(2) {
        FetchSession::incremental()
    } else {
        FetchSession::sessionless()
    };
    let now = moment();
    let head = AnswerHead {
        error_code: 0,
        session_id: 1,
        throttled: false,
    };
    let (nothing, table) = (nothing(), Arc::default());
    for _ in 0..FIRST_REQUEST + index * REQUESTS {
        session.build(now, &nothing, &table, true);
        session.receive(now, head, []);
        session.close();
    }
    session
}

fn nothing() -> Grant {
    Grant {
        ticket: TicketId(0),
        node: NodeId(0),
        lane: Lane::Session,
        plan: 0,
        max_wait: MaxWait::Full,
        max_bytes: 0,
        reserved: 0,
        asks: Arc::default(),
        changes: Derived::default(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test needs some moment to begin with"
)]
fn moment() -> Instant {
    thread_local! {
        static BEGIN: Instant = Instant::now();
    }
    BEGIN.with(|begin| *begin)
}

impl World {
    /// The scenario's partitions are assigned, and the planner will learn of it and of the cluster.
    pub(crate) fn new(scenario: Scenario, fault: Option<Fault>, notes: Rc<Notes>) -> Self {
        let config = BufferConfig {
            buffer_memory: scenario.memory,
            fetch_min_bytes: 1,
            fetch_max_bytes: 50 << 20,
            max_partition_fetch_bytes: scenario.partition_max,
            retry: NO_PAUSE,
            request_timeout: REQUEST_TIMEOUT,
            metadata_max_age: Duration::from_secs(300),
            unasked_limit: REQUEST_TIMEOUT,
            reset: ResetPolicy::Earliest,
            policy: scenario.policy,
        };
        let mut buffer = BufferMachine::new(config, 1);
        // nobody knows these: the epochs that they take are what counts
        let strangers = (0..FIRST_EPOCH).map(|slot| PartitionId::new(slot, 0));
        buffer.leaders_changed(strangers, &mut Vec::new());
        let mut world = Self {
            notes,
            trace: None,
            now: moment(),
            buffer: Shared::new(buffer),
            planner: Shared::new(PlannerMachine::new(scenario.policy.uses_quick_lane())),
            lanes: [const { None }; 4],
            to_buffer: VecDeque::new(),
            to_planner: VecDeque::new(),
            logs: Logs {
                batches: scenario.batches,
                sizes: scenario.sizes,
                leaders: scenario.leaders,
                leader_epochs: [FIRST_LEADER_EPOCH; PARTITIONS],
            },
            brokers: Default::default(),
            reader: Reader::new(FIRST_TAKE),
            table: Table {
                entries: [None; PARTITIONS],
                retired: [None; PARTITIONS],
                word: FIRST_WORD,
            },
            tickets: Vec::new(),
            held: Vec::new(),
            released: 0,
            wanted: false,
            alive: [0; PARTITIONS],
            lookups: Vec::new(),
            committed: Vec::new(),
            told_leaders: [None; PARTITIONS],
            refresh_wanted: false,
            troubled: [false; PARTITIONS],
            owed: [false; PARTITIONS],
            left_to_lane_1: [false; PARTITIONS],
            left: scenario.allowances,
            replies: FIRST_REPLY,
            elsewhere: false,
            violation: None,
            frame: Rc::new(Frame::new(scenario, fault)),
        };
        world.send_snapshot(None);
        world.assign(scenario.assigned.map(|is| is.then_some(scenario.start)));
        if scenario.warm {
            world.settle();
        }
        world
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        let mut print = Fingerprint::new();
        print.part(&self.buffer);
        print.part(&self.planner);
        for lane in &self.lanes {
            print.value(&lane.is_some());
            if let Some(lane) = lane {
                print.part(lane);
            }
        }
        print.value(&self.now);
        print.value(&self.to_buffer);
        print.value(&self.to_planner);
        print.value(&self.logs);
        print.value(&self.brokers);
        print.value(&self.reader);
        print.value(&self.table);
        print.value(&self.tickets);
        print.value(&self.held);
        print.value(&(self.released, self.wanted, self.refresh_wanted));
        print.value(&(&self.lookups, &self.committed));
        print.value(&self.told_leaders);
        print.value(&(self.troubled, self.owed, self.elsewhere));
        print.value(&self.left_to_lane_1);
        print.value(&self.left);
        print.finish()
    }

    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().push(text());
        }
    }

    pub(crate) fn violated(&mut self, text: String) {
        self.violation.get_or_insert(text);
    }

    /// Sessions opened from now on have a fault: they do not remember that they were touched.
    pub(crate) fn forget_touches(&mut self) {
        if let Some(frame) = Rc::get_mut(&mut self.frame) {
            for session in &mut frame.sessions {
                session.forget_touches();
            }
        }
    }

    /// Metadata tells the planner what the cluster looks like; the leader of `unknown` is being elected.
    pub(crate) fn send_snapshot(&mut self, unknown: Option<usize>) {
        let leader =
            |partition: usize| (Some(partition) != unknown).then(|| self.logs.leaders[partition]);
        let leaders = [leader(0), leader(1)];
        let partitions = (0..PARTITIONS)
            .map(|partition| PartitionLeader {
                node: leaders[partition].map(node_id),
                epoch: self.logs.leader_epochs[partition],
            })
            .collect();
        let topic = &self.frame.topic;
        let metadata = TopicMetadata {
            topic: Arc::clone(topic),
            partitions,
            replicas: Arc::default(),
            internal: false,
        };
        let snapshot = ClusterSnapshot {
            brokers: (0..NODES)
                .map(|node| (node_id(node), self.frame.addresses[node].clone()))
                .collect(),
            topics: [(Arc::clone(&topic.name), metadata)].into(),
            ..ClusterSnapshot::default()
        };
        self.refresh_wanted = false;
        self.told_leaders = leaders;
        self.to_planner
            .push_back(ToPlanner::Snapshot(Arc::new(snapshot)));
    }

    /// Whether the planner was told of everything about leaders.
    pub(crate) fn leaders_are_told(&self) -> bool {
        (0..PARTITIONS)
            .all(|partition| self.told_leaders[partition] == Some(self.logs.leaders[partition]))
    }

    /// Answers that reached the consumer.
    pub(crate) const fn responses(&self) -> u64 {
        self.replies - FIRST_REPLY
    }

    pub(crate) fn partition_of(&self, id: PartitionId) -> Option<usize> {
        self.table
            .entries
            .iter()
            .position(|entry| entry.is_some_and(|entry| entry.id == id))
    }

    pub(crate) fn lane_at(&self, index: usize) -> Option<&LaneActor> {
        self.lanes[index].as_ref().map(Shared::get)
    }

    /// Uses up one of what a scenario allows.
    pub(crate) fn spend(&mut self, allowance: Allowance) {
        let left = &mut self.left.0[allowance as usize];
        *left = left.saturating_sub(1);
    }
}
