//! What members tell each other through the coordinator, which does not look into it: the embedded consumer protocol.
//!
//! kafka-protocol writes it. Reading it is our own: the bytes come from any client of the group, and kafka-protocol allocates what an array's
//! length claims.

mod reader;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicName,
    consumer_protocol_assignment, consumer_protocol_subscription,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use record_batch::TopicPartition;

use self::reader::Reader;
use super::AssignError;

/// What a member joins with, for one of its assignors: `ConsumerProtocolSubscription`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscription {
    /// The topics that it wants.
    pub topics: Vec<Arc<str>>,
    /// For the eyes of the leader's assignor; see [`Assignor::user_data`](super::Assignor::user_data).
    pub user_data: Option<Bytes>,
    /// What it owns while it joins: nothing under the eager protocol. Since version 1 (KIP-429).
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which it was given them; `None` is before the first one. Since version 2 (KIP-792).
    pub generation_id: Option<i32>,
    /// Its `client.rack`; an empty one is none. Since version 3 (KIP-881).
    pub rack_id: Option<String>,
}

impl Subscription {
    /// The version that Java 4.4 sends, and the newest there is.
    pub const VERSION: i16 = 3;
    const NAME: &'static str = "Subscription";

    /// A subscription to topics, of a member that owns nothing.
    pub fn new<T: Into<Arc<str>>>(topics: impl IntoIterator<Item = T>) -> Self {
        Self {
            topics: topics.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The bytes for JoinGroup, version first, topics and partitions sorted as Java does. What `version` does not know is left out.
    ///
    /// # Errors
    ///
    /// [`AssignError::UnsupportedVersion`] if `version` is not in 0..=3; [`AssignError::Unwritable`] if a string is longer than 32767 bytes.
    pub fn encode(&self, version: i16) -> Result<Bytes, AssignError> {
        let mut topics: Vec<&Arc<str>> = self.topics.iter().collect();
        topics.sort_unstable();
        let owned = by_topic(&self.owned_partitions).map(|(topic, partitions)| {
            consumer_protocol_subscription::TopicPartition::default()
                .with_topic(TopicName(text(topic)))
                .with_partitions(partitions)
        });
        let message = ConsumerProtocolSubscription::default()
            .with_topics(topics.into_iter().map(|topic| text(topic)).collect())
            .with_user_data(self.user_data.clone())
            .with_owned_partitions(owned.collect())
            .with_generation_id(self.generation_id.unwrap_or(-1))
            .with_rack_id(self.rack_id.as_deref().map(text));
        write(&message, version, Self::VERSION, Self::NAME)
    }

    /// Reads what a member joined with. A version newer than [`VERSION`](Self::VERSION) is read as that one: newer fields come after those known.
    ///
    /// # Errors
    ///
    /// [`AssignError`] says in which field the bytes are not a subscription.
    pub fn decode(bytes: &Bytes) -> Result<Self, AssignError> {
        let mut reader = Reader::new(bytes, Self::NAME);
        let version = reader.version()?;
        let count = reader.count("topics", 2)?;
        let mut subscription = Self::default();
        for _ in 0..count {
            subscription.topics.push(reader.string("topics")?.into());
        }
        subscription.user_data = reader.nullable_bytes("user data")?;
        if version >= 1 {
            subscription.owned_partitions = reader.partitions("owned partitions")?;
        }
        if version >= 2 {
            let generation = reader.i32("generation id")?;
            subscription.generation_id = (generation >= 0).then_some(generation);
        }
        if version >= 3 {
            let rack = reader.nullable_string("rack id")?;
            subscription.rack_id = rack.filter(|rack| !rack.is_empty()).map(str::to_owned);
        }
        Ok(subscription)
    }
}

/// What the leader gives a member: `ConsumerProtocolAssignment`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assignment {
    /// What it is to read.
    pub partitions: Vec<TopicPartition>,
    /// For the eyes of the member's assignor. Ours send none.
    pub user_data: Option<Bytes>,
}

impl Assignment {
    /// The version that Java 4.4 sends, and the newest there is.
    pub const VERSION: i16 = 3;
    const NAME: &'static str = "Assignment";

    /// An assignment without user data.
    pub fn new(partitions: Vec<TopicPartition>) -> Self {
        Self {
            partitions,
            user_data: None,
        }
    }

    /// The bytes for SyncGroup, version first, partitions sorted.
    ///
    /// # Errors
    ///
    /// [`AssignError::UnsupportedVersion`] if `version` is not in 0..=3; [`AssignError::Unwritable`] if a topic is longer than 32767 bytes.
    pub fn encode(&self, version: i16) -> Result<Bytes, AssignError> {
        let assigned = by_topic(&self.partitions).map(|(topic, partitions)| {
            consumer_protocol_assignment::TopicPartition::default()
                .with_topic(TopicName(text(topic)))
                .with_partitions(partitions)
        });
        let message = ConsumerProtocolAssignment::default()
            .with_assigned_partitions(assigned.collect())
            .with_user_data(self.user_data.clone());
        write(&message, version, Self::VERSION, Self::NAME)
    }

    /// Reads what a member is given. Empty bytes, which the coordinator sends to a member that the leader forgot, are an empty assignment; a
    /// version newer than [`VERSION`](Self::VERSION) is read as that one.
    ///
    /// # Errors
    ///
    /// [`AssignError`] says in which field the bytes are not an assignment.
    pub fn decode(bytes: &Bytes) -> Result<Self, AssignError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new(bytes, Self::NAME);
        reader.version()?;
        Ok(Self {
            partitions: reader.partitions("partitions")?,
            user_data: reader.nullable_bytes("user data")?,
        })
    }
}

/// What the sticky assignors hide in the user data, which is older than the fields of the subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StickyUserData {
    pub(super) partitions: Vec<TopicPartition>,
    pub(super) generation: Option<i32>,
}

impl StickyUserData {
    const NAME: &'static str = "Subscription of the sticky assignor";

    /// Version 1 of Java's schema: what was assigned, and in which generation. `None` if a topic's name is longer than any can be.
    pub(super) fn encode(partitions: &[TopicPartition], generation: i32) -> Option<Bytes> {
        let topics: Vec<_> = by_topic(partitions).collect();
        let mut bytes = BytesMut::new();
        bytes.put_i32(i32::try_from(topics.len()).ok()?);
        for (topic, partitions) in topics {
            consumer_protocol_assignment::TopicPartition::default()
                .with_topic(TopicName(text(topic)))
                .with_partitions(partitions)
                .encode(&mut bytes, 0)
                .ok()?;
        }
        bytes.put_i32(generation);
        Some(bytes.freeze())
    }

    /// Version 1, or version 0, which ends before the generation.
    pub(super) fn decode(bytes: &Bytes) -> Result<Self, AssignError> {
        let mut reader = Reader::new(bytes, Self::NAME);
        Ok(Self {
            partitions: reader.partitions("previous assignment")?,
            generation: reader.i32("generation").ok(),
        })
    }
}

/// The generation that `cooperative-sticky` put into its user data before the subscription had a field for it.
pub(super) fn decode_generation(bytes: &Bytes) -> Option<i32> {
    Reader::new(bytes, Subscription::NAME)
        .i32("generation")
        .ok()
}

/// Topics in order, each with its partitions in order.
fn by_topic(partitions: &[TopicPartition]) -> impl Iterator<Item = (&str, Vec<i32>)> {
    let mut sorted: Vec<&TopicPartition> = partitions.iter().collect();
    sorted.sort_unstable();
    let mut sorted = sorted.into_iter().peekable();
    std::iter::from_fn(move || {
        let first = sorted.next()?;
        let mut partitions = vec![first.partition()];
        while let Some(next) = sorted.next_if(|next| next.topic() == first.topic()) {
            partitions.push(next.partition());
        }
        Some((first.topic(), partitions))
    })
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn write(
    message: &impl Encodable,
    version: i16,
    newest: i16,
    name: &'static str,
) -> Result<Bytes, AssignError> {
    if !(0..=newest).contains(&version) {
        return Err(AssignError::UnsupportedVersion {
            message: name,
            version,
        });
    }
    let mut bytes = BytesMut::new();
    bytes.put_i16(version);
    message
        .encode(&mut bytes, version)
        .map_err(|error| AssignError::Unwritable {
            message: name,
            reason: error.to_string(),
        })?;
    Ok(bytes.freeze())
}
