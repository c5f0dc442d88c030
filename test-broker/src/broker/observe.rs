use kafka_protocol::messages::ApiKey;

use super::TestBroker;
use crate::counters::NodeCounters;
use crate::error::Error;
use crate::request_log::RequestRecord;

impl TestBroker {
    /// The requests that were taken in, oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.shared().cluster().requests.records().to_vec()
    }

    /// The requests of one API, oldest first.
    pub fn requests_of(&self, api: ApiKey) -> Vec<RequestRecord> {
        let mut cluster = self.shared().cluster();
        let all = cluster.requests.records().iter();
        all.filter(|request| request.api_key == api)
            .cloned()
            .collect()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.shared().cluster().requests.clear();
    }

    /// Waits until the requests fulfil a condition: a test that waits for something to have been asked needs no sleep.
    ///
    /// ```
    /// use test_broker::{ApiKey, TestBroker};
    ///
    /// # async fn two_fetches(broker: &TestBroker) {
    /// broker
    ///     .wait_for_requests(|requests| {
    ///         requests.iter().filter(|request| request.api_key == ApiKey::Fetch).count() >= 2
    ///     })
    ///     .await;
    /// # }
    /// ```
    pub async fn wait_for_requests(&self, mut condition: impl FnMut(&[RequestRecord]) -> bool) {
        let mut arrived = self.shared().arrived.subscribe();
        loop {
            arrived.mark_unchanged();
            if condition(self.shared().cluster().requests.records()) {
                return;
            }
            // an error means that the broker is gone; `self` keeps it
            let _ = arrived.changed().await;
        }
    }

    /// What a node counted.
    ///
    /// # Errors
    /// [`Error::UnknownNode`].
    pub fn node_counters(&self, node: i32) -> Result<NodeCounters, Error> {
        let counted = self
            .shared()
            .cluster()
            .nodes
            .get(&node)
            .map(|n| n.counted());
        counted.ok_or_else(|| self.unknown_node(node))
    }

    /// What all nodes counted together.
    pub fn counters(&self) -> NodeCounters {
        let cluster = self.shared().cluster();
        let mut sum = NodeCounters::default();
        for node in cluster.nodes.values() {
            sum.add(&node.counted());
        }
        sum
    }
}
