//! One lane of a node as a pure machine: connects when there is something to ask, asks, judges the answer, and says when it
//! is idle again. `now` is an argument; what the shell must do is returned as [`Effect`]s, in order.
//!
//! A lane has at most one request in flight. It is [idle](Effect::Idle) when it may be given the next one: after an answer,
//! when a throttle ends, when a reconnect pause ends. It connects only for a request, so an idle lane may have no connection.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{
    Backoff, EpochEnd, Fetched, Grant, Jitter, MaxWait, NodeId, Outcome, PartitionId,
    PartitionReply, TicketId,
};

use crate::cluster::{NewLeader, PartitionTable};
use crate::fetch_session::{AnswerHead, FetchSession, Plan, SessionState, Verdict, Watermarks};

/// What a lane needs to know of the configuration. Names are those of the Java client's keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionConfig {
    /// `fetch.max.wait.ms`: how long a long poll may take.
    pub fetch_max_wait: Duration,
    /// `request.timeout.ms`: from the request to the length of its answer, and again for the body.
    pub request_timeout: Duration,
    /// `reconnect.backoff.ms` and `reconnect.backoff.max.ms`.
    pub reconnect: Backoff,
    /// `connections.max.idle.ms`: a connection that carries nothing is closed after this time, before something on the way
    /// drops it silently. The session at the broker outlives it. `None`: never.
    pub max_idle: Option<Duration>,
}

/// What the lane is to ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Job {
    /// A granted request.
    Fetch(Grant),
    /// Keep the session alive; what comes is thrown away.
    Touch,
}

/// A request to write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Session and partitions.
    pub plan: Plan,
    /// How long the broker may wait for data.
    pub max_wait: Duration,
    /// The request's limit, bytes.
    pub max_bytes: u32,
}

/// An answer after decoding, its partitions resolved by [`FetchSession::topic`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Answer<D> {
    /// Top-level error code, 0 for none.
    pub error_code: i16,
    /// 0 for none.
    pub session_id: i32,
    /// The broker wants to be left alone for so long (KIP-219).
    pub throttle: Duration,
    /// What it says of each partition.
    pub partitions: Vec<AnswerPartition<D>>,
    /// Who leads partitions that it refuses, if it knows (KIP-951).
    pub leaders: Vec<NewLeader>,
}

/// One partition of an [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerPartition<D> {
    /// Which; `None` for one that nobody asked for.
    pub partition: Option<PartitionId>,
    /// Its error code, 0 for none.
    pub error_code: i16,
    /// -1 if unknown.
    pub high_watermark: i64,
    /// -1 if unknown.
    pub last_stable_offset: i64,
    /// -1 if unknown.
    pub log_start_offset: i64,
    /// The replica to read from, if it names one (KIP-392).
    pub preferred_replica: Option<NodeId>,
    /// Where its log and ours part, if it says so.
    pub diverging: Option<EpochEnd>,
    /// Its records.
    pub fetched: Option<Fetched<D>>,
}

/// What the shell must do or tell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect<D> {
    /// Open a connection and agree on versions.
    Connect,
    /// Write this; the next frame is its answer.
    Send(Request),
    /// Read the body of the answer whose length came.
    Read,
    /// Read the body of the answer without keeping it.
    Skip,
    /// Drop the connection.
    Disconnect,
    /// To the buffer: the answer of this ticket is so many bytes longer than what is reserved.
    NeedMore(TicketId, u64),
    /// To the buffer: a granted request ended. Always before [`Effect::Idle`] (I7).
    Done(TicketId, Outcome<D>, u64),
    /// To the planner: the lane may be given a request. What it has at its broker.
    Idle(SessionState),
    /// To the planner: the lane cannot be used for a while.
    Unavailable,
    /// To metadata: leaders or topic ids may have changed.
    RefreshMetadata,
    /// To metadata: these leaders have.
    LeadersTold(Vec<NewLeader>),
    /// For the log: the session was lost or refused; the reason.
    SessionTrouble(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Work {
    job: Job,
    table: Arc<PartitionTable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// May be given a request.
    Idle,
    /// Connecting for this request.
    Connecting(Work),
    /// The request is out, its answer has not begun.
    Waiting {
        work: Work,
        deadline: Instant,
        /// The answer is late from then on, though not given up: somebody else may lead the partitions by now. A second later it
        /// is late again, since a cluster takes some seconds to notice that a broker is gone.
        late_at: Instant,
    },
    /// The answer's length is known and waits for memory. Its deadline is the buffer's.
    WaitingForMemory { work: Work },
    /// The answer's body is being read.
    Reading {
        work: Work,
        deadline: Instant,
        /// As for an answer that has not begun.
        late_at: Instant,
        kept: bool,
    },
    /// Throttled, after a failure, or after answers that could not be used.
    Resting { until: Instant },
    /// For good.
    Closed,
}

/// See the [module's documentation](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionMachine {
    config: SessionConfig,
    session: FetchSession,
    /// Whether there is a connection; and on it, whether topics may go by id.
    connection: Option<bool>,
    state: State,
    /// When it last carried something.
    used: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// Answers in a row that could not be used.
    rejections: u32,
    jitter: Jitter,
}

/// What becomes fetchable while a node's two lanes are out waits so long at most, and a node is asked 20 times a second at most
/// for what its long poll does not name.
const SHORT_WAIT: Duration = Duration::from_millis(50);

/// An answer that takes so much longer than the broker may wait is late.
const GRACE: Duration = Duration::from_secs(1);

/// A body that takes longer is late: a slow line needs some seconds for a large one.
const BODY_GRACE: Duration = Duration::from_secs(5);

/// How long a broker that refused a session may wait for data where nothing else depends on it. A twentieth of the requests at the
/// default `fetch.max.wait.ms`, and a broker that hangs is still noticed well within `request.timeout.ms`.
const PATIENCE: Duration = Duration::from_secs(10);

/// An answer to a touch that is longer than this is not even looked at.
const LONGEST_TOUCH_ANSWER: u64 = 64 * 1024;

impl SessionMachine {
    /// An idle lane without a connection. `seed` is for jitter.
    pub const fn new(config: SessionConfig, session: FetchSession, seed: u64) -> Self {
        Self {
            config,
            session,
            connection: None,
            state: State::Idle,
            used: None,
            failures: 0,
            rejections: 0,
            jitter: Jitter::new(seed),
        }
    }

    /// The session, for resolving an answer.
    pub const fn session(&self) -> &FetchSession {
        &self.session
    }

    /// How often a request came to nothing since the last answer of use.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// The planner gives an idle lane something to do.
    pub fn start<D>(
        &mut self,
        now: Instant,
        job: Job,
        table: Arc<PartitionTable>,
        effects: &mut Vec<Effect<D>>,
    ) {
        let work = Work { job, table };
        if self.state != State::Idle {
            // I2 makes this impossible; custody must not be lost all the same
            debug_assert!(false, "a lane was given a request while it was not idle");
            if let Job::Fetch(grant) = work.job {
                effects.push(Effect::Done(grant.ticket, Outcome::Failed, 0));
            }
            return;
        }
        if let Some(ids_allowed) = self.connection {
            self.send(now, work, ids_allowed, effects);
        } else {
            self.state = State::Connecting(work);
            effects.push(Effect::Connect);
        }
    }

    /// The connection is open. `ids_allowed`: the broker speaks Fetch v13 or newer.
    pub fn connected<D>(&mut self, now: Instant, ids_allowed: bool, effects: &mut Vec<Effect<D>>) {
        self.connection = Some(ids_allowed);
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Connecting(work) => self.send(now, work, ids_allowed, effects),
            other => self.state = other,
        }
    }

    fn send<D>(
        &mut self,
        now: Instant,
        work: Work,
        ids_allowed: bool,
        effects: &mut Vec<Effect<D>>,
    ) {
        let (plan, max_wait, max_bytes) = match &work.job {
            Job::Fetch(grant) => {
                let plan = self.session.build(now, grant, &work.table, ids_allowed);
                (plan, self.max_wait(now, grant.max_wait), grant.max_bytes)
            }
            Job::Touch => {
                let Some(plan) = self.session.touch() else {
                    self.rest(now, effects);
                    return;
                };
                (plan, Duration::ZERO, 1)
            }
        };
        effects.push(Effect::Send(Request {
            plan,
            max_wait,
            max_bytes,
        }));
        // Java's deadline is request.timeout.ms alone; a longer fetch.max.wait.ms would then end every quiet long poll
        self.state = State::Waiting {
            work,
            deadline: now + self.config.request_timeout.max(max_wait + max_wait / 4),
            late_at: now + max_wait + GRACE,
        };
        self.used = Some(now);
    }

    /// Of the request that was planned last.
    fn max_wait(&self, now: Instant, granted: MaxWait) -> Duration {
        let usual = self.config.fetch_max_wait;
        match (granted, self.session.asks_again_at()) {
            (MaxWait::Zero, _) => Duration::ZERO,
            (MaxWait::Short, _) => usual.min(SHORT_WAIT),
            // up to the next attempt at a session, which is then not put off
            (MaxWait::Patient, Some(next_attempt)) => next_attempt
                .saturating_duration_since(now)
                .min(PATIENCE)
                .min(self.config.request_timeout / 2)
                .max(usual),
            (MaxWait::Full | MaxWait::Patient, _) => usual,
        }
    }

    /// The length of the answer came. Its deadline is over; the body has one of its own.
    pub fn length<D>(&mut self, now: Instant, length: u64, effects: &mut Vec<Effect<D>>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Waiting { work, .. } => match &work.job {
                Job::Fetch(grant) if length > grant.reserved => {
                    effects.push(Effect::NeedMore(grant.ticket, length - grant.reserved));
                    self.state = State::WaitingForMemory { work };
                }
                Job::Touch if length > LONGEST_TOUCH_ANSWER => {
                    self.read(now, work, false, effects);
                }
                Job::Fetch(_) | Job::Touch => self.read(now, work, true, effects),
            },
            other => {
                self.state = other;
                self.failed(now, "an answer that nobody asked for", effects);
            }
        }
    }

    fn read<D>(&mut self, now: Instant, work: Work, kept: bool, effects: &mut Vec<Effect<D>>) {
        effects.push(if kept { Effect::Read } else { Effect::Skip });
        self.state = State::Reading {
            work,
            deadline: now + self.config.request_timeout,
            late_at: now + BODY_GRACE,
            kept,
        };
    }

    /// The buffer has memory for the answer that waits, or (`kept` false) wants it thrown away.
    pub fn memory<D>(
        &mut self,
        now: Instant,
        ticket: TicketId,
        kept: bool,
        effects: &mut Vec<Effect<D>>,
    ) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::WaitingForMemory { work } if matches!(&work.job, Job::Fetch(grant) if grant.ticket == ticket) =>
            {
                self.read(now, work, kept, effects);
            }
            // the connection was lost meanwhile; the buffer has heard of it
            other => self.state = other,
        }
    }

    /// The body was read without being kept.
    pub fn skipped<D>(&mut self, now: Instant, effects: &mut Vec<Effect<D>>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Reading { work, .. } => {
                match work.job {
                    Job::Fetch(grant) => {
                        self.session.lost();
                        effects.push(Effect::Done(grant.ticket, Outcome::Discarded, 0));
                    }
                    Job::Touch => self.session.skipped(),
                }
                self.rest(now, effects);
            }
            other => {
                self.state = other;
                self.failed(now, "an answer that nobody asked for", effects);
            }
        }
    }

    /// The answer was read and decoded; `received` bytes of it are alive.
    pub fn answer<D>(
        &mut self,
        now: Instant,
        answer: Answer<D>,
        received: u64,
        effects: &mut Vec<Effect<D>>,
    ) {
        let work = match std::mem::replace(&mut self.state, State::Idle) {
            State::Reading { work, .. } => work,
            other => {
                self.state = other;
                self.failed(now, "an answer that nobody asked for", effects);
                return;
            }
        };
        self.failures = 0;
        let head = AnswerHead {
            error_code: answer.error_code,
            session_id: answer.session_id,
            throttled: !answer.throttle.is_zero(),
        };
        let mentioned = answer.partitions.iter().map(|part| part.partition);
        let verdict = self.session.receive(now, head, mentioned);
        let mut pause = answer.throttle;
        let outcome = match verdict {
            Verdict::Accepted => {
                self.rejections = 0;
                // before the buffer hears of it, which asks metadata to look around
                if !answer.leaders.is_empty() {
                    effects.push(Effect::LeadersTold(answer.leaders));
                }
                Outcome::Reply(self.replies(answer.partitions))
            }
            Verdict::Rejected {
                reason,
                refresh_metadata,
            } => {
                // an evicted session is begun anew at once; a broker that refuses that too would be asked without end
                if let Some(before) = self.rejections.checked_sub(1) {
                    let random = self.jitter.next();
                    pause = pause.max(self.config.reconnect.delay(before, random));
                }
                self.rejections = self.rejections.saturating_add(1);
                effects.push(Effect::SessionTrouble(reason));
                if refresh_metadata {
                    effects.push(Effect::RefreshMetadata);
                }
                Outcome::Failed
            }
        };
        if let Job::Fetch(grant) = work.job {
            effects.push(Effect::Done(grant.ticket, outcome, received));
        }
        if pause.is_zero() {
            self.rest(now, effects);
        } else {
            self.state = State::Resting { until: now + pause };
        }
    }

    fn replies<D>(&mut self, partitions: Vec<AnswerPartition<D>>) -> Vec<PartitionReply<D>> {
        let mut replies = Vec::with_capacity(partitions.len());
        for part in partitions {
            let Some(partition) = part.partition else {
                continue;
            };
            if part.error_code == 0 && part.high_watermark >= 0 {
                let told = Watermarks {
                    high: part.high_watermark,
                    last_stable: part.last_stable_offset,
                    log_start: part.log_start_offset,
                };
                self.session.observe(partition, told);
            }
            // what comes for a parked partition is the other lane's affair
            let Some(epoch) = self.session.asked(partition) else {
                continue;
            };
            replies.push(PartitionReply {
                partition,
                epoch,
                error_code: part.error_code,
                high_watermark: part.high_watermark,
                last_stable_offset: part.last_stable_offset,
                log_start_offset: part.log_start_offset,
                preferred_replica: part.preferred_replica,
                diverging: part.diverging,
                fetched: part.fetched,
            });
        }
        for (partition, epoch, told) in self.session.untold() {
            replies.push(PartitionReply {
                partition,
                epoch,
                error_code: 0,
                high_watermark: told.high,
                last_stable_offset: told.last_stable,
                log_start_offset: told.log_start,
                preferred_replica: None,
                diverging: None,
                fetched: None,
            });
        }
        replies
    }

    /// The connection could not be made, was lost, or is of no use any more.
    pub fn failed<D>(&mut self, now: Instant, reason: &'static str, effects: &mut Vec<Effect<D>>) {
        let was_connected = self.connection.take().is_some();
        if was_connected {
            effects.push(Effect::Disconnect);
        }
        let work = match std::mem::replace(&mut self.state, State::Idle) {
            // a broker closes idle connections, and nothing is lost by it
            State::Idle => return,
            resting @ (State::Resting { .. } | State::Closed) => {
                self.state = resting;
                return;
            }
            State::Connecting(work) => work,
            State::Waiting { work, .. }
            | State::WaitingForMemory { work }
            | State::Reading { work, .. } => {
                self.session.lost();
                effects.push(Effect::SessionTrouble(reason));
                work
            }
        };
        if let Job::Fetch(grant) = work.job {
            effects.push(Effect::Done(grant.ticket, Outcome::Failed, 0));
        }
        effects.push(Effect::RefreshMetadata);
        effects.push(Effect::Unavailable);
        let delay = self
            .config
            .reconnect
            .delay(self.failures, self.jitter.next());
        self.failures = self.failures.saturating_add(1);
        self.state = State::Resting { until: now + delay };
    }

    /// The next moment at which [`timeout`](Self::timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Waiting {
                deadline, late_at, ..
            }
            | State::Reading {
                deadline, late_at, ..
            } => Some(*late_at.min(deadline)),
            State::Resting { until } => Some(*until),
            State::Idle => self.idle_until(),
            State::Connecting(_) | State::WaitingForMemory { .. } | State::Closed => None,
        }
    }

    /// When an idle connection is closed.
    fn idle_until(&self) -> Option<Instant> {
        self.connection?;
        self.used?.checked_add(self.config.max_idle?)
    }

    /// Time has passed.
    pub fn timeout<D>(&mut self, now: Instant, effects: &mut Vec<Effect<D>>) {
        let idle_until = self.idle_until();
        match &mut self.state {
            State::Waiting { deadline, .. } if *deadline <= now => {
                self.failed(now, "no answer within request.timeout.ms", effects);
            }
            State::Waiting { late_at, .. } if *late_at <= now => {
                *late_at = now + GRACE;
                effects.push(Effect::RefreshMetadata);
            }
            State::Reading { deadline, .. } if *deadline <= now => {
                self.failed(now, "an answer that stopped half-way", effects);
            }
            State::Reading { late_at, .. } if *late_at <= now => {
                *late_at = now + BODY_GRACE;
                effects.push(Effect::RefreshMetadata);
            }
            State::Resting { until } if *until <= now => self.rest(now, effects),
            State::Idle if idle_until.is_some_and(|until| until <= now) => {
                self.connection = None;
                effects.push(Effect::Disconnect);
            }
            _ => {}
        }
    }

    /// The lane will not be used again. The plan that ends the session, if there is one and a connection to send it on.
    pub fn close<D>(&mut self, effects: &mut Vec<Effect<D>>) -> Option<Plan> {
        let state = std::mem::replace(&mut self.state, State::Closed);
        let mid_answer = matches!(
            state,
            State::WaitingForMemory { .. } | State::Reading { .. }
        );
        match state {
            State::Connecting(work)
            | State::Waiting { work, .. }
            | State::WaitingForMemory { work }
            | State::Reading { work, .. } => {
                if let Job::Fetch(grant) = work.job {
                    effects.push(Effect::Done(grant.ticket, Outcome::Failed, 0));
                }
            }
            State::Idle | State::Resting { .. } | State::Closed => {}
        }
        let plan = self.session.close();
        // behind a request in flight it is answered in turn; in the middle of an answer it would wait for the body
        self.connection.take().filter(|_| !mid_answer)?;
        plan
    }

    fn rest<D>(&mut self, now: Instant, effects: &mut Vec<Effect<D>>) {
        self.state = State::Idle;
        self.used = Some(now);
        effects.push(Effect::Idle(self.session.state()));
    }
}
