//! What can go wrong between a consumer and its brokers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use test_broker::{ApiKey, Error, Fault, ResponseError, TestBroker};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{CONSUMER, Checker, NODES, PARTITIONS, TOPIC};
use crate::network::host_of;
use crate::world::{Net, TICK};

/// What a Fetch may say of a partition that is there, for a while.
const OF_PARTITION: [ResponseError; 12] = [
    ResponseError::NotLeaderOrFollower,
    ResponseError::FencedLeaderEpoch,
    ResponseError::UnknownLeaderEpoch,
    ResponseError::UnknownTopicOrPartition,
    ResponseError::UnknownTopicId,
    ResponseError::InconsistentTopicId,
    ResponseError::OffsetNotAvailable,
    ResponseError::KafkaStorageError,
    ResponseError::ReplicaNotAvailable,
    ResponseError::UnknownServerError,
    ResponseError::CorruptMessage,
    ResponseError::TopicAuthorizationFailed,
];

/// What a Fetch may say of itself.
const OF_FETCH: [ResponseError; 4] = [
    ResponseError::FetchSessionIdNotFound,
    ResponseError::InvalidFetchSessionEpoch,
    ResponseError::FetchSessionTopicIdError,
    ResponseError::UnknownServerError,
];

/// What a lookup may be answered.
const OF_LOOKUP: [ResponseError; 6] = [
    ResponseError::NotLeaderOrFollower,
    ResponseError::UnknownLeaderEpoch,
    ResponseError::FencedLeaderEpoch,
    ResponseError::LeaderNotAvailable,
    ResponseError::KafkaStorageError,
    ResponseError::UnknownServerError,
];

const APIS: [ApiKey; 5] = [
    ApiKey::Fetch,
    ApiKey::Metadata,
    ApiKey::ListOffsets,
    ApiKey::OffsetForLeaderEpoch,
    ApiKey::ApiVersions,
];

/// Makes things go wrong, and right again by themselves.
pub(super) struct Faults {
    broker: TestBroker,
    net: Net,
    checker: Checker,
    /// Nothing lasts longer.
    end: Instant,
    /// Nodes that are down, frozen, cut off or held up; the others can be reached.
    troubled: Rc<RefCell<BTreeSet<i32>>>,
    down: Rc<RefCell<BTreeSet<i32>>>,
    /// Partitions without a leader.
    leaderless: Rc<RefCell<BTreeSet<i32>>>,
    recoveries: RefCell<JoinSet<Result<(), Error>>>,
}

impl Faults {
    pub(super) fn new(broker: TestBroker, net: Net, checker: Checker, end: Instant) -> Self {
        Self {
            broker,
            net,
            checker,
            end,
            troubled: Rc::default(),
            down: Rc::default(),
            leaderless: Rc::default(),
            recoveries: RefCell::default(),
        }
    }

    fn note(&self, what: impl std::fmt::Display) {
        self.checker.borrow_mut().journal.note(what);
    }

    /// Something goes wrong.
    pub(super) async fn one(&self, random: &mut fastrand::Rng) -> Result<(), Error> {
        match random.u8(0..16) {
            0 => self.kill(random).await?,
            1 => self.freeze(random)?,
            2..=3 => self.cut(random),
            4..=5 => self.hold(random),
            6..=7 => self.move_leader(random)?,
            8 => self.take_leader(random)?,
            9 => {
                let partition = random.i32(0..PARTITIONS);
                if !self.leaderless.borrow().contains(&partition) {
                    let epoch = self.broker.bump_leader_epoch(TOPIC, partition)?;
                    self.note(format_args!("{partition} has epoch {epoch}"));
                }
            }
            _ => {
                let fault = drawn(random);
                self.note(format_args!("{fault:?}"));
                self.broker.inject(fault);
            }
        }
        Ok(())
    }

    /// Everything is right again.
    pub(super) async fn end(self) -> Result<(), Error> {
        self.broker.clear_faults();
        let mut recoveries = self.recoveries.into_inner();
        while let Some(recovered) = recoveries.join_next().await {
            recovered.expect("a recovery does not panic")?;
        }
        Ok(())
    }

    fn time(&self, random: &mut fastrand::Rng, longest: u64) -> Duration {
        let time = Duration::from_millis(random.u64(50..longest));
        time.min(self.end.saturating_duration_since(Instant::now()))
    }

    /// A node that nothing is wrong with yet, and from now on something is.
    fn node(&self, random: &mut fastrand::Rng) -> Option<i32> {
        let mut troubled = self.troubled.borrow_mut();
        let node = random.choice(
            (1..=NODES)
                .filter(|node| !troubled.contains(node))
                .collect::<Vec<_>>(),
        )?;
        troubled.insert(node);
        Some(node)
    }

    fn later(
        &self,
        time: Duration,
        node: i32,
        recovery: impl Future<Output = Result<(), Error>> + 'static,
    ) {
        let (troubled, checker) = (Rc::clone(&self.troubled), Rc::clone(&self.checker));
        self.recoveries.borrow_mut().spawn_local(async move {
            sleep(time).await;
            recovery.await?;
            troubled.borrow_mut().remove(&node);
            checker
                .borrow_mut()
                .journal
                .note(format_args!("{node} is well again"));
            Ok(())
        });
    }

    /// A node ends: its process alone, so that connecting is refused, or its host.
    async fn kill(&self, random: &mut fastrand::Rng) -> Result<(), Error> {
        let Some(node) = self.node(random) else {
            return Ok(());
        };
        let (time, with_host) = (self.time(random, 6_000), random.bool());
        self.note(format_args!(
            "{node} is killed for {time:?}, with its host: {with_host}"
        ));
        self.down.borrow_mut().insert(node);
        self.net.doors.close(node);
        self.broker.kill_node(node).await?;
        if with_host {
            self.net.crash(&host_of(node));
        }
        let (broker, net, down) = (self.broker.clone(), self.net.clone(), Rc::clone(&self.down));
        self.later(time, node, async move {
            if with_host {
                net.start(&host_of(node));
                sleep(TICK).await;
            }
            broker.restart_node(node).await?;
            down.borrow_mut().remove(&node);
            net.doors.open(&broker, node)
        });
        Ok(())
    }

    fn freeze(&self, random: &mut fastrand::Rng) -> Result<(), Error> {
        if let Some(node) = self.node(random) {
            let time = self.time(random, 6_000);
            self.note(format_args!("{node} is frozen for {time:?}"));
            self.broker.freeze_node(node)?;
            let broker = self.broker.clone();
            self.later(time, node, async move { broker.unfreeze_node(node) });
        }
        Ok(())
    }

    /// What is sent is lost, and so are the connections, without a word.
    fn cut(&self, random: &mut fastrand::Rng) {
        if let Some(node) = self.node(random) {
            let time = self.time(random, 8_000);
            self.note(format_args!("{node} is cut off for {time:?}"));
            self.net.cuts.cut(CONSUMER, node);
            let cuts = self.net.cuts.clone();
            self.later(time, node, async move {
                cuts.heal(CONSUMER, node);
                Ok(())
            });
        }
    }

    /// What is sent arrives, but late.
    fn hold(&self, random: &mut fastrand::Rng) {
        if let Some(node) = self.node(random) {
            let time = self.time(random, 4_000);
            self.note(format_args!("{node} is held up for {time:?}"));
            turmoil::hold(CONSUMER, host_of(node));
            self.later(time, node, async move {
                turmoil::release(CONSUMER, host_of(node));
                Ok(())
            });
        }
    }

    fn live(&self) -> Vec<i32> {
        let down = self.down.borrow();
        (1..=NODES).filter(|node| !down.contains(node)).collect()
    }

    fn move_leader(&self, random: &mut fastrand::Rng) -> Result<(), Error> {
        let partition = random.i32(0..PARTITIONS);
        if self.leaderless.borrow().contains(&partition) {
            return Ok(());
        }
        if let Some(node) = random.choice(self.live()) {
            self.note(format_args!("{partition} goes to {node}"));
            self.broker.move_leader(TOPIC, partition, node)?;
        }
        Ok(())
    }

    /// A partition is without a leader for a while.
    fn take_leader(&self, random: &mut fastrand::Rng) -> Result<(), Error> {
        let partition = random.i32(0..PARTITIONS);
        if !self.leaderless.borrow_mut().insert(partition) {
            return Ok(());
        }
        let time = self.time(random, 3_000);
        self.note(format_args!("{partition} is without a leader for {time:?}"));
        self.broker.remove_leader(TOPIC, partition)?;
        let (broker, leaderless) = (self.broker.clone(), Rc::clone(&self.leaderless));
        let first = random.i32(0..NODES);
        self.recoveries.borrow_mut().spawn_local(async move {
            sleep(time).await;
            leaderless.borrow_mut().remove(&partition);
            // one of them is up
            let nodes = (0..NODES).map(|place| (first + place) % NODES + 1);
            for node in nodes {
                match broker.move_leader(TOPIC, partition, node) {
                    Err(Error::NodeDown { .. }) => {}
                    moved => return moved,
                }
            }
            Ok(())
        });
        Ok(())
    }
}

/// Something that the broker does wrong, a few times.
fn drawn(random: &mut fastrand::Rng) -> Fault {
    let api = random.choice(APIS).unwrap_or(ApiKey::Fetch);
    let partition = random.i32(0..PARTITIONS);
    let pick = |random: &mut fastrand::Rng, errors: &[ResponseError]| {
        random
            .choice(errors.iter().copied())
            .unwrap_or(ResponseError::UnknownServerError)
    };
    let fault = match random.u8(0..12) {
        0..=2 => Fault::error(pick(random, &OF_PARTITION))
            .on(ApiKey::Fetch)
            .partition(TOPIC, partition),
        3 => Fault::error(pick(random, &OF_FETCH)).on(ApiKey::Fetch),
        4 => {
            let lookups = [
                ApiKey::ListOffsets,
                ApiKey::OffsetForLeaderEpoch,
                ApiKey::Metadata,
            ];
            let lookup = random.choice(lookups).unwrap_or(ApiKey::Metadata);
            Fault::error(pick(random, &OF_LOOKUP))
                .on(lookup)
                .topic(TOPIC)
        }
        5 => Fault::close().on(api),
        6..=7 => Fault::truncate(random.usize(1..6_000)).on(api),
        8 => Fault::silence().on(api),
        9 => Fault::delay(Duration::from_millis(random.u64(10..2_500))).on(api),
        10 => Fault::throttle(Duration::from_millis(random.u64(10..1_500))).on(ApiKey::Fetch),
        _ => Fault::flip_records(random.usize(61..66), random.u8(1..=255))
            .partition(TOPIC, partition),
    };
    let fault = if random.bool() {
        fault.node(random.i32(1..=NODES))
    } else {
        fault
    };
    let fault = if random.bool() {
        fault.after_applying()
    } else {
        fault
    };
    fault.times(random.u32(1..5))
}
