//! Metadata, ListOffsets and OffsetForLeaderEpoch between what the machine says and what goes over the wire.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use buffer_actor::{EpochAnswer, EpochEnd, NodeId};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::{
    BrokerId, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use session_actor::wire::fetch::IsolationLevel;
use session_actor::wire::{Address, ErrorCode};
use uuid::Uuid;

use super::lookups::{Asked, Wanted};
use super::machine::{End, Offset};
use super::turns::Topics;
use super::view::{PartitionView, TopicView, View};
use crate::offsets::{ListedOffset, OffsetSpec};

/// The first version of ListOffsets that tells how long the broker may look in tiered storage (KIP-1075).
const LIST_OFFSETS_WITH_TIMEOUT: i16 = 10;

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
                    replicas: nodes(&partition.replica_nodes),
                    in_sync: nodes(&partition.isr_nodes),
                    offline: nodes(&partition.offline_replicas),
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

fn nodes(ids: &[BrokerId]) -> Vec<NodeId> {
    ids.iter().map(|id| NodeId(id.0)).collect()
}

/// The first version of ListOffsets in which a broker knows what is meant.
const fn first_version(wanted: Wanted) -> i16 {
    match wanted {
        Wanted::Offset(OffsetSpec::Earliest | OffsetSpec::Latest | OffsetSpec::Timestamp(_))
        | Wanted::Since(_) => 1,
        Wanted::Offset(OffsetSpec::MaxTimestamp) => 7,
        Wanted::Offset(OffsetSpec::EarliestLocal) => 8,
        Wanted::Offset(OffsetSpec::LatestTiered) => 9,
        // none: another API tells it
        Wanted::EpochEnd(_) => i16::MAX,
    }
}

/// What stands for it in a request that is made at a time, in milliseconds since 1970.
fn timestamp(wanted: Wanted, now: i64) -> Option<i64> {
    Some(match wanted {
        Wanted::Offset(OffsetSpec::Latest) => -1,
        Wanted::Offset(OffsetSpec::Earliest) => -2,
        Wanted::Offset(OffsetSpec::MaxTimestamp) => -3,
        Wanted::Offset(OffsetSpec::EarliestLocal) => -4,
        Wanted::Offset(OffsetSpec::LatestTiered) => -5,
        Wanted::Offset(OffsetSpec::Timestamp(timestamp)) => timestamp,
        Wanted::Since(age) => {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            now.saturating_sub(age).max(0)
        }
        Wanted::EpochEnd(_) => return None,
    })
}

/// A request in a version of the API, made at a time, in milliseconds since 1970. What the version does not know is left out.
pub(super) fn offsets_request(
    asked: &[Asked],
    isolation: IsolationLevel,
    version: i16,
    now: i64,
    limit: Duration,
) -> ListOffsetsRequest {
    let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for asked in asked {
        let Some(timestamp) = timestamp(asked.wanted, now) else {
            continue;
        };
        if version < first_version(asked.wanted) {
            continue;
        }
        topics.entry(asked.name.topic()).or_default().push(
            ListOffsetsPartition::default()
                .with_partition_index(asked.name.partition())
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
    let request = ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_isolation_level(isolation as i8)
        .with_topics(topics);
    match version {
        LIST_OFFSETS_WITH_TIMEOUT.. => {
            request.with_timeout_ms(i32::try_from(limit.as_millis()).unwrap_or(i32::MAX))
        }
        _ => request,
    }
}

/// The answers in the order of the questions; a partition that the broker left out is an error.
pub(super) fn offsets(
    response: &ListOffsetsResponse,
    asked: &[Asked],
    version: i16,
) -> Vec<Offset> {
    let mut answers: BTreeMap<(&str, i32), Offset> = BTreeMap::new();
    for topic in &response.topics {
        for partition in &topic.partitions {
            let answer = match ErrorCode(partition.error_code) {
                ErrorCode::NONE => Ok((partition.offset >= 0).then_some(ListedOffset {
                    offset: partition.offset,
                    timestamp: (partition.timestamp >= 0).then_some(partition.timestamp),
                    leader_epoch: (partition.leader_epoch >= 0).then_some(partition.leader_epoch),
                })),
                error => Err(error),
            };
            answers.insert((&topic.name.0, partition.partition_index), answer);
        }
    }
    let missing = |asked: &Asked| {
        Err(if version < first_version(asked.wanted) {
            ErrorCode::UNSUPPORTED_VERSION
        } else {
            ErrorCode::UNKNOWN_SERVER_ERROR
        })
    };
    asked
        .iter()
        .map(|asked| {
            let key = (asked.name.topic(), asked.name.partition());
            answers.get(&key).copied().unwrap_or_else(|| missing(asked))
        })
        .collect()
}

/// The first version of OffsetForLeaderEpoch that brokers allow consumers (KIP-320).
pub(super) const EPOCHS_FOR_CONSUMERS: i16 = 3;

pub(super) fn epochs_request(asked: &[Asked]) -> OffsetForLeaderEpochRequest {
    let mut topics: BTreeMap<&str, Vec<OffsetForLeaderPartition>> = BTreeMap::new();
    for asked in asked {
        let name = &asked.name;
        let Wanted::EpochEnd(leader_epoch) = asked.wanted else {
            continue;
        };
        topics.entry(name.topic()).or_default().push(
            OffsetForLeaderPartition::default()
                .with_partition(name.partition())
                .with_current_leader_epoch(asked.leader_epoch)
                .with_leader_epoch(leader_epoch),
        );
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| {
            OffsetForLeaderTopic::default()
                .with_topic(topic_name(name))
                .with_partitions(partitions)
        })
        .collect();
    OffsetForLeaderEpochRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_topics(topics)
}

/// The answers in the order of the questions; a partition that the broker left out is an error.
pub(super) fn epochs(response: &OffsetForLeaderEpochResponse, asked: &[Asked]) -> Vec<End> {
    let mut answers: BTreeMap<(&str, i32), End> = BTreeMap::new();
    for topic in &response.topics {
        for partition in &topic.partitions {
            let (leader_epoch, offset) = (partition.leader_epoch, partition.end_offset);
            let answer = if partition.error_code != 0 {
                Err(ErrorCode(partition.error_code))
            } else if leader_epoch < 0 || offset < 0 {
                Ok(EpochAnswer::Undefined)
            } else {
                Ok(EpochAnswer::Ends(EpochEnd {
                    leader_epoch,
                    offset,
                }))
            };
            answers.insert((&topic.topic.0, partition.partition), answer);
        }
    }
    asked
        .iter()
        .map(|asked| {
            let name = &asked.name;
            answers
                .get(&(name.topic(), name.partition()))
                .copied()
                .unwrap_or(Err(ErrorCode::UNKNOWN_SERVER_ERROR))
        })
        .collect()
}
