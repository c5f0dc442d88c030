use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Timers wait at least so long, so that none that sets itself again holds time up.
const SHORTEST: Duration = Duration::from_millis(1);

/// What is to happen to a group later, by what it is: one timer each. Times are since the start of the broker.
#[derive(Clone, Debug)]
pub(crate) struct Timers<K> {
    times: BTreeMap<K, Duration>,
    order: BTreeSet<(Duration, K)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self {
            times: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }
}

impl<K: Clone + Ord> Timers<K> {
    /// Sets a timer, in place of the one that it had.
    pub(super) fn set(&mut self, key: K, now: Duration, delay: Duration) {
        self.cancel(&key);
        let time = now.saturating_add(delay.max(SHORTEST));
        self.times.insert(key.clone(), time);
        self.order.insert((time, key));
    }

    pub(super) fn cancel(&mut self, key: &K) {
        if let Some(time) = self.times.remove(key) {
            self.order.remove(&(time, key.clone()));
        }
    }

    pub(super) fn is_set(&self, key: &K) -> bool {
        self.times.contains_key(key)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn first(&self) -> Option<Duration> {
        self.order.first().map(|(time, _)| *time)
    }

    /// Takes out the first timer that has run out, with its time.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<(Duration, K)> {
        let due = self.order.first().filter(|(time, _)| *time <= now);
        let (time, key) = due.cloned()?;
        self.cancel(&key);
        Some((time, key))
    }
}
