//! The reader's end of a membership: sees what happens to the assignment, calls the listener, confirms.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use coordinator_actor::messages::Rebalance;
use coordinator_actor::{EventId, GroupError, LastingFailure, PollClock, Polling};
use tokio::sync::mpsc;

use super::listener::Callback;
use super::{Callbacks, RebalanceContext};
use crate::consumer::ConsumerHandle;
use crate::metrics::application::{Callback as Called, clock};

pub(crate) struct Rebalances {
    events: mpsc::UnboundedReceiver<Rebalance>,
    poll_clock: PollClock,
    failure: LastingFailure,
    listener: Option<Arc<dyn Callbacks>>,
    handle: ConsumerHandle,
    /// What was seen and not dealt with.
    noticed: VecDeque<Rebalance>,
    /// A call of the listener that a poll began.
    running: Option<Running>,
}

/// Confirms the event when it is dropped, that is when the listener is done with it.
struct Running {
    id: EventId,
    handle: ConsumerHandle,
    callback: Callback,
    kind: Called,
    began: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.confirm(self.id);
    }
}

impl Rebalances {
    pub(crate) fn new(
        events: mpsc::UnboundedReceiver<Rebalance>,
        poll_clock: PollClock,
        failure: LastingFailure,
        listener: Option<Arc<dyn Callbacks>>,
        handle: ConsumerHandle,
    ) -> Self {
        Self {
            events,
            poll_clock,
            failure,
            listener,
            handle,
            noticed: VecDeque::new(),
            running: None,
        }
    }

    /// A poll begins.
    pub(crate) fn enter(&self, now: Instant) -> Polling {
        self.poll_clock.enter(now)
    }

    /// Why the group is of no use, if it is not.
    pub(crate) fn failure(&self) -> Option<GroupError> {
        self.failure.get()
    }

    /// Looks what happened. Returns whether there is something to deal with, a call of the listener that has not ended included.
    ///
    /// The coordinator tells the buffer first. So whoever hears from the buffer after this knows that nothing more is given of
    /// what goes, and may [`catch_up`](Self::catch_up): what is confirmed there is committed.
    pub(crate) fn notice(&mut self) -> bool {
        while let Ok(rebalance) = self.events.try_recv() {
            self.noticed.push_back(rebalance);
        }
        self.running.is_some() || !self.noticed.is_empty()
    }

    /// Deals with all that was noticed. May be dropped at any await.
    pub(crate) async fn catch_up(&mut self) {
        self.finish_call().await;
        while let Some(rebalance) = self.noticed.pop_front() {
            self.begin(rebalance);
            self.finish_call().await;
        }
    }

    /// Deals with all that happens until the coordinator has stopped; a listener that takes longer is not waited for.
    pub(crate) async fn finish(&mut self) {
        let ended = self.handle.ended();
        tokio::select! {
            biased;
            () = self.see_out() => {}
            () = ended => {}
        }
    }

    async fn see_out(&mut self) {
        self.catch_up().await;
        while let Some(rebalance) = self.events.recv().await {
            self.begin(rebalance);
            self.finish_call().await;
        }
    }

    fn begin(&mut self, Rebalance { id, event, going }: Rebalance) {
        match (&self.listener, Called::of(&event)) {
            (Some(listener), Some(kind)) => {
                let context = RebalanceContext::new(self.handle.clone(), going);
                self.running = Some(Running {
                    id,
                    handle: self.handle.clone(),
                    callback: Arc::clone(listener).call(context, event),
                    kind,
                    began: clock(),
                });
            }
            _ => self.handle.confirm(id),
        }
    }

    async fn finish_call(&mut self) {
        poll_fn(|task| {
            let Some(mut running) = self.running.take() else {
                return Poll::Ready(());
            };
            // not back in its place if it panics: that call is over then
            let poll = running.callback.as_mut().poll(task);
            if poll.is_pending() {
                self.running = Some(running);
            } else {
                let took = clock().saturating_duration_since(running.began);
                self.handle.ports.application.called(running.kind, took);
            }
            poll
        })
        .await;
    }
}
