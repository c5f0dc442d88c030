//! Bytes on their way to an output: gathered, written in large pieces, and written out when they have waited long
//! enough.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::LONGEST_WAIT;

/// Whether someone still reads what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reader {
    /// As far as known.
    Listening,
    /// No: the pipe is closed at its other end. What is written now goes nowhere.
    Gone,
}

#[derive(Debug)]
pub(super) struct Sink<W> {
    output: W,
    buffer: Vec<u8>,
    reader: Reader,
    /// Whether something was written to the output and may still wait in it.
    is_output_dirty: bool,
    has_grown_since_poll: bool,
    waiting_since: Option<Instant>,
}

/// Large enough that the calls to the system cost nothing beside the printing.
const PIECE: usize = 64 * 1024;

impl<W: Write> Sink<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output,
            buffer: Vec::with_capacity(2 * PIECE),
            reader: Reader::Listening,
            is_output_dirty: false,
            has_grown_since_poll: false,
            waiting_since: None,
        }
    }

    pub(super) fn reader(&self) -> Reader {
        self.reader
    }

    /// Where to append what is to be written, followed by [`appended`](Self::appended).
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// How much longer what waits may do so; `None` when nothing does.
    pub(super) fn longest_wait_left(&self, now: Instant) -> Option<Duration> {
        let waited = self
            .waiting_since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.has_waiting()
            .then(|| LONGEST_WAIT.saturating_sub(waited))
    }

    fn has_waiting(&self) -> bool {
        self.is_output_dirty || !self.buffer.is_empty()
    }

    /// After the buffer has grown by a whole record.
    pub(super) fn appended(&mut self) -> io::Result<Reader> {
        self.has_grown_since_poll = true;
        if self.buffer.len() >= PIECE || self.reader == Reader::Gone {
            self.write_piece()
        } else {
            Ok(self.reader)
        }
    }

    pub(super) fn polled(&mut self, now: Instant) -> io::Result<Reader> {
        let is_idle = !std::mem::take(&mut self.has_grown_since_poll);
        if !self.has_waiting() {
            return Ok(self.reader);
        }
        let since = *self.waiting_since.get_or_insert(now);
        if is_idle || now.saturating_duration_since(since) >= LONGEST_WAIT {
            self.flush()
        } else {
            Ok(self.reader)
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<Reader> {
        self.waiting_since = None;
        if self.write_piece()? == Reader::Gone {
            return Ok(Reader::Gone);
        }
        self.is_output_dirty = false;
        let result = self.output.flush();
        self.note(result)
    }

    fn write_piece(&mut self) -> io::Result<Reader> {
        let result = match self.reader {
            Reader::Listening => self.output.write_all(&self.buffer),
            Reader::Gone => Ok(()),
        };
        self.buffer.clear();
        self.is_output_dirty = true;
        self.note(result)
    }

    fn note(&mut self, result: io::Result<()>) -> io::Result<Reader> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.reader = Reader::Gone,
            result => result?,
        }
        if self.reader == Reader::Gone {
            self.is_output_dirty = false;
        }
        Ok(self.reader)
    }
}
