//! The tables of what brokers tell about themselves, their topics and offsets.

use super::schema::{BOOLEAN, Field, INT16, INT32, INT64, Kind, Schema, UUID};

/// ApiVersionsResponse, v0 to v4.
pub static API_VERSIONS: Schema = Schema {
    name: "ApiVersionsResponse",
    versions: (0, 4),
    flexible_since: 3,
    fields: &[
        Field::new("error_code", INT16),
        Field::new(
            "api_keys",
            Kind::Array(&Kind::Struct(&[
                Field::new("api_key", INT16),
                Field::new("min_version", INT16),
                Field::new("max_version", INT16),
            ])),
        ),
        Field::new("throttle_time_ms", INT32).since(1),
        Field::new(
            "supported_features",
            Kind::Array(&Kind::Struct(&[
                Field::new("name", Kind::String),
                Field::new("min_version", INT16),
                Field::new("max_version", INT16),
            ])),
        )
        .tagged(0),
        Field::new("finalized_features_epoch", INT64).tagged(1),
        Field::new(
            "finalized_features",
            Kind::Array(&Kind::Struct(&[
                Field::new("name", Kind::String),
                Field::new("max_version_level", INT16),
                Field::new("min_version_level", INT16),
            ])),
        )
        .tagged(2),
        Field::new("zk_migration_ready", BOOLEAN).tagged(3),
    ],
};

/// MetadataResponse, v0 to v13.
pub static METADATA: Schema = Schema {
    name: "MetadataResponse",
    versions: (0, 13),
    flexible_since: 9,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(3),
        Field::new(
            "brokers",
            Kind::Array(&Kind::Struct(&[
                Field::new("node_id", INT32),
                Field::new("host", Kind::String),
                Field::new("port", INT32),
                Field::new("rack", Kind::String).since(1).nullable_since(1),
            ])),
        ),
        Field::new("cluster_id", Kind::String)
            .since(2)
            .nullable_since(2),
        Field::new("controller_id", INT32).since(1),
        Field::new(
            "topics",
            Kind::Array(&Kind::Struct(&[
                Field::new("error_code", INT16),
                Field::new("name", Kind::String).nullable_since(12),
                Field::new("topic_id", UUID).since(10),
                Field::new("is_internal", BOOLEAN).since(1),
                Field::new(
                    "partitions",
                    Kind::Array(&Kind::Struct(&[
                        Field::new("error_code", INT16),
                        Field::new("partition_index", INT32),
                        Field::new("leader_id", INT32),
                        Field::new("leader_epoch", INT32).since(7),
                        Field::new("replica_nodes", Kind::Array(&INT32)),
                        Field::new("isr_nodes", Kind::Array(&INT32)),
                        Field::new("offline_replicas", Kind::Array(&INT32)).since(5),
                    ])),
                ),
                Field::new("topic_authorized_operations", INT32).since(8),
            ])),
        ),
        Field::new("cluster_authorized_operations", INT32)
            .since(8)
            .until(10),
        Field::new("error_code", INT16).since(13),
    ],
};

/// ListOffsetsResponse, v1 to v10.
pub static LIST_OFFSETS: Schema = Schema {
    name: "ListOffsetsResponse",
    versions: (1, 10),
    flexible_since: 6,
    fields: &[
        Field::new("throttle_time_ms", INT32).since(2),
        Field::new(
            "topics",
            Kind::Array(&Kind::Struct(&[
                Field::new("name", Kind::String),
                Field::new(
                    "partitions",
                    Kind::Array(&Kind::Struct(&[
                        Field::new("partition_index", INT32),
                        Field::new("error_code", INT16),
                        Field::new("timestamp", INT64),
                        Field::new("offset", INT64),
                        Field::new("leader_epoch", INT32).since(4),
                    ])),
                ),
            ])),
        ),
    ],
};

/// OffsetForLeaderEpochResponse, v2 to v4.
pub static OFFSET_FOR_LEADER_EPOCH: Schema = Schema {
    name: "OffsetForLeaderEpochResponse",
    versions: (2, 4),
    flexible_since: 4,
    fields: &[
        Field::new("throttle_time_ms", INT32),
        Field::new(
            "topics",
            Kind::Array(&Kind::Struct(&[
                Field::new("topic", Kind::String),
                Field::new(
                    "partitions",
                    Kind::Array(&Kind::Struct(&[
                        Field::new("error_code", INT16),
                        Field::new("partition", INT32),
                        Field::new("leader_epoch", INT32),
                        Field::new("end_offset", INT64),
                    ])),
                ),
            ])),
        ),
    ],
};
