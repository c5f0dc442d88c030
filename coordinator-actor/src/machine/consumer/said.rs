//! What the coordinator was told already: a heartbeat names only what changed since.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::JOIN;
use crate::config::GroupConfig;
use crate::model::{ConsumerHeartbeat, Subscription};

/// Topics and partitions of them.
type Owned = Vec<(Uuid, Vec<i32>)>;

#[derive(Debug, Default)]
pub(super) struct Said {
    fields: Option<Fields>,
    repeats_owned: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Fields {
    rebalance_timeout: Duration,
    topics: Vec<Arc<str>>,
    regex: Arc<str>,
    assignor: Option<Arc<str>>,
    owned: Owned,
}

impl Said {
    /// The next heartbeat says everything: the last one may not have arrived, or was refused.
    pub(super) fn forget(&mut self) {
        self.fields = None;
    }

    /// The next heartbeat says what is owned, also if that was said.
    pub(super) const fn repeat_owned(&mut self) {
        self.repeats_owned = true;
    }

    pub(super) fn next(
        &mut self,
        member_id: &Arc<str>,
        epoch: i32,
        subscription: &Subscription,
        assignor: Option<&Arc<str>>,
        owned: Owned,
        config: &GroupConfig,
    ) -> ConsumerHeartbeat {
        let (topics, regex) = match subscription {
            Subscription::Topics(topics) => (topics.iter().cloned().collect(), "".into()),
            Subscription::Pattern(regex) => (Vec::new(), Arc::clone(regex)),
        };
        let now = Fields {
            rebalance_timeout: config.max_poll_interval,
            topics,
            regex,
            assignor: assignor.cloned(),
            // who joins owns nothing
            owned: if epoch == JOIN { Vec::new() } else { owned },
        };
        let repeats_owned = std::mem::take(&mut self.repeats_owned);
        let before = self.fields.as_ref().filter(|_| epoch != JOIN);
        let is_full = before.is_none();
        // an empty pattern takes a former one back, and there is none to be taken back at first
        let regex_changed = before.map_or(!now.regex.is_empty(), |said| said.regex != now.regex);
        let heartbeat = ConsumerHeartbeat {
            member_id: Arc::clone(member_id),
            epoch,
            rebalance_timeout: changed(before, &now, |said| &said.rebalance_timeout),
            topics: changed(before, &now, |said| &said.topics),
            regex: regex_changed.then(|| Arc::clone(&now.regex)),
            assignor: changed(before, &now, |said| &said.assignor).flatten(),
            owned: if repeats_owned {
                Some(now.owned.clone())
            } else {
                changed(before, &now, |said| &said.owned)
            },
            is_full,
        };
        self.fields = Some(now);
        heartbeat
    }

    /// A heartbeat that changes nothing but, perhaps, the epoch: that is how a member leaves.
    pub(super) fn nothing(member_id: &Arc<str>, epoch: i32) -> ConsumerHeartbeat {
        ConsumerHeartbeat {
            member_id: Arc::clone(member_id),
            epoch,
            ..ConsumerHeartbeat::default()
        }
    }
}

fn changed<T: PartialEq + Clone>(
    before: Option<&Fields>,
    now: &Fields,
    field: fn(&Fields) -> &T,
) -> Option<T> {
    let now = field(now);
    let same = before.is_some_and(|said| field(said) == now);
    (!same).then(|| now.clone())
}
