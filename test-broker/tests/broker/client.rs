//! A client of one connection, and requests in few words.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    BrokerId, FetchRequest, FetchResponse, ProduceRequest, RequestHeader, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use test_broker::TestBroker;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use uuid::Uuid;

/// The version of Fetch that tests use if they do not say.
pub(crate) const FETCH: i16 = 17;

pub(crate) fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

pub(crate) fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

pub(crate) struct Client<S = DuplexStream> {
    stream: S,
    correlation_id: i32,
}

/// A connection to a node in memory.
pub(crate) fn client(broker: &TestBroker, node: i32) -> Client {
    Client::new(broker.connect(node).expect("the node is up"))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            correlation_id: 0,
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.send(request, version).await;
        self.receive::<R>(version).await.expect("an answer")
    }

    pub(crate) async fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.correlation_id += 1;
        let frame = frame(request, version, self.correlation_id);
        self.send_raw(&frame).await;
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("written");
    }

    /// The answer to the last request; an error if the connection was closed.
    pub(crate) async fn receive<R: Request>(&mut self, version: i16) -> io::Result<R::Response> {
        let mut body = self.receive_frame().await?;
        let header = R::Response::header_version(version);
        let header = ResponseHeader::decode(&mut body, header).expect("a header");
        assert_eq!(header.correlation_id, self.correlation_id);
        let response = R::Response::decode(&mut body, version).expect("a response");
        assert!(body.is_empty(), "{} bytes left over", body.len());
        Ok(response)
    }

    pub(crate) async fn receive_frame(&mut self) -> io::Result<Bytes> {
        let length = self.stream.read_i32().await?;
        let mut body = vec![0; usize::try_from(length).expect("a length")];
        self.stream.read_exact(&mut body).await?;
        Ok(body.into())
    }

    /// All bytes up to the end of the connection.
    pub(crate) async fn receive_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes).await.expect("an end");
        bytes
    }

    pub(crate) async fn fetch(&mut self, fetch: &Fetch) -> FetchResponse {
        self.call(&fetch.request(FETCH), FETCH).await
    }

    /// The answer for the only partition.
    pub(crate) async fn fetch_one(&mut self, fetch: &Fetch) -> PartitionData {
        let response = self.fetch(fetch).await;
        let mut all = named(&response);
        assert_eq!(all.len(), 1, "{response:?}");
        all.remove(0)
    }
}

/// A whole frame with a request in it.
pub(crate) fn frame<R: Request>(request: &R, version: i16, correlation_id: i32) -> Bytes {
    let mut body = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some(text("a test")))
        .encode(&mut body, R::header_version(version))
        .expect("a header");
    request.encode(&mut body, version).expect("a request");
    let mut frame = BytesMut::new();
    frame.put_i32(i32::try_from(body.len()).expect("a length"));
    frame.extend_from_slice(&body);
    frame.freeze()
}

/// A Fetch request: 1 MiB per partition, 10 MiB in all, no wait, no session, unless it is told otherwise.
#[derive(Clone)]
pub(crate) struct Fetch {
    partitions: Vec<(Name, FetchPartition)>,
    forgotten: Vec<(Name, i32)>,
    request: FetchRequest,
}

/// A topic as requests name it, by version.
#[derive(Clone)]
struct Name(String, Uuid);

impl Fetch {
    pub(crate) fn new() -> Self {
        let request = FetchRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_max_wait_ms(0)
            .with_min_bytes(1)
            .with_max_bytes(10 << 20)
            .with_session_epoch(-1);
        Self {
            partitions: Vec::new(),
            forgotten: Vec::new(),
            request,
        }
    }

    /// One partition, from an offset.
    pub(crate) fn at(broker: &TestBroker, topic: &str, partition: i32, offset: i64) -> Self {
        Self::new().and(broker, topic, partition, offset)
    }

    pub(crate) fn and(self, broker: &TestBroker, topic: &str, partition: i32, offset: i64) -> Self {
        let id = broker.topic_id(topic).unwrap_or_default();
        self.and_id(topic, id, partition, offset)
    }

    pub(crate) fn and_id(mut self, topic: &str, id: Uuid, partition: i32, offset: i64) -> Self {
        let asked = FetchPartition::default()
            .with_partition(partition)
            .with_fetch_offset(offset)
            .with_current_leader_epoch(-1)
            .with_log_start_offset(-1)
            .with_partition_max_bytes(1 << 20);
        self.partitions.push((Name(topic.to_owned(), id), asked));
        self
    }

    /// Changes the last partition.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut FetchPartition)) -> Self {
        change(&mut self.partitions.last_mut().expect("a partition").1);
        self
    }

    pub(crate) fn partition_max_bytes(self, bytes: i32) -> Self {
        self.with(|partition| partition.partition_max_bytes = bytes)
    }

    pub(crate) fn leader_epoch(self, epoch: i32) -> Self {
        self.with(|partition| partition.current_leader_epoch = epoch)
    }

    pub(crate) fn max_bytes(mut self, bytes: i32) -> Self {
        self.request.max_bytes = bytes;
        self
    }

    pub(crate) fn min_bytes(mut self, bytes: i32) -> Self {
        self.request.min_bytes = bytes;
        self
    }

    pub(crate) fn wait(mut self, ms: i32) -> Self {
        self.request.max_wait_ms = ms;
        self
    }

    pub(crate) fn committed(mut self) -> Self {
        self.request.isolation_level = 1;
        self
    }

    pub(crate) fn rack(mut self, rack: &str) -> Self {
        self.request.rack_id = text(rack);
        self
    }

    pub(crate) fn session(mut self, id: i32, epoch: i32) -> Self {
        self.request.session_id = id;
        self.request.session_epoch = epoch;
        self
    }

    pub(crate) fn forget(mut self, broker: &TestBroker, topic: &str, partition: i32) -> Self {
        let id = broker.topic_id(topic).expect("a topic");
        self.forgotten.push((Name(topic.to_owned(), id), partition));
        self
    }

    pub(crate) fn request(&self, version: i16) -> FetchRequest {
        let mut request = self.request.clone();
        if version < 7 {
            (request.session_id, request.session_epoch) = (0, -1);
        }
        for (Name(name, id), partition) in &self.partitions {
            let topic = FetchTopic::default().with_partitions(vec![partition.clone()]);
            request.topics.push(match version {
                13.. => topic.with_topic_id(*id),
                _ => topic.with_topic(topic_name(name)),
            });
        }
        for (Name(name, id), partition) in &self.forgotten {
            let topic = ForgottenTopic::default().with_partitions(vec![*partition]);
            request.forgotten_topics_data.push(match version {
                13.. => topic.with_topic_id(*id),
                _ => topic.with_topic(topic_name(name)),
            });
        }
        request
    }
}

/// All partitions of an answer, in order.
pub(crate) fn named(response: &FetchResponse) -> Vec<PartitionData> {
    let topics = response.responses.iter();
    topics.flat_map(|topic| topic.partitions.clone()).collect()
}

/// Partition numbers of an answer, in order.
pub(crate) fn numbers(response: &FetchResponse) -> Vec<i32> {
    named(response).iter().map(|p| p.partition_index).collect()
}

/// Base and last offsets of the whole batches of an answer.
pub(crate) fn batches(partition: &PartitionData) -> Vec<(i64, i64)> {
    let records = partition.records.clone().unwrap_or_default();
    let entries = record_batch::entries(&records);
    entries
        .map(|entry| {
            let header = *entry.expect("a sound batch").header();
            (header.base_offset(), header.last_offset())
        })
        .collect()
}

/// A Produce request of one batch for one partition.
pub(crate) fn produce(
    broker: &TestBroker,
    topic: &str,
    partition: i32,
    batch: &Bytes,
    version: i16,
) -> ProduceRequest {
    let data = PartitionProduceData::default()
        .with_index(partition)
        .with_records(Some(batch.clone()));
    let data = TopicProduceData::default().with_partition_data(vec![data]);
    let data = match version {
        13.. => data.with_topic_id(broker.topic_id(topic).unwrap_or_default()),
        _ => data.with_name(topic_name(topic)),
    };
    ProduceRequest::default()
        .with_acks(-1)
        .with_timeout_ms(1000)
        .with_topic_data(vec![data])
}
