//! Requests in few words.

mod committed;
mod consumer_groups;
mod fetch;
mod groups;
mod offsets;
mod produce;
mod topics;
mod transactions;

use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;

pub(crate) use committed::{asked_group, commit, fetch_committed, fetch_committed_as};
pub(crate) use consumer_groups::{beat, full_beat, owned};
pub(crate) use fetch::{AT_ONCE_MS, Fetch};
pub(crate) use groups::{
    assignment, describe_consumer_groups, describe_groups, find_coordinator, group_id, heartbeat,
    join, leave, protocols, sync,
};
pub(crate) use offsets::{ListOffsets, earliest, offset_for_leader_epoch};
pub(crate) use produce::Produce;
pub(crate) use topics::{creatable_topic, create_topic, metadata, metadata_of};
pub(crate) use transactions::end_transaction;

pub(crate) fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

pub(crate) fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}
