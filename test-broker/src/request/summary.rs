use kafka_protocol::messages::{FetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use record_batch::TopicPartition;
use uuid::Uuid;

use super::Request;
use crate::cluster::Topics;
use crate::request_log::{FetchPartitionSummary, FetchSummary, RequestSummary};

impl Request {
    /// What the request log keeps of it.
    pub(crate) fn summary(&self, topics: &Topics) -> RequestSummary {
        match self {
            Self::Fetch(request) => RequestSummary::Fetch(fetch(request, topics)),
            Self::Produce(request) => {
                let all = request.topic_data.iter().flat_map(|topic| {
                    let name = name(&topic.name, topic.topic_id, topics);
                    topic.partition_data.iter().map(move |partition| {
                        let size = partition
                            .records
                            .as_ref()
                            .map_or(0, |records| records.len());
                        (TopicPartition::new(name.as_str(), partition.index), size)
                    })
                });
                RequestSummary::Produce {
                    acks: request.acks,
                    partitions: all.collect(),
                }
            }
            Self::ListOffsets(request) => {
                let all = request.topics.iter().flat_map(|topic| {
                    topic.partitions.iter().map(|partition| {
                        let key =
                            TopicPartition::new(topic.name.as_str(), partition.partition_index);
                        (key, partition.current_leader_epoch, partition.timestamp)
                    })
                });
                RequestSummary::ListOffsets {
                    isolation_level: request.isolation_level,
                    partitions: all.collect(),
                }
            }
            Self::OffsetForLeaderEpoch(request) => {
                let all = request.topics.iter().flat_map(|topic| {
                    topic.partitions.iter().map(|partition| {
                        let key = TopicPartition::new(topic.topic.as_str(), partition.partition);
                        (key, partition.current_leader_epoch, partition.leader_epoch)
                    })
                });
                RequestSummary::OffsetForLeaderEpoch {
                    partitions: all.collect(),
                }
            }
            Self::Metadata(request) => {
                let all = request.topics.as_ref().map(|all| {
                    let named = all.iter().map(|topic| match &topic.name {
                        Some(name) => name.to_string(),
                        None => topic.topic_id.to_string(),
                    });
                    named.collect()
                });
                RequestSummary::Metadata {
                    topics: all,
                    allow_auto_topic_creation: request.allow_auto_topic_creation,
                }
            }
            Self::FindCoordinator(request) => {
                let several = request.coordinator_keys.iter();
                let keys = several.chain(Some(&request.key).filter(|key| !key.is_empty()));
                RequestSummary::FindCoordinator {
                    key_type: request.key_type,
                    keys: keys.map(|key| key.to_string()).collect(),
                }
            }
            Self::OffsetCommit(request) => {
                let all = request.topics.iter().flat_map(|topic| {
                    topic.partitions.iter().map(|partition| {
                        let key =
                            TopicPartition::new(topic.name.as_str(), partition.partition_index);
                        (key, partition.committed_offset)
                    })
                });
                RequestSummary::OffsetCommit {
                    group: request.group_id.to_string(),
                    member: request.member_id.to_string(),
                    generation: request.generation_id_or_member_epoch,
                    offsets: all.collect(),
                }
            }
            Self::JoinGroup(request) => RequestSummary::JoinGroup {
                group: request.group_id.to_string(),
                member: request.member_id.to_string(),
                instance: request.group_instance_id.as_ref().map(ToString::to_string),
                protocols: {
                    let protocols = request.protocols.iter();
                    protocols
                        .map(|protocol| protocol.name.to_string())
                        .collect()
                },
                reason: request.reason.as_ref().map(ToString::to_string),
            },
            Self::SyncGroup(request) => RequestSummary::SyncGroup {
                group: request.group_id.to_string(),
                member: request.member_id.to_string(),
                generation: request.generation_id,
                assigns: request.assignments.len(),
            },
            Self::Heartbeat(request) => RequestSummary::Heartbeat {
                group: request.group_id.to_string(),
                member: request.member_id.to_string(),
                generation: request.generation_id,
            },
            Self::LeaveGroup(request) => {
                let several = request.members.iter().map(|member| &member.member_id);
                let one = Some(&request.member_id).filter(|_| request.members.is_empty());
                RequestSummary::LeaveGroup {
                    group: request.group_id.to_string(),
                    members: several.chain(one).map(ToString::to_string).collect(),
                }
            }
            Self::ConsumerGroupHeartbeat(request) => {
                let owned = request.topic_partitions.as_ref().map(|owned| {
                    let all = owned.iter().flat_map(|topic| {
                        let name = name(&TopicName::default(), topic.topic_id, topics);
                        let partitions = topic.partitions.iter();
                        partitions.map(move |index| TopicPartition::new(name.as_str(), *index))
                    });
                    all.collect()
                });
                let names = request.subscribed_topic_names.as_ref();
                let text = |value: &Option<StrBytes>| value.as_ref().map(ToString::to_string);
                RequestSummary::ConsumerGroupHeartbeat {
                    group: request.group_id.to_string(),
                    member: request.member_id.to_string(),
                    epoch: request.member_epoch,
                    instance: text(&request.instance_id),
                    topics: names.map(|names| names.iter().map(|name| name.to_string()).collect()),
                    regex: text(&request.subscribed_topic_regex),
                    assignor: text(&request.server_assignor),
                    owned,
                }
            }
            Self::OffsetFetch(request) => {
                let own = Some(&request.group_id).filter(|_| request.groups.is_empty());
                let groups = request.groups.iter().map(|group| &group.group_id);
                RequestSummary::OffsetFetch {
                    groups: groups.chain(own).map(|group| group.to_string()).collect(),
                    require_stable: request.require_stable,
                }
            }
            Self::ApiVersions(_)
            | Self::ConsumerGroupDescribe(_)
            | Self::ListGroups(_)
            | Self::DescribeGroups(_)
            | Self::CreateTopics(_)
            | Self::DeleteTopics(_)
            | Self::InitProducerId(_) => RequestSummary::Other,
        }
    }
}

/// The topic's name, which later versions of some requests give by its id.
fn name(name: &TopicName, id: Uuid, topics: &Topics) -> String {
    if id.is_nil() {
        return name.to_string();
    }
    topics
        .name_of(id)
        .map_or_else(|| id.to_string(), |name| name.to_string())
}

fn fetch(request: &FetchRequest, topics: &Topics) -> FetchSummary {
    let partitions = request.topics.iter().flat_map(|topic| {
        let name = name(&topic.topic, topic.topic_id, topics);
        topic
            .partitions
            .iter()
            .map(move |partition| FetchPartitionSummary {
                partition: TopicPartition::new(name.as_str(), partition.partition),
                fetch_offset: partition.fetch_offset,
                max_bytes: partition.partition_max_bytes,
                current_leader_epoch: partition.current_leader_epoch,
            })
    });
    let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| {
        let name = name(&topic.topic, topic.topic_id, topics);
        let partitions = topic.partitions.iter();
        partitions.map(move |partition| TopicPartition::new(name.as_str(), *partition))
    });
    FetchSummary {
        session_id: request.session_id,
        session_epoch: request.session_epoch,
        partitions: partitions.collect(),
        forgotten: forgotten.collect(),
        max_wait_ms: request.max_wait_ms,
        min_bytes: request.min_bytes,
        max_bytes: request.max_bytes,
        isolation_level: request.isolation_level,
        rack: request.rack_id.to_string(),
    }
}
