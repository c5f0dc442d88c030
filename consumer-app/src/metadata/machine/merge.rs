//! What an answer changes of the cluster as it is known, and which questions it answers or leaves open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use buffer_actor::PartitionId;
use session_actor::ClusterSnapshot;
use session_actor::wire::ErrorCode;

use super::super::listing::list;
use super::super::topic_ids::TopicId;
use super::super::turns::Kind;
use super::super::view::{TopicView, View, merge_topic};
use super::{Effect, MetadataMachine, PartitionsUnknown};

impl MetadataMachine {
    /// Brings an answer into the snapshot, and sees to what it leaves open. Returns whether that is nothing.
    pub(super) fn merge(&mut self, now: Instant, view: View, effects: &mut Vec<Effect>) -> bool {
        let kind = self.turns.succeeded();
        if kind == Kind::All {
            let askers = self.listings.answered();
            if !askers.is_empty() {
                let list = Arc::new(list(&view.topics));
                effects.push(Effect::Topics(askers, Ok(list)));
            }
        }
        let wanted = self.names();
        let mut next = ClusterSnapshot {
            brokers: view.brokers.into_iter().collect(),
            racks: view.racks,
            topics: self.snapshot.topics.clone(),
            missing: BTreeMap::new(),
        };
        let mut errors: BTreeMap<Arc<str>, ErrorCode> = BTreeMap::new();
        let mut described = BTreeSet::new();
        let mut recreated = Vec::new();
        for topic in view.topics {
            let name: Arc<str> = topic.name.as_str().into();
            if !self.is_of_use(kind, &wanted, &topic) {
                continue;
            }
            if topic.error == ErrorCode::NONE {
                described.insert(Arc::clone(&name));
                match self.topic_ids.judge(&name, topic.id) {
                    TopicId::Current => {}
                    TopicId::Recreated => recreated.push(Arc::clone(&name)),
                    // of a broker that has not heard of the new one
                    TopicId::Former => continue,
                }
                self.watch.described(&name);
                let known = next.topics.get(&name);
                let merged = merge_topic(&name, topic, known);
                next.topics.insert(name, merged);
            } else {
                // it keeps what was known of it: a passing error must not make its partitions vanish
                errors.insert(name, topic.error);
            }
        }
        if kind == Kind::All {
            // a list has all that there is and may be seen; of what somebody needs the reason is asked for by name
            for name in &wanted {
                if !described.contains(name) {
                    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                    errors.entry(Arc::clone(name)).or_insert(unknown);
                }
            }
            next.topics
                .retain(|name, _| described.contains(name) || errors.contains_key(name));
        }
        // before anybody can ask for the new topic at a position of the old one
        for topic in recreated {
            let named = self.assigned.iter();
            let named = named.filter(|(_, name)| *name.topic() == *topic);
            let partitions: Vec<PartitionId> = named.map(|(id, _)| *id).collect();
            if !partitions.is_empty() {
                effects.push(Effect::Recreated(topic, partitions));
            }
        }
        let report_after = self.report_after();
        for (name, &error) in &errors {
            let known = next.topics.get(name);
            let news = self.watch.refused(name, known, error, now + report_after);
            if news && !self.is_assigned(name) {
                effects.push(Effect::Missing(Arc::clone(name), error));
            }
        }
        self.publish(next, effects);
        // by id nothing is told of what is known by name
        if kind == Kind::Ids {
            return !self.watch.is_waiting_for_ids(&self.snapshot.topics);
        }
        for (topic, question) in &mut self.questions {
            if let Some(&error) = errors.get(topic) {
                question.error = error;
                question.unknown_until.get_or_insert(now + report_after);
            }
        }
        self.answer_questions(now, effects);
        self.troubles.note(
            now + report_after,
            self.assigned.values(),
            &errors,
            &self.snapshot,
            effects,
        );
        let snapshot = Arc::clone(&self.snapshot);
        let absent =
            self.queries
                .absent(now + report_after, |name| match errors.get(name.topic()) {
                    Some(error) => Some(*error),
                    None => {
                        let known = &snapshot.topics.get(name.topic())?.partitions;
                        let index = usize::try_from(name.partition());
                        let exists = index.is_ok_and(|index| index < known.len());
                        (!exists).then_some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
                    }
                });
        self.end_queries(absent, effects);
        let complete = self.troubles.is_empty()
            && self.questions.is_empty()
            && !self.lookups.is_leaderless(&self.snapshot)
            && !self.watch.is_waiting_for_names();
        if !complete {
            self.turns.want(Kind::Names);
        }
        complete
    }

    /// Whether anybody wants to know of the topic. A list may have been asked for by a watch that is over, or in place of ids.
    fn is_of_use(&self, kind: Kind, wanted: &[Arc<str>], topic: &TopicView) -> bool {
        let watched = self.watch.topics();
        kind == Kind::Names
            || watched.all
            || watched.ids.contains(&topic.id)
            || wanted
                .binary_search_by(|name| (**name).cmp(&topic.name))
                .is_ok()
    }

    pub(super) fn is_assigned(&self, topic: &str) -> bool {
        self.assigned.values().any(|name| name.topic() == topic)
    }

    /// Tells of the cluster if it is not what it was, and asks for the ids that it does not have.
    pub(super) fn publish(&mut self, mut next: ClusterSnapshot, effects: &mut Vec<Effect>) {
        next.missing = self.watch.missing(&next.topics);
        if next != *self.snapshot {
            self.snapshot = Arc::new(next);
            effects.push(Effect::Publish(Arc::clone(&self.snapshot)));
        }
        if self.watch.is_waiting_for_ids(&self.snapshot.topics) {
            self.turns.want(Kind::Ids);
        } else {
            self.turns.drop(Kind::Ids);
        }
    }

    /// Topics that the brokers have not known for long are gone, not on their way between them: nobody asks for their records.
    pub(super) fn forget(&mut self, topics: &[Arc<str>], effects: &mut Vec<Effect>) {
        let known = &self.snapshot.topics;
        if topics.iter().any(|topic| known.contains_key(topic)) {
            let mut next = ClusterSnapshot::clone(&self.snapshot);
            next.topics.retain(|topic, _| !topics.contains(topic));
            self.publish(next, effects);
        }
    }

    /// Answers questions that can be answered, and those that waited long enough.
    pub(super) fn answer_questions(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let topics = &self.snapshot.topics;
        self.questions.retain(|topic, question| {
            if let Some(known) = topics.get(topic) {
                effects.push(Effect::Partitions(
                    Arc::clone(topic),
                    Ok(known.partitions.len()),
                ));
                return false;
            }
            let waits = now < question.until && question.unknown_until.is_none_or(|at| now < at);
            if !waits {
                let why = PartitionsUnknown::Refused(question.error);
                effects.push(Effect::Partitions(Arc::clone(topic), Err(why)));
            }
            waits
        });
    }
}
