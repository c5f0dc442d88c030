use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Stored batches shorter than this are copied into the answer, longer ones are sent from where they are.
const WORTH_A_SLICE: usize = 4096;

/// The bytes of an answer: encoded parts and slices of stored batches between them, written without being joined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payload {
    parts: VecDeque<Bytes>,
    length: usize,
}

impl Payload {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// All of it in one piece, for faults that touch single bytes.
    pub(crate) fn join(&mut self) -> BytesMut {
        let mut joined = BytesMut::with_capacity(self.length);
        joined.put(self);
        joined
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self {
            length: bytes.len(),
            parts: VecDeque::from([bytes]),
        }
    }
}

impl Buf for Payload {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.parts.front().map_or(&[], |part| part)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, part) in slices.iter_mut().zip(&self.parts) {
            *slice = IoSlice::new(part);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.length, "advanced beyond the payload");
        self.length -= count;
        while let Some(part) = self.parts.front_mut() {
            if part.len() > count {
                part.advance(count);
                return;
            }
            count -= part.len();
            self.parts.pop_front();
        }
    }
}

/// Builds a [`Payload`] that begins with its own length, as every frame of the protocol does.
pub(crate) struct PayloadWriter {
    parts: VecDeque<Bytes>,
    length: usize,
    buffer: BytesMut,
}

impl PayloadWriter {
    pub(crate) fn new() -> Self {
        Self {
            parts: VecDeque::new(),
            length: 0,
            buffer: BytesMut::with_capacity(256),
        }
    }

    /// Where fields are encoded to.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Appends stored bytes.
    pub(crate) fn put_bytes(&mut self, bytes: &Bytes) {
        if bytes.len() < WORTH_A_SLICE {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.flush();
            self.length += bytes.len();
            self.parts.push_back(bytes.clone());
        }
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            let part = self.buffer.split().freeze();
            self.length += part.len();
            self.parts.push_back(part);
        }
    }

    /// The whole frame.
    pub(crate) fn into_frame(mut self) -> Payload {
        self.flush();
        let length = i32::try_from(self.length).unwrap_or(i32::MAX);
        self.parts
            .push_front(Bytes::copy_from_slice(&length.to_be_bytes()));
        Payload {
            parts: self.parts,
            length: self.length + 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_its_length_and_its_parts_in_order() {
        let large = Bytes::from(vec![7; WORTH_A_SLICE]);
        let mut writer = PayloadWriter::new();
        writer.buffer().put_u8(1);
        writer.put_bytes(&Bytes::from_static(&[2, 3]));
        writer.put_bytes(&large);
        writer.buffer().put_u8(9);
        let mut frame = writer.into_frame();

        let mut expected = (WORTH_A_SLICE as i32 + 4).to_be_bytes().to_vec();
        expected.extend([1, 2, 3]);
        expected.extend(&large);
        expected.push(9);
        assert_eq!(frame.len(), expected.len());
        let mut slices = [IoSlice::new(&[]); 8];
        assert_eq!(frame.chunks_vectored(&mut slices), 4);
        assert_eq!(slices[2].as_ptr(), large.as_ptr(), "not copied");
        // in steps that end within and between parts
        let mut read = Vec::new();
        while frame.has_remaining() {
            let step = frame.chunk().len().min(5);
            read.extend_from_slice(&frame.chunk()[..step]);
            frame.advance(step);
        }
        assert_eq!(read, expected);
    }
}
