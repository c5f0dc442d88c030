//! What a member owns, and how it is taken from the application and given to it.
//!
//! Partitions that are taken away leave the buffer at once: no later poll gives records of them. If offsets are committed
//! automatically, the next poll makes what was given count as processed, that is committed, and only then the listener is called
//! and the partitions are somebody else's. Without a listener and without automatic commits nobody needs to be waited for.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use record_batch::TopicPartition;

use super::context::Context;
use crate::model::{Effect, EventId, RebalanceEvent};

#[derive(Debug, Default)]
pub(super) struct Seat {
    owned: BTreeSet<TopicPartition>,
    handovers: VecDeque<Handover>,
    events: u64,
    /// The application was told of new partitions and has not confirmed it.
    announced: Option<EventId>,
    /// Asked to confirm that it polls.
    roll_call: Option<EventId>,
    /// Not held any more: others may own them by now.
    let_go: Vec<TopicPartition>,
}

#[derive(Debug)]
struct Handover {
    kind: Kind,
    partitions: Vec<TopicPartition>,
    deadline: Instant,
    /// What was given counts as processed, and is committed, when the application polls again.
    waits_for_poll: bool,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Revoked,
    /// They are somebody else's already.
    Lost,
    /// New ones, after a revocation that the listener hears of first.
    Given,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    /// The application confirms that what it was given is processed.
    Checkpoint(EventId),
    /// What was processed is being committed.
    Commit,
    /// The listener is called.
    Callback(EventId),
}

impl Seat {
    pub(super) const fn owned(&self) -> &BTreeSet<TopicPartition> {
        &self.owned
    }

    /// What is owned, and what the application has not let go yet.
    pub(super) fn held(&self) -> BTreeSet<TopicPartition> {
        let going = self
            .handovers
            .iter()
            .filter(|handover| handover.kind == Kind::Revoked);
        let going = going.flat_map(|handover| &handover.partitions);
        self.owned.iter().chain(going).cloned().collect()
    }

    /// Whether partitions were taken away that the application still has to let go.
    pub(super) fn is_handing_over(&self) -> bool {
        !self.handovers.is_empty()
    }

    /// Whether the application still has to take notice of new partitions.
    pub(super) const fn is_announcing(&self) -> bool {
        self.announced.is_some()
    }

    /// Takes partitions away: `lost` if they are somebody else's already.
    pub(super) fn take_away(
        &mut self,
        partitions: Vec<TopicPartition>,
        lost: bool,
        context: &mut Context<'_>,
    ) {
        if partitions.is_empty() {
            return;
        }
        for partition in &partitions {
            self.owned.remove(partition);
        }
        if lost {
            self.let_go.extend(partitions.iter().cloned());
        }
        let kind = if lost { Kind::Lost } else { Kind::Revoked };
        self.queue(kind, partitions, context);
        context.push(Effect::Assign(self.owned.iter().cloned().collect()));
        self.advance(context);
    }

    fn queue(&mut self, kind: Kind, partitions: Vec<TopicPartition>, context: &Context<'_>) {
        self.handovers.push_back(Handover {
            kind,
            partitions,
            deadline: context.now + context.config.max_poll_interval,
            waits_for_poll: true,
            stage: Stage::Begin,
        });
    }

    /// Takes everything away.
    pub(super) fn take_all(&mut self, lost: bool, context: &mut Context<'_>) {
        // nor is there anything to be given any more
        self.handovers
            .retain(|handover| handover.kind != Kind::Given);
        self.take_away(self.owned.iter().cloned().collect(), lost, context);
    }

    /// Gives everything up because the application wants no more of it. What it has processed is committed, without waiting for
    /// a poll, which may not come.
    pub(super) fn resign(&mut self, context: &mut Context<'_>) {
        self.take_all(false, context);
        for handover in &mut self.handovers {
            handover.waits_for_poll = false;
            if let Stage::Checkpoint(_) = handover.stage {
                handover.stage = Stage::Commit;
                context.push(Effect::Collect(Some(handover.partitions.clone())));
            }
        }
    }

    /// Gives partitions; the application is told even if there are none.
    pub(super) fn give(&mut self, partitions: Vec<TopicPartition>, context: &mut Context<'_>) {
        if context.config.has_listener {
            self.queue(Kind::Given, partitions, context);
            self.advance(context);
        } else {
            self.own(partitions, context);
        }
    }

    fn own(&mut self, partitions: Vec<TopicPartition>, context: &mut Context<'_>) {
        if !partitions.is_empty() {
            self.owned.extend(partitions);
            context.push(Effect::Assign(self.owned.iter().cloned().collect()));
        }
    }

    /// Asks the application for a sign that it polls.
    pub(super) fn call_roll(&mut self, context: &mut Context<'_>) {
        if self.roll_call.is_none() {
            self.roll_call = Some(self.tell(RebalanceEvent::Checkpoint, context));
        }
    }

    /// Whether it was asked and did not answer.
    pub(super) const fn is_calling_roll(&self) -> bool {
        self.roll_call.is_some()
    }

    /// The application confirms an event, and with it those before.
    pub(super) fn confirmed(&mut self, event: EventId, context: &mut Context<'_>) {
        if self.announced.is_some_and(|id| id <= event) {
            self.announced = None;
        }
        if self.roll_call.is_some_and(|id| id <= event) {
            self.roll_call = None;
        }
        if let Some(handover) = self.handovers.front_mut() {
            match handover.stage {
                Stage::Checkpoint(id) if id <= event => {
                    handover.stage = Stage::Commit;
                    context.push(Effect::Collect(Some(handover.partitions.clone())));
                }
                Stage::Callback(id) if id <= event => {
                    self.end_first();
                    self.advance(context);
                }
                Stage::Begin | Stage::Commit | Stage::Checkpoint(_) | Stage::Callback(_) => {}
            }
        }
    }

    /// The commit that a handover waits for has ended, one way or the other.
    pub(super) fn committed(&mut self, context: &mut Context<'_>) {
        if let Some(handover) = self.handovers.front_mut()
            && handover.stage == Stage::Commit
        {
            self.call_listener(context);
            self.advance(context);
        }
    }

    /// Until when the first handover may take.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.handovers.front()?.deadline)
    }

    /// The same, or until a close is over.
    pub(super) fn due(&self, context: &Context<'_>) -> Option<Instant> {
        let deadline = self.deadline()?;
        Some(context.closes_at.map_or(deadline, |at| at.min(deadline)))
    }

    /// An application that takes too long is not waited for. It hears of what it lost that way before anything else.
    pub(super) fn act(&mut self, context: &mut Context<'_>) {
        while self.due(context).is_some_and(|due| due <= context.now) {
            if let Some(late) = self.handovers.front()
                && !matches!(late.stage, Stage::Callback(_))
                && context.config.has_listener
            {
                let event = RebalanceEvent::Lost(late.partitions.clone());
                self.tell(event, context);
            }
            self.end_first();
            self.advance(context);
        }
    }

    /// The first handover is over.
    fn end_first(&mut self) {
        if let Some(ended) = self.handovers.pop_front()
            && ended.kind == Kind::Revoked
        {
            self.let_go.extend(ended.partitions);
        }
    }

    /// What is not held any more since this was last asked for.
    pub(super) fn take_let_go(&mut self) -> Vec<TopicPartition> {
        std::mem::take(&mut self.let_go)
    }

    fn advance(&mut self, context: &mut Context<'_>) {
        while let Some(handover) = self.handovers.front()
            && handover.stage == Stage::Begin
        {
            match handover.kind {
                Kind::Revoked
                    if context.config.auto_commit.is_some() && !handover.waits_for_poll =>
                {
                    context.push(Effect::Collect(Some(handover.partitions.clone())));
                    if let Some(handover) = self.handovers.front_mut() {
                        handover.stage = Stage::Commit;
                    }
                }
                Kind::Revoked if context.config.auto_commit.is_some() => {
                    let id = self.tell(RebalanceEvent::Checkpoint, context);
                    if let Some(handover) = self.handovers.front_mut() {
                        handover.stage = Stage::Checkpoint(id);
                    }
                }
                Kind::Revoked | Kind::Lost => self.call_listener(context),
                Kind::Given => {
                    let Some(given) = self.handovers.pop_front() else {
                        return;
                    };
                    // first, so that the application hears of them before it gets their records
                    let event = RebalanceEvent::Assigned(given.partitions.clone());
                    self.announced = Some(self.tell(event, context));
                    self.own(given.partitions, context);
                }
            }
        }
    }

    /// The last step of the first handover; without a listener it is done.
    fn call_listener(&mut self, context: &mut Context<'_>) {
        let Some(handover) = self.handovers.front() else {
            return;
        };
        if !context.config.has_listener {
            self.end_first();
            return;
        }
        let partitions = handover.partitions.clone();
        let event = match handover.kind {
            Kind::Lost => RebalanceEvent::Lost(partitions),
            Kind::Revoked | Kind::Given => RebalanceEvent::Revoked(partitions),
        };
        let id = self.tell(event, context);
        if let Some(handover) = self.handovers.front_mut() {
            handover.stage = Stage::Callback(id);
        }
    }

    fn tell(&mut self, event: RebalanceEvent, context: &mut Context<'_>) -> EventId {
        self.events += 1;
        let id = EventId(self.events);
        context.push(Effect::Event(id, event));
        id
    }
}
