//! How the answers of each API become fields.

mod groups;

use std::fmt::Debug;
use std::time::Duration;

use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, FetchRequest, FetchResponse, InitProducerIdRequest,
    ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    OffsetForLeaderEpochRequest, ProduceRequest, ProduceResponse, TopicName,
};
use kafka_protocol::protocol::Request;
use uuid::Uuid;

use super::fields::Fields;
use super::names::Names;
use super::records;

/// A request whose answers can be compared.
pub(crate) trait Compared: Request<Response: Debug> {
    const API: ApiKey;

    /// The fields of an answer.
    fn fields(answer: &Self::Response, _names: &Names) -> Fields {
        Fields::of(answer)
    }

    /// How long the broker may wait before it answers, if it is asked to.
    fn max_wait(&self) -> Option<Duration> {
        None
    }
}

impl Compared for ProduceRequest {
    const API: ApiKey = ApiKey::Produce;

    /// Topics and partitions come in no order.
    fn fields(answer: &ProduceResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        let topics = &mut sorted.responses;
        topics.sort_by_cached_key(|topic| place(&Some(topic.name.clone()), topic.topic_id, names));
        for topic in topics {
            topic
                .partition_responses
                .sort_by_key(|partition| partition.index);
        }
        Fields::of(&sorted)
    }
}

impl Compared for ListOffsetsRequest {
    const API: ApiKey = ApiKey::ListOffsets;

    /// Partitions come in no order.
    fn fields(answer: &ListOffsetsResponse, _names: &Names) -> Fields {
        let mut sorted = answer.clone();
        for topic in &mut sorted.topics {
            topic
                .partitions
                .sort_by_key(|partition| partition.partition_index);
        }
        Fields::of(&sorted)
    }
}

impl Compared for OffsetForLeaderEpochRequest {
    const API: ApiKey = ApiKey::OffsetForLeaderEpoch;
}

impl Compared for DeleteTopicsRequest {
    const API: ApiKey = ApiKey::DeleteTopics;

    /// Topics come in no order.
    fn fields(answer: &DeleteTopicsResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        sorted
            .responses
            .sort_by_cached_key(|topic| place(&topic.name, topic.topic_id, names));
        Fields::of(&sorted)
    }
}

impl Compared for InitProducerIdRequest {
    const API: ApiKey = ApiKey::InitProducerId;
}

impl Compared for FetchRequest {
    const API: ApiKey = ApiKey::Fetch;

    fn fields(answer: &FetchResponse, _names: &Names) -> Fields {
        let mut without = answer.clone();
        let mut all_records = Fields::default();
        for (t, topic) in without.responses.iter_mut().enumerate() {
            for (p, partition) in topic.partitions.iter_mut().enumerate() {
                if let Some(records) = partition.records.take() {
                    let path = format!("responses[{t}].partitions[{p}].records");
                    all_records.extend(&path, records::fields(&records));
                }
            }
        }
        let mut fields = Fields::of(&without);
        fields.append(all_records);
        fields
    }

    fn max_wait(&self) -> Option<Duration> {
        let wait = u64::try_from(self.max_wait_ms).unwrap_or(0);
        Some(Duration::from_millis(wait))
    }
}

impl Compared for MetadataRequest {
    const API: ApiKey = ApiKey::Metadata;

    /// Brokers and topics come in no order.
    fn fields(answer: &MetadataResponse, names: &Names) -> Fields {
        let mut sorted = answer.clone();
        sorted.brokers.sort_by_key(|broker| broker.node_id);
        sorted
            .topics
            .sort_by_cached_key(|topic| place(&topic.name, topic.topic_id, names));
        Fields::of(&sorted)
    }
}

impl Compared for ApiVersionsRequest {
    const API: ApiKey = ApiKey::ApiVersions;

    /// APIs by their keys; they come in no order.
    fn fields(answer: &ApiVersionsResponse, _names: &Names) -> Fields {
        let mut without = answer.clone();
        let mut fields = Fields::default();
        for api in without.api_keys.drain(..) {
            fields.extend(&format!("api_keys[{}]", api.api_key), Fields::of(&api));
        }
        fields.append(Fields::of(&without));
        fields
    }
}

impl Compared for CreateTopicsRequest {
    const API: ApiKey = ApiKey::CreateTopics;

    /// Configurations by their names.
    fn fields(answer: &CreateTopicsResponse, _names: &Names) -> Fields {
        let mut without = answer.clone();
        let mut configs = Fields::default();
        for (t, topic) in without.topics.iter_mut().enumerate() {
            for config in topic
                .configs
                .iter_mut()
                .flat_map(|configs| configs.drain(..))
            {
                let path = format!("topics[{t}].configs[{}]", config.name.as_str());
                configs.extend(&path, Fields::of(&config));
            }
        }
        let mut fields = Fields::of(&without);
        fields.append(configs);
        fields
    }
}

/// A topic's place in the order in which topics are compared that come in none.
fn place(name: &Option<TopicName>, id: Uuid, names: &Names) -> (String, String) {
    let name = name.as_ref().map(|name| name.to_string());
    (
        name.unwrap_or_default(),
        names.normal("topic_id", id.to_string()),
    )
}
