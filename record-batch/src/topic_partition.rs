use std::fmt;
use std::sync::Arc;

/// A partition of a topic, by name: the key of every map in this workspace.
///
/// Cloning copies a pointer, not the name. The order is that of the topic's name, then of the partition's number.
///
/// ```
/// use record_batch::TopicPartition;
///
/// let orders = TopicPartition::new("orders", 0);
/// assert_eq!(orders.to_string(), "orders-0");
/// assert!(orders < TopicPartition::new("orders", 1));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    topic: Arc<str>,
    partition: i32,
}

impl TopicPartition {
    /// Names partition `partition` of `topic`. Pass an `Arc<str>` to share one name between partitions.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The topic's name, shared: what to hand to [`TopicPartition::new`] for another partition of the same topic.
    pub fn shared_topic(&self) -> Arc<str> {
        Arc::clone(&self.topic)
    }

    /// The partition's number, from 0.
    pub fn partition(&self) -> i32 {
        self.partition
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

impl fmt::Debug for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
