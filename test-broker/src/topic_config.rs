use std::collections::BTreeMap;

use kafka_protocol::ResponseError;

use crate::cluster::TopicError;

/// `max.message.bytes` if the topic does not set it.
const DEFAULT_MAX_MESSAGE_BYTES: usize = 1_048_588;

/// The topic configurations of Kafka. Only `message.timestamp.type` and `max.message.bytes` have an effect; the others
/// are about storage that this broker does not have.
const KNOWN: [&str; 33] = [
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    MAX_MESSAGE_BYTES,
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    TIMESTAMP_TYPE,
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
];
const MAX_MESSAGE_BYTES: &str = "max.message.bytes";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";

/// The configuration of a topic, as far as it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicConfig {
    pub(crate) max_message_bytes: usize,
    pub(crate) log_append_time: bool,
    pub(crate) entries: BTreeMap<String, String>,
}

impl Default for TopicConfig {
    fn default() -> Self {
        Self {
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            log_append_time: false,
            entries: BTreeMap::new(),
        }
    }
}

impl TopicConfig {
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), TopicError> {
        let invalid = |allowed: &str| {
            let message = format!("Invalid value {value} for configuration {name}: {allowed}");
            Err(TopicError::new(ResponseError::InvalidConfig, message))
        };
        match name {
            MAX_MESSAGE_BYTES => match value.parse::<i32>().map(usize::try_from) {
                Ok(Ok(bytes)) => self.max_message_bytes = bytes,
                _ => return invalid("a number of bytes, 0 to 2147483647"),
            },
            TIMESTAMP_TYPE => match value {
                "CreateTime" => self.log_append_time = false,
                "LogAppendTime" => self.log_append_time = true,
                _ => return invalid("CreateTime or LogAppendTime"),
            },
            _ if KNOWN.contains(&name) => {}
            _ => {
                let message = format!("Unknown topic config name: {name}");
                return Err(TopicError::new(ResponseError::InvalidConfig, message));
            }
        }
        self.entries.insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}
