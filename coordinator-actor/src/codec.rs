//! Between the machine's requests and answers and those of the wire, in whatever version the coordinator has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, FindCoordinatorRequest, FindCoordinatorResponse, GroupId,
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, OffsetCommitRequest,
    OffsetFetchRequest, OffsetFetchResponse, SyncGroupRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use record_batch::TopicPartition;
use session_actor::wire::control::ControlClient;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};

use crate::config::GroupConfig;
use crate::model::{
    Answer, ConsumerHeartbeat, ConsumerHeartbeatAnswer, Fetched, Identity, JoinGroup, Joined,
    OffsetAndMetadata, Offsets, Request, SyncGroup,
};

/// The type of the groups that consumers form.
const PROTOCOL_TYPE: &str = "consumer";
/// FindCoordinator asks for several groups from here on (KIP-699).
const BATCHED_FIND: i16 = 4;
/// LeaveGroup names members from here on (KIP-345).
const MEMBERS_LEAVE: i16 = 3;
/// OffsetFetch asks for several groups from here on (KIP-709).
const BATCHED_FETCH: i16 = 8;
/// OffsetFetch names the member from here on (KIP-848).
const MEMBER_FETCHES: i16 = 9;

/// Asks, and makes sense of the answer.
pub(crate) async fn ask(
    client: &ControlClient,
    request: Request,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    match request {
        Request::FindCoordinator => find_coordinator(client, config, limit).await,
        Request::JoinGroup(join) => join_group(client, join, config, limit).await,
        Request::SyncGroup(sync) => sync_group(client, sync, config, limit).await,
        Request::Heartbeat(identity) => heartbeat(client, &identity, config, limit).await,
        Request::LeaveGroup { member_id, reason } => {
            leave_group(client, &member_id, reason, config, limit).await
        }
        Request::ConsumerHeartbeat(heartbeat) => {
            consumer_heartbeat(client, heartbeat, config, limit).await
        }
        Request::OffsetCommit { identity, offsets } => {
            offset_commit(client, identity.as_ref(), offsets, config, limit).await
        }
        Request::OffsetFetch {
            identity,
            partitions,
        } => offset_fetch(client, identity.as_ref(), partitions, config, limit).await,
    }
}

async fn find_coordinator(
    client: &ControlClient,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<FindCoordinatorRequest>()?;
    let key = text(&config.group_id);
    let request = FindCoordinatorRequest::default();
    let request = if version < BATCHED_FIND {
        request.with_key(key)
    } else {
        request.with_coordinator_keys(vec![key])
    };
    let response = client.call_version(version, &request, limit).await?;
    Ok(Answer::Coordinator(coordinator(response, version)))
}

fn coordinator(response: FindCoordinatorResponse, version: i16) -> Result<Peer, ErrorCode> {
    let (error, node, host, port) = if version < BATCHED_FIND {
        let FindCoordinatorResponse {
            error_code,
            node_id,
            host,
            port,
            ..
        } = response;
        (error_code, node_id, host, port)
    } else {
        let first = response.coordinators.into_iter().next();
        let found = first.ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
        (found.error_code, found.node_id, found.host, found.port)
    };
    checked(error)?;
    // a broker that knows of nobody says so by a port that there is not
    let port = u16::try_from(port).map_err(|_| ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
    Ok(Peer {
        node: Some(node.0),
        address: Address::new(host.as_str(), port),
    })
}

async fn join_group(
    client: &ControlClient,
    join: JoinGroup,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<JoinGroupRequest>()?;
    let protocols = join.protocols.into_iter().map(|(name, metadata)| {
        JoinGroupRequestProtocol::default()
            .with_name(text(&name))
            .with_metadata(metadata)
    });
    let mut request = JoinGroupRequest::default()
        .with_group_id(group(config))
        .with_session_timeout_ms(millis(join.session_timeout))
        .with_rebalance_timeout_ms(millis(join.rebalance_timeout))
        .with_member_id(text(&join.member_id))
        .with_protocol_type(StrBytes::from_static_str(PROTOCOL_TYPE))
        .with_protocols(protocols.collect());
    if version >= 5 {
        request.group_instance_id = instance_id(config);
    }
    if version >= 8 {
        request.reason = Some(text(&join.reason));
    }
    let response = client.call_version(version, &request, limit).await?;
    Ok(Answer::JoinGroup(joined(response)))
}

fn joined(response: JoinGroupResponse) -> Result<Joined, (ErrorCode, Arc<str>)> {
    let member_id: Arc<str> = response.member_id.as_str().into();
    checked(response.error_code).map_err(|error| (error, Arc::clone(&member_id)))?;
    let members = response.members.into_iter().map(|member| {
        (
            member.member_id.as_str().into(),
            member.group_instance_id.map(|id| id.as_str().into()),
            member.metadata,
        )
    });
    Ok(Joined {
        generation: response.generation_id,
        protocol: response.protocol_name.unwrap_or_default().as_str().into(),
        is_leader: response.leader == response.member_id,
        skip_assignment: response.skip_assignment,
        members: members.collect(),
        member_id,
    })
}

async fn sync_group(
    client: &ControlClient,
    sync: SyncGroup,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<SyncGroupRequest>()?;
    let assignments = sync.assignments.into_iter().map(|(member, assignment)| {
        SyncGroupRequestAssignment::default()
            .with_member_id(text(&member))
            .with_assignment(assignment)
    });
    let mut request = SyncGroupRequest::default()
        .with_group_id(group(config))
        .with_generation_id(sync.identity.epoch)
        .with_member_id(text(&sync.identity.member_id))
        .with_assignments(assignments.collect());
    if version >= 3 {
        request.group_instance_id = instance_id(config);
    }
    if version >= 5 {
        request.protocol_type = Some(StrBytes::from_static_str(PROTOCOL_TYPE));
        request.protocol_name = Some(text(&sync.protocol));
    }
    let response = client.call_version(version, &request, limit).await?;
    let assignment = checked(response.error_code).map(|()| response.assignment);
    Ok(Answer::SyncGroup(assignment))
}

async fn heartbeat(
    client: &ControlClient,
    identity: &Identity,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<HeartbeatRequest>()?;
    let mut request = HeartbeatRequest::default()
        .with_group_id(group(config))
        .with_generation_id(identity.epoch)
        .with_member_id(text(&identity.member_id));
    if version >= 3 {
        request.group_instance_id = instance_id(config);
    }
    let response = client.call_version(version, &request, limit).await?;
    Ok(Answer::Done(ErrorCode(response.error_code)))
}

async fn leave_group(
    client: &ControlClient,
    member_id: &str,
    reason: &'static str,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<LeaveGroupRequest>()?;
    let request = LeaveGroupRequest::default().with_group_id(group(config));
    let request = if version < MEMBERS_LEAVE {
        request.with_member_id(text(member_id))
    } else {
        let reason = (version >= 5).then(|| StrBytes::from_static_str(reason));
        let member = MemberIdentity::default()
            .with_member_id(text(member_id))
            .with_group_instance_id(instance_id(config))
            .with_reason(reason);
        request.with_members(vec![member])
    };
    let response = client.call_version(version, &request, limit).await?;
    Ok(Answer::Done(ErrorCode(response.error_code)))
}

async fn consumer_heartbeat(
    client: &ControlClient,
    heartbeat: ConsumerHeartbeat,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<ConsumerGroupHeartbeatRequest>()?;
    let owned = heartbeat.owned.map(|owned| {
        let owned = owned.into_iter();
        owned
            .map(|(id, partitions)| {
                TopicPartitions::default()
                    .with_topic_id(id)
                    .with_partitions(partitions)
            })
            .collect()
    });
    let topics = heartbeat.topics.map(|topics| {
        let topics = topics.iter();
        topics.map(|name| TopicName(text(name))).collect()
    });
    let mut request = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group(config))
        .with_member_id(text(&heartbeat.member_id))
        .with_member_epoch(heartbeat.epoch)
        .with_instance_id(instance_id(config))
        .with_rebalance_timeout_ms(heartbeat.rebalance_timeout.map_or(-1, millis))
        .with_subscribed_topic_names(topics)
        .with_server_assignor(heartbeat.assignor.as_deref().map(text))
        .with_topic_partitions(owned);
    if heartbeat.is_full {
        request.rack_id = config.rack.as_deref().map(text);
    }
    // a broker without patterns refuses the request as a whole, and says so better than an encoder
    request.subscribed_topic_regex = heartbeat.regex.as_deref().map(text);
    let response = client.call_version(version, &request, limit).await?;
    let answer = match checked(response.error_code) {
        Ok(()) => Ok(ConsumerHeartbeatAnswer {
            member_id: response.member_id.map(|id| id.as_str().into()),
            epoch: response.member_epoch,
            interval: Duration::from_millis(
                u64::try_from(response.heartbeat_interval_ms).unwrap_or(0),
            ),
            assignment: response.assignment.map(|assignment| {
                let topics = assignment.topic_partitions.into_iter();
                topics
                    .map(|topic| (topic.topic_id, topic.partitions))
                    .collect()
            }),
        }),
        Err(error) => Err((
            error,
            response
                .error_message
                .unwrap_or_default()
                .as_str()
                .to_owned(),
        )),
    };
    Ok(Answer::ConsumerHeartbeat(answer))
}

async fn offset_commit(
    client: &ControlClient,
    identity: Option<&Identity>,
    offsets: Offsets,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<OffsetCommitRequest>()?;
    let mut topics: BTreeMap<Arc<str>, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for (name, offset) in offsets {
        let mut partition = OffsetCommitRequestPartition::default()
            .with_partition_index(name.partition())
            .with_committed_offset(offset.offset)
            .with_committed_metadata(Some(StrBytes::from_string(offset.metadata)));
        if version >= 6 {
            partition.committed_leader_epoch = offset.leader_epoch.unwrap_or(-1);
        }
        topics
            .entry(name.shared_topic())
            .or_default()
            .push(partition);
    }
    let topics = topics.into_iter().map(|(name, partitions)| {
        OffsetCommitRequestTopic::default()
            .with_name(TopicName(text(&name)))
            .with_partitions(partitions)
    });
    let mut request = OffsetCommitRequest::default()
        .with_group_id(group(config))
        .with_generation_id_or_member_epoch(identity.map_or(-1, |identity| identity.epoch))
        .with_member_id(
            identity.map_or_else(StrBytes::default, |identity| text(&identity.member_id)),
        )
        .with_topics(topics.collect());
    if version >= 7 && identity.is_some() {
        request.group_instance_id = instance_id(config);
    }
    let response = client.call_version(version, &request, limit).await?;
    let mut codes = BTreeMap::new();
    for topic in response.topics {
        let name: Arc<str> = topic.name.as_str().into();
        for partition in topic.partitions {
            let partition_name = TopicPartition::new(Arc::clone(&name), partition.partition_index);
            codes.insert(partition_name, ErrorCode(partition.error_code));
        }
    }
    Ok(Answer::OffsetCommit(codes))
}

async fn offset_fetch(
    client: &ControlClient,
    identity: Option<&Identity>,
    partitions: Option<Vec<TopicPartition>>,
    config: &GroupConfig,
    limit: Duration,
) -> Result<Answer, WireError> {
    let version = client.version::<OffsetFetchRequest>()?;
    let topics = partitions.map(|partitions| {
        let mut topics: BTreeMap<Arc<str>, Vec<i32>> = BTreeMap::new();
        for name in partitions {
            let indexes = topics.entry(name.shared_topic()).or_default();
            indexes.push(name.partition());
        }
        topics
    });
    let mut request = OffsetFetchRequest::default();
    if version >= 7 {
        // KIP-447: not what an open transaction may still take back
        request.require_stable = true;
    }
    if version < BATCHED_FETCH {
        request.group_id = group(config);
        request.topics = topics.map(|topics| {
            let topics = topics.into_iter().map(|(name, indexes)| {
                OffsetFetchRequestTopic::default()
                    .with_name(TopicName(text(&name)))
                    .with_partition_indexes(indexes)
            });
            topics.collect()
        });
    } else {
        let mut asked = OffsetFetchRequestGroup::default().with_group_id(group(config));
        asked.topics = topics.map(|topics| {
            let topics = topics.into_iter().map(|(name, indexes)| {
                OffsetFetchRequestTopics::default()
                    .with_name(TopicName(text(&name)))
                    .with_partition_indexes(indexes)
            });
            topics.collect()
        });
        if version >= MEMBER_FETCHES
            && let Some(identity) = identity
        {
            asked.member_id = Some(text(&identity.member_id));
            asked.member_epoch = identity.epoch;
        }
        request.groups = vec![asked];
    }
    let response = client.call_version(version, &request, limit).await?;
    Ok(Answer::OffsetFetch(fetched(response, version)))
}

fn fetched(response: OffsetFetchResponse, version: i16) -> Result<Fetched, ErrorCode> {
    let mut fetched = Fetched::new();
    let mut found = |topic: &TopicName, index, error, offset, epoch, metadata: Option<StrBytes>| {
        let name = TopicPartition::new(topic.as_str(), index);
        let offset = checked(error).map(|()| {
            // -1 is none
            (offset >= 0).then(|| OffsetAndMetadata {
                offset,
                leader_epoch: (epoch >= 0).then_some(epoch),
                metadata: metadata.unwrap_or_default().as_str().to_owned(),
            })
        });
        fetched.insert(name, offset);
    };
    if version < BATCHED_FETCH {
        checked(response.error_code)?;
        for topic in response.topics {
            for partition in topic.partitions {
                found(
                    &topic.name,
                    partition.partition_index,
                    partition.error_code,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.metadata,
                );
            }
        }
    } else {
        let group = response.groups.into_iter().next();
        let group = group.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?;
        checked(group.error_code)?;
        for topic in group.topics {
            for partition in topic.partitions {
                found(
                    &topic.name,
                    partition.partition_index,
                    partition.error_code,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.metadata,
                );
            }
        }
    }
    Ok(fetched)
}

fn checked(code: i16) -> Result<(), ErrorCode> {
    if code == 0 {
        Ok(())
    } else {
        Err(ErrorCode(code))
    }
}

fn group(config: &GroupConfig) -> GroupId {
    GroupId(text(&config.group_id))
}

fn instance_id(config: &GroupConfig) -> Option<StrBytes> {
    config.instance_id.as_deref().map(text)
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

/// As the protocol has it: the largest number is as good as any larger.
fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
