//! Requests, decoded behind the guard.

mod summary;

use bytes::Bytes;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest, DeleteTopicsRequest, DescribeGroupsRequest, FetchRequest,
    FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest,
    LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, OffsetForLeaderEpochRequest, ProduceRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::Decodable;

use crate::cluster::Cluster;
use crate::wire::{Malformed, check};

/// A request that the broker answers.
#[derive(Debug)]
pub(crate) enum Request {
    ApiVersions(ApiVersionsRequest),
    Metadata(MetadataRequest),
    CreateTopics(CreateTopicsRequest),
    DeleteTopics(DeleteTopicsRequest),
    InitProducerId(InitProducerIdRequest),
    Produce(ProduceRequest),
    Fetch(FetchRequest),
    ListOffsets(ListOffsetsRequest),
    OffsetForLeaderEpoch(OffsetForLeaderEpochRequest),
    FindCoordinator(FindCoordinatorRequest),
    JoinGroup(JoinGroupRequest),
    SyncGroup(SyncGroupRequest),
    Heartbeat(HeartbeatRequest),
    LeaveGroup(LeaveGroupRequest),
    ListGroups(ListGroupsRequest),
    DescribeGroups(DescribeGroupsRequest),
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest),
    ConsumerGroupDescribe(ConsumerGroupDescribeRequest),
    OffsetCommit(OffsetCommitRequest),
    OffsetFetch(OffsetFetchRequest),
}

fn decoded<R: Decodable>(mut body: Bytes, version: i16) -> Result<R, Malformed> {
    R::decode(&mut body, version).map_err(|error| Malformed::Undecodable(error.to_string()))
}

impl Request {
    /// Checks and decodes the body of a request.
    pub(crate) fn decode(api: ApiKey, version: i16, body: Bytes) -> Result<Self, Malformed> {
        check(api, version, &body)?;
        Ok(match api {
            ApiKey::ApiVersions => Self::ApiVersions(decoded(body, version)?),
            ApiKey::Metadata => Self::Metadata(decoded(body, version)?),
            ApiKey::CreateTopics => Self::CreateTopics(decoded(body, version)?),
            ApiKey::DeleteTopics => Self::DeleteTopics(decoded(body, version)?),
            ApiKey::InitProducerId => Self::InitProducerId(decoded(body, version)?),
            ApiKey::Produce => Self::Produce(decoded(body, version)?),
            ApiKey::Fetch => Self::Fetch(decoded(body, version)?),
            ApiKey::ListOffsets => Self::ListOffsets(decoded(body, version)?),
            ApiKey::OffsetForLeaderEpoch => Self::OffsetForLeaderEpoch(decoded(body, version)?),
            ApiKey::FindCoordinator => Self::FindCoordinator(decoded(body, version)?),
            ApiKey::JoinGroup => Self::JoinGroup(decoded(body, version)?),
            ApiKey::SyncGroup => Self::SyncGroup(decoded(body, version)?),
            ApiKey::Heartbeat => Self::Heartbeat(decoded(body, version)?),
            ApiKey::LeaveGroup => Self::LeaveGroup(decoded(body, version)?),
            ApiKey::ListGroups => Self::ListGroups(decoded(body, version)?),
            ApiKey::DescribeGroups => Self::DescribeGroups(decoded(body, version)?),
            ApiKey::ConsumerGroupHeartbeat => Self::ConsumerGroupHeartbeat(decoded(body, version)?),
            ApiKey::ConsumerGroupDescribe => Self::ConsumerGroupDescribe(decoded(body, version)?),
            ApiKey::OffsetCommit => Self::OffsetCommit(decoded(body, version)?),
            ApiKey::OffsetFetch => Self::OffsetFetch(decoded(body, version)?),
            _ => return Err(Malformed::Undecodable(format!("{api:?} is not served"))),
        })
    }

    /// Whether the request concerns a topic, or one partition of it. A Fetch concerns all partitions of its session.
    pub(crate) fn concerns(
        &self,
        cluster: &Cluster,
        node: i32,
        topic: &str,
        partition: Option<i32>,
    ) -> bool {
        let is = |own: i32| partition.is_none_or(|partition| own == partition);
        let id = cluster.topics.get(topic).map(|topic| topic.id);
        match self {
            Self::ApiVersions(_)
            | Self::InitProducerId(_)
            | Self::FindCoordinator(_)
            | Self::ListGroups(_)
            | Self::DescribeGroups(_)
            | Self::ConsumerGroupHeartbeat(_)
            | Self::ConsumerGroupDescribe(_)
            | Self::JoinGroup(_)
            | Self::SyncGroup(_)
            | Self::Heartbeat(_)
            | Self::LeaveGroup(_) => false,
            Self::Metadata(request) => request.topics.as_ref().is_none_or(|topics| {
                let mut topics = topics.iter();
                topics.any(|own| match &own.name {
                    Some(name) => name.as_str() == topic,
                    None => Some(own.topic_id) == id,
                })
            }),
            Self::CreateTopics(request) => {
                let mut topics = request.topics.iter();
                topics.any(|own| own.name.as_str() == topic)
            }
            Self::DeleteTopics(request) => {
                let mut names = request.topic_names.iter();
                let mut topics = request.topics.iter();
                names.any(|own| own.as_str() == topic)
                    || topics.any(|own| match &own.name {
                        Some(name) => name.as_str() == topic,
                        None => Some(own.topic_id) == id,
                    })
            }
            Self::Produce(request) => request.topic_data.iter().any(|own| {
                (own.name.as_str() == topic || Some(own.topic_id) == id)
                    && own.partition_data.iter().any(|own| is(own.index))
            }),
            Self::ListOffsets(request) => request.topics.iter().any(|own| {
                own.name.as_str() == topic && own.partitions.iter().any(|p| is(p.partition_index))
            }),
            Self::OffsetForLeaderEpoch(request) => request.topics.iter().any(|own| {
                own.topic.as_str() == topic && own.partitions.iter().any(|p| is(p.partition))
            }),
            Self::OffsetCommit(request) => request.topics.iter().any(|own| {
                own.name.as_str() == topic && own.partitions.iter().any(|p| is(p.partition_index))
            }),
            // no list of topics asks for all of them
            Self::OffsetFetch(request) => {
                let mut groups = request.groups.iter();
                let named = |own: &str, partitions: &[i32]| {
                    own == topic && partitions.iter().any(|own| is(*own))
                };
                let all = request.groups.is_empty() && request.topics.is_none();
                all || request
                    .topics
                    .iter()
                    .flatten()
                    .any(|own| named(&own.name, &own.partition_indexes))
                    || groups.any(|group| {
                        group.topics.as_ref().is_none_or(|topics| {
                            topics
                                .iter()
                                .any(|own| named(&own.name, &own.partition_indexes))
                        })
                    })
            }
            Self::Fetch(request) => {
                let named = request.topics.iter().any(|own| {
                    (own.topic.as_str() == topic || Some(own.topic_id) == id)
                        && own.partitions.iter().any(|own| is(own.partition))
                });
                let node = cluster.nodes.get(&node);
                let covered = || {
                    node.is_some_and(|node| {
                        let mut covered = node.sessions.covered(request.session_id);
                        covered.any(|key| {
                            (key.topic.as_deref() == Some(topic) || Some(key.topic_id) == id)
                                && is(key.partition)
                        })
                    })
                };
                named || (request.session_epoch > 0 && covered())
            }
        }
    }
}
