//! Members, what they read, and a listener that tells what it was told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer_app::{
    Consumer, ConsumerBuilder, Error, RebalanceContext, RebalanceListener, TopicPartition,
};
use test_broker::{ApiKey, RequestSummary, TestBroker};

use crate::support::{builder, run, tp};

/// How a group comes to its assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The classic protocol, in which everybody gives up everything first.
    Eager,
    /// The classic protocol, in which only what moves is given up (KIP-429).
    Cooperative,
    /// The broker assigns (KIP-848).
    Consumer,
}

impl Protocol {
    /// Those in which a member leads.
    pub(crate) const CLASSIC: [Self; 2] = [Self::Eager, Self::Cooperative];
    /// Those in which a member keeps what stays its own.
    pub(crate) const INCREMENTAL: [Self; 2] = [Self::Cooperative, Self::Consumer];
    pub(crate) const ALL: [Self; 3] = [Self::Eager, Self::Cooperative, Self::Consumer];

    /// The requests by which a member joins and stays one.
    pub(crate) const fn membership(self) -> &'static [ApiKey] {
        match self {
            Self::Eager | Self::Cooperative => {
                &[ApiKey::JoinGroup, ApiKey::SyncGroup, ApiKey::Heartbeat]
            }
            Self::Consumer => &[ApiKey::ConsumerGroupHeartbeat],
        }
    }
}

/// Runs a test with each protocol.
pub(crate) fn each<F: Future>(test: impl Fn(Protocol) -> F) {
    each_of(&Protocol::ALL, test);
}

/// Runs a test with some of the protocols.
pub(crate) fn each_of<F: Future>(protocols: &[Protocol], test: impl Fn(Protocol) -> F) {
    for protocol in protocols {
        // seen if the test fails
        println!("{protocol:?}");
        run(test(*protocol));
    }
}

/// A member of group `g` that commits only when it is told to.
pub(crate) fn manual(broker: &TestBroker, protocol: Protocol) -> ConsumerBuilder {
    automatic(broker, protocol).set("enable.auto.commit", "false")
}

/// A member of group `g` that commits by itself, every 5 s.
pub(crate) fn automatic(broker: &TestBroker, protocol: Protocol) -> ConsumerBuilder {
    let builder = builder(broker).group_id("g");
    match protocol {
        Protocol::Eager => builder.set("partition.assignment.strategy", "range"),
        Protocol::Cooperative => builder.set("partition.assignment.strategy", "cooperative-sticky"),
        Protocol::Consumer => builder.set("group.protocol", "consumer"),
    }
}

/// How many members the group has.
pub(crate) fn members(broker: &TestBroker) -> usize {
    broker.group("g").map_or(0, |group| group.members.len())
}

/// How many heartbeats of KIP-848 named this epoch.
fn beats_at(broker: &TestBroker, sought: i32) -> usize {
    let beats = broker.requests_of(ApiKey::ConsumerGroupHeartbeat);
    let sought = beats.iter().filter(|beat| {
        matches!(beat.summary, RequestSummary::ConsumerGroupHeartbeat { epoch, .. } if epoch == sought)
    });
    sought.count()
}

/// How often members said that they leave.
pub(crate) fn leaves(broker: &TestBroker) -> usize {
    beats_at(broker, -1) + asked(broker, ApiKey::LeaveGroup)
}

/// How often members said that they join, or join anew.
pub(crate) fn joins(broker: &TestBroker) -> usize {
    beats_at(broker, 0) + asked(broker, ApiKey::JoinGroup)
}

/// How often members said that they are there.
pub(crate) fn heartbeats(broker: &TestBroker) -> usize {
    asked(broker, ApiKey::Heartbeat) + asked(broker, ApiKey::ConsumerGroupHeartbeat)
}

/// A member that has joined and is assigned so many partitions.
pub(crate) async fn joined(builder: ConsumerBuilder, count: usize) -> Consumer {
    let mut consumer = builder.set("max.poll.records", "1").spawn_local().unwrap();
    consumer.subscribe(["t"]).await.unwrap();
    owns(&mut consumer, count).await;
    consumer
}

/// Polls, without waiting for records, until so many partitions are assigned.
pub(crate) async fn owns(consumer: &mut Consumer, count: usize) {
    for _ in 0..200 {
        if consumer.assignment().len() == count {
            return;
        }
        let records = consumer.poll(Duration::ZERO).await.unwrap();
        assert!(records.is_empty(), "records before the assignment");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?}, not {count}", consumer.assignment());
}

/// What the group committed of a partition of topic `t`.
pub(crate) fn committed(broker: &TestBroker, partition: i32) -> Option<i64> {
    let committed = broker.committed("g", "t", partition);
    committed.map(|committed| committed.offset)
}

/// The offsets that OffsetCommit requests named of a partition of topic `t`, in order.
pub(crate) fn commits_of(broker: &TestBroker, partition: i32) -> Vec<i64> {
    let requests = broker.requests_of(ApiKey::OffsetCommit);
    let offsets = requests
        .into_iter()
        .flat_map(|request| match request.summary {
            RequestSummary::OffsetCommit { offsets, .. } => offsets,
            other => panic!("{other:?}"),
        });
    let own = offsets.filter(|(name, _)| name.partition() == partition);
    own.map(|(_, offset)| offset).collect()
}

/// How often the broker was asked this.
pub(crate) fn asked(broker: &TestBroker, api: ApiKey) -> usize {
    broker.requests_of(api).len()
}

/// The apis of the group's requests that are about offsets and where they are kept, in order.
pub(crate) fn story(broker: &TestBroker) -> Vec<ApiKey> {
    let requests = broker.requests().into_iter().map(|request| request.api_key);
    let of_group = [
        ApiKey::FindCoordinator,
        ApiKey::OffsetCommit,
        ApiKey::OffsetFetch,
    ];
    requests.filter(|api| of_group.contains(api)).collect()
}

/// The group's error.
pub(crate) fn group_error<T: std::fmt::Debug>(
    result: Result<T, Error>,
) -> consumer_app::GroupError {
    match result {
        Err(Error::Group(error)) => *error,
        other => panic!("{other:?}"),
    }
}

/// Each record once: which offsets of which partition were given, to whichever member.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<TopicPartition, BTreeMap<i64, usize>>);

impl Tally {
    pub(crate) fn take(&mut self, records: &consumer_app::Records) {
        for record in records {
            let offsets = self.0.entry(record.topic_partition().clone()).or_default();
            *offsets.entry(record.offset()).or_default() += 1;
        }
    }

    /// How many different records came.
    pub(crate) fn different(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Those that came more than once.
    pub(crate) fn repeated(&self) -> Vec<(TopicPartition, i64)> {
        let all = self.0.iter().flat_map(|(name, offsets)| {
            let again = offsets.iter().filter(|(_, times)| **times > 1);
            again.map(|(offset, _)| (name.clone(), *offset))
        });
        all.collect()
    }
}

/// A call of a listener: which, and the numbers of the partitions of topic `t`.
pub(crate) type Call = (&'static str, Vec<i32>);

/// Writes down its calls, and does what it is told in them.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    pub(super) calls: Arc<Mutex<Vec<Call>>>,
    /// What `revoked` and `lost` saw of the partitions' positions.
    pub(super) positions: Arc<Mutex<Vec<Option<i64>>>>,
    /// How the commits went that `revoked` and `lost` made.
    pub(super) commits: Arc<Mutex<Vec<Result<(), String>>>>,
    pub(crate) commits_on_revoke: bool,
    pub(crate) seeks_to: Option<i64>,
    pub(crate) pauses: bool,
    /// It does not wait for what it asks for.
    pub(crate) hurries: bool,
    /// A call waits for a permit, if there is one.
    pub(crate) gate: Option<Arc<tokio::sync::Semaphore>>,
}

impl Listener {
    /// The calls since this was last asked.
    pub(crate) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    pub(crate) fn positions(&self) -> Vec<Option<i64>> {
        self.positions.lock().unwrap().clone()
    }

    pub(crate) fn commits(&self) -> Vec<Result<(), String>> {
        self.commits.lock().unwrap().clone()
    }

    async fn called(&self, what: &'static str, partitions: &[TopicPartition]) {
        let numbers = partitions.iter().map(TopicPartition::partition).collect();
        self.calls.lock().unwrap().push((what, numbers));
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
    }

    async fn gone(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        let positions = partitions.iter().map(|name| context.position(name));
        self.positions.lock().unwrap().extend(positions);
        if self.commits_on_revoke && self.hurries {
            // the second waits for the first
            drop(context.resume(&context.assignment()));
            drop(context.commit());
        } else if self.commits_on_revoke {
            let result = context.commit().await.map_err(|error| error.to_string());
            self.commits.lock().unwrap().push(result);
        }
    }
}

impl RebalanceListener for Listener {
    async fn assigned(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        self.called("assigned", partitions).await;
        if let Some(offset) = self.seeks_to {
            for partition in partitions {
                let sought = context.seek(partition, offset);
                if !self.hurries {
                    sought.await.unwrap();
                }
            }
        }
        if self.pauses {
            context.pause(partitions).await.unwrap();
        }
    }

    async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        self.called("revoked", partitions).await;
        self.gone(context, partitions).await;
    }

    async fn lost(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        self.called("lost", partitions).await;
        self.gone(context, partitions).await;
    }
}

/// The only member's id.
pub(crate) fn member_id(broker: &TestBroker) -> String {
    let group = broker.group("g").unwrap();
    group.members[0].member_id.clone()
}

/// Polls until so many records came; their partitions and offsets.
pub(crate) async fn read(consumer: &mut Consumer, count: usize) -> Vec<(TopicPartition, i64)> {
    let mut read = Vec::new();
    for _ in 0..200 {
        if read.len() >= count {
            break;
        }
        let records = consumer.poll(Duration::from_millis(200)).await.unwrap();
        let came = records.iter();
        read.extend(came.map(|record| (tp(record.partition()), record.offset())));
    }
    assert!(read.len() >= count, "only {} of {count}", read.len());
    read
}
