//! The watchdog: names a partition that is fetchable and that nobody asks for. That is a fault of this client, and without a
//! word it would look like a partition without traffic.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::ids::PartitionId;
use crate::machine::Unasked;

/// It looks so many times in the time that a partition may go without a request.
const LOOKS: u32 = 4;

/// Looks at all partitions from time to time; costs nothing in between, whatever is fetched.
#[derive(Debug)]
pub(crate) struct Watchdog {
    limit: Duration,
    next: Option<Instant>,
    suspects: BTreeMap<PartitionId, Suspect>,
}

#[derive(Debug, Clone, Copy)]
struct Suspect {
    /// When it was first seen without a request.
    since: Instant,
    named: bool,
}

/// What there is to warn of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) unasked: Unasked,
    /// For how long it had no request, at least.
    pub(crate) lasted: Duration,
}

impl Watchdog {
    /// A partition may be without a request for `limit`. It is named once `limit` has passed, and before half as long again has.
    pub(crate) const fn new(limit: Duration) -> Self {
        Self {
            limit,
            next: None,
            suspects: BTreeMap::new(),
        }
    }

    /// When to look next; never while nothing is assigned.
    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Something happened: is there anything to look after?
    pub(crate) fn arm(&mut self, now: Instant, is_assigned: bool) {
        if !is_assigned {
            self.next = None;
            self.suspects.clear();
        } else if self.next.is_none() {
            self.plan(now);
        }
    }

    /// A limit beyond the end of time is none.
    fn plan(&mut self, now: Instant) {
        self.next = now.checked_add(self.limit / LOOKS);
    }

    /// Takes in what a look found. Returns what was not named before and has lasted too long.
    pub(crate) fn look(&mut self, now: Instant, unasked: Vec<Unasked>) -> Vec<Finding> {
        self.plan(now);
        let before = std::mem::take(&mut self.suspects);
        let mut findings = Vec::new();
        for unasked in unasked {
            let mut suspect = before.get(&unasked.partition).copied().unwrap_or(Suspect {
                since: now,
                named: false,
            });
            let lasted = now.saturating_duration_since(suspect.since);
            let partition = unasked.partition;
            if lasted >= self.limit && !suspect.named {
                suspect.named = true;
                findings.push(Finding { unasked, lasted });
            }
            self.suspects.insert(partition, suspect);
        }
        findings
    }

    /// How many partitions have been without a request for too long, as of the last look.
    pub(crate) fn count(&self) -> usize {
        self.suspects
            .values()
            .filter(|suspect| suspect.named)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use record_batch::TopicPartition;

    use super::*;
    use crate::ids::NodeId;
    use crate::machine::Reason;

    const LIMIT: Duration = Duration::from_secs(40);

    fn start() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unasked(slot: u32) -> Unasked {
        Unasked {
            partition: PartitionId::new(slot, 1),
            name: TopicPartition::new("t", slot as i32),
            node: NodeId(1),
            offset: 7,
            reason: Reason::NextRequest,
        }
    }

    /// Looks whenever it wants to, up to so many seconds; what it finds by second. `seen` says what is unasked then.
    fn watch(seconds: u64, seen: impl Fn(u64) -> Vec<Unasked>) -> Vec<(u64, u32, Duration)> {
        let begin = start();
        let mut watchdog = Watchdog::new(LIMIT);
        watchdog.arm(begin, true);
        let mut found = Vec::new();
        while let Some(at) = watchdog.poll_timeout()
            && at <= begin + Duration::from_secs(seconds)
        {
            let second = (at - begin).as_secs();
            for finding in watchdog.look(at, seen(second)) {
                let slot = finding.unasked.name.partition() as u32;
                found.push((second, slot, finding.lasted));
            }
        }
        found
    }

    #[test]
    fn what_lasts_is_named_once_after_the_limit_and_before_half_as_long_again() {
        let found = watch(400, |_| vec![unasked(3)]);
        assert_eq!(found, [(50, 3, LIMIT)]);
        assert!(50 <= LIMIT.as_secs() * 3 / 2);
    }

    #[test]
    fn what_is_asked_for_in_between_begins_anew() {
        let found = watch(400, |second| match second {
            40 => vec![],
            _ => vec![unasked(3)],
        });
        assert_eq!(found, [(90, 3, LIMIT)]);
        assert_eq!(
            watch(4_000, |second| if second % 40 == 0 {
                vec![]
            } else {
                vec![unasked(3)]
            }),
            []
        );
    }

    #[test]
    fn each_is_judged_by_itself_and_counted_while_it_lasts() {
        let begin = start();
        let mut watchdog = Watchdog::new(LIMIT);
        let at = |seconds| begin + Duration::from_secs(seconds);
        watchdog.look(at(0), vec![unasked(1), unasked(2)]);
        watchdog.look(at(20), vec![unasked(2), unasked(3)]);
        assert_eq!(watchdog.count(), 0);
        let named: Vec<_> = watchdog.look(at(45), vec![unasked(2), unasked(3)]);
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].unasked, unasked(2));
        assert_eq!(watchdog.count(), 1);
        watchdog.look(at(55), vec![unasked(3)]);
        assert_eq!(watchdog.count(), 0);
        watchdog.look(at(60), vec![unasked(3)]);
        assert_eq!(watchdog.count(), 1);
    }

    #[test]
    fn nothing_assigned_is_nothing_to_look_after() {
        let begin = start();
        let mut watchdog = Watchdog::new(LIMIT);
        watchdog.arm(begin, false);
        assert_eq!(watchdog.poll_timeout(), None);
        watchdog.arm(begin, true);
        let first = watchdog.poll_timeout();
        watchdog.arm(begin + Duration::from_secs(1), true);
        assert_eq!(watchdog.poll_timeout(), first);
        watchdog.look(begin, vec![unasked(1)]);
        watchdog.look(begin + LIMIT, vec![unasked(1)]);
        assert_eq!(watchdog.count(), 1);
        watchdog.arm(begin + LIMIT, false);
        assert_eq!((watchdog.poll_timeout(), watchdog.count()), (None, 0));
    }

    #[test]
    fn a_limit_beyond_the_end_of_time_is_none() {
        let begin = start();
        let beyond = begin + Duration::MAX / 4;
        let mut watchdog = Watchdog::new(Duration::MAX);
        watchdog.arm(beyond, true);
        watchdog.look(beyond, Vec::new());
        assert_eq!(watchdog.poll_timeout(), None);
    }
}
