use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::SyncGroupResponse;
use kafka_protocol::protocol::StrBytes;
use tokio::sync::oneshot;

use super::{Caller, ClassicGroup, State, Timer};

/// A SyncGroup, and who waits for its answer.
#[derive(Debug)]
pub(crate) struct Syncing<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) protocol_type: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// What the leader assigns, by member.
    pub(crate) assignments: HashMap<&'a str, Bytes>,
    pub(crate) answer: oneshot::Sender<SyncGroupResponse>,
}

impl ClassicGroup {
    /// Gives a member what it is assigned, as soon as the leader has said what that is.
    ///
    /// # Errors
    /// Who may not is told by an error, and nobody waits then.
    pub(crate) fn sync(
        &mut self,
        syncing: Syncing<'_>,
        now: Duration,
    ) -> Result<(), ResponseError> {
        let caller = syncing.caller;
        self.check_caller(caller)?;
        let differs = |asked: Option<&str>, own: &Option<StrBytes>| {
            asked.is_some_and(|asked| own.as_ref().map(|own| own.as_str()) != Some(asked))
        };
        if differs(syncing.protocol_type, &self.protocol_type)
            || differs(syncing.protocol, &self.protocol)
        {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        match self.state {
            State::Empty => return Err(ResponseError::UnknownMemberId),
            State::PreparingRebalance => return Err(ResponseError::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => {}
        }
        self.to_sync.remove(caller.member);
        if self.state == State::CompletingRebalance && self.is_leader(caller.member) {
            for member in &mut self.members {
                let assigned = syncing.assignments.get(&*member.id);
                member.assignment = assigned.cloned().unwrap_or_default();
            }
            self.state = State::Stable;
            self.log();
        }
        if let Some(member) = self.member_mut(caller.member) {
            member.syncing = Some(syncing.answer);
        }
        if self.state == State::Stable {
            self.answer_syncs(None, now);
        }
        if self.to_sync.is_empty() {
            self.timers.cancel(&Timer::Sync);
        }
        Ok(())
    }
}

pub(super) fn synced(
    protocol_type: &Option<StrBytes>,
    protocol: &Option<StrBytes>,
    assignment: &Bytes,
) -> SyncGroupResponse {
    SyncGroupResponse::default()
        .with_protocol_type(protocol_type.clone())
        .with_protocol_name(protocol.clone())
        .with_assignment(assignment.clone())
}
