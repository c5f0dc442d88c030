//! What a member subscribes to, a pattern included, which it evaluates itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use regex::Regex;
use session_actor::ClusterSnapshot;

use crate::error::GroupError;
use crate::model::Subscription;

#[derive(Debug)]
pub(super) struct Topics {
    pattern: Option<Regex>,
    names: BTreeSet<Arc<str>>,
}

impl Topics {
    pub(super) fn of(subscription: Subscription) -> Result<Self, GroupError> {
        match subscription {
            Subscription::Topics(names) => Ok(Self {
                pattern: None,
                names,
            }),
            // as in Java, a name matches as a whole
            Subscription::Pattern(pattern) => match Regex::new(&format!("^(?:{pattern})$")) {
                Ok(pattern) => Ok(Self {
                    pattern: Some(pattern),
                    names: BTreeSet::new(),
                }),
                Err(error) => Err(GroupError::InvalidPattern {
                    reason: error.to_string(),
                }),
            },
        }
    }

    pub(super) const fn is_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    pub(super) const fn names(&self) -> &BTreeSet<Arc<str>> {
        &self.names
    }

    /// Evaluates the pattern. Returns whether other topics match than before.
    pub(super) fn look(&mut self, cluster: &ClusterSnapshot, exclude_internal: bool) -> bool {
        let Some(pattern) = &self.pattern else {
            return false;
        };
        let matching = cluster.topics.iter().filter(|(name, topic)| {
            pattern.is_match(name) && !(exclude_internal && topic.internal)
        });
        let names = matching.map(|(name, _)| Arc::clone(name)).collect();
        let differs = self.names != names;
        self.names = names;
        differs
    }
}
