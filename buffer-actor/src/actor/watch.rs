//! What the buffer says of itself: its state to whoever asks, and a word of warning where nobody would ask.

#[cfg(test)]
mod tests;

use actix::{Context, Handler, MessageResult};
use tracing::warn;

use super::BufferActor;
use crate::messages::{BufferStatus, GetStatus};

/// So many partitions are named one by one; of more at once only the number is told.
const NAMED: usize = 10;

impl BufferActor {
    /// Lets the watchdog look, if it is time.
    pub(super) fn watch(&mut self) {
        let now = tokio::time::Instant::now().into_std();
        if self.watchdog.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        let unasked = self.machine.look_for_unasked();
        let findings = self.watchdog.look(now, unasked);
        for finding in findings.iter().take(NAMED) {
            let unasked = &finding.unasked;
            warn!(
                broker = %unasked.node,
                topic = unasked.name.topic(),
                partition = unasked.name.partition(),
                offset = unasked.offset,
                without_request = ?finding.lasted,
                seems_to_wait_for = ?unasked.reason,
                "a partition could be fetched and is not asked for, which is a fault of this client: pause and resume it, or seek \
                 to its position, to have it asked for again, and report this with the log"
            );
        }
        if findings.len() > NAMED {
            warn!(
                more = findings.len() - NAMED,
                "as many other partitions could be fetched and are not asked for"
            );
        }
    }
}

impl Handler<GetStatus> for BufferActor {
    type Result = MessageResult<GetStatus>;

    /// Not counted as a message: looking changes nothing. What was dropped since the last message is no longer in use.
    fn handle(&mut self, _: GetStatus, ctx: &mut Context<Self>) -> MessageResult<GetStatus> {
        let now = self.step(ctx, |_, now, _| now);
        let reasons = self
            .machine
            .assignment()
            .filter_map(|(id, name)| Some((name.clone(), self.machine.reason(id)?)))
            .collect();
        MessageResult(BufferStatus {
            counters: self.machine.counters(),
            memory_used: self.machine.memory_used(),
            memory_limit: self.memory_limit,
            memory_kept: self.memory.kept(),
            messages: self.messages,
            budget_depleted: self.budget_depleted.total(now),
            credit_depleted: self.credit_depleted.total(now),
            unasked: self.watchdog.count(),
            reasons,
        })
    }
}
