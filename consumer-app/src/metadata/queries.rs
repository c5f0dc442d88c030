//! Questions of the application about offsets: each is answered as a whole, or with what is missing at its deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use record_batch::TopicPartition;
use session_actor::wire::{ErrorCode, WireError};

use crate::offsets::ListedOffset;

/// One call of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueryId(pub(crate) u64);

/// What a question is answered with; `None` for a partition that has no such offset.
pub(crate) type Listed = BTreeMap<TopicPartition, Option<ListedOffset>>;

/// Why a question is not answered.
#[derive(Debug, Clone)]
pub(crate) enum OffsetsUnknown {
    /// These partitions are missing, and this is what the brokers said last.
    Refused(Vec<TopicPartition>, ErrorCode),
    /// No broker could be asked.
    Unreachable(WireError),
}

#[derive(Debug, Default)]
pub(super) struct Queries(BTreeMap<QueryId, Query>);

#[derive(Debug)]
struct Query {
    until: Instant,
    missing: BTreeSet<TopicPartition>,
    found: Listed,
    /// What the brokers said last of one that is missing.
    refused: ErrorCode,
    /// The last failure on the way to a broker; none since one answered.
    lost: Option<WireError>,
    /// Since the brokers said that there is no such topic or partition: no longer than until then.
    unknown_until: Option<Instant>,
}

/// What has become of a question.
pub(super) type Ended = (QueryId, Result<Listed, OffsetsUnknown>);

impl Queries {
    pub(super) fn begin(
        &mut self,
        id: QueryId,
        until: Instant,
        partitions: impl Iterator<Item = TopicPartition>,
    ) {
        let query = Query {
            until,
            missing: partitions.collect(),
            found: Listed::new(),
            refused: ErrorCode::REQUEST_TIMED_OUT,
            lost: None,
            unknown_until: None,
        };
        self.0.insert(id, query);
    }

    /// One partition was answered. Returns what the question is answered with if it was the last one.
    pub(super) fn found(
        &mut self,
        id: QueryId,
        partition: &TopicPartition,
        offset: Option<ListedOffset>,
    ) -> Option<Ended> {
        let query = self.0.get_mut(&id)?;
        query.lost = None;
        if let Some(partition) = query.missing.take(partition) {
            query.found.insert(partition, offset);
        }
        if !query.missing.is_empty() {
            return None;
        }
        let query = self.0.remove(&id)?;
        Some((id, Ok(query.found)))
    }

    /// A broker refused to answer for one partition. Returns the end of the question if waiting does not help.
    pub(super) fn refused(
        &mut self,
        id: QueryId,
        partition: &TopicPartition,
        error: ErrorCode,
        unknown_until: Instant,
    ) -> Option<Ended> {
        let query = self.0.get_mut(&id)?;
        query.lost = None;
        query.refused = error;
        if error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION {
            query.unknown_until.get_or_insert(unknown_until);
        } else if !error.is_retriable() {
            self.0.remove(&id)?;
            let partitions = vec![partition.clone()];
            return Some((id, Err(OffsetsUnknown::Refused(partitions, error))));
        }
        None
    }

    /// A broker was not reached or did not answer.
    pub(super) fn lost(&mut self, id: QueryId, error: &WireError) {
        if let Some(query) = self.0.get_mut(&id) {
            query.lost = Some(error.clone());
        }
    }

    /// Metadata does not show these topics, or does not show partitions of them. Returns the questions that end with it.
    pub(super) fn absent(
        &mut self,
        unknown_until: Instant,
        reason: impl Fn(&TopicPartition) -> Option<ErrorCode>,
    ) -> Vec<Ended> {
        let open = self.0.iter();
        let absent: Vec<_> = open
            .filter_map(|(id, query)| {
                let mut absent = query.missing.iter();
                absent.find_map(|name| Some((*id, name.clone(), reason(name)?)))
            })
            .collect();
        let absent = absent.into_iter();
        absent
            .filter_map(|(id, name, error)| self.refused(id, &name, error, unknown_until))
            .collect()
    }

    /// No broker can be reached: nothing will be answered.
    pub(super) fn unreachable(&mut self, error: &WireError) -> Vec<Ended> {
        let open = std::mem::take(&mut self.0).into_keys();
        open.map(|id| (id, Err(OffsetsUnknown::Unreachable(error.clone()))))
            .collect()
    }

    /// Those that waited long enough.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Ended> {
        let is_over = |query: &Query| query.deadline() <= now;
        let over = self.0.extract_if(.., |_, query| is_over(query));
        over.map(|(id, query)| (id, Err(query.reason()))).collect()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.0.values().map(Query::deadline).min()
    }
}

impl Query {
    fn deadline(&self) -> Instant {
        self.unknown_until
            .map_or(self.until, |at| at.min(self.until))
    }

    /// Why it has not been answered by now.
    fn reason(&self) -> OffsetsUnknown {
        match &self.lost {
            Some(error) => OffsetsUnknown::Unreachable(error.clone()),
            None => {
                let missing = self.missing.iter().cloned();
                OffsetsUnknown::Refused(missing.collect(), self.refused)
            }
        }
    }
}
