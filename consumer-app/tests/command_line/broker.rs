//! The embedded broker in the test's process, over TCP.

use std::ops::Deref;
use std::time::Duration;

use test_broker::{Builder, NodeCounters, RequestRecord, TestBroker};
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

/// Longer than anything takes that is not broken.
const LIMIT: Duration = Duration::from_secs(60);

/// A broker and the threads it runs on.
pub(crate) struct Broker {
    broker: TestBroker,
    runtime: Runtime,
    pub(crate) address: String,
}

impl Broker {
    /// One node, with this topic.
    pub(crate) fn with_topic(name: &str, partitions: i32) -> Self {
        Self::start(TestBroker::builder().topic(name, partitions))
    }

    pub(crate) fn start(builder: Builder) -> Self {
        let runtime = RuntimeBuilder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let broker = runtime.block_on(builder.start()).expect("a broker");
        Self {
            address: broker.bootstrap_servers(),
            broker,
            runtime,
        }
    }

    /// Waits until one of the requests is what is waited for.
    pub(crate) fn wait_for_request(&self, is_it: impl Fn(&RequestRecord) -> bool) {
        self.wait_for_requests(|requests| requests.iter().any(&is_it));
    }

    /// Waits until the requests, oldest first, are what is waited for.
    pub(crate) fn wait_for_requests(&self, are_they: impl FnMut(&[RequestRecord]) -> bool) {
        let waiting = self.broker.wait_for_requests(are_they);
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(LIMIT, waiting).await });
        assert!(waited.is_ok(), "{:?}", self.broker.requests());
    }

    /// Waits until no fetch session is left: all clients have closed theirs.
    pub(crate) fn wait_for_no_session(&self) {
        self.wait_for_counters(|counters| counters.fetch_sessions == 0);
    }

    /// Waits until no connection is left.
    pub(crate) fn wait_for_no_connection(&self) {
        self.wait_for_counters(|counters| counters.connections_open == 0);
    }

    fn wait_for_counters(&self, are_they: impl Fn(&NodeCounters) -> bool) {
        let waiting = async {
            while !are_they(&self.broker.counters()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(LIMIT, waiting).await });
        assert!(waited.is_ok(), "{:?}", self.broker.counters());
    }

    /// Appends so many records with values `0`, `1` and so on.
    pub(crate) fn fill(&self, topic: &str, partition: i32, count: usize) {
        let values: Vec<_> = (0..count).map(|value| value.to_string()).collect();
        for batch in values.chunks(10_000) {
            self.broker
                .produce(topic, partition, batch.iter().map(String::as_str))
                .expect("appended");
        }
    }
}

impl Deref for Broker {
    type Target = TestBroker;

    fn deref(&self) -> &TestBroker {
        &self.broker
    }
}
