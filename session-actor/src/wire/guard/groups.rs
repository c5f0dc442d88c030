//! The tables of the group protocols and of SASL.

use super::schema::{BOOLEAN, Field, INT16, INT32, INT64, Kind, Schema, UUID};

/// FindCoordinatorResponse, v0 to v6.
pub static FIND_COORDINATOR: Schema = Schema {
    name: "FindCoordinatorResponse",
    versions: (0, 6),
    flexible_since: 3,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(1),
        Field::new("error_code", INT16).until(3),
        Field::new("error_message", Kind::String)
            .since(1)
            .until(3)
            .nullable_since(1),
        Field::new("node_id", INT32).until(3),
        Field::new("host", Kind::String).until(3),
        Field::new("port", INT32).until(3),
        Field::new(
            "coordinators",
            Kind::Array(&Kind::Struct(&[
                Field::new("key", Kind::String),
                Field::new("node_id", INT32),
                Field::new("host", Kind::String),
                Field::new("port", INT32),
                Field::new("error_code", INT16),
                Field::new("error_message", Kind::String).nullable_since(4),
            ])),
        )
        .since(4),
    ],
};

/// JoinGroupResponse, v0 to v9.
pub static JOIN_GROUP: Schema = Schema {
    name: "JoinGroupResponse",
    versions: (0, 9),
    flexible_since: 6,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(2),
        Field::new("error_code", INT16),
        Field::new("generation_id", INT32),
        Field::new("protocol_type", Kind::String)
            .since(7)
            .nullable_since(7),
        Field::new("protocol_name", Kind::String).nullable_since(7),
        Field::new("leader", Kind::String),
        Field::new("skip_assignment", BOOLEAN).since(9),
        Field::new("member_id", Kind::String),
        Field::new(
            "members",
            Kind::Array(&Kind::Struct(&[
                Field::new("member_id", Kind::String),
                Field::new("group_instance_id", Kind::String)
                    .since(5)
                    .nullable_since(5),
                Field::new("metadata", Kind::Bytes),
            ])),
        ),
    ],
};

/// SyncGroupResponse, v0 to v5.
pub static SYNC_GROUP: Schema = Schema {
    name: "SyncGroupResponse",
    versions: (0, 5),
    flexible_since: 4,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(1),
        Field::new("error_code", INT16),
        Field::new("protocol_type", Kind::String)
            .since(5)
            .nullable_since(5),
        Field::new("protocol_name", Kind::String)
            .since(5)
            .nullable_since(5),
        Field::new("assignment", Kind::Bytes),
    ],
};

/// HeartbeatResponse, v0 to v4.
pub static HEARTBEAT: Schema = Schema {
    name: "HeartbeatResponse",
    versions: (0, 4),
    flexible_since: 4,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(1),
        Field::new("error_code", INT16),
    ],
};

/// LeaveGroupResponse, v0 to v5.
pub static LEAVE_GROUP: Schema = Schema {
    name: "LeaveGroupResponse",
    versions: (0, 5),
    flexible_since: 4,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(1),
        Field::new("error_code", INT16),
        Field::new(
            "members",
            Kind::Array(&Kind::Struct(&[
                Field::new("member_id", Kind::String),
                Field::new("group_instance_id", Kind::String).nullable_since(3),
                Field::new("error_code", INT16),
            ])),
        )
        .since(3),
    ],
};

/// OffsetCommitResponse, v2 to v10.
pub static OFFSET_COMMIT: Schema = Schema {
    name: "OffsetCommitResponse",
    versions: (2, 10),
    flexible_since: 8,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(3),
        Field::new(
            "topics",
            Kind::Array(&Kind::Struct(&[
                Field::new("name", Kind::String).until(9),
                Field::new("topic_id", UUID).since(10),
                Field::new(
                    "partitions",
                    Kind::Array(&Kind::Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("error_code", INT16),
                    ])),
                ),
            ])),
        ),
    ],
};

/// A committed offset in OffsetFetchResponse.
const COMMITTED: Kind = Kind::Struct(&[
    Field::new("partition_index", INT32),
    Field::new("committed_offset", INT64),
    Field::new("committed_leader_epoch", INT32).since(5),
    Field::new("metadata", Kind::String).nullable_since(0),
    Field::new("error_code", INT16),
]);

/// OffsetFetchResponse, v1 to v10.
pub static OFFSET_FETCH: Schema = Schema {
    name: "OffsetFetchResponse",
    versions: (1, 10),
    flexible_since: 6,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(3),
        Field::new(
            "topics",
            Kind::Array(&Kind::Struct(&[
                Field::new("name", Kind::String),
                Field::new("partitions", Kind::Array(&COMMITTED)),
            ])),
        )
        .until(7),
        Field::new("error_code", INT16).since(2).until(7),
        Field::new(
            "groups",
            Kind::Array(&Kind::Struct(&[
                Field::new("group_id", Kind::String),
                Field::new(
                    "topics",
                    Kind::Array(&Kind::Struct(&[
                        Field::new("name", Kind::String).until(9),
                        Field::new("topic_id", UUID).since(10),
                        Field::new("partitions", Kind::Array(&COMMITTED)),
                    ])),
                ),
                Field::new("error_code", INT16),
            ])),
        )
        .since(8),
    ],
};

/// ConsumerGroupHeartbeatResponse, v0 and v1 (KIP-848).
pub static CONSUMER_GROUP_HEARTBEAT: Schema = Schema {
    name: "ConsumerGroupHeartbeatResponse",
    versions: (0, 1),
    flexible_since: 0,
    fields: &[
        Field::new("throttle_time_ms", INT32),
        Field::new("error_code", INT16),
        Field::new("error_message", Kind::String).nullable_since(0),
        Field::new("member_id", Kind::String).nullable_since(0),
        Field::new("member_epoch", INT32),
        Field::new("heartbeat_interval_ms", INT32),
        Field::new(
            "assignment",
            Kind::Struct(&[Field::new(
                "topic_partitions",
                Kind::Array(&Kind::Struct(&[
                    Field::new("topic_id", UUID),
                    Field::new("partitions", Kind::Array(&INT32)),
                ])),
            )]),
        )
        .nullable_since(0),
    ],
};

/// SaslHandshakeResponse, v0 and v1.
pub static SASL_HANDSHAKE: Schema = Schema {
    name: "SaslHandshakeResponse",
    versions: (0, 1),
    flexible_since: i16::MAX,
    fields: &[
        Field::new("error_code", INT16),
        Field::new("mechanisms", Kind::Array(&Kind::String)),
    ],
};

/// SaslAuthenticateResponse, v0 to v2.
pub static SASL_AUTHENTICATE: Schema = Schema {
    name: "SaslAuthenticateResponse",
    versions: (0, 2),
    flexible_since: 2,
    fields: &[
        Field::new("error_code", INT16),
        Field::new("error_message", Kind::String).nullable_since(0),
        Field::new("auth_bytes", Kind::Bytes),
        Field::new("session_lifetime_ms", INT64).since(1),
    ],
};

/// Partitions of a topic in the messages that members of a classic group send each other.
const TOPIC_PARTITION: Kind = Kind::Struct(&[
    Field::new("topic", Kind::String),
    Field::new("partitions", Kind::Array(&INT32)),
]);

/// ConsumerProtocolSubscription, v0 to v3: what a member of a classic group tells its leader. Written by another client, so no
/// safer than what a broker sends; comes behind a version of its own.
pub static CONSUMER_PROTOCOL_SUBSCRIPTION: Schema = Schema {
    name: "ConsumerProtocolSubscription",
    versions: (0, 3),
    flexible_since: i16::MAX,
    fields: &[
        Field::new("topics", Kind::Array(&Kind::String)),
        Field::new("user_data", Kind::Bytes).nullable_since(0),
        Field::new("owned_partitions", Kind::Array(&TOPIC_PARTITION)).since(1),
        Field::new("generation_id", INT32).since(2),
        Field::new("rack_id", Kind::String)
            .since(3)
            .nullable_since(3),
    ],
};

/// ConsumerProtocolAssignment, v0 to v3: what the leader of a classic group tells a member. Comes behind a version of its own.
pub static CONSUMER_PROTOCOL_ASSIGNMENT: Schema = Schema {
    name: "ConsumerProtocolAssignment",
    versions: (0, 3),
    flexible_since: i16::MAX,
    fields: &[
        Field::new("assigned_partitions", Kind::Array(&TOPIC_PARTITION)),
        Field::new("user_data", Kind::Bytes).nullable_since(0),
    ],
};
