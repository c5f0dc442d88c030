//! For a group that commits: nothing is lost, and what comes again comes from where the group had committed.

use std::collections::{BTreeMap, BTreeSet};

/// Which member of the group, by its number.
pub(crate) type Name = u32;

/// For the members of one group, which read one topic from its beginning:
///
/// - what a member gives of a partition while it has it goes on without a gap, and begins where nothing was left out before, where a
///   poll of the group once ended, and not before what had been committed when it was assigned;
/// - a member gives nothing of a partition that it does not have.
#[derive(Default)]
pub(crate) struct AtLeastOnce {
    partitions: BTreeMap<i32, Partition>,
    held: BTreeMap<(Name, i32), Run>,
    runs: u64,
    /// Records that were given again.
    pub(crate) again: u64,
    pub(crate) violations: Vec<String>,
}

#[derive(Default)]
struct Partition {
    /// All before it were given, whoever got them.
    end: i64,
    /// All before it are committed, and whoever committed them knows.
    committed: i64,
    /// Where polls ended: all that can be committed.
    ends_of_polls: BTreeSet<i64>,
}

/// A partition in the hands of a member.
#[derive(Clone, Copy)]
struct Run {
    number: u64,
    /// What was committed when it began.
    committed: i64,
    next: Option<i64>,
}

/// What a member asked to be committed.
pub(crate) struct Asked(Vec<(i32, Run, i64)>);

impl AtLeastOnce {
    pub(crate) fn assigned(&mut self, member: Name, partitions: &[i32]) {
        for partition in partitions {
            self.runs += 1;
            let run = Run {
                number: self.runs,
                committed: self.partitions.entry(*partition).or_default().committed,
                next: None,
            };
            self.held.insert((member, *partition), run);
        }
    }

    pub(crate) fn gone(&mut self, member: Name, partitions: &[i32]) {
        for partition in partitions {
            if self.held.remove(&(member, *partition)).is_none() {
                self.violations.push(format!(
                    "{member} is told that {partition} goes, which it does not have"
                ));
            }
        }
    }

    /// A member has ended, and has been told of everything that went.
    pub(crate) fn ended(&mut self, member: Name) {
        let left = self.held.extract_if(.., |(holder, _), _| *holder == member);
        let left: Vec<i32> = left.map(|((_, partition), _)| partition).collect();
        if !left.is_empty() {
            self.violations.push(format!(
                "{member} has ended, and was not told that {left:?} go"
            ));
        }
    }

    /// The records of one poll.
    pub(crate) fn given(&mut self, member: Name, records: impl IntoIterator<Item = (i32, i64)>) {
        let mut touched = BTreeSet::new();
        for (partition, offset) in records {
            let Some(run) = self.held.get_mut(&(member, partition)) else {
                self.violations.push(format!(
                    "{member} gives offset {offset} of {partition}, which it does not have"
                ));
                continue;
            };
            let state = self.partitions.entry(partition).or_default();
            let wrong = match run.next {
                Some(next) if next == offset => None,
                Some(next) => Some(format!("{next} is the next")),
                None if offset > state.end => Some(format!("nobody was given {}", state.end)),
                None if offset < run.committed => Some(format!("{} is committed", run.committed)),
                None if offset != 0 && !state.ends_of_polls.contains(&offset) => {
                    Some("no poll ended there".to_owned())
                }
                None => None,
            };
            if let Some(wrong) = wrong {
                self.violations.push(format!(
                    "{member} gives offset {offset} of {partition}: {wrong}"
                ));
            }
            run.next = Some(offset + 1);
            self.again += u64::from(offset < state.end);
            state.end = state.end.max(offset + 1);
            touched.insert(partition);
        }
        for partition in touched {
            let next = self.held.get(&(member, partition)).and_then(|run| run.next);
            let state = self.partitions.entry(partition).or_default();
            state.ends_of_polls.extend(next);
        }
    }

    /// A member is about to commit all that it was given.
    pub(crate) fn asks(&self, member: Name) -> Asked {
        let held = self.held.range((member, i32::MIN)..=(member, i32::MAX));
        let given = held.filter_map(|((_, partition), run)| Some((*partition, *run, run.next?)));
        Asked(given.collect())
    }

    /// It was committed, and the member has polled since: what it still has, it had when the commit was made.
    pub(crate) fn committed(&mut self, member: Name, asked: &Asked) {
        for (partition, before, offset) in &asked.0 {
            let run = self.held.get(&(member, *partition));
            if run.is_some_and(|run| run.number == before.number) {
                let state = self.partitions.entry(*partition).or_default();
                state.committed = state.committed.max(*offset);
            }
        }
    }

    /// By partition, how many records of those before `ends` are still to come.
    pub(crate) fn missing(&self, ends: &BTreeMap<i32, i64>) -> BTreeMap<i32, i64> {
        let at = |partition| self.partitions.get(&partition).map_or(0, |state| state.end);
        let missing = ends
            .iter()
            .map(|(partition, end)| (*partition, end - at(*partition)));
        missing.filter(|(_, missing)| *missing > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Member 1 reads offsets 0 to 9 of partition 0 in two polls, and commits after the first.
    fn half_committed() -> AtLeastOnce {
        let mut checker = AtLeastOnce::default();
        checker.assigned(1, &[0]);
        checker.given(1, (0..5).map(|offset| (0, offset)));
        let asked = checker.asks(1);
        checker.given(1, (5..10).map(|offset| (0, offset)));
        checker.committed(1, &asked);
        assert_eq!(checker.violations, Vec::<String>::new());
        checker
    }

    fn goes_on_at(offset: i64) -> AtLeastOnce {
        let mut checker = half_committed();
        checker.gone(1, &[0]);
        checker.assigned(2, &[0]);
        checker.given(2, [(0, offset), (0, offset + 1)]);
        checker
    }

    #[test]
    fn the_next_member_begins_at_what_is_committed_or_at_the_end_of_a_later_poll() {
        let repeats = goes_on_at(5);
        assert_eq!((repeats.violations, repeats.again), (vec![], 2));
        let goes_on = goes_on_at(10);
        assert_eq!((goes_on.violations, goes_on.again), (vec![], 0));
        for wrong in [0, 4, 7, 11] {
            assert_eq!(goes_on_at(wrong).violations.len(), 1, "{wrong}");
        }
    }

    #[test]
    fn a_gap_or_a_partition_of_another_member_is_found() {
        let mut gap = half_committed();
        gap.given(1, [(0, 11)]);
        assert_eq!(gap.violations.len(), 1);
        let mut foreign = half_committed();
        foreign.given(2, [(0, 10)]);
        assert_eq!(foreign.violations.len(), 1);
        let mut forgotten = half_committed();
        forgotten.ended(1);
        assert_eq!(forgotten.violations.len(), 1);
        let missing = half_committed().missing(&BTreeMap::from([(0, 12), (1, 1)]));
        assert_eq!(missing, BTreeMap::from([(0, 2), (1, 1)]));
    }

    #[test]
    fn what_was_taken_meanwhile_does_not_count_as_committed() {
        let mut checker = half_committed();
        let asked = checker.asks(1);
        checker.gone(1, &[0]);
        checker.assigned(1, &[0]);
        checker.committed(1, &asked);
        checker.given(1, [(0, 5)]);
        assert_eq!(checker.violations, Vec::<String>::new());
    }
}
