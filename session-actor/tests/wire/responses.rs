//! A random response of every API that the guard has a table for.

use crate::random::Random;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable, VersionRange};
use session_actor::wire::guard::{self, Schema};

/// One message: how to make one, and how the crate reads it.
pub(crate) struct Case {
    pub(crate) schema: &'static Schema,
    pub(crate) versions: VersionRange,
    pub(crate) encode: fn(&mut Random, i16) -> Vec<u8>,
    /// Whether the crate takes it, and how many bytes it left.
    pub(crate) decode: fn(&[u8], i16) -> Option<usize>,
}

fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let done = message.encode(&mut bytes, version);
    done.unwrap_or_else(|error| panic!("v{version} of a random message: {error}"));
    bytes
}

fn decoded<T: Decodable>(bytes: &[u8], version: i16) -> Option<usize> {
    let mut bytes = bytes::Bytes::copy_from_slice(bytes);
    T::decode(&mut bytes, version).ok().map(|_| bytes.len())
}

macro_rules! case {
    ($message:ty, $schema:ident, $make:expr) => {
        Case {
            schema: &guard::$schema,
            versions: <$message as kafka_protocol::protocol::Message>::VERSIONS,
            encode: |random, version| {
                let make: fn(&mut Random, i16) -> $message = $make;
                encoded(&make(random, version), version)
            },
            decode: decoded::<$message>,
        }
    };
}

pub(crate) const CASES: [Case; 16] = [
    case!(ApiVersionsResponse, API_VERSIONS, api_versions),
    case!(MetadataResponse, METADATA, metadata),
    case!(ListOffsetsResponse, LIST_OFFSETS, list_offsets),
    case!(
        OffsetForLeaderEpochResponse,
        OFFSET_FOR_LEADER_EPOCH,
        offset_for_leader_epoch
    ),
    case!(FindCoordinatorResponse, FIND_COORDINATOR, find_coordinator),
    case!(JoinGroupResponse, JOIN_GROUP, join_group),
    case!(SyncGroupResponse, SYNC_GROUP, sync_group),
    case!(HeartbeatResponse, HEARTBEAT, |random, version| {
        HeartbeatResponse::default()
            .with_throttle_time_ms(if version >= 1 { random.i32() } else { 0 })
            .with_error_code(random.i16())
            .with_unknown_tagged_fields(random.tags())
    }),
    case!(LeaveGroupResponse, LEAVE_GROUP, leave_group),
    case!(OffsetCommitResponse, OFFSET_COMMIT, offset_commit),
    case!(OffsetFetchResponse, OFFSET_FETCH, offset_fetch),
    case!(
        ConsumerGroupHeartbeatResponse,
        CONSUMER_GROUP_HEARTBEAT,
        consumer_group_heartbeat
    ),
    case!(SaslHandshakeResponse, SASL_HANDSHAKE, |random, _| {
        SaslHandshakeResponse::default()
            .with_error_code(random.i16())
            .with_mechanisms(random.list(Random::text))
    }),
    case!(
        SaslAuthenticateResponse,
        SASL_AUTHENTICATE,
        |random, version| {
            SaslAuthenticateResponse::default()
                .with_error_code(random.i16())
                .with_error_message(random.maybe(Random::text))
                .with_auth_bytes(random.bytes())
                .with_session_lifetime_ms(if version >= 1 { random.i64() } else { 0 })
                .with_unknown_tagged_fields(random.tags())
        }
    ),
    case!(
        ConsumerProtocolSubscription,
        CONSUMER_PROTOCOL_SUBSCRIPTION,
        subscription
    ),
    case!(
        ConsumerProtocolAssignment,
        CONSUMER_PROTOCOL_ASSIGNMENT,
        |random, _| {
            use kafka_protocol::messages::consumer_protocol_assignment::TopicPartition;
            ConsumerProtocolAssignment::default()
                .with_assigned_partitions(random.list(|random| {
                    TopicPartition::default()
                        .with_topic(random.text().into())
                        .with_partitions(random.list(Random::i32))
                }))
                .with_user_data(random.maybe(Random::bytes))
        }
    ),
];

fn api_versions(random: &mut Random, version: i16) -> ApiVersionsResponse {
    use kafka_protocol::messages::api_versions_response::*;
    let response = ApiVersionsResponse::default()
        .with_error_code(random.i16())
        .with_api_keys(random.list(|random| {
            ApiVersion::default()
                .with_api_key(random.i16())
                .with_min_version(random.i16())
                .with_max_version(random.i16())
                .with_unknown_tagged_fields(random.tags())
        }))
        .with_throttle_time_ms(if version >= 1 { random.i32() } else { 0 })
        .with_unknown_tagged_fields(random.tags());
    if version < 3 {
        return response;
    }
    response
        .with_supported_features(random.list(|random| {
            SupportedFeatureKey::default()
                .with_name(random.text())
                .with_min_version(random.i16())
                .with_max_version(random.i16())
                .with_unknown_tagged_fields(random.tags())
        }))
        .with_finalized_features_epoch(random.i64())
        .with_finalized_features(random.list(|random| {
            FinalizedFeatureKey::default()
                .with_name(random.text())
                .with_min_version_level(random.i16())
                .with_max_version_level(random.i16())
                .with_unknown_tagged_fields(random.tags())
        }))
        .with_zk_migration_ready(random.bool())
}

fn metadata(random: &mut Random, version: i16) -> MetadataResponse {
    use kafka_protocol::messages::metadata_response::*;
    let brokers = random.list(|random| {
        MetadataResponseBroker::default()
            .with_node_id(random.i32().into())
            .with_host(random.text())
            .with_port(random.i32())
            .with_rack(random.maybe(Random::text).filter(|_| version >= 1))
            .with_unknown_tagged_fields(random.tags())
    });
    let topics = random.list(|random| {
        let partitions = random.list(|random| {
            let replicas = |random: &mut Random| random.list(|random| random.i32().into());
            MetadataResponsePartition::default()
                .with_error_code(random.i16())
                .with_partition_index(random.i32())
                .with_leader_id(random.i32().into())
                .with_leader_epoch(if version >= 7 { random.i32() } else { -1 })
                .with_replica_nodes(replicas(random))
                .with_isr_nodes(replicas(random))
                .with_offline_replicas(if version >= 5 {
                    replicas(random)
                } else {
                    vec![]
                })
                .with_unknown_tagged_fields(random.tags())
        });
        let topic = MetadataResponseTopic::default()
            .with_error_code(random.i16())
            .with_name(Some(random.text().into()).filter(|_| version < 12 || random.bool()))
            .with_is_internal(version >= 1 && random.bool())
            .with_partitions(partitions)
            .with_unknown_tagged_fields(random.tags());
        let topic = match version >= 8 {
            true => topic.with_topic_authorized_operations(random.i32()),
            false => topic,
        };
        match version >= 10 {
            true => topic.with_topic_id(random.uuid()),
            false => topic,
        }
    });
    let response = MetadataResponse::default()
        .with_throttle_time_ms(if version >= 3 { random.i32() } else { 0 })
        .with_brokers(brokers)
        .with_cluster_id(random.maybe(Random::text).filter(|_| version >= 2))
        .with_controller_id(if version >= 1 { random.i32() } else { -1 }.into())
        .with_topics(topics)
        .with_error_code(if version >= 13 { random.i16() } else { 0 })
        .with_unknown_tagged_fields(random.tags());
    match (8..=10).contains(&version) {
        true => response.with_cluster_authorized_operations(random.i32()),
        false => response,
    }
}

fn list_offsets(random: &mut Random, version: i16) -> ListOffsetsResponse {
    use kafka_protocol::messages::list_offsets_response::*;
    let topics = random.list(|random| {
        let partitions = random.list(|random| {
            ListOffsetsPartitionResponse::default()
                .with_partition_index(random.i32())
                .with_error_code(random.i16())
                .with_timestamp(random.i64())
                .with_offset(random.i64())
                .with_leader_epoch(if version >= 4 { random.i32() } else { -1 })
                .with_unknown_tagged_fields(random.tags())
        });
        ListOffsetsTopicResponse::default()
            .with_name(random.text().into())
            .with_partitions(partitions)
            .with_unknown_tagged_fields(random.tags())
    });
    ListOffsetsResponse::default()
        .with_throttle_time_ms(if version >= 2 { random.i32() } else { 0 })
        .with_topics(topics)
        .with_unknown_tagged_fields(random.tags())
}

fn offset_for_leader_epoch(random: &mut Random, _: i16) -> OffsetForLeaderEpochResponse {
    use kafka_protocol::messages::offset_for_leader_epoch_response::*;
    let topics = random.list(|random| {
        let partitions = random.list(|random| {
            EpochEndOffset::default()
                .with_error_code(random.i16())
                .with_partition(random.i32())
                .with_leader_epoch(random.i32())
                .with_end_offset(random.i64())
                .with_unknown_tagged_fields(random.tags())
        });
        OffsetForLeaderTopicResult::default()
            .with_topic(random.text().into())
            .with_partitions(partitions)
            .with_unknown_tagged_fields(random.tags())
    });
    OffsetForLeaderEpochResponse::default()
        .with_throttle_time_ms(random.i32())
        .with_topics(topics)
        .with_unknown_tagged_fields(random.tags())
}

fn find_coordinator(random: &mut Random, version: i16) -> FindCoordinatorResponse {
    use kafka_protocol::messages::find_coordinator_response::*;
    let response = FindCoordinatorResponse::default()
        .with_throttle_time_ms(if version >= 1 { random.i32() } else { 0 })
        .with_unknown_tagged_fields(random.tags());
    if version <= 3 {
        let message = random.maybe(Random::text);
        let response = match version >= 1 {
            true => response.with_error_message(message),
            false => response,
        };
        return response
            .with_error_code(random.i16())
            .with_node_id(random.i32().into())
            .with_host(random.text())
            .with_port(random.i32());
    }
    response.with_coordinators(random.list(|random| {
        Coordinator::default()
            .with_key(random.text())
            .with_node_id(random.i32().into())
            .with_host(random.text())
            .with_port(random.i32())
            .with_error_code(random.i16())
            .with_error_message(random.maybe(Random::text))
            .with_unknown_tagged_fields(random.tags())
    }))
}

fn join_group(random: &mut Random, version: i16) -> JoinGroupResponse {
    use kafka_protocol::messages::join_group_response::*;
    let members = random.list(|random| {
        JoinGroupResponseMember::default()
            .with_member_id(random.text())
            .with_group_instance_id(random.maybe(Random::text).filter(|_| version >= 5))
            .with_metadata(random.bytes())
            .with_unknown_tagged_fields(random.tags())
    });
    JoinGroupResponse::default()
        .with_throttle_time_ms(if version >= 2 { random.i32() } else { 0 })
        .with_error_code(random.i16())
        .with_generation_id(random.i32())
        .with_protocol_type(random.maybe(Random::text).filter(|_| version >= 7))
        .with_protocol_name(Some(random.text()).filter(|_| version < 7 || random.bool()))
        .with_leader(random.text())
        .with_skip_assignment(version >= 9 && random.bool())
        .with_member_id(random.text())
        .with_members(members)
        .with_unknown_tagged_fields(random.tags())
}

fn sync_group(random: &mut Random, version: i16) -> SyncGroupResponse {
    SyncGroupResponse::default()
        .with_throttle_time_ms(if version >= 1 { random.i32() } else { 0 })
        .with_error_code(random.i16())
        .with_protocol_type(random.maybe(Random::text).filter(|_| version >= 5))
        .with_protocol_name(random.maybe(Random::text).filter(|_| version >= 5))
        .with_assignment(random.bytes())
        .with_unknown_tagged_fields(random.tags())
}

fn leave_group(random: &mut Random, version: i16) -> LeaveGroupResponse {
    use kafka_protocol::messages::leave_group_response::*;
    let response = LeaveGroupResponse::default()
        .with_throttle_time_ms(if version >= 1 { random.i32() } else { 0 })
        .with_error_code(random.i16())
        .with_unknown_tagged_fields(random.tags());
    if version < 3 {
        return response;
    }
    response.with_members(random.list(|random| {
        MemberResponse::default()
            .with_member_id(random.text())
            .with_group_instance_id(random.maybe(Random::text))
            .with_error_code(random.i16())
            .with_unknown_tagged_fields(random.tags())
    }))
}

fn offset_commit(random: &mut Random, version: i16) -> OffsetCommitResponse {
    use kafka_protocol::messages::offset_commit_response::*;
    let topics = random.list(|random| {
        let partitions = random.list(|random| {
            OffsetCommitResponsePartition::default()
                .with_partition_index(random.i32())
                .with_error_code(random.i16())
                .with_unknown_tagged_fields(random.tags())
        });
        let topic = OffsetCommitResponseTopic::default()
            .with_partitions(partitions)
            .with_unknown_tagged_fields(random.tags());
        match version >= 10 {
            true => topic.with_topic_id(random.uuid()),
            false => topic.with_name(random.text().into()),
        }
    });
    OffsetCommitResponse::default()
        .with_throttle_time_ms(if version >= 3 { random.i32() } else { 0 })
        .with_topics(topics)
        .with_unknown_tagged_fields(random.tags())
}

fn offset_fetch(random: &mut Random, version: i16) -> OffsetFetchResponse {
    use kafka_protocol::messages::offset_fetch_response::*;
    let response = OffsetFetchResponse::default()
        .with_throttle_time_ms(if version >= 3 { random.i32() } else { 0 })
        .with_unknown_tagged_fields(random.tags());
    if version <= 7 {
        let topics = random.list(|random| {
            let partitions = random.list(|random| {
                OffsetFetchResponsePartition::default()
                    .with_partition_index(random.i32())
                    .with_committed_offset(random.i64())
                    .with_committed_leader_epoch(if version >= 5 { random.i32() } else { -1 })
                    .with_metadata(random.maybe(Random::text))
                    .with_error_code(random.i16())
                    .with_unknown_tagged_fields(random.tags())
            });
            OffsetFetchResponseTopic::default()
                .with_name(random.text().into())
                .with_partitions(partitions)
                .with_unknown_tagged_fields(random.tags())
        });
        return response
            .with_topics(topics)
            .with_error_code(if version >= 2 { random.i16() } else { 0 });
    }
    response.with_groups(random.list(|random| {
        let topics = random.list(|random| {
            let partitions = random.list(|random| {
                OffsetFetchResponsePartitions::default()
                    .with_partition_index(random.i32())
                    .with_committed_offset(random.i64())
                    .with_committed_leader_epoch(random.i32())
                    .with_metadata(random.maybe(Random::text))
                    .with_error_code(random.i16())
                    .with_unknown_tagged_fields(random.tags())
            });
            let topic = OffsetFetchResponseTopics::default()
                .with_partitions(partitions)
                .with_unknown_tagged_fields(random.tags());
            match version >= 10 {
                true => topic.with_topic_id(random.uuid()),
                false => topic.with_name(random.text().into()),
            }
        });
        OffsetFetchResponseGroup::default()
            .with_group_id(random.text().into())
            .with_topics(topics)
            .with_error_code(random.i16())
            .with_unknown_tagged_fields(random.tags())
    }))
}

fn consumer_group_heartbeat(random: &mut Random, _: i16) -> ConsumerGroupHeartbeatResponse {
    use kafka_protocol::messages::consumer_group_heartbeat_response::*;
    ConsumerGroupHeartbeatResponse::default()
        .with_throttle_time_ms(random.i32())
        .with_error_code(random.i16())
        .with_error_message(random.maybe(Random::text))
        .with_member_id(random.maybe(Random::text))
        .with_member_epoch(random.i32())
        .with_heartbeat_interval_ms(random.i32())
        .with_assignment(random.maybe(|random| {
            Assignment::default()
                .with_topic_partitions(random.list(|random| {
                    TopicPartitions::default()
                        .with_topic_id(random.uuid())
                        .with_partitions(random.list(Random::i32))
                        .with_unknown_tagged_fields(random.tags())
                }))
                .with_unknown_tagged_fields(random.tags())
        }))
        .with_unknown_tagged_fields(random.tags())
}

fn subscription(random: &mut Random, version: i16) -> ConsumerProtocolSubscription {
    use kafka_protocol::messages::consumer_protocol_subscription::TopicPartition;
    let subscription = ConsumerProtocolSubscription::default()
        .with_topics(random.list(Random::text))
        .with_user_data(random.maybe(Random::bytes))
        .with_generation_id(if version >= 2 { random.i32() } else { -1 })
        .with_rack_id(random.maybe(Random::text).filter(|_| version >= 3));
    if version < 1 {
        return subscription;
    }
    subscription.with_owned_partitions(random.list(|random| {
        TopicPartition::default()
            .with_topic(random.text().into())
            .with_partitions(random.list(Random::i32))
    }))
}
