use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{JoinGroupResponse, SyncGroupResponse};
use kafka_protocol::protocol::StrBytes;
use tokio::sync::oneshot;

/// A member of a classic group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    /// `group.instance.id` of a static member (KIP-345).
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client_id: String,
    pub(super) rebalance_timeout: Duration,
    pub(super) session_timeout: Duration,
    /// The protocols that it could use, the best first, each with its metadata.
    pub(crate) protocols: Vec<(StrBytes, Bytes)>,
    pub(crate) assignment: Bytes,
    /// It joins for the first time: what it waits with does not keep it alive.
    pub(super) is_new: bool,
    pub(super) joining: Option<oneshot::Sender<JoinGroupResponse>>,
    pub(super) syncing: Option<oneshot::Sender<SyncGroupResponse>>,
}

impl Member {
    /// As it stands in the log of groups, where nobody waits.
    pub(super) fn at_rest(&self) -> Self {
        Self {
            id: Arc::clone(&self.id),
            instance: self.instance.clone(),
            client_id: self.client_id.clone(),
            rebalance_timeout: self.rebalance_timeout,
            session_timeout: self.session_timeout,
            protocols: self.protocols.clone(),
            assignment: self.assignment.clone(),
            is_new: false,
            joining: None,
            syncing: None,
        }
    }

    /// Whether its session goes on although it sends no heartbeats.
    pub(super) fn waits(&self) -> bool {
        !self.is_new && (self.joining.is_some() || self.syncing.is_some())
    }

    pub(super) fn supports(&self, protocol: &str) -> bool {
        self.protocols
            .iter()
            .any(|(own, _)| own.as_str() == protocol)
    }

    /// What it says of itself under a protocol.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        let mut protocols = self.protocols.iter();
        let found = protocols.find(|(own, _)| own.as_str() == protocol);
        found
            .map(|(_, metadata)| metadata.clone())
            .unwrap_or_default()
    }

    /// Answers the JoinGroup that waits, if one does. Who is gone does not hear it.
    pub(super) fn answer_join(&mut self, answer: JoinGroupResponse) {
        if let Some(waiting) = self.joining.take() {
            let _ = waiting.send(answer);
        }
    }

    /// Answers the SyncGroup that waits; whether one did.
    pub(super) fn answer_sync(&mut self, answer: SyncGroupResponse) -> bool {
        let waiting = self.syncing.take();
        let did = waiting.is_some();
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
        did
    }

    /// Answers whatever waits with an error.
    pub(super) fn refuse(&mut self, member_id: &str, error: ResponseError) {
        self.answer_join(super::join_refused(member_id, error));
        self.answer_sync(super::sync_refused(error));
    }
}
