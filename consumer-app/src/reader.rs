//! The application's end of the data path: takes leases from the buffer, decodes them on the caller's thread, and gives out
//! up to `max.poll.records` at a time. A message is sent only when the lease is empty or the change word moved.

mod batches;
mod kept;
mod part;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::Recipient;
use buffer_actor::messages::{Block, ReaderGone, Take};
use buffer_actor::{
    Backoff, LeasedItem, Memory, PartitionError, PartitionState, SharedState, TakeId, TakeRequest,
};
use record_batch::{DecodeOptions, Decoder};
use session_actor::wire::fetch::IsolationLevel;
use tokio::sync::oneshot;

use self::batches::Failures;
pub use self::batches::{Batches, DecodeFailed, PartitionBatches};
use self::kept::KeptWatch;
use self::part::{Allowance, Part, Step};
use crate::error::{Error, Result};
use crate::group::Rebalances;
use crate::metrics::application::{ApplicationStats, clock};
use crate::records::Records;
use crate::status::{Mode, Status};

/// What the reader needs to know of the configuration.
#[derive(Debug, Clone)]
pub(crate) struct ReaderOptions {
    /// `max.poll.records`.
    pub(crate) max_poll_records: usize,
    /// `isolation.level`.
    pub(crate) isolation_level: IsolationLevel,
    /// `check.crcs` and the cap on a decompressed batch.
    pub(crate) decode: DecodeOptions,
    /// `retry.backoff.ms` and `.max.ms`: how often the error of a batch that cannot be read is told.
    pub(crate) retry: Backoff,
}

/// Where the reader asks.
#[derive(Debug, Clone)]
pub(crate) struct BufferPort {
    pub(crate) take: Recipient<Take>,
    pub(crate) block: Recipient<Block>,
    pub(crate) gone: Recipient<ReaderGone>,
}

/// The one reader of a consumer.
pub(crate) struct Reader {
    options: ReaderOptions,
    buffer: BufferPort,
    shared: SharedState,
    status: Status,
    memory: Memory,
    application: ApplicationStats,
    decoder: Decoder,
    /// Answers that are still to come, oldest first. A poll that is dropped leaves them here.
    awaited: VecDeque<Awaited>,
    /// Answers that came.
    received: u64,
    /// What was leased and not given out, the partition served longest ago first.
    parts: VecDeque<Held>,
    /// The change word when it was last acted upon.
    seen: u64,
    /// Batches given undecoded that could not be read, on whatever thread.
    failures: Failures,
    /// What the application keeps.
    kept: KeptWatch,
    /// Partitions whose records the last poll gave.
    given: Vec<Arc<PartitionState>>,
    /// What happens in the group, if there is one.
    rebalances: Option<Rebalances>,
}

struct Awaited {
    answer: oneshot::Receiver<Vec<LeasedItem>>,
    /// When it comes at the latest; `None`: at once.
    until: Option<Instant>,
}

enum Held {
    Part(Box<Part>),
    Error(PartitionError),
}

impl Reader {
    pub(crate) fn new(
        options: ReaderOptions,
        buffer: BufferPort,
        shared: SharedState,
        status: Status,
        memory: Memory,
        application: ApplicationStats,
    ) -> Self {
        Self {
            decoder: Decoder::new(options.decode),
            options,
            buffer,
            shared,
            status,
            memory,
            application,
            awaited: VecDeque::new(),
            received: 0,
            parts: VecDeque::new(),
            seen: 0,
            failures: Failures::default(),
            kept: KeptWatch::default(),
            given: Vec::new(),
            rebalances: None,
        }
    }

    /// Sees from now on what happens in the group.
    pub(crate) fn join(&mut self, rebalances: Rebalances) {
        self.rebalances = Some(rebalances);
    }

    /// See [`Consumer::poll`](crate::Consumer::poll). May be dropped at any await.
    pub(crate) async fn poll(&mut self, timeout: Duration) -> Result<Records> {
        let found = self.poll_with(timeout, Self::gather).await?;
        Ok(found.unwrap_or_else(|| Records::new(self.shared.clone())))
    }

    /// See [`Consumer::poll_batches`](crate::Consumer::poll_batches). May be dropped at any await.
    pub(crate) async fn poll_batches(&mut self, timeout: Duration) -> Result<Batches> {
        let found = self.poll_with(timeout, Self::gather_batches).await?;
        Ok(found.unwrap_or_default())
    }

    /// Polls for what `gather` makes of the lease; `None` if nothing came in time.
    async fn poll_with<T>(
        &mut self,
        timeout: Duration,
        gather: fn(&mut Self, Instant) -> Option<Result<T>>,
    ) -> Result<Option<T>> {
        // what was called before holds for this poll, though nobody waited for it
        self.shared.commands().done().await;
        let mut now = clock();
        let deadline = now
            .checked_add(timeout)
            .unwrap_or(now + Duration::from_secs(u64::from(u32::MAX)));
        let mut in_poll = self.application.enter(now);
        let mut polling = self.rebalances.as_ref().map(|group| group.enter(now));
        // what the last poll gave counts as processed now that this one begins
        self.process();
        let mut has_asked = false;
        loop {
            // nor does a listener, or another task, which may commit what is given by then
            self.shared.commands().done().await;
            if self.status.is_closed() {
                self.finish().await;
                return Err(Error::Closed);
            }
            if self.status.has_failed() {
                return Err(Error::Failed);
            }
            self.receive_ready();
            let group = self.rebalances.as_mut();
            let has_news = group.is_some_and(Rebalances::notice);
            if has_news || self.shared.changes() != self.seen {
                in_poll.waits();
                self.look().await?;
            }
            if let Some(group) = &mut self.rebalances
                && has_news
            {
                // before any record: what this poll may give is what remains
                group.catch_up().await;
                in_poll.goes_on(clock());
                continue;
            }
            // of a subscription that the application has given up meanwhile it does not hear
            if let Some(error) = self.rebalances.as_ref().and_then(Rebalances::failure)
                && self.status.mode() == Mode::Subscribed
            {
                return Err(error.into());
            }
            self.kept.look(now, &self.memory, &self.shared);
            if let Some(result) = gather(self, now) {
                self.kept.fed();
                return result.map(Some);
            }
            if let Some(error) = self.status.take_failure() {
                return Err(error);
            }
            if let Some(error) = self.kept.complaint(now, &self.memory, &self.shared) {
                return Err(error);
            }
            // a poll that is not to wait asks, too: the answer comes at once
            if now >= deadline && has_asked {
                return Ok(None);
            }
            in_poll.waits();
            self.wait(now, deadline).await?;
            has_asked = true;
            now = clock();
            in_poll.goes_on(now);
            if let Some(polling) = &mut polling {
                polling.goes_on(now);
            }
        }
    }

    /// What was given counts as processed.
    pub(crate) fn process(&mut self) {
        for state in self.given.drain(..) {
            state.process();
        }
    }

    /// Deals with what happens in the group until the coordinator has stopped.
    pub(crate) async fn finish(&mut self) {
        if let Some(group) = &mut self.rebalances {
            group.finish().await;
        }
    }

    /// Nothing is assigned: what is in hand is void, and its memory free. Answers on their way stay awaited, since the buffer
    /// may yet give records of a later assignment to one of them.
    pub(crate) async fn drop_lease(&mut self) {
        self.parts.clear();
        self.process();
        if let Some(group) = &mut self.rebalances
            && group.notice()
        {
            group.catch_up().await;
        }
    }

    /// Something changed: drops what is void, gives back what is paused, asks what is new.
    async fn look(&mut self) -> Result<()> {
        let changes = self.shared.changes();
        // an answer on its way belongs to the lease, and may be void as well
        self.receive_all().await?;
        let mut returned = Vec::new();
        self.parts = std::mem::take(&mut self.parts)
            .into_iter()
            .filter_map(|held| match held {
                Held::Part(part) if !part.is_valid() => None,
                Held::Part(part) if part.is_paused() => {
                    returned.push(part.give_back());
                    None
                }
                other => Some(other),
            })
            .collect();
        self.take_failures();
        self.seen = changes;
        self.ask(returned, None);
        self.receive_all().await
    }

    /// Batches that were given undecoded and turned out to be unreadable are this reader's again, its position before them.
    fn take_failures(&mut self) {
        for part in self.failures.take() {
            if !part.is_valid() {
                continue;
            }
            part.take_position_back();
            self.buffer.block.do_send(part.block());
            self.parts.retain(|held| match held {
                Held::Part(other) => other.partition() != part.partition(),
                Held::Error(_) => true,
            });
            self.parts.push_front(Held::Part(Box::new(part)));
        }
    }

    /// Waits until something comes, or `deadline`.
    async fn wait(&mut self, now: Instant, deadline: Instant) -> Result<()> {
        let retold = self.parts.iter().filter_map(|held| match held {
            Held::Part(part) => part.retold_at(),
            Held::Error(_) => None,
        });
        let watched = retold.chain(self.kept.next_look(now)).min();
        let until = watched.map_or(deadline, |at| at.min(deadline));
        let too_late = |awaited: &Awaited| awaited.until.is_some_and(|at| at > until);
        // a take of an earlier poll that waits longer than this one does is replaced: its answer comes at once
        if self.awaited.back().is_none_or(too_late) {
            self.ask(Vec::new(), Some(until));
        }
        self.receive().await
    }

    fn ask(&mut self, returned: Vec<part::Completed>, until: Option<Instant>) {
        let (reply, answer) = oneshot::channel();
        let holding = self
            .parts
            .iter()
            .filter_map(|held| match held {
                Held::Part(part) => Some(part.partition()),
                Held::Error(_) => None,
            })
            .collect();
        let take = Take {
            request: TakeRequest {
                // the buffer names it
                id: TakeId(0),
                received: self.received,
                holding,
                returned,
                until,
            },
            reply,
        };
        let has_nothing = self.parts.is_empty() && take.request.returned.is_empty();
        let to_send = if has_nothing && self.awaited.is_empty() {
            self.shared.takes().leave(take)
        } else {
            Some(take)
        };
        if let Some(take) = to_send {
            self.buffer.take.do_send(take);
        }
        self.awaited.push_back(Awaited { answer, until });
    }

    /// Waits for the oldest answer.
    async fn receive(&mut self) -> Result<()> {
        let Some(awaited) = self.awaited.front_mut() else {
            return Ok(());
        };
        let answer = (&mut awaited.answer).await;
        self.awaited.pop_front();
        match answer {
            Ok(items) => {
                self.received += 1;
                self.hold(items);
                Ok(())
            }
            Err(_) if self.status.is_closed() => Err(Error::Closed),
            Err(_) => Err(Error::Failed),
        }
    }

    /// Takes answers that came while nobody polled.
    fn receive_ready(&mut self) {
        while let Some(awaited) = self.awaited.front_mut()
            && let Ok(items) = awaited.answer.try_recv()
        {
            self.awaited.pop_front();
            self.received += 1;
            self.hold(items);
        }
    }

    /// What is new was served longest ago: it comes first.
    fn hold(&mut self, items: Vec<LeasedItem>) {
        for item in items.into_iter().rev() {
            self.parts.push_front(match item {
                LeasedItem::Data { state, completed } => {
                    let part = Part::new(state, completed, self.options.isolation_level);
                    Held::Part(Box::new(part))
                }
                LeasedItem::Error(error) => Held::Error(error),
            });
        }
    }

    /// Waits for all answers; one that may be long in coming is asked for anew, which ends it.
    async fn receive_all(&mut self) -> Result<()> {
        if self
            .awaited
            .back()
            .is_some_and(|awaited| awaited.until.is_some())
        {
            self.ask(Vec::new(), None);
        }
        while !self.awaited.is_empty() {
            self.receive().await?;
        }
        Ok(())
    }

    /// What can be given without asking; `None` if that is nothing.
    ///
    /// The budget is overdrawn by one batch at a time, and only when none is at hand that is decompressed already.
    fn gather(&mut self, now: Instant) -> Option<Result<Records>> {
        let mut allowance = Allowance {
            records: self.options.max_poll_records,
            overdraws: 0,
            copies: self.memory.is_much_kept(),
            fell_short: false,
        };
        let served = self.serve(now, &mut allowance);
        if served.is_some() || !allowance.fell_short {
            return served;
        }
        allowance.overdraws = 1;
        self.serve(now, &mut allowance)
    }

    /// Gives each part its turn, as long as something is allowed.
    fn serve(&mut self, now: Instant, allowance: &mut Allowance) -> Option<Result<Records>> {
        let mut records = Records::new(self.shared.clone());
        let mut turns = self.parts.len();
        while turns > 0 && allowance.records > 0 {
            turns -= 1;
            match self.parts.pop_front()? {
                Held::Error(error) if records.is_empty() && !records.has_moved() => {
                    return Some(Err(error.into()));
                }
                Held::Error(error) => {
                    // the records first, the error with the next poll
                    self.parts.push_front(Held::Error(error));
                    break;
                }
                Held::Part(mut part) => {
                    let step = part.give(
                        &mut records,
                        allowance,
                        now,
                        &mut self.decoder,
                        &self.memory,
                    );
                    if part.has_given() {
                        self.given.push(Arc::clone(part.state()));
                    }
                    match step {
                        Step::Finished => {}
                        Step::More => self.parts.push_back(Held::Part(part)),
                        Step::Unreadable { fresh } => {
                            if fresh {
                                self.buffer.block.do_send(part.block());
                            }
                            let first = records.is_empty() && !records.has_moved();
                            let error =
                                first.then(|| part.tell(now, &self.options.retry)).flatten();
                            self.parts.push_back(Held::Part(part));
                            if let Some(error) = error {
                                return Some(Err(error));
                            }
                        }
                    }
                }
            }
        }
        (!records.is_empty() || records.has_moved()).then_some(Ok(records))
    }

    /// All that is leased, undecoded; `None` if that is nothing.
    fn gather_batches(&mut self, now: Instant) -> Option<Result<Batches>> {
        let mut batches = Batches::default();
        let mut kept = VecDeque::new();
        let mut error = None;
        while let Some(held) = self.parts.pop_front() {
            match held {
                Held::Error(partition) if batches.is_empty() && error.is_none() => {
                    error = Some(partition.into());
                }
                Held::Part(mut part) if part.is_unreadable() => {
                    if batches.is_empty() && error.is_none() {
                        error = part.tell(now, &self.options.retry);
                    }
                    kept.push_back(Held::Part(part));
                }
                Held::Part(mut part) if error.is_none() => {
                    part.give_whole();
                    if !part.has_given() {
                        continue;
                    }
                    self.given.push(Arc::clone(part.state()));
                    batches.push(PartitionBatches::new(
                        part,
                        self.options.decode,
                        self.memory.clone(),
                        self.failures.clone(),
                        self.shared.clone(),
                    ));
                }
                other => kept.push_back(other),
            }
        }
        self.parts = kept;
        match error {
            Some(error) => Some(Err(error)),
            None => (!batches.is_empty()).then_some(Ok(batches)),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.buffer.gone.do_send(ReaderGone);
    }
}
