use std::io;

use record_batch::TopicPartition;

/// Why the broker does not do what a test asks of it.
///
/// What it answers to clients is not here: those are error codes of the protocol.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A listener could not be opened.
    #[error("node {node} cannot listen on {address}: {source}; is the port in use?")]
    Bind {
        /// The node.
        node: i32,
        /// Host and port.
        address: String,
        /// What the system says.
        source: io::Error,
    },

    /// A setting of the builder makes no sense.
    #[error("{setting} is {value}, {allowed}")]
    Setting {
        /// The builder's method.
        setting: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },

    /// There is no such node in the cluster.
    #[error("there is no node {node}; the cluster has the nodes 1 to {nodes}")]
    UnknownNode {
        /// The id asked for.
        node: i32,
        /// How many nodes there are.
        nodes: i32,
    },

    /// The node was killed and accepts nothing until it is restarted.
    #[error("node {node} is down; restart_node brings it back")]
    NodeDown {
        /// The node.
        node: i32,
    },

    /// There is no such topic.
    #[error("there is no topic {topic:?}; create it with create_topic or on the builder")]
    UnknownTopic {
        /// The name asked for.
        topic: String,
    },

    /// The topic has no such partition.
    #[error("topic {topic:?} has the partitions 0 to {last}, not {partition}")]
    UnknownPartition {
        /// The topic.
        topic: String,
        /// The number asked for.
        partition: i32,
        /// The largest number there is.
        last: i32,
    },

    /// A topic cannot be created or changed like this.
    #[error("topic {topic:?}: {reason}")]
    Topic {
        /// The topic.
        topic: String,
        /// What is wrong.
        reason: String,
    },

    /// Bytes cannot be appended to a log.
    #[error("{partition}: {reason}")]
    Append {
        /// The partition.
        partition: TopicPartition,
        /// What is wrong with the bytes.
        reason: String,
    },

    /// An offset that the log does not have, or that is not below its high watermark.
    #[error(
        "{partition}: offset {offset} is outside of the log, which has {log_start} to {high_watermark}"
    )]
    OffsetOutOfRange {
        /// The partition.
        partition: TopicPartition,
        /// The offset given.
        offset: i64,
        /// The first offset of the log.
        log_start: i64,
        /// Its high watermark.
        high_watermark: i64,
    },
}
