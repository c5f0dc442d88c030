use kafka_protocol::messages::{JoinGroupResponse, SyncGroupResponse};
use tokio::sync::oneshot;

use super::{RequestContext, Step, answer};

/// A request that waits for other members of a group.
#[derive(Debug)]
pub(crate) enum DelayedGroup {
    Join(oneshot::Receiver<JoinGroupResponse>),
    Sync(oneshot::Receiver<SyncGroupResponse>),
}

impl DelayedGroup {
    /// The answer, once it is there. A request whose place another one of the same member has taken is never answered,
    /// so its connection is closed.
    pub(crate) async fn answer(self, context: &RequestContext) -> Step {
        match self {
            Self::Join(waiting) => match waiting.await {
                Ok(response) => answer_join(context, response),
                Err(_) => Step::Close,
            },
            Self::Sync(waiting) => match waiting.await {
                Ok(response) => answer_sync(context, response),
                Err(_) => Step::Close,
            },
        }
    }
}

pub(super) fn answer_join(context: &RequestContext, mut response: JoinGroupResponse) -> Step {
    // until version 6 there is no null, and until 8 nothing to skip
    if context.version < 7 {
        let name = response.protocol_name.take();
        response.protocol_name = Some(name.unwrap_or_default());
    }
    answer(
        context,
        &response.with_throttle_time_ms(context.throttle_ms),
    )
}

pub(super) fn answer_sync(context: &RequestContext, response: SyncGroupResponse) -> Step {
    answer(
        context,
        &response.with_throttle_time_ms(context.throttle_ms),
    )
}
