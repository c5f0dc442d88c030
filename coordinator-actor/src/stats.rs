//! What the coordinator did, in figures: requests and their answers, rebalances.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use buffer_actor::{Sampled, Samples};
use session_actor::wire::{ErrorCode, WireError};

use crate::model::{Answer, AskId, Request};

/// How often something was done, and how long it took in the last minute, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timing {
    /// Since the consumer was made.
    pub total: u64,
    /// In the last minute.
    pub recent: Sampled,
}

/// A reading of what the coordinator did.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupCounts {
    /// Heartbeats that were answered, of either protocol.
    pub heartbeats: Timing,
    /// Joins that succeeded (classic).
    pub joins: Timing,
    /// Assignments that were received (classic).
    pub syncs: Timing,
    /// Commits that were answered.
    pub commits: Timing,
    /// Rebalances that ended with an assignment: from the first JoinGroup to the assignment (classic), or from the new target to
    /// when the application has taken notice of it (KIP-848).
    pub rebalances: Timing,
    /// How long they took, all together.
    pub rebalance_time: Duration,
    /// Rebalances that came to nothing, for a refusal or a lost connection.
    pub failed_rebalances: u64,
    /// Those of the last minute: see [`Sampled::frequency`].
    pub recent_failed_rebalances: Sampled,
    /// Since the last heartbeat was sent.
    pub since_heartbeat: Option<Duration>,
    /// Since the last rebalance ended.
    pub since_rebalance: Option<Duration>,
}

#[derive(Debug, Default)]
struct Timed {
    total: u64,
    recent: Samples,
}

impl Timed {
    fn record(&mut self, now: Instant, time: Duration) {
        self.total += 1;
        self.recent.record_time(now, time);
    }

    fn read(&self, now: Instant) -> Timing {
        Timing {
            total: self.total,
            recent: self.recent.read(now),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Heartbeat,
    Join,
    Sync,
    Commit,
}

/// Counts. Never asked for a decision.
#[derive(Debug, Default)]
pub(crate) struct GroupStats {
    asked: BTreeMap<AskId, (Kind, Instant)>,
    heartbeats: Timed,
    joins: Timed,
    syncs: Timed,
    commits: Timed,
    rebalances: Timed,
    rebalance_time: Duration,
    failed_rebalances: u64,
    recent_failed_rebalances: Samples,
    last_heartbeat: Option<Instant>,
    /// The one that goes on.
    rebalance_began: Option<Instant>,
    rebalance_ended: Option<Instant>,
}

impl GroupStats {
    /// A request goes out.
    pub(crate) fn asked(&mut self, now: Instant, id: AskId, request: &Request) {
        let kind = match request {
            Request::Heartbeat(_) | Request::ConsumerHeartbeat(_) => Kind::Heartbeat,
            Request::JoinGroup(_) => Kind::Join,
            Request::SyncGroup(_) => Kind::Sync,
            Request::OffsetCommit { .. } => Kind::Commit,
            Request::FindCoordinator | Request::LeaveGroup { .. } | Request::OffsetFetch { .. } => {
                return;
            }
        };
        match kind {
            Kind::Heartbeat => self.last_heartbeat = Some(now),
            Kind::Join => self.rebalance_begins(now),
            Kind::Sync | Kind::Commit => {}
        }
        self.asked.insert(id, (kind, now));
    }

    /// A request ended.
    pub(crate) fn answered(&mut self, now: Instant, id: AskId, answer: &Result<Answer, WireError>) {
        let Some((kind, sent)) = self.asked.remove(&id) else {
            return;
        };
        let time = now.saturating_duration_since(sent);
        match (kind, answer) {
            (Kind::Heartbeat, Ok(_)) => self.heartbeats.record(now, time),
            (Kind::Commit, Ok(_)) => self.commits.record(now, time),
            (Kind::Join, Ok(Answer::JoinGroup(Ok(_)))) => self.joins.record(now, time),
            (Kind::Sync, Ok(Answer::SyncGroup(Ok(_)))) => {
                self.syncs.record(now, time);
                self.rebalance_ends(now);
            }
            // KIP-394: how a member gets its id, on the way to the group
            (Kind::Join, Ok(Answer::JoinGroup(Err((ErrorCode::MEMBER_ID_REQUIRED, _))))) => {}
            (Kind::Join | Kind::Sync, _) => self.rebalance_fails(now),
            (Kind::Heartbeat | Kind::Commit, Err(_)) => {}
        }
    }

    /// Unless one goes on already.
    pub(crate) fn rebalance_begins(&mut self, now: Instant) {
        self.rebalance_began.get_or_insert(now);
    }

    pub(crate) fn rebalance_ends(&mut self, now: Instant) {
        if let Some(began) = self.rebalance_began.take() {
            let time = now.saturating_duration_since(began);
            self.rebalances.record(now, time);
            self.rebalance_time += time;
            self.rebalance_ended = Some(now);
        }
    }

    /// The next attempt is a part of the same rebalance: it is timed from where it began.
    pub(crate) fn rebalance_fails(&mut self, now: Instant) {
        self.failed_rebalances += 1;
        self.recent_failed_rebalances.record(now, 1.0);
    }

    /// What goes on is of no interest any more.
    pub(crate) const fn rebalance_is_void(&mut self) {
        self.rebalance_began = None;
    }

    pub(crate) fn read(&self, now: Instant) -> GroupCounts {
        let since = |at: Option<Instant>| at.map(|at| now.saturating_duration_since(at));
        GroupCounts {
            heartbeats: self.heartbeats.read(now),
            joins: self.joins.read(now),
            syncs: self.syncs.read(now),
            commits: self.commits.read(now),
            rebalances: self.rebalances.read(now),
            rebalance_time: self.rebalance_time,
            failed_rebalances: self.failed_rebalances,
            recent_failed_rebalances: self.recent_failed_rebalances.read(now),
            since_heartbeat: since(self.last_heartbeat),
            since_rebalance: since(self.rebalance_ended),
        }
    }
}
