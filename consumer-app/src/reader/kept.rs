//! Watches how much the application keeps of what it was given: above half of `buffer.memory` the log says so, and a poll that
//! finds nothing says so when it is all of it (KIP-81). What is kept never stops fetching, but the requests become small.

use std::time::{Duration, Instant};

use buffer_actor::{Memory, SharedState};
use record_batch::TopicPartition;
use tracing::warn;

use crate::error::Error;

/// What is dropped within this time was only being worked on.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long nothing must come before a poll says that the application keeps all of the memory.
const FRUITLESS: Duration = Duration::from_secs(5);
/// The log is told again.
const REMINDER: Duration = Duration::from_secs(60);

/// What the watch remembers between two looks.
#[derive(Debug, Default)]
pub(super) struct KeptWatch {
    /// Since when more than half is kept.
    since: Option<Instant>,
    warned: Option<Instant>,
    /// Since when polls have found nothing, or said last that they do.
    hungry: Option<Instant>,
}

impl KeptWatch {
    /// Takes note of how much is kept of how much. Returns whether the application is to be warned.
    fn observe(&mut self, now: Instant, kept: u64, limit: u64) -> bool {
        if kept <= limit / 2 {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let warns = now >= self.warning_due(since);
        if warns {
            self.warned = Some(now);
        }
        warns
    }

    fn warning_due(&self, since: Instant) -> Instant {
        let reminder = self.warned.map(|warned| warned + REMINDER);
        (since + PATIENCE).max(reminder.unwrap_or(since))
    }

    /// A poll has nothing to give. Returns whether it is to say that all memory is kept.
    fn is_starving(&mut self, now: Instant, kept: u64, limit: u64) -> bool {
        let hungry = *self.hungry.get_or_insert(now);
        let starves = kept >= limit && now >= hungry + FRUITLESS;
        if starves {
            self.hungry = Some(now);
        }
        starves
    }

    /// A poll gives something.
    pub(super) const fn fed(&mut self) {
        self.hungry = None;
    }

    /// When to look again, if nothing comes before.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        let since = self.since?;
        let telling = self.hungry.map(|hungry| hungry + FRUITLESS);
        let due = telling.into_iter().chain([self.warning_due(since)]);
        // what was due before now was looked at, and there was nothing to say
        due.filter(|&at| at > now).min()
    }

    /// Looks at what is kept, and warns.
    pub(super) fn look(&mut self, now: Instant, memory: &Memory, shared: &SharedState) {
        let (kept, limit) = (memory.kept(), memory.limit());
        if self.observe(now, kept, limit) {
            let partition = most_kept(shared);
            warn!(
                kept,
                limit,
                partition = partition.map(tracing::field::display),
                "the application keeps more than half of buffer.memory in records that it was given, most of them of this \
                 partition; drop them, copy what is to be kept (to_owned), or raise buffer.memory"
            );
        }
    }

    /// A poll has nothing to give: the error to tell, if the reason may be that the application keeps all memory.
    pub(super) fn complaint(
        &mut self,
        now: Instant,
        memory: &Memory,
        shared: &SharedState,
    ) -> Option<Error> {
        let (kept, limit) = (memory.kept(), memory.limit());
        self.is_starving(now, kept, limit)
            .then(|| Error::MemoryHeld {
                partition: most_kept(shared),
                kept,
                limit,
            })
    }
}

/// The assigned partition of which most is kept. The reader itself is taken to have little.
fn most_kept(shared: &SharedState) -> Option<TopicPartition> {
    let all = shared.all().into_iter();
    let kept = all.filter(|state| state.lent() > 0);
    let most = kept.max_by_key(|state| (state.lent(), std::cmp::Reverse(state.name().clone())));
    most.map(|state| state.name().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 100;

    fn at(millis: u64) -> Instant {
        use std::sync::OnceLock;
        static START: OnceLock<Instant> = OnceLock::new();
        let start = *START.get_or_init(crate::metrics::application::clock);
        start + Duration::from_millis(millis)
    }

    #[test]
    fn f014_more_than_half_for_a_second_is_told_once_a_minute() {
        // time, kept, whether the log is told
        let table = [
            (0, 50, false),
            (100, 51, false),
            (1000, 90, false),
            // less for a moment: it was only worked on
            (1050, 20, false),
            (1100, 90, false),
            (2099, 90, false),
            (2100, 90, true),
            (3000, 90, false),
            (3100, 20, false),
            (3200, 90, false),
            (5000, 90, false),
            (62_099, 90, false),
            (62_100, 90, true),
        ];
        let mut watch = KeptWatch::default();
        for (millis, kept, told) in table {
            assert_eq!(watch.observe(at(millis), kept, LIMIT), told, "at {millis}");
        }
    }

    #[test]
    fn f014_all_of_it_and_nothing_for_five_seconds_is_an_error() {
        // time, kept, whether the poll says so
        let table = [
            (0, 100, false),
            (4999, 100, false),
            (5000, 99, false),
            (5001, 100, true),
            (5002, 100, false),
            (10_000, 100, false),
            (10_001, 100, true),
        ];
        let mut watch = KeptWatch::default();
        for (millis, kept, told) in table {
            assert_eq!(
                watch.is_starving(at(millis), kept, LIMIT),
                told,
                "at {millis}"
            );
        }
        watch.fed();
        assert!(
            !watch.is_starving(at(60_000), 100, LIMIT),
            "it had something"
        );
    }

    #[test]
    fn a_poll_that_waits_looks_again_when_something_is_due() {
        let mut watch = KeptWatch::default();
        assert_eq!(watch.next_look(at(0)), None);
        watch.is_starving(at(0), 10, LIMIT);
        assert_eq!(watch.next_look(at(0)), None, "nothing is kept");
        watch.observe(at(100), 80, LIMIT);
        assert_eq!(watch.next_look(at(100)), Some(at(1100)));
        assert!(watch.observe(at(1100), 80, LIMIT));
        assert_eq!(watch.next_look(at(1100)), Some(at(5000)));
        // not all of it is kept: a poll that waits must not look all the time
        assert!(!watch.is_starving(at(5000), 80, LIMIT));
        assert_eq!(watch.next_look(at(5000)), Some(at(61_100)));
    }
}
