//! The actor against a broker.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use actix::{Actor, Context, Handler};
use buffer_actor::messages::{EpochsEnd, PositionsFound, ReportError, TopicsRecreated, WakeReader};
use session_actor::wire::connect::{Connect, ConnectFuture, Stream};
use session_actor::wire::fetch::IsolationLevel;
use session_actor::{ClusterSnapshot, SnapshotChanged, WatchTopics};
use test_broker::{ApiKey, TestBroker};
use tokio::task::LocalSet;

use super::super::{MetadataActor, Neighbours, Options};
use super::*;
use crate::status::Status;

struct Pipe(TestBroker);

impl Connect for Pipe {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let node = self.0.node_at(host, port).ok_or_else(refused)?;
            let stream = self.0.connect(node).map_err(|_| refused())?;
            Ok(Box::new(stream) as Stream)
        })
    }
}

/// Keeps the newest snapshot.
#[derive(Default)]
struct Probe(Rc<RefCell<Arc<ClusterSnapshot>>>);

impl Actor for Probe {
    type Context = Context<Self>;
}

impl Handler<SnapshotChanged> for Probe {
    type Result = ();

    fn handle(&mut self, message: SnapshotChanged, _: &mut Context<Self>) {
        *self.0.borrow_mut() = message.0;
    }
}

macro_rules! deaf_to {
    ($($message:ty),*) => {
        $(impl Handler<$message> for Probe {
            type Result = ();

            fn handle(&mut self, _: $message, _: &mut Context<Self>) {}
        })*
    };
}
deaf_to!(
    PositionsFound,
    EpochsEnd,
    TopicsRecreated,
    ReportError,
    WakeReader
);

/// What everyone who looks is told when this is watched, once it is so.
async fn told_of(
    broker: &TestBroker,
    watch: WatchTopics,
    is_so: fn(&ClusterSnapshot) -> bool,
) -> Arc<ClusterSnapshot> {
    let bootstrap = broker.bootstrap_servers();
    let (host, port) = bootstrap
        .split(',')
        .next()
        .and_then(|first| first.rsplit_once(':'))
        .unwrap();
    let config = MetadataConfig {
        bootstrap: vec![Address::new(host, port.parse().unwrap())],
        ..World::new().machine.config().clone()
    };
    let (first, second) = (Probe::default(), Probe::default());
    let told = [Rc::clone(&first.0), Rc::clone(&second.0)];
    let (first, second) = (first.start(), second.start());
    let metadata = MetadataActor::new(
        config,
        Options {
            client_id: "test".into(),
            isolation_level: IsolationLevel::ReadUncommitted,
            auto_create: false,
            setup_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            max_idle: None,
            connector: Arc::new(Pipe(broker.clone())),
        },
        Neighbours {
            snapshot: vec![first.clone().recipient(), second.recipient()],
            found: first.clone().recipient(),
            epochs_end: first.clone().recipient(),
            recreated: first.clone().recipient(),
            report: first.clone().recipient(),
            wake_reader: first.recipient(),
        },
        Status::default(),
    )
    .start();
    metadata.do_send(watch);
    loop {
        let [first, second] = told.each_ref().map(|told| Arc::clone(&told.borrow()));
        if is_so(&first) && is_so(&second) {
            return first;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn broker() -> test_broker::Builder {
    TestBroker::builder()
        .nodes(2)
        .rack(1, "a")
        .replication_factor(2)
        .topic("t", 3)
        .topic("u", 1)
}

#[tokio::test(start_paused = true)]
async fn a_name_is_described_with_racks_and_replicas_and_one_that_is_not_there_is_missing() {
    let broker = broker().start_in_memory().unwrap();
    let watch = WatchTopics {
        names: ["t".into(), "x".into()].into(),
        ..WatchTopics::default()
    };
    let is_so = |cluster: &ClusterSnapshot| !cluster.topics.is_empty();
    let cluster = LocalSet::new()
        .run_until(told_of(&broker, watch, is_so))
        .await;
    assert_eq!(cluster.topics.len(), 1);
    assert_eq!(cluster.topics["t"].partitions.len(), 3);
    assert_eq!(cluster.topics["t"].replicas.of(2).len(), 2);
    assert_eq!(cluster.racks, [(NodeId(1), "a".into())].into());
    let missing = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(cluster.missing, [("x".into(), missing)].into());
}

#[tokio::test(start_paused = true)]
async fn b158_an_id_leads_to_its_name_also_where_nobody_can_be_asked_by_id() {
    // Metadata by id is of version 12 (KIP-516)
    for newest in [12, 11] {
        let broker = broker().api_versions(ApiKey::Metadata, 0..=newest);
        let broker = broker.start_in_memory().unwrap();
        let id = broker.topic_id("u").unwrap();
        let watch = WatchTopics {
            ids: [id].into(),
            ..WatchTopics::default()
        };
        let is_so = |cluster: &ClusterSnapshot| !cluster.topics.is_empty();
        let cluster = LocalSet::new()
            .run_until(told_of(&broker, watch, is_so))
            .await;
        assert_eq!(cluster.topics.len(), 1, "{newest}");
        let found = cluster.topic_with_id(id).unwrap();
        assert_eq!(&*found.topic.name, "u");
    }
}

#[tokio::test(start_paused = true)]
async fn b153_all_topics_are_listed() {
    let broker = broker().start_in_memory().unwrap();
    let watch = WatchTopics {
        all: true,
        ..WatchTopics::default()
    };
    let is_so = |cluster: &ClusterSnapshot| !cluster.topics.is_empty();
    let cluster = LocalSet::new()
        .run_until(told_of(&broker, watch, is_so))
        .await;
    let names: Vec<_> = cluster.topics.keys().map(|name| &**name).collect();
    assert_eq!(names, ["t", "u"]);
}
