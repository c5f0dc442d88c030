//! Metadata and ListOffsets between what the machine says and what goes over the wire.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffer_actor::{NodeId, ResetTo};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use session_actor::wire::fetch::IsolationLevel;
use session_actor::wire::{Address, ErrorCode};
use uuid::Uuid;

use super::lookups::Asked;
use super::machine::Offset;
use super::turns::Topics;
use super::view::{PartitionView, TopicView, View};

/// ListOffsets timestamp of the first offset.
const EARLIEST: i64 = -2;
/// ListOffsets timestamp of the end: high watermark, or last stable offset under read_committed.
const LATEST: i64 = -1;

fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

/// The first version of Metadata in which topics may be asked for by id (KIP-516).
const METADATA_BY_ID: i16 = 12;

/// A request for these topics in a version of the API. Where ids cannot be asked for, all topics are.
pub(super) fn metadata_request(
    topics: &Topics,
    auto_create: bool,
    version: i16,
) -> MetadataRequest {
    let named = |name: &Arc<str>| MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    let with_id = |id: &Uuid| {
        MetadataRequestTopic::default()
            .with_topic_id(*id)
            .with_name(None)
    };
    let topics = match topics {
        Topics::Names(names) => Some(names.iter().map(named).collect()),
        Topics::Ids(ids) if version >= METADATA_BY_ID => Some(ids.iter().map(with_id).collect()),
        Topics::Ids(_) | Topics::All => None,
    };
    MetadataRequest::default()
        .with_topics(topics)
        .with_allow_auto_topic_creation(auto_create)
}

/// `None`: the broker wants this client to begin again with its bootstrap servers (KIP-1102).
pub(super) fn view(response: MetadataResponse) -> Option<View> {
    if ErrorCode(response.error_code) == ErrorCode::REBOOTSTRAP_REQUIRED {
        return None;
    }
    let racks = response
        .brokers
        .iter()
        .filter_map(|broker| Some((NodeId(broker.node_id.0), broker.rack.as_deref()?.into())))
        .collect();
    let brokers = response
        .brokers
        .into_iter()
        .filter_map(|broker| {
            let port = u16::try_from(broker.port).ok()?;
            Some((NodeId(broker.node_id.0), Address::new(&*broker.host, port)))
        })
        .collect();
    let topics = response
        .topics
        .into_iter()
        .filter_map(|topic| {
            let partitions = topic
                .partitions
                .iter()
                .map(|partition| PartitionView {
                    index: partition.partition_index,
                    leader: (partition.leader_id.0 >= 0).then_some(NodeId(partition.leader_id.0)),
                    leader_epoch: partition.leader_epoch,
                    replicas: partition
                        .replica_nodes
                        .iter()
                        .map(|node| NodeId(node.0))
                        .collect(),
                })
                .collect();
            Some(TopicView {
                name: topic.name?.0.to_string(),
                id: topic.topic_id,
                error: ErrorCode(topic.error_code),
                internal: topic.is_internal,
                partitions,
            })
        })
        .collect();
    Some(View {
        brokers,
        racks,
        topics,
    })
}

pub(super) fn offsets_request(asked: &[Asked], isolation: IsolationLevel) -> ListOffsetsRequest {
    let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for asked in asked {
        let name = &asked.lookup.name;
        let timestamp = match asked.lookup.to {
            ResetTo::Earliest => EARLIEST,
            ResetTo::Latest => LATEST,
        };
        topics.entry(name.topic()).or_default().push(
            ListOffsetsPartition::default()
                .with_partition_index(name.partition())
                .with_current_leader_epoch(asked.leader_epoch)
                .with_timestamp(timestamp),
        );
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| {
            ListOffsetsTopic::default()
                .with_name(topic_name(name))
                .with_partitions(partitions)
        })
        .collect();
    ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_isolation_level(isolation as i8)
        .with_topics(topics)
}

/// The answers in the order of the questions; a partition that the broker left out is an error.
pub(super) fn offsets(response: &ListOffsetsResponse, asked: &[Asked]) -> Vec<Offset> {
    let mut answers: BTreeMap<(&str, i32), Offset> = BTreeMap::new();
    for topic in &response.topics {
        for partition in &topic.partitions {
            let answer = if partition.error_code != 0 {
                Err(ErrorCode(partition.error_code))
            } else if partition.offset < 0 {
                Err(ErrorCode::OFFSET_NOT_AVAILABLE)
            } else {
                Ok(partition.offset)
            };
            answers.insert((&topic.name.0, partition.partition_index), answer);
        }
    }
    asked
        .iter()
        .map(|asked| {
            let name = &asked.lookup.name;
            answers
                .get(&(name.topic(), name.partition()))
                .copied()
                .unwrap_or(Err(ErrorCode::UNKNOWN_SERVER_ERROR))
        })
        .collect()
}
