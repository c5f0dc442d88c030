//! A plain encoder of batches and messages, written from the description of the formats. It shares no code with the
//! reader, not even the checksums.

use std::io::Write;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TestRecord {
    pub(crate) offset_delta: i32,
    pub(crate) timestamp_delta: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl TestRecord {
    /// The record `k = value` at a delta.
    pub(crate) fn at(offset_delta: i32, value: &str) -> Self {
        Self {
            offset_delta,
            key: Some(b"k".to_vec()),
            value: Some(value.into()),
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Gzip,
    /// gzip, a member for each half
    GzipMembers,
    SnappyRaw,
    /// xerial stream of small chunks
    SnappyXerial,
    Lz4,
    /// lz4 with small blocks, all checksums and the content size
    Lz4Checked,
    Zstd,
    /// zstd as Java's stream writes it: no content size
    ZstdNoSize,
    /// a zstd frame for each half
    ZstdFrames,
}

impl Codec {
    pub(crate) const ALL: [Self; 10] = [
        Self::None,
        Self::Gzip,
        Self::GzipMembers,
        Self::SnappyRaw,
        Self::SnappyXerial,
        Self::Lz4,
        Self::Lz4Checked,
        Self::Zstd,
        Self::ZstdNoSize,
        Self::ZstdFrames,
    ];

    pub(crate) fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip | Self::GzipMembers => 1,
            Self::SnappyRaw | Self::SnappyXerial => 2,
            Self::Lz4 | Self::Lz4Checked => 3,
            Self::Zstd | Self::ZstdNoSize | Self::ZstdFrames => 4,
        }
    }

    pub(crate) fn compress(self, plain: &[u8]) -> Vec<u8> {
        let (first, second) = plain.split_at(plain.len() / 2);
        match self {
            Self::None => plain.to_vec(),
            Self::Gzip => gzip(plain),
            Self::GzipMembers => [gzip(first), gzip(second)].concat(),
            Self::SnappyRaw => snappy_block(plain),
            Self::SnappyXerial => xerial(plain.chunks(100)),
            Self::Lz4 => lz4(plain, lz4_flex::frame::FrameInfo::new()),
            Self::Lz4Checked => {
                let info = lz4_flex::frame::FrameInfo::new()
                    .block_checksums(true)
                    .content_checksum(true)
                    .content_size(Some(plain.len() as u64));
                lz4(plain, info)
            }
            Self::Zstd => zstd::bulk::compress(plain, 3).unwrap(),
            Self::ZstdNoSize => zstd::stream::encode_all(plain, 3).unwrap(),
            Self::ZstdFrames => [first, second]
                .map(|half| zstd::bulk::compress(half, 3).unwrap())
                .concat(),
        }
    }
}

pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn snappy_block(plain: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(plain).unwrap()
}

pub(crate) fn xerial<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut stream = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for chunk in chunks {
        let block = snappy_block(chunk);
        stream.extend((block.len() as i32).to_be_bytes());
        stream.extend(block);
    }
    stream
}

pub(crate) fn lz4(plain: &[u8], info: lz4_flex::frame::FrameInfo) -> Vec<u8> {
    let info = info.block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A v2 batch; fields are public so that tests can make them lie.
#[derive(Clone, Debug)]
pub(crate) struct TestBatch {
    pub(crate) base_offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) codec: Codec,
    /// Attributes beside the codec.
    pub(crate) flags: u8,
    pub(crate) last_offset_delta: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
    pub(crate) count: i32,
    /// Records, encoded and not yet compressed.
    pub(crate) body: Vec<u8>,
}

pub(crate) const LOG_APPEND_TIME: u8 = 0x08;
pub(crate) const TRANSACTIONAL: u8 = 0x10;
pub(crate) const CONTROL: u8 = 0x20;
pub(crate) const DELETE_HORIZON: u8 = 0x40;

impl TestBatch {
    pub(crate) fn new(base_offset: i64, records: &[TestRecord]) -> Self {
        Self {
            base_offset,
            leader_epoch: 0,
            codec: Codec::None,
            flags: 0,
            last_offset_delta: records.last().map_or(0, |record| record.offset_delta),
            base_timestamp: 1_700_000_000_000,
            max_timestamp: 1_700_000_000_000,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            count: records.len() as i32,
            body: records.iter().flat_map(record).collect(),
        }
    }

    /// `count` records `k = v<offset>` from `base_offset` on.
    pub(crate) fn run(base_offset: i64, count: i32) -> Self {
        let records: Vec<_> = (0..count)
            .map(|delta| {
                TestRecord::at(
                    delta,
                    &format!("v{}", base_offset.wrapping_add(delta.into())),
                )
            })
            .collect();
        Self::new(base_offset, &records)
    }

    /// A batch from which compaction removed all records.
    pub(crate) fn emptied(base_offset: i64, last_offset: i64) -> Self {
        Self {
            last_offset_delta: (last_offset - base_offset) as i32,
            ..Self::new(base_offset, &[])
        }
    }

    /// The marker that ends a transaction: type 0 aborts, 1 commits.
    pub(crate) fn marker(offset: i64, producer: i64, control_type: i16) -> Self {
        let record = TestRecord {
            key: Some([0i16.to_be_bytes(), control_type.to_be_bytes()].concat()),
            value: Some([0; 6].to_vec()),
            ..TestRecord::default()
        };
        Self {
            flags: TRANSACTIONAL | CONTROL,
            producer_id: producer,
            producer_epoch: 0,
            ..Self::new(offset, &[record])
        }
    }

    /// This batch as part of a transaction.
    pub(crate) fn of_producer(self, producer: i64) -> Self {
        Self {
            flags: self.flags | TRANSACTIONAL,
            producer_id: producer,
            producer_epoch: 0,
            base_sequence: 0,
            ..self
        }
    }

    pub(crate) fn codec(self, codec: Codec) -> Self {
        Self { codec, ..self }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        self.encode_body(&self.codec.compress(&self.body))
    }

    /// With bytes of your own where the compressed records belong.
    pub(crate) fn encode_body(&self, body: &[u8]) -> Vec<u8> {
        let mut covered = vec![0, self.flags | self.codec.id()];
        covered.extend(self.last_offset_delta.to_be_bytes());
        covered.extend(self.base_timestamp.to_be_bytes());
        covered.extend(self.max_timestamp.to_be_bytes());
        covered.extend(self.producer_id.to_be_bytes());
        covered.extend(self.producer_epoch.to_be_bytes());
        covered.extend(self.base_sequence.to_be_bytes());
        covered.extend(self.count.to_be_bytes());
        covered.extend(body);
        let mut batch = self.base_offset.to_be_bytes().to_vec();
        batch.extend((9 + covered.len() as i32).to_be_bytes());
        batch.extend(self.leader_epoch.to_be_bytes());
        batch.push(2);
        batch.extend(crc32c::crc32c(&covered).to_be_bytes());
        batch.extend(covered);
        batch
    }
}

/// A record of a v2 batch.
pub(crate) fn record(record: &TestRecord) -> Vec<u8> {
    let mut body = vec![0];
    varint(&mut body, record.timestamp_delta);
    varint(&mut body, record.offset_delta.into());
    sized(&mut body, record.key.as_deref());
    sized(&mut body, record.value.as_deref());
    varint(&mut body, record.headers.len() as i64);
    for (name, value) in &record.headers {
        sized(&mut body, Some(name));
        sized(&mut body, value.as_deref());
    }
    let mut bytes = Vec::new();
    varint(&mut bytes, body.len() as i64);
    bytes.extend(body);
    bytes
}

pub(crate) fn varint(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = (value as u64) << 1;
    if value < 0 {
        rest = !rest;
    }
    loop {
        let low = (rest % 128) as u8;
        rest /= 128;
        if rest == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low + 128);
    }
}

fn sized(bytes: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        None => varint(bytes, -1),
        Some(field) => {
            varint(bytes, field.len() as i64);
            bytes.extend(field);
        }
    }
}

/// A message of magic 0 or 1.
#[derive(Clone, Debug)]
pub(crate) struct TestMessage {
    pub(crate) offset: i64,
    pub(crate) magic: u8,
    pub(crate) attributes: u8,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
}

impl TestMessage {
    /// The message `k = v<offset>`.
    pub(crate) fn new(magic: u8, offset: i64) -> Self {
        Self {
            offset,
            magic,
            attributes: 0,
            timestamp: offset.wrapping_add(1_700_000_000_000),
            key: Some(b"k".to_vec()),
            value: Some(format!("v{offset}").into_bytes()),
        }
    }

    /// A message at `offset` with other messages compressed in it.
    pub(crate) fn wrapper(magic: u8, offset: i64, codec: Codec, inner: &[Self]) -> Self {
        let inner: Vec<u8> = inner.iter().flat_map(Self::encode).collect();
        Self {
            attributes: codec.id(),
            key: None,
            value: Some(codec.compress(&inner)),
            ..Self::new(magic, offset)
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut covered = vec![self.magic, self.attributes];
        if self.magic > 0 {
            covered.extend(self.timestamp.to_be_bytes());
        }
        for field in [&self.key, &self.value] {
            match field {
                None => covered.extend((-1i32).to_be_bytes()),
                Some(field) => {
                    covered.extend((field.len() as i32).to_be_bytes());
                    covered.extend(field);
                }
            }
        }
        let mut message = self.offset.to_be_bytes().to_vec();
        message.extend((4 + covered.len() as i32).to_be_bytes());
        message.extend(crc32fast::hash(&covered).to_be_bytes());
        message.extend(covered);
        message
    }
}
