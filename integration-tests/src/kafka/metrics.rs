//! Numbers that brokers keep of themselves.

use std::collections::BTreeMap;

use serde_json::json;

use super::cluster::Cluster;
use super::error::Result;
use super::helper::QUICK;

/// # Metrics
impl Cluster {
    /// An attribute of all of a node's MBeans that fit a pattern of object names, by name. Beans that come with their first use (a request
    /// type, a topic) are not there before, and a number that is not finite (a mean of nothing) is left out.
    ///
    /// Of use here: `Count` of `kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Fetch,version=*`, of
    /// `kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec*,*` (one per shard) and of
    /// `kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic=T`; `Value` of
    /// `kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions*,*`.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) for a node that is down, a malformed pattern, or an attribute that is no number.
    pub fn metric(
        &self,
        node: i32,
        pattern: &str,
        attribute: &str,
    ) -> Result<BTreeMap<String, f64>> {
        let arguments = json!({"port": self.node(node)?.jmx.number(), "pattern": pattern, "attribute": attribute});
        self.helper.call(
            "metrics",
            &format!("{attribute} of {pattern} at node {node}"),
            arguments,
            QUICK,
        )
    }

    /// The sum of [`metric`](Self::metric); 0 if no bean fits.
    ///
    /// # Errors
    ///
    /// As [`metric`](Self::metric).
    pub fn metric_sum(&self, node: i32, pattern: &str, attribute: &str) -> Result<f64> {
        Ok(self.metric(node, pattern, attribute)?.values().sum())
    }
}
