//! Records as the command line prints them. Nothing else goes to the same place: notes, errors and progress are for
//! others to print elsewhere.

mod json;
mod separator;
mod sink;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, Write};
use std::time::{Duration, Instant};

pub(crate) use separator::Separator;
pub(crate) use sink::Reader;
pub(crate) use text::TextLayout;

use sink::Sink;

/// What is printed of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    // these lines are also what --help says
    /// The value of each, a null as "null"; also its key when asked for.
    Text,
    /// All of each: a JSON object on a line of its own.
    Json,
    /// Only how many there were, at the end.
    Count,
}

/// A record to print.
#[derive(Debug, Clone)]
pub(crate) struct RecordView<'a, H> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// In ms since the epoch as stored: -1 is none.
    pub(crate) timestamp: i64,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    /// Names and values, in their order, repeated names and all.
    pub(crate) headers: H,
}

/// Prints records to an output that may be slow, a pipe, or closed at its other end.
///
/// Records are gathered and written in large pieces; none waits for more than [`LONGEST_WAIT`] provided that
/// [`polled`](Self::polled) is called after each poll and that the next poll takes no longer than
/// [`poll_timeout`](Self::poll_timeout) says. When the reader of a pipe is gone, as after `| head -1`, that is no
/// error: the result tells, and nothing more is written.
#[derive(Debug)]
pub(crate) struct RecordWriter<W> {
    sink: Sink<W>,
    format: OutputFormat,
    layout: TextLayout,
    records: u64,
}

/// The longest that a record waits to be written out.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(100);

impl<W: Write> RecordWriter<W> {
    /// A writer that has written nothing.
    pub(crate) fn new(output: W, format: OutputFormat, layout: TextLayout) -> Self {
        Self {
            sink: Sink::new(output),
            format,
            layout,
            records: 0,
        }
    }

    /// Prints a record, now or later.
    ///
    /// # Errors
    /// The output failed, other than by its reader's end. What was not written is lost.
    pub(crate) fn write<'a, H>(&mut self, record: RecordView<'a, H>) -> io::Result<Reader>
    where
        H: IntoIterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    {
        self.records += 1;
        match self.format {
            OutputFormat::Text => self.layout.append(&record, self.sink.buffer()),
            OutputFormat::Json => json::append(record, self.sink.buffer())?,
            OutputFormat::Count => return Ok(self.sink.reader()),
        }
        self.sink.appended()
    }

    /// To be called after each poll whose records have been printed, an empty one too: writes out what has waited
    /// long enough, and everything when there was nothing new.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub(crate) fn polled(&mut self, now: Instant) -> io::Result<Reader> {
        self.sink.polled(now)
    }

    /// How long the next poll may take that would take `wanted` if nothing waited.
    pub(crate) fn poll_timeout(&self, now: Instant, wanted: Duration) -> Duration {
        self.sink
            .longest_wait_left(now)
            .map_or(wanted, |left| wanted.min(left))
    }

    /// How many records were printed, or counted.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Writes out what waits, after the number of records where that was asked for. Also to be called when
    /// interrupted.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub(crate) fn finish(mut self) -> io::Result<Reader> {
        if self.format == OutputFormat::Count {
            writeln!(self.sink.buffer(), "{}", self.records)?;
        }
        self.sink.flush()
    }
}
