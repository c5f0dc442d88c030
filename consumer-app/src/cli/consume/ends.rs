//! The end of each partition as it was at the start, for a program that is to end there, however much is produced
//! meanwhile. No I/O: what to do is returned.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use consumer_app::{Consumer, TopicPartition};
use tracing::debug;

/// When no position has moved for so long, what is left may be offsets without records, which nothing steps over.
const QUIET: Duration = Duration::from_secs(1);

/// The partitions that have not been read to their ends.
#[derive(Debug)]
pub(super) struct Ends {
    open: BTreeMap<TopicPartition, Goal>,
    moved: Instant,
    alone: Option<Alone>,
}

#[derive(Debug)]
struct Goal {
    position: Option<i64>,
    end: i64,
}

/// The only partition that is assigned. So an answer about it without records was not filled by others: there are none.
#[derive(Debug)]
struct Alone {
    partition: TopicPartition,
    is_answered: bool,
}

/// What is known of an assigned partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The next offset to be printed.
    pub(super) position: Option<i64>,
    /// Whether a broker has answered a fetch of it since it was assigned.
    pub(super) is_answered: bool,
}

impl Seen {
    pub(super) fn of(consumer: &Consumer, partition: &TopicPartition) -> Self {
        Self {
            position: consumer.position(partition),
            is_answered: consumer.known_end(partition).is_some(),
        }
    }
}

/// What is to be done before the next poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Wait,
    /// Nothing more is wanted of these.
    Stop(Vec<TopicPartition>),
    /// Assign this partition anew, at this offset, and no other.
    Alone(TopicPartition, i64),
}

impl Ends {
    pub(super) fn new(ends: impl IntoIterator<Item = (TopicPartition, i64)>, now: Instant) -> Self {
        let goal = |end| Goal {
            position: None,
            end,
        };
        Self {
            open: ends
                .into_iter()
                .map(|(name, end)| (name, goal(end)))
                .collect(),
            moved: now,
            alone: None,
        }
    }

    /// The offset at which a partition ends; of one that has ended nothing is to be printed.
    pub(super) fn of(&self, partition: &TopicPartition) -> i64 {
        self.open.get(partition).map_or(i64::MIN, |goal| goal.end)
    }

    /// Whether all have ended.
    pub(super) fn are_reached(&self) -> bool {
        self.open.is_empty()
    }

    /// Between two polls, the former having waited for records and these having been printed.
    pub(super) fn look(&mut self, now: Instant, seen: impl Fn(&TopicPartition) -> Seen) -> Next {
        let mut reached = Vec::new();
        for (name, goal) in &mut self.open {
            // those that are not assigned just now stay where they were
            let Some(position) = seen(name).position else {
                continue;
            };
            if goal.position != Some(position) {
                goal.position = Some(position);
                self.moved = now;
                self.alone = self.alone.take().map(|alone| Alone {
                    is_answered: false,
                    ..alone
                });
            }
            if position >= goal.end {
                reached.push(name.clone());
            }
        }
        if !reached.is_empty() {
            self.open.retain(|name, _| !reached.contains(name));
            return Next::Stop(reached);
        }
        match &mut self.alone {
            None if now.saturating_duration_since(self.moved) < QUIET => return Next::Wait,
            None => {}
            Some(Alone {
                partition,
                is_answered,
            }) => {
                if let Some(goal) = self.open.get(partition) {
                    // the poll after the answer would have given what it brought
                    if !*is_answered {
                        *is_answered = seen(partition).is_answered;
                        return Next::Wait;
                    }
                    debug!(%partition, position = goal.position, end = goal.end, "offsets without records up to its end");
                    let partition = partition.clone();
                    self.open.remove(&partition);
                }
            }
        }
        self.next_alone()
    }

    fn next_alone(&mut self) -> Next {
        let first = self
            .open
            .iter()
            .find_map(|(name, goal)| Some((name.clone(), goal.position?)));
        let Some((partition, position)) = first else {
            return Next::Wait;
        };
        self.alone = Some(Alone {
            partition: partition.clone(),
            is_answered: false,
        });
        Next::Alone(partition, position)
    }
}
