//! The topics of a cluster, as its brokers list them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use crate::consumer::ConsumerHandle;
use crate::error::{Error, Result};
use crate::metadata::ListTopics;

/// A topic; Java's list of `PartitionInfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicInfo {
    /// Whether the cluster keeps its own records in it, as in `__consumer_offsets`.
    pub internal: bool,
    /// By index. One that the brokers did not describe is absent.
    pub partitions: BTreeMap<i32, PartitionInfo>,
}

/// Where a partition is; brokers by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionInfo {
    /// Who leads it, if anybody does.
    pub leader: Option<i32>,
    /// Who has it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those of them that are in sync.
    pub in_sync: Vec<i32>,
    /// Those of them that are down.
    pub offline: Vec<i32>,
}

impl ConsumerHandle {
    /// All topics that this client may see, by name; Java's `listTopics`. Asks a broker each time, no longer than
    /// `default.api.timeout.ms`.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub fn list_topics(
        &self,
    ) -> impl Future<Output = Result<BTreeMap<Arc<str>, TopicInfo>>> + Send + 'static + use<> {
        let status = self.ports.status.clone();
        let asked = self.ports.metadata.send(ListTopics);
        async move {
            let listed = asked.await.map_err(|_| status.gone())?;
            listed.map_err(|source| {
                source.map_or_else(|| status.gone(), |source| Error::Unreachable { source })
            })
        }
    }
}
