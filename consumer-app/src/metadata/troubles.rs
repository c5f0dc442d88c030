//! Assigned partitions that metadata does not show: when the application hears of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::PartitionError;
use record_batch::TopicPartition;
use session_actor::ClusterSnapshot;
use session_actor::wire::ErrorCode;

use super::machine::Effect;
use super::view::missing_error;

/// A partition that metadata does not show is reported to the application after this time, and again each time it passes.
pub(super) const REPORT_AFTER: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, Copy)]
struct Trouble {
    error: ErrorCode,
    /// The brokers say it of the topic; else it is about the partition alone.
    of_topic: bool,
    next_report: Instant,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Troubles(BTreeMap<TopicPartition, Trouble>);

impl Troubles {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The partition is not assigned any more.
    pub(super) fn remove(&mut self, name: &TopicPartition) {
        self.0.remove(name);
    }

    /// When the application is to hear of one.
    pub(super) fn next_report(&self) -> Option<Instant> {
        self.0.values().map(|trouble| trouble.next_report).min()
    }

    /// An answer came. What is wrong for the first time is told at `first_report` if it lasts.
    pub(super) fn note<'a>(
        &mut self,
        first_report: Instant,
        assigned: impl IntoIterator<Item = &'a TopicPartition>,
        errors: &BTreeMap<Arc<str>, ErrorCode>,
        snapshot: &ClusterSnapshot,
        effects: &mut Vec<Effect>,
    ) {
        let mut said = BTreeSet::new();
        for name in assigned {
            let of_topic = errors.get(name.topic()).copied();
            let Some(error) = of_topic.or_else(|| of_partition(name, snapshot)) else {
                self.0.remove(name);
                continue;
            };
            let of_topic = of_topic.is_some();
            match self.0.get_mut(name) {
                Some(trouble) => {
                    trouble.error = error;
                    trouble.of_topic = of_topic;
                }
                None => {
                    // said once a topic, not once for each of its partitions
                    if said.insert(name.topic()) {
                        effects.push(Effect::Missing(name.topic().into(), error));
                    }
                    let trouble = Trouble {
                        error,
                        of_topic,
                        next_report: first_report,
                    };
                    self.0.insert(name.clone(), trouble);
                }
            }
        }
    }

    /// Tells the application what has lasted. Returns the topics that the brokers have not known all the while: that one which it did
    /// not ask for by name was deleted is no error.
    pub(super) fn report(
        &mut self,
        now: Instant,
        is_asked_for: impl Fn(&str) -> bool,
        effects: &mut Vec<Effect>,
    ) -> Vec<Arc<str>> {
        let mut unknown = Vec::new();
        for (name, trouble) in &mut self.0 {
            if trouble.next_report > now {
                continue;
            }
            trouble.next_report = now + REPORT_AFTER;
            let Some(error) = missing_error(name, trouble.error) else {
                continue;
            };
            let is_unknown = matches!(error, PartitionError::UnknownPartition { .. });
            if trouble.of_topic && is_unknown {
                unknown.push(name.topic().into());
            }
            if is_unknown && !is_asked_for(name.topic()) {
                continue;
            }
            effects.push(Effect::Report(name.clone(), error));
        }
        unknown
    }
}

/// What is wrong with a partition of a topic about which the brokers say nothing wrong.
fn of_partition(name: &TopicPartition, snapshot: &ClusterSnapshot) -> Option<ErrorCode> {
    let index = usize::try_from(name.partition()).ok();
    let topic = snapshot.topics.get(name.topic());
    let partition = topic.and_then(|topic| topic.partitions.get(index?));
    match partition {
        None => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        Some(partition) if partition.node.is_none() => Some(ErrorCode::LEADER_NOT_AVAILABLE),
        Some(_) => None,
    }
}
