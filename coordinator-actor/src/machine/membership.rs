//! What both group protocols have in common: how the machine drives a member.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use session_actor::WatchTopics;
use session_actor::wire::{ErrorCode, WireError};

use super::context::Context;
use super::seat::Seat;
use crate::error::GroupError;
use crate::model::{Answer, AskId, Identity, LastPoll, LeaveOption, Subscription};

pub(super) trait Membership: fmt::Debug {
    fn seat(&self) -> &Seat;
    fn seat_mut(&mut self) -> &mut Seat;

    fn watched(&self) -> WatchTopics;

    /// Reads this from now on.
    fn subscribe(
        &mut self,
        subscription: Subscription,
        context: &mut Context<'_>,
    ) -> Result<(), GroupError>;

    /// Gives everything up and leaves.
    fn unsubscribe(&mut self, option: LeaveOption, context: &mut Context<'_>);

    /// The application wants the group to be rebalanced.
    fn enforce_rebalance(&mut self, reason: &str);

    fn is_subscribed(&self) -> bool;

    /// The topics that the application named; none of a pattern.
    fn named(&self) -> BTreeSet<Arc<str>>;

    /// Nothing is to be done to leave, or it is done.
    fn has_left(&self) -> bool;

    fn wants_coordinator(&self) -> bool;

    /// As whom to commit: nobody without a subscription.
    fn identity(&self, context: &Context<'_>) -> Result<Option<Identity>, GroupError>;

    /// Whether commits wait until it is known as whom to commit.
    fn will_know_who(&self) -> bool {
        false
    }

    /// Its id and generation or epoch, for the application to see.
    fn shown(&self) -> (Arc<str>, i32);

    /// Metadata is new.
    fn cluster_changed(&mut self, context: &Context<'_>);

    /// Nothing goes on before the application subscribes anew: what was owned is lost.
    fn give_up(&mut self, context: &mut Context<'_>);

    /// Does what is due.
    fn act(&mut self, context: &mut Context<'_>);

    fn due(&self, context: &Context<'_>) -> Option<Instant>;

    fn awaits(&self, id: AskId) -> bool;

    fn answered(&mut self, id: AskId, answer: Result<Answer, WireError>, context: &mut Context<'_>);

    /// An error of the group, from whatever request.
    fn in_trouble(&mut self, error: ErrorCode, message: String, context: &mut Context<'_>);
}

/// When a poll is due at the latest; one in progress ends later than now.
pub(super) fn poll_deadline(context: &Context<'_>) -> Option<Instant> {
    let last = match context.last_poll {
        LastPoll::Now => context.now,
        LastPoll::At(last) => last,
    };
    last.checked_add(context.config.max_poll_interval)
}
