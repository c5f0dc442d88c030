//! The Fetch answer as bytes. Written by hand so that batches go from the log to the socket without being copied; held
//! against the protocol crate in tests.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::{ApiKey, FetchResponse};
use kafka_protocol::protocol::HeaderVersion;
use uuid::Uuid;

use super::super::{RequestContext, start_frame};
use super::read::PartitionRead;
use super::{SESSIONS, TOPIC_IDS};
use crate::cluster::Node;
use crate::wire::{Payload, PayloadWriter};

/// Compact lengths and tagged fields from here on (KIP-482).
const FLEXIBLE: i16 = 12;

#[derive(Debug)]
pub(super) struct FetchAnswer {
    pub(super) error: i16,
    pub(super) session_id: i32,
    pub(super) partitions: Vec<Named>,
    pub(super) endpoints: Vec<Endpoint>,
}

/// A partition that the answer names.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) topic: Arc<str>,
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
    pub(super) read: PartitionRead,
    pub(super) current_leader: Option<CurrentLeader>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentLeader {
    pub(super) id: i32,
    pub(super) epoch: i32,
}

/// Where a node that an answer points to is reached.
#[derive(Debug)]
pub(super) struct Endpoint {
    node: i32,
    host: String,
    port: i32,
    rack: Option<String>,
}

/// An answer of nothing but an error code.
pub(super) fn error_frame(context: &RequestContext, error: i16) -> Payload {
    let answer = FetchAnswer {
        error,
        session_id: 0,
        partitions: Vec::new(),
        endpoints: Vec::new(),
    };
    answer.into_frame(context)
}

impl FetchAnswer {
    pub(super) fn add_endpoint(&mut self, node: &Node) {
        if self.endpoints.iter().all(|known| known.node != node.id) {
            self.endpoints.push(Endpoint {
                node: node.id,
                host: node.host.clone(),
                port: i32::from(node.port),
                rack: node.rack.clone(),
            });
        }
    }

    pub(super) fn into_frame(self, context: &RequestContext) -> Payload {
        let version = context.version;
        let header = FetchResponse::header_version(version);
        debug_assert_eq!(header, ApiKey::Fetch.response_header_version(version));
        let mut encoder = Encoder {
            writer: start_frame(context.correlation_id, header),
            version,
        };
        encoder.answer(&self, context.throttle_ms);
        encoder.writer.into_frame()
    }
}

/// Neighbours of the same topic share an entry; the order of partitions is kept.
fn by_topic(partitions: &[Named]) -> impl Iterator<Item = &[Named]> + Clone {
    partitions.chunk_by(|a, b| a.topic_id == b.topic_id && a.topic == b.topic)
}

struct Encoder {
    writer: PayloadWriter,
    version: i16,
}

impl Encoder {
    fn is_flexible(&self) -> bool {
        self.version >= FLEXIBLE
    }

    fn buffer(&mut self) -> &mut BytesMut {
        self.writer.buffer()
    }

    fn answer(&mut self, answer: &FetchAnswer, throttle_ms: i32) {
        self.buffer().put_i32(throttle_ms);
        if self.version >= SESSIONS {
            self.buffer().put_i16(answer.error);
            self.buffer().put_i32(answer.session_id);
        }
        let topics = by_topic(&answer.partitions);
        self.array_length(topics.clone().count());
        for topic in topics {
            self.topic(topic);
        }
        if self.is_flexible() {
            match &answer.endpoints[..] {
                [] => self.varint(0),
                endpoints => self.tagged(&[(0, endpoints_tag(endpoints))]),
            }
        }
    }

    fn topic(&mut self, partitions: &[Named]) {
        if let Some(first) = partitions.first() {
            match self.version {
                TOPIC_IDS.. => self.buffer().put_slice(first.topic_id.as_bytes()),
                _ => self.string(&first.topic),
            }
        }
        self.array_length(partitions.len());
        for partition in partitions {
            self.partition(partition);
        }
        self.no_tags();
    }

    fn partition(&mut self, named: &Named) {
        let read = &named.read;
        let buffer = self.writer.buffer();
        buffer.put_i32(named.partition);
        buffer.put_i16(read.error);
        buffer.put_i64(read.high_watermark);
        buffer.put_i64(read.last_stable_offset);
        if self.version >= 5 {
            buffer.put_i64(read.log_start_offset);
        }
        match &read.data.aborted {
            None => self.null_array(),
            Some(aborted) => {
                self.array_length(aborted.len());
                for transaction in aborted {
                    self.buffer().put_i64(transaction.producer_id);
                    self.buffer().put_i64(transaction.first_offset);
                    self.no_tags();
                }
            }
        }
        if self.version >= 11 {
            let replica = read.preferred_read_replica.unwrap_or(-1);
            self.buffer().put_i32(replica);
        }
        self.bytes_length(read.data.records.iter().map(bytes::Bytes::len).sum());
        for batch in &read.data.records {
            self.writer.put_bytes(batch);
        }
        if self.is_flexible() {
            let mut tags = Vec::new();
            if let Some(end) = read.diverging_epoch {
                let mut tag = BytesMut::new();
                tag.put_i32(end.epoch);
                tag.put_i64(end.end_offset);
                tag.put_u8(0);
                tags.push((0, tag));
            }
            if let Some(leader) = named.current_leader {
                let mut tag = BytesMut::new();
                tag.put_i32(leader.id);
                tag.put_i32(leader.epoch);
                tag.put_u8(0);
                tags.push((1, tag));
            }
            self.tagged(&tags);
        }
    }

    fn tagged(&mut self, tags: &[(u32, BytesMut)]) {
        self.varint(tags.len());
        for (number, value) in tags {
            self.varint(*number as usize);
            self.varint(value.len());
            self.buffer().extend_from_slice(value);
        }
    }

    fn no_tags(&mut self) {
        if self.is_flexible() {
            self.varint(0);
        }
    }

    fn array_length(&mut self, length: usize) {
        self.bytes_length(length);
    }

    /// The length of an array or of bytes: compact ones are one larger, 0 is null.
    fn bytes_length(&mut self, length: usize) {
        match self.is_flexible() {
            true => self.varint(length + 1),
            false => {
                let length = i32::try_from(length).unwrap_or(i32::MAX);
                self.buffer().put_i32(length);
            }
        }
    }

    fn null_array(&mut self) {
        match self.is_flexible() {
            true => self.varint(0),
            false => self.buffer().put_i32(-1),
        }
    }

    fn string(&mut self, value: &str) {
        match self.is_flexible() {
            true => put_compact(self.buffer(), Some(value)),
            false => {
                let length = i16::try_from(value.len()).unwrap_or(i16::MAX);
                self.buffer().put_i16(length);
                self.buffer().put_slice(value.as_bytes());
            }
        }
    }

    fn varint(&mut self, value: usize) {
        put_varint(self.buffer(), value);
    }
}

fn endpoints_tag(endpoints: &[Endpoint]) -> BytesMut {
    let mut tag = BytesMut::new();
    put_varint(&mut tag, endpoints.len() + 1);
    for endpoint in endpoints {
        tag.put_i32(endpoint.node);
        put_compact(&mut tag, Some(&endpoint.host));
        tag.put_i32(endpoint.port);
        put_compact(&mut tag, endpoint.rack.as_deref());
        tag.put_u8(0);
    }
    tag
}

fn put_compact(buffer: &mut BytesMut, value: Option<&str>) {
    put_varint(buffer, value.map_or(0, |value| value.len() + 1));
    buffer.put_slice(value.unwrap_or_default().as_bytes());
}

/// Seven bits a byte, least significant first.
fn put_varint(buffer: &mut BytesMut, value: usize) {
    let mut rest = value;
    while rest >= 0x80 {
        buffer.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    buffer.put_u8(rest as u8);
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
