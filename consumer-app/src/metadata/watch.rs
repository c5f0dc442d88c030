//! Topics that are to be known although nothing of them is assigned: what is asked for, and what the brokers say of those that
//! they do not describe.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use session_actor::wire::ErrorCode;
use session_actor::{TopicMetadata, WatchTopics};

#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    topics: WatchTopics,
    /// Watched topics that the newest answer about them did not describe.
    refused: BTreeMap<Arc<str>, Refused>,
}

#[derive(Debug, Clone, Copy)]
struct Refused {
    error: ErrorCode,
    /// When what was known of the topic before is not believed any more.
    gone_at: Option<Instant>,
}

impl Watch {
    /// Begins to watch these in place of what was watched.
    pub(super) fn replace(&mut self, topics: WatchTopics) {
        self.refused.retain(|name, _| topics.names.contains(name));
        self.topics = topics;
    }

    pub(super) const fn topics(&self) -> &WatchTopics {
        &self.topics
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.topics.all && self.topics.names.is_empty() && self.topics.ids.is_empty()
    }

    /// Whether somebody named the topic, in a subscription or an assignment of one's own. Others were found by a pattern.
    pub(super) fn is_asked_for(&self, topic: &str) -> bool {
        self.is_empty() || (!self.topics.all && self.topics.names.contains(topic))
    }

    /// The brokers described a topic.
    pub(super) fn described(&mut self, name: &Arc<str>) {
        self.refused.remove(name);
    }

    /// They did not. What is `known` of it is believed until `gone_at`, or for good if the error passes by itself (F025). Returns
    /// whether this is news.
    pub(super) fn refused(
        &mut self,
        name: &Arc<str>,
        known: Option<&TopicMetadata>,
        error: ErrorCode,
        gone_at: Instant,
    ) -> bool {
        let by_id = known.is_some_and(|known| self.topics.ids.contains(&known.topic.id));
        if !by_id && !self.topics.names.contains(name) {
            return false;
        }
        let refused = self.refused.entry(Arc::clone(name)).or_insert(Refused {
            error: ErrorCode::NONE,
            gone_at: None,
        });
        let news = refused.error == ErrorCode::NONE;
        refused.error = error;
        if lasts(error) {
            refused.gone_at.get_or_insert(gone_at);
        } else {
            refused.gone_at = None;
        }
        news
    }

    /// Watched names that are not there, and why.
    pub(super) fn missing(
        &self,
        topics: &BTreeMap<Arc<str>, TopicMetadata>,
    ) -> BTreeMap<Arc<str>, ErrorCode> {
        let refused = self.refused.iter();
        refused
            .filter(|(name, _)| self.topics.names.contains(*name) && !topics.contains_key(*name))
            .map(|(name, refused)| (Arc::clone(name), refused.error))
            .collect()
    }

    /// Whether asking for the names again soon may help. Of what is forbidden or no name the brokers are asked with the next
    /// regular refresh.
    pub(super) fn is_waiting_for_names(&self) -> bool {
        self.refused
            .values()
            .any(|refused| refused.error.is_retriable())
    }

    /// Whether an id belongs to no known topic.
    pub(super) fn is_waiting_for_ids(&self, topics: &BTreeMap<Arc<str>, TopicMetadata>) -> bool {
        let known = topics.values();
        let known = known.filter(|known| self.topics.ids.contains(&known.topic.id));
        known.count() < self.topics.ids.len()
    }

    /// When the next topic is not believed in any more.
    pub(super) fn next_gone(&self) -> Option<Instant> {
        self.refused
            .values()
            .filter_map(|refused| refused.gone_at)
            .min()
    }

    /// Topics that have been refused for long.
    pub(super) fn gone(&mut self, now: Instant) -> Vec<Arc<str>> {
        let refused = self.refused.iter_mut();
        let gone: Vec<Arc<str>> = refused
            .filter_map(|(name, refused)| {
                let due = refused.gone_at.take_if(|at| *at <= now);
                due.map(|_| Arc::clone(name))
            })
            .collect();
        // without the topic, nobody knows any more that the name was that of a watched id
        let names = &self.topics.names;
        self.refused
            .retain(|name, _| names.contains(name) || !gone.contains(name));
        gone
    }
}

/// Whether it will not pass by itself in a moment, as an election does.
const fn lasts(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::TOPIC_AUTHORIZATION_FAILED
            | ErrorCode::INVALID_TOPIC_EXCEPTION
    )
}
