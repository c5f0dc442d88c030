//! The APIs: each a pure step over the state of the cluster, one file each.

mod api_versions;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod create_topics;
mod delayed_group;
mod delete_topics;
mod describe_groups;
mod fetch;
mod find_coordinator;
mod heartbeat;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_groups;
mod list_offsets;
mod metadata;
mod offset_commit;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod sync_group;
mod versions;

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::{Encodable, HeaderVersion, StrBytes};

pub(crate) use delayed_group::DelayedGroup;
pub(crate) use fetch::DelayedFetch;
pub(crate) use versions::Versions;

use crate::cluster::Cluster;
use crate::fault::ForcedError;
use crate::request::Request;
use crate::wire::{Payload, PayloadWriter, RequestHeader};

/// What clients are told of operations that no authorizer was asked about.
const NO_OPERATIONS: i32 = i32::MIN;
/// What may be done with a group: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS, as Kafka codes them.
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;
/// Where members of groups are said to be. Connections are over any transport, and have no addresses.
const CLIENT_HOST: &str = "/127.0.0.1";

/// What is known of a request besides its body.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) node: i32,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// What the client calls itself.
    pub(crate) client_id: Option<String>,
    /// Since the broker was started.
    pub(crate) now: Duration,
    /// Errors to be answered whatever is true.
    pub(crate) errors: Vec<ForcedError>,
    /// `throttle_time_ms` of the answer.
    pub(crate) throttle_ms: i32,
}

impl RequestContext {
    /// The error to be answered at a partition whatever is true.
    fn forced_at(&self, topic: &str, partition: i32) -> Option<&ForcedError> {
        self.errors
            .iter()
            .find(|forced| forced.is_at(topic, partition))
    }

    /// The error to be answered at a topic whatever is true.
    fn forced_at_topic(&self, topic: &str) -> Option<&ForcedError> {
        self.errors.iter().find(|forced| forced.is_at_topic(topic))
    }

    /// The error to be answered at the top whatever is true.
    fn forced_at_top(&self) -> Option<&ForcedError> {
        self.errors.iter().find(|forced| forced.is_top_level())
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is answered.
    Answer(Payload),
    /// It is not answered, and that is right: Produce with acks 0.
    NoAnswer,
    /// The connection is closed.
    Close,
    /// It waits for data.
    Wait(Box<DelayedFetch>),
    /// It waits for others of its group.
    WaitForGroup(DelayedGroup),
}

/// Takes a request in.
pub(crate) fn handle(cluster: &mut Cluster, context: &RequestContext, request: Request) -> Step {
    match request {
        Request::ApiVersions(request) => {
            answer(context, &api_versions::handle(cluster, context, &request))
        }
        Request::Metadata(request) => {
            answer(context, &metadata::handle(cluster, context, &request))
        }
        Request::CreateTopics(request) => {
            answer(context, &create_topics::handle(cluster, context, &request))
        }
        Request::DeleteTopics(request) => {
            answer(context, &delete_topics::handle(cluster, context, &request))
        }
        Request::InitProducerId(request) => answer(
            context,
            &init_producer_id::handle(cluster, context, &request),
        ),
        Request::ListOffsets(request) => {
            answer(context, &list_offsets::handle(cluster, context, &request))
        }
        Request::OffsetForLeaderEpoch(request) => {
            let response = offset_for_leader_epoch::handle(cluster, context, &request);
            answer(context, &response)
        }
        Request::Produce(request) => {
            let response = produce::handle(cluster, context, &request);
            match request.acks {
                // nobody waits for an answer; an error can only be shown by closing
                0 if produce::has_error(&response) => Step::Close,
                0 => Step::NoAnswer,
                _ => answer(context, &response),
            }
        }
        Request::Fetch(request) => fetch::handle(cluster, context, &request),
        Request::FindCoordinator(request) => answer(
            context,
            &find_coordinator::handle(cluster, context, &request),
        ),
        Request::OffsetCommit(request) => {
            answer(context, &offset_commit::handle(cluster, context, &request))
        }
        Request::JoinGroup(request) => join_group::handle(cluster, context, &request),
        Request::SyncGroup(request) => sync_group::handle(cluster, context, &request),
        Request::Heartbeat(request) => {
            answer(context, &heartbeat::handle(cluster, context, &request))
        }
        Request::LeaveGroup(request) => {
            answer(context, &leave_group::handle(cluster, context, &request))
        }
        Request::ConsumerGroupHeartbeat(request) => answer(
            context,
            &consumer_group_heartbeat::handle(cluster, context, &request),
        ),
        Request::ConsumerGroupDescribe(request) => answer(
            context,
            &consumer_group_describe::handle(cluster, context, &request),
        ),
        Request::ListGroups(request) => {
            answer(context, &list_groups::handle(cluster, context, &request))
        }
        Request::DescribeGroups(request) => answer(
            context,
            &describe_groups::handle(cluster, context, &request),
        ),
        Request::OffsetFetch(request) => {
            answer(context, &offset_fetch::handle(cluster, context, &request))
        }
    }
}

/// The answer to an ApiVersions request of a version that is not known: in the layout of version 0, which every client
/// can read (KIP-511).
pub(crate) fn unknown_api_versions(cluster: &Cluster, header: &RequestHeader) -> Step {
    let response = api_versions::unsupported(&cluster.settings.versions);
    frame(header.correlation_id, 0, &response)
}

fn answer<R: Encodable + HeaderVersion>(context: &RequestContext, response: &R) -> Step {
    frame(context.correlation_id, context.version, response)
}

fn frame<R: Encodable + HeaderVersion>(correlation_id: i32, version: i16, response: &R) -> Step {
    let mut writer = start_frame(correlation_id, R::header_version(version));
    match response.encode(writer.buffer(), version) {
        Ok(()) => Step::Answer(writer.into_frame()),
        Err(error) => {
            tracing::error!(%error, version, "an answer cannot be encoded");
            Step::Close
        }
    }
}

/// A body that a test made, behind the header that answers of this API and version have.
pub(crate) fn frame_body(api: ApiKey, version: i16, correlation_id: i32, body: &Bytes) -> Payload {
    let mut writer = start_frame(correlation_id, api.response_header_version(version));
    writer.put_bytes(body);
    writer.into_frame()
}

fn start_frame(correlation_id: i32, header_version: i16) -> PayloadWriter {
    use bytes::BufMut;

    let mut writer = PayloadWriter::new();
    writer.buffer().put_i32(correlation_id);
    if header_version >= 1 {
        // no tagged fields
        writer.buffer().put_u8(0);
    }
    writer
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}
