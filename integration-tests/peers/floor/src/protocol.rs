//! Fetch, version 11: what is sent, and where in the answer the records are.

use anyhow::{Context, Result, bail, ensure};
use contract::Arguments;

const FETCH: i16 = 1;
const VERSION: i16 = 11;
/// Those of Java: `fetch.max.wait.ms`, `fetch.min.bytes`, `fetch.max.bytes`, `max.partition.fetch.bytes`.
const MAX_WAIT_MS: i32 = 500;
const MIN_BYTES: i32 = 1;
const MAX_BYTES: i32 = 52_428_800;
const PARTITION_MAX_BYTES: i32 = 1_048_576;
/// Outside any fetch session (KIP-227).
const NO_SESSION: (i32, i32) = (0, -1);

/// What is the same in all requests.
pub(crate) struct Request {
    topic: String,
    partition_max_bytes: i32,
}

impl Request {
    pub(crate) fn new(arguments: &Arguments) -> Result<Self> {
        let mut partition_max_bytes = PARTITION_MAX_BYTES;
        for (key, value) in &arguments.set {
            match key.as_str() {
                "max.partition.fetch.bytes" => partition_max_bytes = value.parse()?,
                other => bail!("the floor has no property {other}"),
            }
        }
        ensure!(i16::try_from(arguments.topic.len()).is_ok(), "a long name");
        Ok(Self {
            topic: arguments.topic.clone(),
            partition_max_bytes,
        })
    }

    /// Writes a frame that asks for each partition at its offset.
    pub(crate) fn write(&self, offsets: &[i64], frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend([0; 4]);
        let short = |frame: &mut Vec<u8>, value: i16| frame.extend(value.to_be_bytes());
        let int = |frame: &mut Vec<u8>, value: i32| frame.extend(value.to_be_bytes());
        let text = |frame: &mut Vec<u8>, value: &str| {
            frame.extend((value.len() as i16).to_be_bytes());
            frame.extend(value.as_bytes());
        };
        short(frame, FETCH);
        short(frame, VERSION);
        int(frame, 0); // correlation: there is one request at a time
        text(frame, "floor");
        int(frame, -1); // no replica
        int(frame, MAX_WAIT_MS);
        int(frame, MIN_BYTES);
        int(frame, MAX_BYTES);
        frame.push(0); // read_uncommitted
        int(frame, NO_SESSION.0);
        int(frame, NO_SESSION.1);
        int(frame, 1);
        text(frame, &self.topic);
        int(frame, offsets.len() as i32);
        for (partition, offset) in (0..).zip(offsets) {
            int(frame, partition);
            int(frame, -1); // leader epoch unknown
            frame.extend(offset.to_be_bytes());
            frame.extend((-1_i64).to_be_bytes()); // no follower's log
            int(frame, self.partition_max_bytes);
        }
        int(frame, 0); // nothing to forget
        text(frame, ""); // no rack
        let length = frame.len() as i32 - 4;
        frame[..4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Where in an answer the records of a partition are.
pub(crate) struct Section {
    pub(crate) partition: i32,
    from: usize,
    to: usize,
}

impl Section {
    pub(crate) fn records<'a>(&self, reply: &'a [u8]) -> Result<&'a [u8]> {
        reply.get(self.from..self.to).context("a short answer")
    }
}

/// Finds the sections of an answer.
pub(crate) fn read(reply: &[u8], sections: &mut Vec<Section>) -> Result<()> {
    sections.clear();
    let mut reader = Reader { reply, at: 0 };
    reader.skip(4 + 4); // correlation, throttle time
    reader.no_error()?;
    reader.skip(4); // session
    for _ in 0..reader.int()? {
        let name = reader.short()?;
        reader.skip(usize::try_from(name)?);
        for _ in 0..reader.int()? {
            let partition = reader.int()?;
            reader.no_error()?;
            reader.skip(3 * 8); // high watermark, last stable offset, log start offset
            let aborted = reader.int()?;
            reader.skip(usize::try_from(aborted).unwrap_or(0) * 16);
            reader.skip(4); // preferred replica
            let length = usize::try_from(reader.int()?).unwrap_or(0);
            let from = reader.at;
            reader.skip(length);
            let to = reader.at;
            sections.push(Section {
                partition,
                from,
                to,
            });
        }
    }
    Ok(())
}

struct Reader<'a> {
    reply: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self
            .reply
            .get(self.at..)
            .and_then(|rest| rest.first_chunk());
        self.at += N;
        bytes.copied().context("a short answer")
    }

    fn short(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take()?))
    }

    fn int(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    fn no_error(&mut self) -> Result<()> {
        let code = self.short()?;
        ensure!(code == 0, "the broker answered with error code {code}");
        Ok(())
    }
}
